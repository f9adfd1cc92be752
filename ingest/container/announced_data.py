"""Locates the frames of announced data in a MONWRITE file.

Sample data fills whole frames of the monitor segment. Event data begins and ends anywhere; it may
stand in the file from its first byte on, or with what is in front of it in its first frame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..codec import I64, U8, Mask
from .control_records import Mce
from .frames import FRAME, Frames, IndexedFrames, are_headers, is_header
from .record_index import find_runs

EVENT_DATA_LIMIT = 64 * 1024 * 1024
"""Event data that does not start on a frame is held as a whole; more than this is not believed."""


@dataclass
class AnnouncedData:
    """Data that a control record announces, and how many bytes of it have not been read."""

    mce: Mce
    left: int

    @property
    def aligned(self) -> bool:
        """Whether it begins where a frame does, or is treated so, as samples always are."""
        return self.mce.sample or self.mce.lead == 0 or self.mce.length > EVENT_DATA_LIMIT

    def size(self, window: U8, at: int) -> int:
        """Bytes of the file that what is left takes, from `at` on."""
        lead = 0 if self.aligned else _kept_lead(window, at, self.mce)
        return -(-(lead + self.left) // FRAME) * FRAME

    def frames(self, window: U8, at: int, stop: int) -> Frames:
        """Those in `window[at:stop]`, which is part of the data in the file or all of it."""
        if self.aligned:
            return self._whole(window, at, stop)
        return self._odd(window, at, stop)

    def _whole(self, window: U8, at: int, stop: int) -> Frames:
        start = np.arange(at, stop, FRAME, dtype=np.int64)
        limit = np.minimum(start + FRAME, stop)
        frames = Frames(start, limit, np.full(len(start), self.mce.sample))
        behind = at + self.left
        if self.mce.sample or not at < behind < stop or not window[behind:stop].any():
            return frames
        # What stands behind the data is old, unless a record reaches into it: then the announced
        # end is wrong.
        short = Frames(start[-1:], np.array([behind]), frames.sample[-1:])
        if _cut(window[:stop], find_runs(window[:stop], short)[1])[0]:
            return frames
        limit[-1] = behind
        return frames

    def _odd(self, window: U8, at: int, stop: int) -> Frames:
        """Data that starts inside a frame of the segment: its frames end where the segment's do."""
        mce = self.mce
        begin = at + _kept_lead(window, at, mce)
        first_end = begin + FRAME - mce.lead
        behind = min(begin + mce.length, stop)
        start = np.concatenate([[begin], np.arange(first_end, behind, FRAME)]).astype(np.int64)
        start = start[start < behind]
        if not are_headers(window, start).all() or window[behind:stop].any():
            start, behind = _mended(window[:stop], at, start, behind)
        limit = np.append(start[1:], behind)[: len(start)]
        return Frames(start, limit, np.full(len(start), mce.sample))


def _mended(window: U8, at: int, start: I64, behind: int) -> tuple[I64, int]:
    """Where frames start, and behind which byte they end, if some are not where they should be.

    Frames of the file are read as such where one begins with a record, and the announced frame
    around it does not reach it, or is broken. `window` ends behind the data, which begins at `at`.
    """
    good = are_headers(window, start)
    limit = np.append(start[1:], behind)[: len(start)]
    announced = find_runs(window, Frames(start, limit, good))[1]
    even = np.arange(at, len(window), FRAME, dtype=np.int64)
    even = even[are_headers(window, even)]
    owner = np.maximum(np.searchsorted(start, even, side="right") - 1, 0)
    unread = (even >= announced.stop[owner]) & ~good.all()
    even = even[unread | (_cut(window, announced)[owner] & (start[owner] == even))]
    if not len(even):
        return start, behind
    before = np.searchsorted(even, start) - 1
    inside = (before >= 0) & (start < even[np.maximum(before, 0)] + FRAME) & ~good
    start = np.union1d(start[~inside], even)
    return start, min(max(behind, int(even[-1]) + FRAME), len(window))


def _cut(window: U8, frames: IndexedFrames) -> Mask:
    """(frames,) whether a record reaches over the end of its frame."""
    at = np.minimum(frames.stop, len(window) - 2)
    size = window[at].astype(np.int64) << 8 | window[at + 1]
    inside = (frames.stop < frames.limit) & (frames.stop + size > frames.limit)
    return np.asarray(inside & are_headers(window, frames.stop), np.bool_)


def _kept_lead(window: U8, at: int, mce: Mce) -> int:
    """Bytes before the data, if the frame came whole, with what stood there: the header tells."""
    is_whole = is_header(window, at + mce.lead) and not is_header(window, at)
    return mce.lead if is_whole else 0
