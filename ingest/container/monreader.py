"""monreader streams: what `/dev/monreader` of Linux delivers, as captured to a file.

A control element (the 12 bytes of an entry of MONWRITE's control record) announces a record set by
its first and last address in the monitor segment; the set follows as it was there, neither
padded nor aligned. Frames end where those of the segment do, so the first address counts.
Source: Linux kernel, Documentation/arch/s390/monreader.rst and drivers/s390/char/monreader.c.

Sets are followed from one to the next. Where the next one is not in its place, what is decided
depends on a fixed number of bytes, however many are read at a time.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, Mask
from ..findings import Code
from .control_records import EVENT, SAMPLE, Mce, are_entries, entries_at
from .monwrite import Framed, Framer
from .record_index import FRAME, Frames, are_headers, find_runs, frames_between, is_header

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


def find_damage(window: U8, frames: Frames, last: int, ends: bool) -> tuple[bool, int]:
    """Whether there is anything in the frames of a set but records, and the last record before it.

    Every frame of a set begins with a record. Behind a record that ends a frame CP may leave
    old bytes; not at the end of the set.

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
    """Positions of control elements in front of records, searched only as far as needed.

    Every byte is searched once, whatever the order of calls and windows.
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
    """Whether a control element is there, followed by a record."""
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
    """Whether an element and a record header are at each position; none is near the end."""
    good = are_entries(entries_at(window, at))
    good[good] = are_headers(window, at[good] + ELEMENT.size)
    return good


FIRST_CREDIT = 16 * 1024 * 1024
CREDIT = 128 * 1024 * 1024
"""Bytes that may be read to judge doubtful sets: at first, and at most. Each byte of the stream
adds `CREDIT_A_BYTE`, so that no stream takes long. Beyond them the first possible set is taken."""
TOGETHER = 256
"""Sets that are looked at together."""


@dataclass
class SetFramer:
    """Splits a captured stream into the frames of its record sets, window by window.

    `books`: takes the findings and the bytes that are no records.
    """

    books: Framer
    _open: Mce | None = None
    _starts: SetStarts = field(default_factory=SetStarts)
    _credit: int = FIRST_CREDIT
    _credited: int = 0
    _sets: list[Set] = field(default_factory=list)
    """Sets, and stretches of frames without one, whose frames are still to be made."""

    def frames(self, window: U8, base: int, first: int, final: bool) -> Framed:
        """Split `window[first:]` into frames, as `Framer.frames` does."""
        framed = Framed(used=first)
        while framed.used < len(window):
            if self._open is not None:
                if not self._continue(window, base, framed, self._open, final):
                    break
                continue
            at = framed.used
            self._follow(window, base, framed, final)
            if framed.used > at:
                continue
            if not final and at + lookahead() > len(window):
                break
            self._doubtful(window, base, framed, final)
        if self._sets:
            # Made together: there may be many small ones.
            framed.frames.append(frames_of_sets(self._sets)[0])
            self._sets = []
        return framed

    def _follow(self, window: U8, base: int, framed: Framed, final: bool) -> None:
        """Take the sets that come next, each of which another, or the end, follows."""
        sets = self._following(window, framed.used, final)
        for number in self._doubted(window, base, sets):
            at, behind = sets[number][0] - ELEMENT.size, sets[number][1]
            if (not final and at + lookahead() > len(window)) or (
                self._starts.first(window, base, at + 1, behind, final, sure=True) is not None
            ):
                sets = sets[:number]
                break
        if sets:
            self._sets += sets
            self.books.control_bytes += ELEMENT.size * len(sets)
            framed.used = sets[-1][1]

    def _following(self, window: U8, at: int, final: bool) -> list[Set]:
        """The sets from a position on that are followed, some of them."""
        sets: list[Set] = []
        size = len(window)
        mce = read_element(window, at)
        while mce is not None and mce.length <= SET_LIMIT and len(sets) < TOGETHER:
            behind = at + ELEMENT.size + mce.length
            following = read_element(window, behind) if behind + ELEMENT.size <= size else None
            if following is None and not (final and behind == size):
                break
            sets.append((at + ELEMENT.size, behind, mce.start, mce.sample))
            at, mce = behind, following
        return sets

    def _doubted(self, window: U8, base: int, sets: list[Set]) -> list[int]:
        """Numbers of the sets with a frame that does not begin with a record.

        Such a set may be cut, and reach to where another begins by chance.
        """
        if not sets or self._charge(base + sets[0][0], (sets[-1][1] - sets[0][0]) // 8) <= 0:
            return []
        frames, owner = frames_of_sets(sets)
        doubted: list[int] = np.unique(owner[~are_headers(window, frames.start)]).tolist()
        return doubted

    def _charge(self, offset: int, work: int) -> int:
        """Bytes that may be read to judge doubtful sets, after `work` of them at an offset."""
        earned = CREDIT_A_BYTE * (offset - self._credited)
        self._credit, self._credited = min(self._credit + earned, CREDIT) - work, offset
        return self._credit

    def _doubtful(self, window: U8, base: int, framed: Framed, final: bool) -> None:
        """Take the set that comes next, if it is one, though nothing follows it in its place."""
        at = framed.used
        mce = read_element(window, at)
        if mce is None:
            self._unexplained(window, base, framed, final)
            return
        begin, behind = at + ELEMENT.size, at + ELEMENT.size + mce.length
        follows = read_element(window, behind) is not None or (final and behind == len(window))
        cut = self._next_set(window, base, at, mce, final, sure_only=follows)
        bare = cut is None and not follows and not starts_set(window, at)
        if bare or (cut is not None and cut < begin):
            self._unexplained(window, base, framed, final)
            return
        if cut is not None:
            detail = f"{behind - cut} more bytes expected, the next control element found"
            effect = (
                f"reading continues with that element; {cut - begin} bytes of the set are there"
            )
            self.books.findings.add(Code.CONTROL_CUT, base + cut, detail, effect)
            behind = cut
        elif behind > len(window) and mce.length <= SET_LIMIT:
            framed.lost.append((at, len(window)))
            framed.used = len(window)
            effect = "the set does not count: its bytes are kept in quarantine"
            self._truncated(base + framed.used, behind - framed.used, effect)
            return
        self.books.control_bytes += ELEMENT.size
        if begin < behind <= len(window):
            self._sets.append((begin, behind, mce.start, mce.sample))
            framed.used = behind
            return
        framed.used = begin
        if behind > begin:
            self._continue(window, base, framed, mce, final)

    def _next_set(
        self, window: U8, base: int, at: int, mce: Mce, final: bool, *, sure_only: bool
    ) -> int | None:
        """Where another set begins inside of one that ends in the wrong place, or is damaged.

        That is the first one that is sure, or the first one behind the place up to which the set
        can be read, or one that can be read itself and stands where no record of this one is.
        """
        begin, behind = at + ELEMENT.size, at + ELEMENT.size + mce.length
        limit = min(behind, reach(at), len(window))
        sure = self._starts.first(window, base, at + 1, limit, final, sure=True)
        if sure_only or (sure is not None and sure < begin):
            return sure
        limit = limit if sure is None else sure
        first = self._starts.first(window, base, begin, limit, final)
        if first is None:
            return sure
        if behind <= len(window) or mce.length > SET_LIMIT:
            read = self._read_up_to(window, base, begin, mce, limit)
            if read is None:
                inside = self._behind_records(window, base, begin, mce, limit, final)
                return sure if inside is None else inside
            first = self._starts.first(window, base, max(read, begin), limit, final)
        return sure if first is None else first

    def _behind_records(
        self, window: U8, base: int, begin: int, mce: Mce, limit: int, final: bool
    ) -> int | None:
        """Where a set that can be read begins behind the last record of a frame of another one.

        It has old bytes of the segment: no control element.
        """
        frames, _ = frames_of_sets([(begin, limit, mce.start, mce.sample)])
        credit = self._charge(base + begin, limit - begin)
        stop = find_runs(window, frames)[1].stop
        at = self._starts.first(window, base, begin, limit, final)
        while at is not None and credit > 0:
            end = int(stop[np.searchsorted(frames.start, at, side="right") - 1])
            size = set_size(window, at)
            credit = self._charge(base + begin, max(size, LEAST_CHARGE))
            if at >= end and size <= credit and can_be_read(window, at):
                return at
            at = self._starts.first(window, base, max(end, at + 1), limit, final)
        return None

    def _read_up_to(self, window: U8, base: int, begin: int, mce: Mce, limit: int) -> int | None:
        """Position of the last record of a set before damage; None if there is none up to `limit`.

        A record may be the last one because its length is wrong.
        """
        frames, _ = frames_of_sets([(begin, limit, mce.start, mce.sample)])
        first, count, last, credit = 0, 2, begin, self._charge(base + begin, 0)
        while first < len(frames) and credit > 0:
            part = frames[slice(first, first + count)]
            work = max(int(part.limit[-1] - part.start[0]), LEAST_CHARGE)
            credit = self._charge(base + begin, work)
            damaged, last = find_damage(window, part, last, first + count >= len(frames))
            if damaged:
                return last
            first, count = first + count, 2 * count
        return None if first >= len(frames) else begin

    def _continue(self, window: U8, base: int, framed: Framed, mce: Mce, final: bool) -> bool:
        """Take the available frames of a set; False if more bytes are needed first.

        They end where the segment's do. The rest of a set too long to be held comes later.
        """
        at, behind = framed.used, framed.used + mce.length
        stop = min(behind, len(window))
        if stop < behind and not final:
            stop = at + (mce.lead + stop - at) // FRAME * FRAME - mce.lead
            if stop <= at:
                self._open = mce
                return False
        self._sets.append((at, stop, mce.start, mce.sample))
        framed.used = stop
        self._open = Mce(mce.sample, mce.start + stop - at, mce.end) if stop < behind else None
        if final and self._open is not None:
            self._truncated(base + stop, behind - stop, "the bytes present were landed")
        return True

    def _truncated(self, offset: int, missing: int, effect: str) -> None:
        detail = f"{missing} bytes announced by the last control element are missing"
        self.books.findings.add(Code.TRUNCATED, offset, detail, effect)

    def _unexplained(self, window: U8, base: int, framed: Framed, final: bool) -> None:
        """Bytes up to the next record set that no element announces."""
        at, limit = framed.used, min(reach(framed.used), len(window))
        behind = self._starts.first(window, base, at + 1, limit, final)
        if behind is None:
            # What might be the front of an element stays.
            behind = limit if final and limit == len(window) else limit - BEGIN
        framed.used = behind
        if not window[at:behind].any():
            self.books.filler_bytes += behind - at
        elif final and behind == len(window) and behind - at < ELEMENT.size:
            framed.lost.append((at, behind))
            self._truncated(base + behind, at + ELEMENT.size - behind, "kept in quarantine")
        else:
            self._orphans(window, base, framed, at, behind)

    def _orphans(self, window: U8, base: int, framed: Framed, at: int, behind: int) -> None:
        """Frames that hold records, as far as they follow each other; the rest is lost."""
        frames = frames_between(at, behind)
        begins = are_headers(window[:behind], frames.start)
        frames = frames[: len(frames) if begins.all() else int(np.argmin(begins))]
        broken = find_runs(window, frames)[1].broken
        count = int(np.argmax(broken)) if broken.any() else len(frames)
        if count:
            end = min(at + count * FRAME, behind)
            self._sets.append((at, end, 0, True))
            detail = "expected a control element, or a set that one announces"
            effect = "landed as sample data"
            self.books.findings.add(Code.FRAME_ORPHAN, base + at, detail, effect, count=count)
            at = end
        if at < behind:
            framed.lost.append((at, behind))
            detail = f"{behind - at} bytes; expected a control element"
            self.books.findings.add(Code.FRAME_LOST, base + at, detail, "kept in quarantine")
