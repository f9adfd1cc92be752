"""Frames of monitor data as arrays, and the plausibility test of record headers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...schemas.field import HEADER_LENGTH
from ..arrays import Rows
from ..codec import I64, U8, Mask, items

FRAME = 4096
TOP_DOMAIN = 11

HEADER = np.dtype(
    {
        "names": ["length", "zero", "domain", "reserved", "record", "tod"],
        "formats": [">u2", ">u2", "u1", "u1", ">u2", ">u8"],
    }
)
"""The part of MRRECHDR that framing needs."""

INTERVAL_END = (1, 11)
"""MTREND closes an interval: it is the last record of its sample data."""
SYSTEM = (1, 4)
"""MTRSYS names the system and its release."""
FRAME_END = (1, 13)
"""MTREOF: no more records in this frame."""


@dataclass(frozen=True)
class Frames(Rows):
    """Frames of a window, in the order of the dump.

    `start`: (frames,) position of the first record in the window. `limit`: (frames,) position
    behind the last byte that can belong to a record. `sample`: (frames,) sample or event data.
    """

    start: I64
    limit: I64
    sample: Mask


NO_FRAMES = Frames(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))


@dataclass(frozen=True)
class IndexedFrames(Frames):
    """Frames whose records have been located.

    `stop`: (frames,) where reading ended. `broken`: (frames,) whether it ended at something that is
    no record header.
    """

    stop: I64
    broken: Mask


def are_headers(window: U8, at: I64) -> Mask:
    """Whether a record header stands at each position: the plausibility test of the format."""
    fits = at + HEADER_LENGTH <= len(window)
    header = headers_at(window, at[fits])
    good = (header["length"] >= HEADER_LENGTH) & (header["length"] <= FRAME)
    good &= (header["zero"] == 0) & (header["domain"] <= TOP_DOMAIN) & (header["tod"] != 0)
    result = np.zeros(len(at), np.bool_)
    result[fits] = good
    return result


def is_header(window: U8, at: int) -> bool:
    """Whether a record header stands at a position."""
    return bool(are_headers(window, np.array([at], np.int64))[0])


def headers_at(window: U8, at: I64) -> npt.NDArray[np.void]:
    """(positions,) what stands there, of dtype `HEADER`."""
    return items(window, HEADER.itemsize)[at].view(HEADER)


def end_frames(header: npt.NDArray[np.void]) -> Mask:
    """Whether each header is that of a record that ends its frame."""
    ends = (header["record"] == FRAME_END[1]) | (header["record"] == INTERVAL_END[1])
    return np.asarray((header["domain"] == FRAME_END[0]) & ends)
