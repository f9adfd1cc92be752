"""Samples of the model as blocks of records, in order and stamped with their time; and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ...schemas import Kind, layout
from ..activity.sample import Sample
from ..model.system import Model
from ..numeric import I64, U64, Bool
from ..records.events import (
    SESSIONS,
    EventBatch,
    SessionProgress,
    interval_events,
    monitor_commands,
    records_sessions,
    rows_in_progress,
    start_events,
)
from ..records.table import Counts, Record, Values, records
from .encoder import Encoder, encode_events
from .frames import Block

_CONFIGURATION = (
    *("mtrsys", "mtrprp", "mtrdev", "mtrmem", "mtrpag"),
    *("mtrspr", "mtrusr", "mtrsch", "mtrxsg"),
)
"""Records of the configuration in CP's order; MTRSCM follows."""

_BEFORE_CONFIGURATION = 50
"""Records' time between the start of monitoring and the first configuration record."""


@dataclass
class _Writer:
    """One record type, its encoder, and what was sampled last.

    Attributes:
        given: what tells the type from others of that record.
        entries: number of entries of each group.
        stamps: (rows,) TOD of each in the last sample, where the type depends on it.
        present: (rows,) which had a record in the last sample.
        sampled: whether the records are written; if not, they are encoded for the events only.
    """

    record: Record
    given: dict[str, Any]
    entries: Counts
    encoder: Encoder
    stamps: U64
    present: Bool
    sampled: bool

    def rows(self, sample: Sample) -> tuple[Bool, int]:
        """Which rows have a record in a sample, and how many that are."""
        present = self.record.present(self.record.scope(sample, **self.given))
        if present is None:
            return self.all_rows, self.encoder.rows
        return present, int(present.sum())

    @cached_property
    def all_rows(self) -> Bool:
        """(rows,) all of them."""
        return np.ones(self.encoder.rows, dtype=np.bool_)


class Sampler:
    """Turns samples of the model into blocks of records, one encoder for each record type.

    Attributes:
        events: records of what happened in the interval before the last sample.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.events: list[Block] = []
        self._release = model.measurement.run.cp_level
        self._writers: list[_Writer] = []
        self._epoch = -1

    def blocks(self, number: int) -> list[Block]:
        """All records of a sample; where monitoring begins, the configuration before them.

        Call it for every sample, in order, also one that does not reach the dump: counters grow
        in it.
        """
        sample = Sample(self.model, number)
        if self._epoch != self.model.timeline.epoch[number]:
            self._ipl(sample)
        pairs = [(writer, *writer.rows(sample)) for writer in self._writers]
        left = sum(count for writer, _, count in pairs if writer.sampled)
        tods, end = self.model.clock.records(number, left, left), self.model.clock.end(number)
        blocks, starting = list[Block](), list[EventBatch]()
        if self.model.timeline.begins[number]:
            blocks, starting = self._configuration(sample, left)
        progress: dict[str, list[SessionProgress]] = {}
        for writer, present, count in pairs:
            # What is not sampled takes no time; it is encoded for the events.
            stamps = tods[:count] if writer.sampled else np.full(count, np.uint64(end))
            block, passed = self._block(writer, sample, stamps, present)
            if passed is not None:
                progress.setdefault(writer.record.name, []).append(passed)
            if writer.sampled:
                blocks.append(block)
                tods = tods[count:]
        batches = [*interval_events(sample, progress), *starting]
        self.events = encode_events(batches, self._release)
        return blocks

    def _ipl(self, sample: Sample) -> None:
        """Counters begin anew; at the first sample they hold what they grew by since the IPL."""
        model, number = self.model, sample.number
        self._epoch = int(model.timeline.epoch[number])
        ended = np.uint64(model.clock.end(number) - int(model.timeline.tod[sample.interval]))
        self._writers = []
        for record in records().values():
            for_events = record.name in SESSIONS and records_sessions(model)
            sampled = record.layout.domain in model.measurement.sampled
            if record.layout.kind is Kind.SAMPLE and (sampled or for_events):
                for given in record.variants(sample):
                    scope = record.scope(sample, **given)
                    rows = record.rows(scope)
                    if rows:
                        entries = record.entries(scope)
                        encoder = Encoder(
                            record.layout,
                            rows,
                            self._release,
                            record.fixed(scope),
                            record.ages(scope),
                            record.wrapping if self._epoch == 0 else "",
                            entries=entries,
                        )
                        absent, stamps = np.zeros(rows, dtype=np.bool_), np.full(rows, ended)
                        self._writers.append(
                            _Writer(record, given, entries, encoder, stamps, absent, sampled)
                        )

    def _block(
        self, writer: _Writer, sample: Sample, tods: U64, present: Bool
    ) -> tuple[Block, SessionProgress | None]:
        """The records of one type, and their progress since the last sample for the events.

        Counters start with the growth of an interval of nominal length.
        """
        record, encoder = writer.record, writer.encoder
        scope = record.scope(sample, **writer.given)
        restarted = record.restarted(scope)
        if restarted is not None:
            encoder.restart(restarted)
        if record.timed:
            scope["elapsed"] = self._elapsed(writer, sample, tods, present)
        values = record.sampled(scope)
        progress = None
        if record.name in SESSIONS and not self.model.timeline.starts(sample.number):
            rows = rows_in_progress(sample, record.name, writer.present, present)
            if len(rows):
                progress = self._progress(writer, values, rows)
        mask = None if len(tods) == encoder.rows else present
        records = encoder.encode(tods, values, mask)
        writer.present = present
        return Block(encoder.layout.domain, records, tods), progress

    def _progress(self, writer: _Writer, values: Values, rows: I64) -> SessionProgress:
        """What some rows hold before the growth of an interval is added to them."""
        encoder = writer.encoder
        begun = encoder.current(rows)
        growth = {}
        for name in values.keys() & begun.keys():
            if encoder.is_counter(name):
                shape = (encoder.rows, *begun[name].shape[1:])
                growth[name] = np.broadcast_to(np.asarray(values[name]), shape)[rows]
        return SessionProgress(rows, writer.entries, begun, growth)

    def _elapsed(self, writer: _Writer, sample: Sample, tods: U64, present: Bool) -> I64:
        """(rows,) TOD units since each was sampled last; at first the interval's nominal length."""
        end = self.model.clock.end(sample.number)
        stamps = np.full(writer.encoder.rows, end, dtype=np.uint64)
        stamps[present] = tods
        before, writer.stamps = writer.stamps, stamps
        if self.model.timeline.starts(sample.number):
            return np.full(len(stamps), int(self.model.timeline.tod[sample.interval]))
        return (stamps - before).view(np.int64)

    def _configuration(self, sample: Sample, sampled: int) -> tuple[list[Block], list[EventBatch]]:
        """The configuration records, before so many sampled ones, and the events of the start."""
        model, number = self.model, sample.number
        encoders = [each for name in _CONFIGURATION for each in self._whole(sample, name)]
        left = (
            sampled
            + len(monitor_commands(model, number, 0))
            + sum(encoder.rows for encoder in encoders)
        )
        tod = int(model.clock.records(number, left + _BEFORE_CONFIGURATION, 1)[0])
        commands = monitor_commands(model, number, tod)
        for command in commands:
            values = {"caltod": command.tod, **command.values}
            encoders.append(
                Encoder(layout("mtrscm"), 1, self._release, values, sizes=command.sizes)
            )
        blocks = []
        for encoder in encoders:
            tods = model.clock.records(number, left, encoder.rows)
            blocks.append(Block(encoder.layout.domain, encoder.encode(tods, {}), tods))
            left -= encoder.rows
        return blocks, start_events(sample, tod, commands)

    def _whole(self, sample: Sample, name: str) -> Iterator[Encoder]:
        """The encoder of a configuration record, where the system has one."""
        record = records()[name]
        rows = record.rows(record.scope(sample))
        if rows:
            yield Encoder(record.layout, rows, self._release, record.values(sample))
