"""Record sets of a monreader stream: the frames in them, and damage among their records."""

from __future__ import annotations

import numpy as np

from ..codec import I64, U8
from .control_records import Mce
from .frames import FRAME, Frames, are_headers
from .record_runs import find_runs
from .set_starts import ELEMENT, are_followed, read_element, set_starts

CREDIT_A_BYTE = 4
"""Bytes that may be read to judge doubtful sets, for each byte of the stream."""
LEAST_CHARGE = 2 * FRAME
"""Bytes that judging a set counts as, however small it is."""

Set = tuple[int, int, int, bool]
"""Begin and end of a record set in the window, its address, and whether it is sample data."""


def holds_set(head: U8, final: bool) -> bool:
    """Whether a set begins in the head of a stream that is sure to be one.

    Another set, or the end of the stream, follows it; or all of it can be read.
    """
    starts = set_starts(head, 0, len(head))
    if are_followed(head, starts, final).any():
        return True
    work = CREDIT_A_BYTE * len(head)
    for at in starts.tolist():
        mce = read_element(head, at)
        begin = at + ELEMENT.size
        if mce is None or begin + mce.length > len(head):
            continue
        work -= max(mce.length, LEAST_CHARGE)
        frames = set_frames(begin, begin + mce.length, mce)
        if work > 0 and not find_damage(head, frames, begin, True)[0]:
            return True
    return False


def readable_frames(window: U8, at: int, behind: int) -> int:
    """How many frames from a position on hold records and nothing else."""
    start = np.arange(at, behind, FRAME, dtype=np.int64)
    begins = are_headers(window[:behind], start)
    count = len(start) if begins.all() else int(np.argmin(begins))
    limit = np.minimum(start[:count] + FRAME, behind)
    broken = find_runs(window, Frames(start[:count], limit, np.ones(count, np.bool_))).broken
    return int(np.argmax(broken)) if broken.any() else count


def find_damage(window: U8, frames: Frames, last: int, ends: bool) -> tuple[bool, int]:
    """Whether there is anything in the frames of a set but records, and the last record before it.

    Behind a record that ends a frame CP may leave what stood there; not at the end of the set.

    Args:
        last: position of the last record before these frames.
        ends: whether the last of them is the last one of its set.
    """
    runs = find_runs(window, frames)
    bare = runs.stop < frames.limit
    suspect = bare & runs.broken
    suspect[-1] |= bare[-1] and ends
    for frame in np.flatnonzero(suspect).tolist():
        if window[int(runs.stop[frame]) : int(frames.limit[frame])].any():
            number = int(np.searchsorted(runs.frame, frame, side="right")) - 1
            return True, _last_record(runs.start, runs.count, runs.length, number, last)
    return False, _last_record(runs.start, runs.count, runs.length, len(runs) - 1, last)


def _last_record(start: I64, count: I64, length: I64, run: int, otherwise: int) -> int:
    if run < 0:
        return otherwise
    return int(start[run] + (count[run] - 1) * length[run])


def set_frames(begin: int, behind: int, mce: Mce) -> Frames:
    """The frames of a record set, or of a part of it, in `[begin, behind)` of a window."""
    return frames_of_sets([(begin, behind, mce.start, mce.sample)])[0]


def frames_of_sets(sets: list[Set]) -> tuple[Frames, I64]:
    """The frames of record sets, one after the other, and the number of the set of each."""
    begin, behind, address, sample = np.array(sets, np.int64).T
    lead = address % FRAME
    count = -(-(lead + behind - begin) // FRAME)
    owner = np.repeat(np.arange(len(sets)), count)
    first = np.cumsum(count) - count
    start = (begin - lead)[owner] + (np.arange(len(owner)) - first[owner]) * FRAME
    limit = np.minimum(start + FRAME, behind[owner])
    start[first] = begin
    return Frames(start, limit, sample[owner] != 0), owner
