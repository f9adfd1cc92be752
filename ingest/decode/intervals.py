"""Assigns samples to intervals: each belongs to the one that the next interval end closes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ...schemas.arrow import INTERVAL
from ..codec import I64, Rows, as_arrow, tod_to_unix_us
from ..container.record_index import INTERVAL_END
from ..container.windows import Window
from .configuration import Configuration

MICROSECONDS = pa.timestamp("us")

NO_END = np.iinfo(np.int64).min
"""In place of an interval's end, where a record belongs to none."""


@dataclass(frozen=True)
class Stamps(Rows):
    """What every landed row starts with, as arrays of (records,).

    `tod_us`, `end_us`: microseconds since 1970 of the record and of its interval's end, or NO_END.
    `offset`: where the record starts in the dump.
    """

    tod_us: I64
    end_us: I64
    offset: I64

    def arrays(self) -> list[pa.Array]:
        """The columns of `schemas.arrow.ROW`."""
        end = as_arrow(self.end_us, MICROSECONDS, self.end_us != NO_END)
        tod, offset = as_arrow(self.tod_us, pa.int64()), as_arrow(self.offset, pa.int64())
        return [tod.view(MICROSECONDS), tod, end, offset]


def row_stamps(window: Window) -> Stamps:
    """The stamps of every record of a window."""
    index = window.index
    tod = tod_to_unix_us(index.tod)
    ends = index.interval_ends
    closing = np.diff(ends, prepend=-1, append=len(index) - 1)
    end = np.repeat(np.append(tod[ends], NO_END), closing)
    end[~index.sample] = NO_END
    return Stamps(tod, end, index.start + window.base)


@dataclass(frozen=True)
class ClosedIntervals:
    """The intervals that a window closes and that have samples.

    Attributes:
        table: a row each, as it lands.
        offset: (rows,) where the record that closes it starts in the dump.
    """

    table: pa.Table
    offset: I64


@dataclass
class Intervals:
    """Closes the intervals of one window after the other, in the order of the dump."""

    configuration: Configuration
    _last_us: int = int(NO_END)
    _stretches: int = 0
    _stretch: int = 0
    _known: dict[int, dict[bytes, int]] = field(default_factory=dict)
    """End of each interval so far -> its first record -> its stretch."""
    _first: bytes = b""
    """First sample record of an interval that is not closed yet."""

    def close(self, window: Window) -> ClosedIntervals:
        """The intervals that a window closes, with what is configured at the end of each."""
        index, ends = window.index, window.index.interval_ends
        # Records of the monitor's own domain are configuration, commands, or end something.
        sample = index.sample & (index.domain != INTERVAL_END[0])
        counts = np.diff(np.cumsum(sample)[ends], prepend=0)
        sizes = np.diff(np.cumsum(index.length * sample)[ends], prepend=0)
        filled = np.flatnonzero(counts)
        firsts = self._first_records(window, np.flatnonzero(sample), ends)
        ends = ends[filled]
        configured = self.configuration.at(window, ends)
        end_us = tod_to_unix_us(index.tod[ends])
        stretches = [
            self._stretch_of(us, firsts[n])
            for us, n in zip(end_us.tolist(), filled.tolist(), strict=True)
        ]
        columns = [
            pa.array(end_us).cast(MICROSECONDS),
            pa.array(end_us),
            pa.array(counts[filled]),
            pa.array(sizes[filled]),
            pa.array(configured.nominal_s, pa.int64()),
            pa.array(configured.ipl_us, pa.int64()),
            pa.array(configured.restated),
            pa.array(stretches, pa.int64()),
        ]
        table = pa.Table.from_arrays(columns, schema=INTERVAL)
        return ClosedIntervals(table, index.start[ends] + window.base)

    def _first_records(self, window: Window, samples: I64, ends: I64) -> list[bytes]:
        """A digest of the first sample record of each interval that ends here, b"" without any."""
        index, first, records = window.index, self._first, []
        places = np.searchsorted(samples, np.concatenate([[-1], ends]))
        for begin, behind in zip(places, [*places[1:], len(samples)], strict=True):
            if not first and begin < behind:
                start, length = (int(a[samples[begin]]) for a in (index.start, index.length))
                data = window.data[start : start + length].tobytes()
                first = hashlib.blake2b(data, digest_size=8).digest()
            records.append(first)
            self._first, first = first, b""
        return records[:-1]

    def _stretch_of(self, end_us: int, first: bytes) -> int:
        """The stretch of time that an interval belongs to.

        An interval that ends no later than the one before begins a new one, unless it was in the
        dump before: then it is a repetition.
        """
        known = self._known.setdefault(end_us, {})
        if first in known:
            self._stretch = known[first]
        elif end_us <= self._last_us:
            self._stretches += 1
            self._stretch = self._stretches
        known[first], self._last_us = self._stretch, end_us
        return self._stretch
