"""Samples of the model as blocks of records, in order and stamped with their time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..schemas import layout
from .clock import U64
from .configuration import configuration, event_profile
from .counters import Encoder, Values
from .model import Model, Sample
from .monwrite import Block
from .record_type import SampleRecord
from .records import SAMPLE_RECORDS
from .timeline import Bool

_BEFORE_CONFIGURATION = 50
"""Records' time between the start of monitoring and the first configuration record."""


@dataclass(slots=True)
class _Writer:
    """One record type: who fills it, its encoder, and when each row was last sampled."""

    kind: SampleRecord
    encoder: Encoder
    stamps: U64


class Sampler:
    """Turns samples of the model into blocks of records, one encoder for each record type."""

    def __init__(self, model: Model) -> None:
        self.model = model
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
        rows = [self._present(writer, sample) for writer in self._writers]
        left = sum(count for _, count in rows)
        blocks = self._configuration(sample, left) if self.model.timeline.begins[number] else []
        for writer, (present, count) in zip(self._writers, rows, strict=True):
            tods = self.model.clock.records(number, left, count)
            blocks.append(self._block(writer, sample, tods, present))
            left -= count
        return blocks

    def event_profile(self, tod: int) -> bytes:
        """The record that begins event data."""
        encoder = self._static("mtrepr", 1, event_profile(self.model))
        return encoder.encode(np.array([tod], dtype=np.uint64), {}, {}).tobytes()

    def started_tod(self, number: int) -> int:
        """TOD at which monitoring started that begins with a sample: before all of its records."""
        sample = Sample(self.model, number)
        if self._epoch != self.model.timeline.epoch[number]:
            self._ipl(sample)
        records = sum(self._present(writer, sample)[1] for writer in self._writers)
        records += sum(rows for _, rows, _ in configuration(sample))
        return int(self.model.clock.records(number, records + _BEFORE_CONFIGURATION, 1)[0])

    def _ipl(self, sample: Sample) -> None:
        """Counters begin anew; at the first sample they hold what came since the IPL."""
        model, number = self.model, sample.number
        self._epoch = int(model.timeline.epoch[number])
        release, wraps = model.measurement.run.cp_level, self._epoch == 0
        ended = np.uint64(model.clock.end(number) - int(model.timeline.tod[sample.interval]))
        self._writers = []
        for kind in SAMPLE_RECORDS:
            rows = kind.rows(model) if kind.domain in model.measurement.sampled else 0
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
                self._writers.append(_Writer(kind, encoder, np.full(rows, ended)))

    def _present(self, writer: _Writer, sample: Sample) -> tuple[Bool | None, int]:
        """Which rows have a record, None for all of them, and how many that are."""
        present = writer.kind.present(sample)
        return present, writer.encoder.rows if present is None else int(present.sum())

    def _block(self, writer: _Writer, sample: Sample, tods: U64, present: Bool | None) -> Block:
        """The records of one type; what counters start with is of an interval of nominal length."""
        stamps = np.full(writer.encoder.rows, self.model.clock.end(sample.number), dtype=np.uint64)
        stamps[slice(None) if present is None else present] = tods
        starts = self.model.timeline.starts(sample.number)
        span = int(self.model.timeline.tod[sample.interval])
        elapsed = (
            np.full(len(stamps), span) if starts else (stamps - writer.stamps).astype(np.int64)
        )
        restarted = writer.kind.restarted(sample)
        if restarted is not None:
            writer.encoder.restart(restarted)
        filled = writer.kind.filled(sample, elapsed)
        records = writer.encoder.encode(tods, filled.levels, filled.flows, present)
        writer.stamps = stamps
        return Block(writer.encoder.layout.domain, records, tods)

    def _configuration(self, sample: Sample, sampled: int) -> list[Block]:
        """The configuration records, in front of so many sampled ones."""
        parts = [part for part in configuration(sample) if part[1]]
        left, blocks = sampled + sum(rows for _, rows, _ in parts), []
        for name, rows, values in parts:
            encoder = self._static(name, rows, values)
            tods = self.model.clock.records(sample.number, left, rows)
            blocks.append(Block(encoder.layout.domain, encoder.encode(tods, {}, {}), tods))
            left -= rows
        return blocks

    def _static(self, name: str, rows: int, values: Values) -> Encoder:
        return Encoder(layout(name), rows, self.model.measurement.run.cp_level, values)
