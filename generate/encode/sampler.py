"""Encodes samples of the model, and events between them, as blocks of records with time stamps."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...schemas import Kind
from ...schemas.unplaced import with_places
from ..model.system import Model, Sample
from ..numeric import I64, Bool
from ..records import events
from ..records.events import EventBatch, SessionProgress
from ..records.table import Record, Values, records
from .container import Block
from .encoder import Encoder, encode_events, filled

_BEFORE_CONFIGURATION = 50
"""Time between the start of monitoring and the first configuration record, in records."""


class _Writer:
    """One record type, its encoder, and its last sample.

    Args:
        given: values that distinguish the type from others of the record.
        sample: the first one after an IPL. wrapping: whether a counter is to wrap soon.
        sampled: whether the records are written; if not, they are encoded for the events only.

    Attributes:
        stamps: (rows,) TOD of each in the last sample, where the type depends on it.
        present: (rows,) which had a record in the last sample.
    """

    def __init__(
        self, record: Record, given: dict[str, Any], sample: Sample, wrapping: bool, sampled: bool
    ) -> None:
        self.record, self.given, self.sampled = record, given, sampled
        scope, model = record.scope(sample, **given), sample.model
        self.entries = record.entries(scope)
        self.encoder = Encoder(
            with_places(record.layout, model.measurement.scenario.places),
            record.rows(scope),
            model.measurement.run.cp_level,
            record.fixed(scope),
            record.ages.value(scope),
            record.wrapping if wrapping else "",
            entries=self.entries,
            sizes=record.sizes(scope),
        )
        span = int(model.timeline.tod[sample.interval])
        self.stamps = np.full(self.encoder.rows, np.uint64(model.clock.end(sample.number) - span))
        self.all_rows = np.ones(self.encoder.rows, dtype=np.bool_)
        self.present = ~self.all_rows

    def rows(self, sample: Sample) -> tuple[Bool, int]:
        """The rows that have a record in a sample, as a mask, and their number."""
        present = self.record.mask("present", self.record.scope(sample, **self.given))
        if present is None:
            return self.all_rows, self.encoder.rows
        return present, int(present.sum())

    def block(
        self, sample: Sample, tods: Any, present: Bool
    ) -> tuple[Block, SessionProgress | None]:
        """The records of a sample, and the progress since the last one, for events.

        Counters start with the delta of an interval of nominal length.
        """
        record, encoder = self.record, self.encoder
        name, starts = record.layout.name, sample.model.timeline.starts(sample.number)
        scope = record.scope(sample, **self.given)
        restarted = record.mask("restarted", scope)
        if restarted is not None and restarted.any():
            encoder.restart(restarted)
        if record.timed:
            scope["elapsed"] = self._elapsed(sample, tods, present)
        values = record.sampled(scope)
        if record.unmodelled:
            end = sample.model.clock.end(sample.number)
            more = filled(encoder.encoding, record.unmodelled, encoder.rows, sample.number, end)
            values = {**values, **more}
        progress = None
        if name in events.SESSIONS and not starts:
            rows = events.rows_in_progress(sample, name, self.present, present)
            if len(rows):
                progress = self._progress(values, rows)
        mask = None if len(tods) == encoder.rows else present
        records = encoder.encode(tods, values, mask)
        self.present = present
        return Block(encoder.layout.domain, records, tods), progress

    def _progress(self, values: Values, rows: I64) -> SessionProgress:
        """Values of some rows before the deltas of an interval are added."""
        begun = self.encoder.current(rows)
        delta = {}
        for name in values.keys() & begun.keys():
            if self.encoder.encoding.field(name).is_cumulative:
                shape = (self.encoder.rows, *begun[name].shape[1:])
                delta[name] = np.broadcast_to(np.asarray(values[name]), shape)[rows]
        return SessionProgress(rows, self.entries, begun, delta)

    def _elapsed(self, sample: Sample, tods: Any, present: Bool) -> I64:
        """(rows,) TOD units since the row's last sample; the nominal length at its first one."""
        model = sample.model
        stamps = np.full(self.encoder.rows, model.clock.end(sample.number), dtype=np.uint64)
        stamps[present] = tods
        before, self.stamps = self.stamps, stamps
        if model.timeline.starts(sample.number):
            return np.full(len(stamps), int(model.timeline.tod[sample.interval]))
        return (stamps - before).view(np.int64)


class Sampler:
    """Encodes samples of the model as blocks of records, with an encoder for each record type.

    Attributes:
        events: event records of the interval before the last sample.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.events: list[Block] = []
        self._release = model.measurement.run.cp_level
        self._writers: list[_Writer] = []
        self._epoch = -1

    def blocks(self, number: int) -> list[Block]:
        """All records of a sample; if monitoring begins, configuration records precede them.

        Call it for every sample in order, also for those that are not in the dump, so that
        counters accumulate.
        """
        sample = Sample(self.model, number)
        if self._epoch != self.model.timeline.epoch[number]:
            # Counters restart; at the first sample they hold the sum of deltas since the IPL.
            self._epoch = int(self.model.timeline.epoch[number])
            self._writers = self._new_writers(sample)
        pairs = [(writer, *writer.rows(sample)) for writer in self._writers]
        left = sum(count for writer, _, count in pairs if writer.sampled)
        tods, end = self.model.clock.records(number, left, left), self.model.clock.end(number)
        blocks, starting = list[Block](), list[EventBatch]()
        if self.model.timeline.begins[number]:
            blocks, starting = self._configuration(sample, left)
        progress: dict[str, list[SessionProgress]] = {}
        for writer, present, count in pairs:
            # Records that are not sampled take no time; they are encoded for the events.
            stamps = tods[:count] if writer.sampled else np.full(count, np.uint64(end))
            block, passed = writer.block(sample, stamps, present)
            if passed is not None:
                progress.setdefault(writer.record.layout.name, []).append(passed)
            if writer.sampled:
                blocks.append(block)
                tods = tods[count:]
        batches = [*events.interval_events(sample, progress), *starting]
        self.events = encode_events(batches, self._release)
        return blocks

    def _new_writers(self, sample: Sample) -> list[_Writer]:
        """Writers of the records that the system has, after an IPL."""
        writers, sessions = [], events.records_sessions(self.model)
        for record in records().values():
            for_events = sessions and record.layout.name in events.SESSIONS
            sampled = record.is_own or record.layout.domain in self.model.measurement.sampled
            if record.layout.kind is Kind.SAMPLE and (sampled or for_events):
                writers += [
                    _Writer(record, given, sample, self._epoch == 0, sampled)
                    for given in record.variants(sample)
                    if record.rows(record.scope(sample, **given))
                ]
        return writers

    def _configuration(self, sample: Sample, sampled: int) -> tuple[list[Block], list[EventBatch]]:
        """The configuration records before `sampled` records, and the events at the start."""
        model, number = self.model, sample.number
        rows = sum(rows for _, rows, _, _ in events.configuration(sample, 0))
        left = sampled + rows
        tod = int(model.clock.records(number, left + _BEFORE_CONFIGURATION, 1)[0])
        batches = []
        for name, rows, values, sizes in events.configuration(sample, tod):
            tods = model.clock.records(number, left, rows)
            batches.append(EventBatch(name, tods, values, sizes=sizes))
            left -= rows
        commands = events.monitor_commands(model, number, tod)
        return encode_events(batches, self._release), events.start_events(sample, tod, commands)
