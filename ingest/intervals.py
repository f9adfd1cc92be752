"""Which interval a sample belongs to: the one that the next interval-end record closes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..schemas.arrow import RAW, ROW
from ..schemas.layout import Kind
from ..schemas.registry import by_record
from ..store.meta import INTERVAL
from .codec import I64, tod_to_unix_us
from .configuration import Configuration
from .index import INTERVAL_END, RecordIndex
from .windows import Window

MICROSECONDS = pa.timestamp("us")


def row_stamps(window: Window) -> pa.Table:
    """What every record of a window has, one row a record: time stamps, interval end, offset."""
    index = window.index
    tod = tod_to_unix_us(index.tod)
    ends = _ends(window)
    following = np.searchsorted(ends, np.arange(len(index)))
    closed = window.frames.sample[index.frame] & (following < len(ends))
    end = pa.array(np.append(tod[ends], 0)[following])
    ended = pc.if_else(pa.array(closed), end, pa.scalar(None, pa.int64()))
    columns = [
        pa.array(tod).cast(MICROSECONDS),
        pa.array(tod),
        ended.cast(MICROSECONDS),
        pa.array(index.start + window.base),
    ]
    return pa.Table.from_arrays(columns, schema=pa.schema(list(RAW)[: len(ROW)]))


def closed_intervals(window: Window, configuration: Configuration) -> pa.Table:
    """A row for every interval that the window closes and that has samples."""
    index = window.index
    ends = _ends(window)
    nominal, ipl = configuration.at(ends)
    sample = window.frames.sample[index.frame] & _is_sample(index)
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


def _ends(window: Window) -> I64:
    """Numbers of the records that close an interval of sample data."""
    ends = window.index.where(*INTERVAL_END)
    return ends[window.frames.sample[window.index.frame[ends]]]


def _is_sample(index: RecordIndex) -> npt.NDArray[np.bool_]:
    """(records,) whether a record tells of the interval: not of the configuration or the frame."""
    kinds = [d << 16 | r for (d, r), known in by_record().items() if known.kind is not Kind.SAMPLE]
    kind = index.domain.astype(np.uint32) << 16 | index.record
    telling = ~np.isin(kind, np.array(kinds, np.uint32))
    return np.asarray(telling & (index.domain != INTERVAL_END[0]), np.bool_)
