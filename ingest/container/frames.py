"""Frames of monitor data as arrays, and the plausibility test of record headers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...schemas.field import HEADER_LENGTH
from ..arrays import Rows
from ..codec import I64, U8, Mask

FRAME = 4096
TOP_DOMAIN = 11

HEADER = np.dtype(
    {
        "names": ["length", "zero", "domain", "record", "tod"],
        "formats": [">u2", ">u2", "u1", ">u2", ">u8"],
        "offsets": [0, 2, 4, 6, 8],
        "itemsize": 16,
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
    safe = np.where(fits, at, 0)
    if len(window) < HEADER_LENGTH:
        return np.zeros(len(at), np.bool_)
    length = window[safe].astype(np.int64) << 8 | window[safe + 1]
    zero = (window[safe + 2] == 0) & (window[safe + 3] == 0)
    clock = np.zeros(len(at), np.bool_)
    for byte in range(8, 16):
        clock |= window[safe + byte] != 0
    size = (length >= HEADER_LENGTH) & (length <= FRAME)
    return np.asarray(fits & size & zero & (window[safe + 4] <= TOP_DOMAIN) & clock, np.bool_)


def is_header(window: U8, at: int) -> bool:
    """Whether a record header stands at a position."""
    return bool(are_headers(window, np.array([at], np.int64))[0])


def end_frames(window: U8, at: I64) -> Mask:
    """Whether the header at each position is that of a record that ends its frame."""
    number = window[at + 6].astype(np.int64) << 8 | window[at + 7]
    return np.asarray(
        (window[at + 4] == FRAME_END[0]) & ((number == FRAME_END[1]) | (number == INTERVAL_END[1]))
    )
