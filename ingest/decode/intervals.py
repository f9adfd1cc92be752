"""Assigns samples to intervals: each belongs to the one that the next interval end closes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ...schemas.arrow import INTERVAL
from ..arrays import Rows
from ..codec import I64, as_arrow, tod_to_unix_us
from ..container.frames import INTERVAL_END
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


def closed_intervals(window: Window, configuration: Configuration) -> pa.Table:
    """A row for every interval that the window closes and that has samples."""
    index, ends = window.index, window.index.interval_ends
    nominal, ipl = configuration.at(ends)
    # All records of the monitor's own domain are configuration, or end a frame or an interval.
    sample = index.sample & (index.domain != INTERVAL_END[0])
    counts = np.diff(np.cumsum(sample)[ends], prepend=0)
    sizes = np.diff(np.cumsum(index.length * sample)[ends], prepend=0)
    filled = np.flatnonzero(counts)
    end_us = tod_to_unix_us(index.tod[ends])[filled]
    columns = [
        pa.array(end_us).cast(MICROSECONDS),
        pa.array(end_us),
        pa.array(counts[filled]),
        pa.array(sizes[filled]),
        pa.array([nominal[i] for i in filled], pa.int64()),
        pa.array([ipl[i] for i in filled], pa.int64()),
    ]
    return pa.Table.from_arrays(columns, schema=INTERVAL)
