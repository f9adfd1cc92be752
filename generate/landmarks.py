"""Where control records, frames and records stand in bytes that were written."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .monwrite import (
    CONTROL_AREA,
    END_OF_FRAME,
    ENTRY,
    EVENT_FLAG,
    FRAME,
    HEADER,
    INTERVAL_END,
    MONITOR_DOMAIN,
    SAMPLE_FLAG,
    U8,
)

I64 = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_TOP_DOMAIN = 11


def are_controls(frames: U8) -> Mask:
    """Which of (frames, 4096) are control records with an entry: they announce data."""
    entry = frames[:, CONTROL_AREA : CONTROL_AREA + ENTRY.size]
    start, end = (_words(entry[:, at : at + 4]) for at in (4, 8))
    first, last = (_words(frames[:, at : at + 4]) for at in (12, 16))
    known = (entry[:, 0] == SAMPLE_FLAG) | (entry[:, 0] == EVENT_FLAG)
    said = (last > first) & ((last - first + 1) % ENTRY.size == 0)
    return np.asarray(known & entry[:, 1:3].any(axis=1) & (end > start) & said)


def hold_records(frames: U8) -> Mask:
    """Which of (frames, 4096) begin with a record."""
    length = _words(frames[:, 0:2])
    fits = (length >= HEADER.size) & (length <= FRAME) & (frames[:, 4] <= _TOP_DOMAIN)
    return np.asarray(fits & ~frames[:, 2:4].any(axis=1) & frames[:, 8:16].any(axis=1))


def record_starts(data: U8, starts: I64, limits: I64) -> tuple[I64, I64]:
    """Positions of the records of some frames, and of those that close one (1.11, 1.13).

    All frames advance together, one record a step.

    Args:
        data: bytes of the frames.
        starts, limits: (frames,) position of the first record, and behind the last byte.

    Returns:
        Both ascending. A frame is followed up to its closing record or to what is no record.
    """
    found, closing = [], []
    at, behind = starts, limits
    while len(at):
        inside = behind - at >= HEADER.size
        at, behind = at[inside], behind[inside]
        header = data[at[:, None] + np.arange(HEADER.size)]
        length = _words(header[:, 0:2])
        good = (length >= HEADER.size) & (length <= behind - at) & ~header[:, 2:4].any(axis=1)
        kind = _words(header[:, 6:8])
        ends = (header[:, 4] == MONITOR_DOMAIN) & ((kind == END_OF_FRAME) | (kind == INTERVAL_END))
        found.append(at[good & ~ends])
        closing.append(at[good & ends])
        on = good & ~ends
        at, behind = at[on] + length[on], behind[on]
    none = np.empty(0, np.int64)
    return np.sort(np.concatenate([none, *found])), np.sort(np.concatenate([none, *closing]))


def _words(raw: U8) -> I64:
    """Big-endian numbers of (rows, width) bytes."""
    value = np.zeros(len(raw), np.int64)
    for column in raw.T:
        value = value << 8 | column
    return value
