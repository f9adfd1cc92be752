"""Buffers records of one layout over several windows, to decode them together.

Most layouts have a handful of records an interval; decoding them window by window would cost more
in calls than in bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..codec import I64, U8
from .columns import copied
from .intervals import Stamps

ENOUGH_BYTES = 1024 * 1024
"""Records of this many bytes are worth a call."""


@dataclass(frozen=True)
class Records:
    """Records of one layout: `data[start : start + length]` each, and their stamps."""

    data: U8
    starts: I64
    lengths: I64
    stamps: Stamps

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return int(self.lengths.sum())


@dataclass
class RecordBuffer:
    """Copies of records, collected until there are enough of them to decode."""

    _waiting: list[Records] = field(default_factory=list)
    _bytes: int = 0

    def add(self, records: Records) -> Records | None:
        """Add records; returns all buffered ones once they are enough, else None."""
        if not self._waiting and records.size >= ENOUGH_BYTES:
            return records
        data = copied(records.data, records.starts, records.lengths)
        starts = np.cumsum(records.lengths) - records.lengths
        self._waiting.append(Records(data, starts, records.lengths, records.stamps))
        self._bytes += len(data)
        return self.take() if self._bytes >= ENOUGH_BYTES else None

    def take(self) -> Records | None:
        """Remove and return all records, end to end; None if there are none."""
        parts, self._waiting, self._bytes = self._waiting, [], 0
        if not parts:
            return None
        lengths = np.concatenate([p.lengths for p in parts])
        return Records(
            np.concatenate([p.data for p in parts]),
            np.cumsum(lengths) - lengths,
            lengths,
            Stamps.joined([p.stamps for p in parts]),
        )
