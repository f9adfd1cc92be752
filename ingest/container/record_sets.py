"""Record sets of a monreader stream: where they begin, the frames in them, damage among records."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, Mask
from .control_records import EVENT, SAMPLE, Mce, are_entries, entries_at
from .frames import FRAME, Frames, are_headers, is_header
from .record_index import find_runs

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
        size = set_size(head, at)
        work -= max(size, LEAST_CHARGE) if size else 0
        if size and work > 0 and can_be_read(head, at):
            return True
    return False


def set_size(window: U8, at: int) -> int:
    """Bytes of the set of a control element; 0 if there is none, or not all of it in the window."""
    mce = read_element(window, at)
    return mce.length if mce and at + ELEMENT.size + mce.length <= len(window) else 0


def can_be_read(window: U8, at: int) -> bool:
    """Whether the set of the control element at a position is there, with nothing but records."""
    mce, begin = read_element(window, at), at + ELEMENT.size
    if mce is None or not set_size(window, at):
        return False
    frames, _ = frames_of_sets([(begin, begin + mce.length, mce.start, mce.sample)])
    return not find_damage(window, frames, begin, True)[0]


def readable_frames(window: U8, at: int, behind: int) -> int:
    """How many frames from a position on hold records and nothing else."""
    start = np.arange(at, behind, FRAME, dtype=np.int64)
    begins = are_headers(window[:behind], start)
    count = len(start) if begins.all() else int(np.argmin(begins))
    limit = np.minimum(start[:count] + FRAME, behind)
    frames = Frames(start[:count], limit, np.ones(count, np.bool_))
    broken = find_runs(window, frames)[1].broken
    return int(np.argmax(broken)) if broken.any() else count


def find_damage(window: U8, frames: Frames, last: int, ends: bool) -> tuple[bool, int]:
    """Whether there is anything in the frames of a set but records, and the last record before it.

    Every frame of a set begins with a record. Behind a record that ends a frame CP may leave what
    stood there; not at the end of the set.

    Args:
        last: position of the last record before these frames.
        ends: whether the last of them is the last one of its set.
    """
    runs, indexed = find_runs(window, frames)
    bare = indexed.stop < frames.limit
    suspect = bare & indexed.broken
    suspect[-1] |= bare[-1] and ends
    empty = indexed.stop == indexed.start
    places = [
        (f, slice(indexed.stop[f], indexed.limit[f])) for f in np.flatnonzero(suspect | empty)
    ]
    damaged = next((frame for frame, place in places if empty[frame] or window[place].any()), None)
    if damaged is not None:
        runs = runs[: int(np.searchsorted(runs.frame, damaged, side="right"))]
    if len(runs):
        last = int(runs.start[-1] + (runs.count[-1] - 1) * runs.length[-1])
    return damaged is not None, last


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


ELEMENT = struct.Struct(">BBBxII")
BEGIN = ELEMENT.size + HEADER_LENGTH
"""Bytes of a control element and the header of the first record."""

SET_LIMIT = 32 * 1024 * 1024
"""A record set counts when it is complete; one that claims more than this counts as it comes. The
next set behind damage is looked for as far."""
BLOCK = 64 * 1024
"""Bytes that are searched at a time."""


def lookahead() -> int:
    """Bytes that decide about a control element whose set nothing follows.

    As many as its set may take, as many as a set inside of it may, and the element behind that.
    """
    return 2 * (SET_LIMIT + 2 * BEGIN)


def reach(at: int) -> int:
    """How far the next set is looked for from a position."""
    return at + SET_LIMIT + BEGIN


@dataclass
class SetStarts:
    """Positions of control elements in front of records, found as far as they are asked for.

    Every byte is searched once, however often it is asked about, and in whatever windows.
    Offsets count from the beginning of the stream.
    """

    _from: int = 0
    _upto: int = 0
    _starts: I64 = field(default_factory=lambda: np.empty(0, np.int64))
    _sure: I64 = field(default_factory=lambda: np.empty(0, np.int64))

    def first(
        self, window: U8, base: int, first: int, behind: int, final: bool, *, sure: bool = False
    ) -> int | None:
        """Position of the first set that may begin in `window[first:behind]`.

        Args:
            sure: of those that another set, or the end of the stream, follows.
        """
        if not self._from <= base + first <= self._upto:
            self._from = self._upto = base + first
            self._starts = self._sure = np.empty(0, np.int64)
        # Up to here the window tells of every set what follows it.
        decided = len(window) if final else len(window) - SET_LIMIT - 2 * BEGIN
        while True:
            offsets = self._sure if sure else self._starts
            number = int(np.searchsorted(offsets, base + first))
            if number < len(offsets):
                at = int(offsets[number]) - base
                return at if at < behind else None
            searched = self._upto - base
            if searched >= min(behind, decided):
                return None
            further = searched + max(BLOCK, searched - first)
            self._search(window, base, min(further, decided), final)

    def _search(self, window: U8, base: int, behind: int, final: bool) -> None:
        """Search up to a position, and forget what lies before the window."""
        starts = set_starts(window, self._upto - base, behind)
        sure = starts[are_followed(window, starts, final)]
        self._from = max(self._from, base)
        self._starts = np.concatenate([self._starts[self._starts >= base], starts + base])
        self._sure = np.concatenate([self._sure[self._sure >= base], sure + base])
        self._upto = base + behind


def read_element(window: U8, at: int) -> Mce | None:
    """The control element at a position; None if there is none, or not all of it."""
    if at + ELEMENT.size > len(window):
        return None
    flag, mask_a, mask_b, start, end = ELEMENT.unpack_from(window.data, at)
    if flag not in (SAMPLE, EVENT) or not (mask_a or mask_b) or end <= start:
        return None
    return Mce(flag == SAMPLE, start, end)


def starts_set(window: U8, at: int) -> bool:
    """Whether a control element stands there, and behind it a record."""
    return read_element(window, at) is not None and is_header(window, at + ELEMENT.size)


def set_starts(window: U8, first: int, behind: int) -> I64:
    """Positions of the control elements in front of records, from `first` to `behind`."""
    behind = min(behind, len(window) - BEGIN + 1)
    if behind <= first:
        return np.empty(0, np.int64)
    flag = window[first:behind]
    at = first + np.flatnonzero((flag == SAMPLE) | (flag == EVENT))
    return at[_begin_set(window, at)]


def are_followed(window: U8, starts: I64, final: bool) -> Mask:
    """Whether another set, or the end of the stream, follows each set; it is not too long."""
    entries = entries_at(window, starts)
    length = entries["end"].astype(np.int64) - entries["start"] + 1
    behind = starts + ELEMENT.size + length
    follows = (behind == len(window)) & final
    inside = (length <= SET_LIMIT) & (behind + BEGIN <= len(window))
    follows[inside] = _begin_set(window, behind[inside])
    return np.asarray(follows & (length <= SET_LIMIT), np.bool_)


def _begin_set(window: U8, at: I64) -> Mask:
    """Whether an element and a record header stand at each position; none is near the end."""
    good = are_entries(entries_at(window, at))
    good[good] = are_headers(window, at[good] + ELEMENT.size)
    return good
