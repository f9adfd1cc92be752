"""Samples of the model as blocks of records, in order and stamped with their time; and events."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..schemas import layout
from .clock import U64
from .configuration import configuration
from .counters import Encoder
from .event_data import EventBatch
from .event_records import SESSIONS, happened, started, watched_rows, watches_sessions
from .model import Model, Sample
from .monitor_events import commands, in_samples
from .monwrite import Block
from .noise import I64
from .progress import Progress
from .record_type import SampleRecord
from .records import SAMPLE_RECORDS
from .timeline import Bool

_BEFORE_CONFIGURATION = 50
"""Records' time between the start of monitoring and the first configuration record."""


@dataclass
class _Writer:
    """One record type: who fills it, its encoder, and what was sampled last.

    Attributes:
        stamps: (rows,) TOD of each in the last sample, where the type depends on it.
        present: (rows,) which had a record in the last sample.
        sampled: whether the records are written; if not, only events tell of them.
    """

    kind: SampleRecord
    encoder: Encoder
    stamps: U64
    present: Bool
    sampled: bool

    def rows(self, sample: Sample) -> tuple[Bool, int]:
        """Which rows have a record in a sample, and how many that are."""
        present = self.kind.present(sample)
        if present is None:
            return self.everyone, self.encoder.rows
        return present, int(present.sum())

    @cached_property
    def everyone(self) -> Bool:
        """(rows,) all of them."""
        return np.ones(self.encoder.rows, dtype=np.bool_)


class Sampler:
    """Turns samples of the model into blocks of records, one encoder for each record type.

    Attributes:
        events: what happened in the interval before the last sample asked for.
    """

    def __init__(self, model: Model) -> None:
        self.model = model
        self.events: list[EventBatch] = []
        self._writers: list[_Writer] = []
        self._epoch = -1

    def blocks(self, number: int) -> list[Block]:
        """All records of a sample; where monitoring begins, the configuration before them.

        Samples are asked for in order; those that do not reach the dump as well, for counters
        grow in them.
        """
        sample = Sample(self.model, number)
        if self._epoch != self.model.timeline.epoch[number]:
            self._ipl(sample)
        rows = [writer.rows(sample) for writer in self._writers]
        pairs = list(zip(self._writers, rows, strict=True))
        left = sum(count for writer, (_, count) in pairs if writer.sampled)
        tods, end = self.model.clock.records(number, left, left), self.model.clock.end(number)
        blocks, begun = list[Block](), list[EventBatch]()
        if self.model.timeline.begins[number]:
            blocks, begun = self._configuration(sample, left)
        progress: dict[str, list[Progress]] = {}
        for writer, (present, count) in pairs:
            # What is not sampled takes no time; it is held for the events.
            stamps = tods[:count] if writer.sampled else np.full(count, np.uint64(end))
            block, passed = self._block(writer, sample, stamps, present)
            if passed is not None:
                progress.setdefault(writer.kind.name, []).append(passed)
            if writer.sampled:
                blocks.append(block)
                tods = tods[count:]
        self.events = [*happened(sample, progress), *begun]
        return blocks

    def _ipl(self, sample: Sample) -> None:
        """Counters begin anew; at the first sample they hold what came since the IPL."""
        model, number = self.model, sample.number
        self._epoch = int(model.timeline.epoch[number])
        release, wraps = model.measurement.run.cp_level, self._epoch == 0
        ended = np.uint64(model.clock.end(number) - int(model.timeline.tod[sample.interval]))
        self._writers = []
        told = SESSIONS if watches_sessions(model) else ()
        for kind in SAMPLE_RECORDS:
            sampled = kind.domain in model.measurement.sampled
            rows = kind.rows(model) if sampled or kind.name in told else 0
            if rows:
                encoder = Encoder(
                    layout(kind.name),
                    rows,
                    release,
                    kind.fixed(model),
                    kind.ages(model, number),
                    kind.wrapping if wraps else frozenset(),
                    entries=kind.entries(model),
                )
                nobody = np.zeros(rows, dtype=np.bool_)
                stamps = np.full(rows, ended)
                self._writers.append(_Writer(kind, encoder, stamps, nobody, sampled))

    def _block(
        self, writer: _Writer, sample: Sample, tods: U64, present: Bool
    ) -> tuple[Block, Progress | None]:
        """The records of one type; what counters start with is of an interval of nominal length.

        And their progress since the last sample, where events tell of it.
        """
        kind, encoder = writer.kind, writer.encoder
        restarted = kind.restarted(sample)
        if restarted is not None:
            encoder.restart(restarted)
        if kind.timed is None:
            filled = kind.filled(sample)
        else:
            filled = kind.timed(sample, self._elapsed(writer, sample, tods, present))
        progress = None
        if kind.name in SESSIONS and not self.model.timeline.starts(sample.number):
            rows = watched_rows(sample, kind.name, writer.present, present)
            if len(rows):
                progress = Progress.of(encoder, kind.entries(self.model), filled.flows, rows)
        everyone = None if len(tods) == encoder.rows else present
        records = encoder.encode(tods, filled.levels, filled.flows, everyone)
        writer.present = present
        return Block(encoder.layout.domain, records, tods), progress

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
        """The configuration records, in front of so many sampled ones; the events of the start."""
        model, number = self.model, sample.number
        parts = [(*part, dict[str, int]()) for part in configuration(sample) if part[1]]
        asked = len(in_samples(commands(model, number, 0)))
        left = sampled + asked + sum(rows for _, rows, _, _ in parts)
        tod = int(model.clock.records(number, left + _BEFORE_CONFIGURATION, 1)[0])
        given = commands(model, number, tod)
        parts += [("mtrscm", 1, values, sizes) for values, sizes in in_samples(given)]
        blocks = []
        for name, rows, values, sizes in parts:
            release = model.measurement.run.cp_level
            encoder = Encoder(layout(name), rows, release, values, sizes=sizes)
            tods = model.clock.records(number, left, rows)
            blocks.append(Block(encoder.layout.domain, encoder.encode(tods, {}, {}), tods))
            left -= rows
        return blocks, started(model, tod, given)
