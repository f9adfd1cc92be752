"""monreader streams: what `/dev/monreader` of Linux delivers, as captured to a file.

A control element (the 12 bytes of an entry of MONWRITE's control record) announces a record set by
its first and last address in the monitor segment; the set follows as it stood there, neither
padded nor aligned. Frames end where those of the segment do, so the first address counts.
Source: Linux kernel, Documentation/arch/s390/monreader.rst and drivers/s390/char/monreader.c.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .codec import I64, U8
from .findings import Code, Finding
from .frames import FRAME, Frames, are_headers
from .monwrite import EVENT, MCE, SAMPLE, Framed, Framer, are_entries
from .record_runs import find_runs
from .spans import Mce

ELEMENT = struct.Struct(">BBBxII")
KINDS = (SAMPLE, EVENT)
BEGIN = ELEMENT.size + 20
"""Bytes of a control element and the header of the first record."""

SET_LIMIT = 64 * 1024 * 1024
"""A record set counts when it is complete; one that claims more than this counts as it comes."""

TRIES = 64
"""Places in bytes of an unknown kind where a record set is looked for."""


@dataclass
class SetFramer:
    """Splits a captured stream into the frames of its record sets, window by window.

    `books`: takes the findings and the bytes that are no records.
    """

    books: Framer
    _open: Mce | None = None

    def frames(self, window: U8, base: int, first: int, final: bool) -> Framed:
        """Explain `window[first:]`, as far as it goes without the bytes that follow.

        Args:
            window: bytes of the stream, from offset `base` of the stream on.
            base: offset of the window's first byte.
            first: position of the first byte not yet explained.
            final: nothing follows.
        """
        found = Framed(used=first)
        while found.used < len(window):
            if self._open is not None:
                self._go_on(window, base, found, self._open, final)
            elif not self._set(window, base, found, final):
                break
        return found

    def _set(self, window: U8, base: int, found: Framed, final: bool) -> bool:
        """Take the element and the record set that come next; False if more bytes are needed."""
        at = found.used
        mce = read_element(window, at)
        if mce is None:
            return self._unexplained(window, base, found, final)
        begin = at + ELEMENT.size
        behind = begin + mce.length
        if min(behind, at + SET_LIMIT) + ELEMENT.size > len(window) and not final:
            return False
        chained = behind == len(window) or read_element(window, behind) is not None
        if not chained and not _stands_alone(window, begin, mce):
            # The chain is broken: this element lies, or bytes are missing, or others follow.
            other = next_set(window, at + 1, begin)
            if other is not None and _goes_on(window, other):
                return self._unexplained(window, base, found, final)
            cut = next_set(window, begin, min(behind, len(window)))
            liar = mce.length <= SET_LIMIT or (final and behind > len(window))
            if cut is not None and (liar or _goes_on(window, cut)):
                behind = self._cut(base + cut, behind - cut, begin, cut)
            elif not starts_set(window, at):
                return self._unexplained(window, base, found, final)
        if behind > len(window) and mce.length <= SET_LIMIT:
            return self._incomplete(window, base, found, behind)
        self.books.control_bytes += ELEMENT.size
        found.used = begin
        self._take(window, found, Mce(mce.sample, mce.start, mce.start + behind - begin - 1))
        return True

    def _take(self, window: U8, found: Framed, mce: Mce) -> None:
        """Frames of a record set, as far as it is there; they end where the segment's do."""
        at = found.used
        found.frames.append(_frames(window, at, mce))
        found.used = behind = min(at + mce.length, len(window))
        left = at + mce.length - behind
        self._open = Mce(mce.sample, mce.end + 1 - left, mce.end) if left else None

    def _go_on(self, window: U8, base: int, found: Framed, mce: Mce, final: bool) -> None:
        """The next frames of a set that is too long to be held."""
        self._take(window, found, mce)
        if final and self._open is not None:
            self._truncated(base + len(window), self._open.length, "what is there was landed")

    def _cut(self, offset: int, missing: int, begin: int, cut: int) -> int:
        detail = f"{missing} more bytes expected, the next control element found"
        effect = f"reading continues with that element; {cut - begin} bytes of the set are there"
        self.books.findings.add(Finding(Code.CONTROL_CUT, offset, detail, effect))
        return cut

    def _incomplete(self, window: U8, base: int, found: Framed, behind: int) -> bool:
        found.lost.append((found.used, len(window)))
        found.used = len(window)
        effect = "the set does not count: its bytes are kept in quarantine"
        self._truncated(base + len(window), behind - len(window), effect)
        return True

    def _truncated(self, offset: int, missing: int, effect: str) -> None:
        detail = f"{missing} bytes announced by the last control element are missing"
        self.books.findings.add(Finding(Code.TRUNCATED, offset, detail, effect))

    def _unexplained(self, window: U8, base: int, found: Framed, final: bool) -> bool:
        """Bytes up to the next record set that no element announces; False to look further."""
        at = found.used
        behind = next_set(window, at + 1, len(window))
        if behind is None:
            if not final and len(window) - at < SET_LIMIT:
                return False
            # What might be the front of an element stays.
            behind = len(window) if final else len(window) - BEGIN
        found.used = behind
        if not window[at:behind].any():
            self.books.filler_bytes += behind - at
        elif final and behind == len(window) and behind - at < ELEMENT.size:
            found.lost.append((at, behind))
            self._truncated(base + behind, at + ELEMENT.size - behind, "kept in quarantine")
        else:
            self._orphans(window, base, found, at, behind)
        return True

    def _orphans(self, window: U8, base: int, found: Framed, at: int, behind: int) -> None:
        """Frames that hold records, as far as they follow each other; the rest is lost."""
        start = np.arange(at, behind, FRAME, dtype=np.int64)
        limit = np.minimum(start + FRAME, behind)
        runs = find_runs(window, Frames(start, limit, np.ones(len(start), np.bool_)))
        readable = are_headers(window[:behind], start) & ~runs.broken
        count = len(start) if readable.all() else int(np.argmin(readable))
        if count:
            found.frames.append(Frames(start[:count], limit[:count], np.ones(count, np.bool_)))
            detail = "expected a control element, or a set that one announces"
            effect = "landed as sample data"
            self.books.findings.add(Finding(Code.FRAME_ORPHAN, base + at, detail, effect, count))
            at = int(limit[count - 1])
        if at < behind:
            found.lost.append((at, behind))
            detail = f"{behind - at} bytes; expected a control element"
            finding = Finding(Code.FRAME_LOST, base + at, detail, "kept in quarantine")
            self.books.findings.add(finding)


def read_element(window: U8, at: int) -> Mce | None:
    """The control element at a position; None if there is none, or not all of it."""
    if at + ELEMENT.size > len(window):
        return None
    flag, mask_a, mask_b, start, end = ELEMENT.unpack_from(window.data, at)
    if flag not in KINDS or not (mask_a or mask_b) or end <= start:
        return None
    return Mce(flag == SAMPLE, start, end)


def starts_set(window: U8, at: int) -> bool:
    """Whether a control element stands there, and behind it a record."""
    if read_element(window, at) is None:
        return False
    return bool(are_headers(window, np.array([at + ELEMENT.size]))[0])


def _goes_on(window: U8, at: int) -> bool:
    """Whether another element, or the end, follows the set whose element stands there."""
    mce = read_element(window, at)
    behind = at + ELEMENT.size + mce.length if mce else at
    return behind == len(window) or read_element(window, behind) is not None


def _frames(window: U8, at: int, mce: Mce) -> Frames:
    """The frames of a record set that begins at a position, as far as it is there."""
    behind = min(at + mce.length, len(window))
    start = np.arange(at - mce.lead, behind, FRAME, dtype=np.int64)
    start[0] = at
    return Frames(start, np.append(start[1:], behind), np.full(len(start), mce.sample))


def _reads_whole(window: U8, at: int, mce: Mce) -> bool:
    """Whether all of a record set is there, and nothing in it but records and zeros.

    Then what follows it is damaged, and not what announces it.
    """
    if at + mce.length > len(window):
        return False
    frames = _frames(window, at, mce)
    stop = find_runs(window, frames).stop
    return not any(
        window[first:behind].any()
        for first, behind in zip(stop.tolist(), frames.limit.tolist(), strict=True)
    )


def next_set(window: U8, first: int, behind: int) -> int | None:
    """Position of the first control element in front of a record, from `first` to `behind`."""
    at = _set_starts(window, first, behind)
    return int(at[0]) if len(at) else None


def holds_set(window: U8) -> bool:
    """Whether a set stands anywhere in the window that is sure to be one: it reads whole.

    Of sets that may be, those that another element or the end follows are looked into first, and
    not more than `TRIES` of them, nor of the others.
    """
    at, follows = _sets_inside(window, 0, len(window))
    tried = (*at[follows][:TRIES].tolist(), *at[~follows][:TRIES].tolist())
    return any(_set_reads_whole(window, begin) for begin in tried)


def _stands_alone(window: U8, at: int, mce: Mce) -> bool:
    """Whether a record set is sure though nothing follows it: it reads whole, and hides no other.

    A record that says a wrong length may hide one, which reads whole, and which is followed.
    """
    if not _reads_whole(window, at, mce):
        return False
    hidden, follows = _sets_inside(window, at, at + mce.length)
    return not any(_set_reads_whole(window, begin) for begin in hidden[follows][:TRIES].tolist())


def _set_reads_whole(window: U8, at: int) -> bool:
    mce = read_element(window, at)
    return mce is not None and _reads_whole(window, at + ELEMENT.size, mce)


def _sets_inside(window: U8, first: int, behind: int) -> tuple[I64, npt.NDArray[np.bool_]]:
    """Where sets may begin, from `first` to `behind`, that end in the window.

    And whether another element, or the end of the window, follows each.
    """
    at = _set_starts(window, first, behind)
    entries = _entries(window)
    said = entries[at].view(MCE)
    end = at + ELEMENT.size + said["end"].astype(np.int64) - said["start"] + 1
    there = end <= len(window)
    at, end = at[there], end[there]
    follows = end == len(window)
    inside = end < len(entries)
    follows[inside] = are_entries(entries[end[inside]].view(MCE))
    return at, follows


def _set_starts(window: U8, first: int, behind: int) -> I64:
    """Positions of the control elements in front of records, from `first` to `behind`."""
    behind = min(behind, len(window) - BEGIN + 1)
    if behind <= first:
        return np.empty(0, np.int64)
    flag = window[first:behind]
    at = first + np.flatnonzero((flag == SAMPLE) | (flag == EVENT))
    at = at[are_entries(_entries(window)[at].view(MCE))]
    return at[are_headers(window, at + ELEMENT.size)]


def _entries(window: U8) -> npt.NDArray[np.void]:
    """The 12 bytes that begin at each position."""
    return np.ndarray((max(len(window) - MCE.itemsize + 1, 0),), "V12", window, 0, (1,))
