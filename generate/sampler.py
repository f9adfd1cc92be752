"""Samples of the model as blocks of records, in order and stamped with their time."""

from __future__ import annotations

import numpy as np

from ..schemas import layout
from .clock import U64
from .configuration import configuration, event_profile
from .counters import Encoder, Values
from .model import Model
from .monwrite import Block
from .records import SAMPLE_RECORDS


class Sampler:
    """Turns samples of the model into blocks of records, one encoder for each record type."""

    def __init__(self, model: Model) -> None:
        self.model = model
        release = model.measurement.run.cp_level
        self._kinds = [(kind, kind.rows(model)) for kind in SAMPLE_RECORDS]
        self._kinds = [(kind, rows) for kind, rows in self._kinds if rows]
        self._encoders = [
            Encoder(
                layout(kind.name), rows, release, kind.fixed(model), kind.ages(model), kind.wrapping
            )
            for kind, rows in self._kinds
        ]
        self._records = sum(rows for _, rows in self._kinds)
        self._stamps: list[U64] = []

    def blocks(self, number: int) -> list[Block]:
        """All records of a sample; at the first one, the configuration before them."""
        sample, clock = self.model.sample(number), self.model.clock
        blocks = self._configuration() if number == 0 else []
        left, stamps = self._records, []
        for place, ((kind, rows), encoder) in enumerate(
            zip(self._kinds, self._encoders, strict=True)
        ):
            tods = clock.records(number, left, rows)
            if number == 0:
                # What the counters hold at first is drawn from an interval of nominal length.
                elapsed = np.full(rows, self.model.measurement.interval_tod, dtype=np.int64)
            else:
                elapsed = (tods - self._stamps[place]).astype(np.int64)
            filled = kind.filled(sample, elapsed)
            records = encoder.encode(tods, filled.levels, filled.flows)
            blocks.append(Block(encoder.layout.domain, records, tods))
            stamps.append(tods)
            left -= rows
        self._stamps = stamps
        return blocks

    def event_profile(self, tod: int) -> bytes:
        """The record that begins event data."""
        encoder = self._static("mtrepr", 1, event_profile(self.model))
        return encoder.encode(np.array([tod], dtype=np.uint64), {}, {}).tobytes()

    def started_tod(self) -> int:
        """TOD at which monitoring started: before the first record of the first sample."""
        records = self._records + sum(rows for _, rows, _ in configuration(self.model))
        return int(self.model.clock.records(0, records + 50, 1)[0])

    def _configuration(self) -> list[Block]:
        parts = [part for part in configuration(self.model) if part[1]]
        left, blocks = self._records + sum(rows for _, rows, _ in parts), []
        for name, rows, values in parts:
            encoder = self._static(name, rows, values)
            tods = self.model.clock.records(0, left, rows)
            blocks.append(Block(encoder.layout.domain, encoder.encode(tods, {}, {}), tods))
            left -= rows
        return blocks

    def _static(self, name: str, rows: int, values: Values) -> Encoder:
        return Encoder(layout(name), rows, self.model.measurement.run.cp_level, values)
