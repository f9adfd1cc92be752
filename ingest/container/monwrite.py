"""MONWRITE files: control records, and the frames that they describe.

The data that a control record announces follows in whole frames, in the order of its entries.
Sample data fills whole frames of the monitor segment. Event data begins and ends anywhere; it may
be in the file from its first byte on, or with the bytes in front of it in its first frame.

A dump may have been cut, with another one behind it: the control record of the other then begins
anywhere inside a frame of the first. The place where the following frame should begin is inside of
that control record, so no frame is there, and a control record is searched for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, Mask
from ..findings import Code, Findings
from .control_records import AREA, MCE, Mce, are_controls, find_control, read_control
from .record_index import (
    FRAME,
    Frames,
    IndexedFrames,
    are_headers,
    end_frames,
    find_runs,
    frames_between,
    headers_at,
    is_header,
)

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
        if not self.aligned:
            return self._odd(window, at, stop)
        frames = frames_between(at, stop, self.mce.sample)
        behind = at + self.left
        if self.mce.sample or not at < behind < stop or not window[behind:stop].any():
            return frames
        # The bytes behind the data are old, unless a record reaches into it: then the announced
        # end is wrong.
        short = replace(frames[-1:], limit=np.array([behind]))
        if not _cut(window[:stop], find_runs(window[:stop], short)[1])[0]:
            frames.limit[-1] = behind
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
    """Starts of frames and the end of the last one, if some are not where they should be.

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
    """Bytes before the data, if the file has the whole frame: a header is only behind them."""
    is_whole = is_header(window, at + mce.lead) and not is_header(window, at)
    return mce.lead if is_whole else 0


@dataclass
class Framed:
    """What a stretch of the dump is made of.

    `frames`: those with records. `lost`: (first, behind) positions of bytes that nothing explains.
    `used`: position behind the last byte explained; the rest needs the bytes that follow.
    """

    frames: list[Frames] = field(default_factory=list)
    lost: list[tuple[int, int]] = field(default_factory=list)
    used: int = 0


@dataclass
class Framer:
    """Splits a dump into frames, window by window; where windows end makes no difference.

    Attributes:
        control_bytes: bytes of control records that announced something.
        filler_bytes: bytes between records that belong to none, outside of frames with records.
    """

    findings: Findings
    control_bytes: int = 0
    filler_bytes: int = 0
    ended: bool = False
    _trailing: bool = False
    _announced: deque[AnnouncedData] = field(default_factory=deque)
    _unannounced: dict[Code, tuple[int, int]] = field(default_factory=dict)
    """Offset of the first frame, and number of frames, of the stretch without a control record
    that is being read."""
    _zeros: int = 0
    """Frames of zeros at the end of that stretch; if nothing of it follows, they are its end."""

    def frames(self, window: U8, base: int, first: int, final: bool) -> Framed:
        """Split `window[first:]` into frames, as far as possible without the bytes that follow.

        Args:
            window: bytes of the dump, from offset `base` of the dump on.
            first: position of the first byte not yet explained.
            final: nothing follows.
        """
        framed, grid = Framed(used=first), FrameGrid(window, first, final)
        while framed.used < len(window) and (final or framed.used + LOOKAHEAD <= len(window)):
            at = framed.used
            if (at - grid.first) % FRAME:
                grid = FrameGrid(window, at, final)
            if self._announced:
                if not self._data(grid, base, framed):
                    break
            elif (mces := self._read_control(grid, at)) is not None:
                self._control(mces, grid, base, framed)
            else:
                self._unexplained(grid, base, framed)
        if final:
            self._finish(base + len(window), (len(window) - grid.first) % FRAME)
        return framed

    def _read_control(self, grid: FrameGrid, at: int) -> list[Mce] | None:
        """The entries of the control record at a position; None if there is none.

        Inside of a stretch without control records, only one beyond doubt ends it, or the end of
        data.
        """
        frame = grid.window[at : at + FRAME]
        mces = read_control(frame) if len(frame) == FRAME else None
        if self._unannounced and mces is not None:
            ends = frame.any() and not frame[AREA:].any()
            return mces if ends or grid.is_control(at) else None
        return mces

    def _control(self, mces: list[Mce], grid: FrameGrid, base: int, framed: Framed) -> None:
        at = framed.used
        self._close_stretch()
        if self.ended and mces:
            self._note_trailing(base + at, "another control record")
        self.ended = not mces
        self._trailing &= self.ended
        self._announced.extend(AnnouncedData(mce, mce.length) for mce in mces)
        behind = at + FRAME
        if not self._begins(grid, behind, self._announced):
            behind = find_control(grid.window, at + 1, behind) or behind
        if not mces:
            # The end of a dump that is not aligned to frames of the file may be cut at one.
            even = _even_frames(grid.window, base, at + AREA, behind)
            behind = int(even[0]) if len(even) else behind
        used = min(AREA + len(mces) * MCE.itemsize, behind - at)
        self.control_bytes += used
        self.filler_bytes += behind - at - used
        framed.used = behind
        if behind < at + FRAME and mces:
            self._cut(base + behind, sum(mce.length for mce in mces))

    def _begins(self, grid: FrameGrid, at: int, announced: Sequence[AnnouncedData]) -> bool:
        """Whether announced data, or else a control record, is at a position."""
        window = grid.window
        if not announced or at + HEADER_LENGTH >= len(window):
            return (
                at >= len(window) or grid.is_control(at) or not window[at + AREA : at + FRAME].any()
            )
        # The bytes in front of event data in its first frame can be anything.
        return grid.is_sound(at)

    def _data(self, grid: FrameGrid, base: int, framed: Framed) -> bool:
        """Take the frames of the first announced data; False if more bytes are needed first."""
        window, data, at = grid.window, self._announced[0], framed.used
        end = at + data.size(window, at)
        behind = grid.next_control(at, end)
        stop = min(behind, grid.ready_from(at))
        if stop < behind and not data.aligned and not grid.final:
            return False
        other = self._interruption(grid, at, stop, end)
        stop = stop if other is None else other
        frames = data.frames(window, at, stop)
        framed.frames.append(frames)
        self.filler_bytes += stop - at - int((frames.limit - frames.start).sum())
        data.left -= stop - at
        framed.used = stop
        if stop == end:
            self._announced.popleft()
        if other is not None or stop == behind < end:
            waiting = list(self._announced)[int(stop < end) :]
            self._cut(base + stop, end - stop + sum(data.left for data in waiting))
        return True

    def _interruption(self, grid: FrameGrid, at: int, stop: int, end: int) -> int | None:
        """Where in `window[at:stop]`, the first announced data, another control record begins."""
        window, data = grid.window, self._announced[0]
        if data.aligned:
            other = grid.interruption(at, stop - FRAME)
        else:
            whole = are_headers(window, data.frames(window, at, stop).start).all()
            other = None if whole else find_control(window, at + 1, stop)
        if other is not None:
            return other
        following = list(self._announced)[1:] if stop == end else [data]
        if self._begins(grid, stop, following):
            return None
        return find_control(window, max(stop - FRAME, at) + 1, stop)

    def _cut(self, offset: int, missing: int) -> None:
        """Give up the data that is announced and not there: another control record begins."""
        self._announced.clear()
        self.findings.add(
            Code.CONTROL_CUT,
            offset,
            f"{missing} more bytes expected, a control record found",
            "reading continues with that control record; what is missing is not in the dump",
        )

    def _unexplained(self, grid: FrameGrid, base: int, framed: Framed) -> None:
        """Frames up to the next control record that none describes: orphans, or lost."""
        window, at = grid.window, framed.used
        stop = min(grid.next_control(at + FRAME, len(window)), grid.ready_from(at))
        stop = grid.interruption(at, stop) or stop
        stop = _up_to_even(window, base, at, stop)
        frames = frames_between(at, stop)
        readable = are_headers(window, frames.start)
        empty = np.zeros(len(frames), np.bool_)
        for number in np.flatnonzero(~readable).tolist():
            frame = window[frames.start[number] : frames.limit[number]]
            empty[number] = not frame.any()
            if number and not empty[number] and len(frame) == FRAME and not frame[AREA:].any():
                # An end-of-data record, which is read as one.
                stop = int(frames.start[number])
                frames, readable, empty = frames[:number], readable[:number], empty[:number]
                break
        self._take_unexplained(frames, readable, empty, base, framed)
        framed.used = stop

    def _take_unexplained(
        self, frames: Frames, readable: Mask, empty: Mask, base: int, framed: Framed
    ) -> None:
        size = frames.limit - frames.start
        self.filler_bytes += int(size[empty].sum())
        if empty.all():
            self._zeros += int((size == FRAME).sum()) if self._unannounced else 0
            return
        self._zeros = int(np.argmin(empty[::-1] & (size[::-1] == FRAME)))
        if self.ended:
            self._note_trailing(base + int(frames.start[~empty][0]), "expected nothing more")
        if readable.any():
            framed.frames.append(frames[readable])
            self._note_stretch(Code.FRAME_ORPHAN, frames.start[readable] + base)
        lost = ~readable & ~empty
        if lost.any():
            start, limit = frames.start[lost].tolist(), frames.limit[lost].tolist()
            framed.lost += list(zip(start, limit, strict=True))
            self._note_stretch(Code.FRAME_LOST, frames.start[lost] + base)

    def _note_stretch(self, code: Code, offsets: I64) -> None:
        first, count = self._unannounced.get(code, (int(offsets[0]), 0))
        self._unannounced[code] = first, count + len(offsets)

    def _close_stretch(self) -> None:
        """Report the frames of a stretch without control records: once, however long it was."""
        for code, (offset, frames) in self._unannounced.items():
            effect = "kept in quarantine" if code is Code.FRAME_LOST else "landed as sample data"
            detail = "expected a control record, or a frame that one describes"
            self.findings.add(code, offset, detail, effect, count=frames)
        self._unannounced.clear()
        if self._zeros:
            # What is blank behind them is the end-of-data record.
            self.ended = True
            self.control_bytes += self._zeros * AREA
            self.filler_bytes -= self._zeros * AREA
            self._zeros = 0

    def _note_trailing(self, offset: int, detail: str) -> None:
        """Report once that bytes follow an end-of-data record."""
        if not self._trailing:
            self.findings.add(Code.TRAILING_DATA, offset, detail)
        self._trailing = True

    def _finish(self, size: int, partial: int) -> None:
        self._close_stretch()
        left = sum(data.left for data in self._announced)
        if self._announced or (partial and not self.ended):
            missing = f"{left} bytes" if left > 0 else f"{FRAME - partial} bytes of the last frame"
            detail = f"{missing} announced by the last control record are missing"
            effect = "the interval that was being written is incomplete"
            self.findings.add(Code.TRUNCATED, size, detail, effect)
        elif not self.ended:
            self.findings.add(Code.END_MISSING, size, "expected an end-of-data record")


LOOKAHEAD = 4 * FRAME
"""Bytes behind a frame's first that decide about it: whether the next one begins in its place, and
if not, whether a control record begins inside of this one, with a record behind it."""


class FrameGrid:
    """The places of a window where frames should begin: every 4096 bytes from one of them on."""

    def __init__(self, window: U8, first: int, final: bool) -> None:
        self.window, self.first, self.final = window, first, final
        self._places = np.arange(first, len(window), FRAME, dtype=np.int64)
        control = are_controls(window, self._places)
        self._controls = self._places[control]
        self._good = control | _begin_frames(window, self._places)

    def ready_from(self, at: int) -> int:
        """Position behind the last frame, of those from `at` on, that can be decided about."""
        if self.final:
            return len(self.window)
        return at + (len(self.window) - LOOKAHEAD + FRAME - at) // FRAME * FRAME

    def is_control(self, at: int) -> bool:
        """Whether a place certainly has a control record."""
        return self.next_control(at, at + 1) == at

    def next_control(self, at: int, behind: int) -> int:
        """Position of the first control record beyond doubt from a place on, `behind` at most."""
        number = int(np.searchsorted(self._controls, at))
        first: list[int] = self._controls[number : number + 1].tolist()
        return min([behind, *first])

    def is_sound(self, at: int) -> bool:
        """Whether a frame or a control record, or nothing but zeros, begins at a place."""
        number = (at - self.first) // FRAME
        return number >= len(self._good) or bool(self._good[number]) or _blank(self.window, at)

    def interruption(self, at: int, behind: int) -> int | None:
        """Where the first control record begins that interrupts a frame of `window[at:behind]`.

        Looked for where no frame begins behind it.
        """
        rows = slice((at - self.first) // FRAME + 1, -(-(behind - self.first) // FRAME) + 1)
        for place in self._places[rows][~self._good[rows]].tolist():
            if not _blank(self.window, place):
                other = find_control(self.window, place - FRAME + 1, place)
                if other is not None:
                    return other
        return None


def _begin_frames(window: U8, at: I64) -> Mask:
    """Whether two records begin each frame, or one that leaves no room or ends it."""
    good = are_headers(window, at)
    rows = np.flatnonzero(good)
    first, header = at[rows], headers_at(window, at[rows])
    second = first + header["length"]
    limit = np.minimum(first + FRAME, len(window))
    follows = are_headers(window, second) & (second + HEADER_LENGTH <= limit)
    good[rows] = follows | (second + HEADER_LENGTH > limit) | end_frames(header)
    return good


def _blank(window: U8, at: int) -> bool:
    """Whether a frame holds zeros only, or these behind a single record."""
    frame = window[at : at + FRAME]
    if is_header(window, at):
        frame = frame[int(frame[0]) << 8 | int(frame[1]) :]
    return not frame.any()


def _even_frames(window: U8, base: int, first: int, behind: int) -> I64:
    """Positions of the frames of the file in `window[first:behind]` that begin with records."""
    even = np.arange(first + -(base + first) % FRAME, behind, FRAME, dtype=np.int64)
    return even[_begin_frames(window, even)]


def _up_to_even(window: U8, base: int, at: int, stop: int) -> int:
    """Start of the next frame of the file behind the records of an unaligned one.

    `stop` if none does, or if the frames of `window[at:stop]` are those of the file.
    """
    if not (base + at) % FRAME:
        return stop
    even = _even_frames(window, base, at + 1, stop)
    even = even[find_runs(window, frames_between(at, stop))[1].stop[(even - at) // FRAME] <= even]
    return int(even[0]) if len(even) else stop
