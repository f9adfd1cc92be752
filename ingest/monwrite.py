"""MONWRITE files: control records, and the frames that they describe.

A control record (IBM: MWTBK) is a frame of 4096 bytes: 40 bytes of the IUCV interrupt, then
entries of 12 bytes (MCEs), each of which announces sample or event data by the first and last
address it had in the monitor segment. The data follows in whole frames, in the order of the
entries; a control record without an entry ends the file.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .codec import I64, U8
from .findings import Code, Finding, Findings
from .frames import FRAME as FRAME  # noqa: PLC0414 - others read of frames here
from .frames import Frames, are_headers
from .spans import Mce, Span

SAMPLE, EVENT = 0xE2, 0xC5
"""EBCDIC S and E: the first byte of an entry (MWTCAFLG)."""

AREA = 40
MCE = np.dtype(
    {
        "names": ["flag", "mask_a", "mask_b", "start", "end"],
        "formats": ["u1", "u1", "u1", ">u4", ">u4"],
        "offsets": [0, 1, 2, 4, 8],
        "itemsize": 12,
    }
)
"""An entry (MWTCADOM, MWTCASTR, MWTCAEND); byte 3 is reserved."""
ENTRIES = (FRAME - AREA) // MCE.itemsize


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
    """Splits a dump into frames, window by window.

    Attributes:
        control_bytes: bytes of control records that said something.
        filler_bytes: bytes between records that belong to none, outside of frames with records.
    """

    findings: Findings
    control_bytes: int = 0
    filler_bytes: int = 0
    ended: bool = False
    _behind_end: bool = False
    _spans: deque[Span] = field(default_factory=deque)

    def frames(self, window: U8, base: int, first: int, final: bool) -> Framed:
        """Explain `window[first:]`, as far as it goes without the bytes that follow.

        Args:
            window: bytes of the dump, from offset `base` of the dump on.
            base: offset of the window's first byte.
            first: position of the first byte not yet explained.
            final: nothing follows.
        """
        found = Framed(used=first)
        controls = first + FRAME * np.flatnonzero(are_controls(window[first:]))
        while (rest := len(window) - found.used) >= FRAME or (final and rest > 0):
            whole = rest >= FRAME
            if self._spans:
                if not self._data(window, base, found, controls, final):
                    break
            elif whole and (mces := read_control(window[found.used :][:FRAME])) is not None:
                if mces and rest < 2 * FRAME and not final:
                    break
                self._control(mces, base + found.used)
                found.used += FRAME
            else:
                self._unexplained(window, base, found, controls)
        if final:
            self._finish(base + len(window))
        return found

    def _control(self, mces: list[Mce], offset: int) -> None:
        if self.ended and mces:
            self._trailing(offset, "another control record")
        self.ended = not mces
        self._behind_end &= self.ended
        self._spans.extend(Span(mce, mce.length) for mce in mces)
        used = AREA + len(mces) * MCE.itemsize
        self.control_bytes += used
        self.filler_bytes += FRAME - used

    def _data(self, window: U8, base: int, found: Framed, controls: I64, final: bool) -> bool:
        """Take what is there of the first span; False if more bytes are needed first."""
        span, at = self._spans[0], found.used
        behind = len(window)
        later = controls[controls >= at]
        need = span.size(window, at)
        cut = len(later) > 0 and later[0] < at + need
        if cut:
            behind = int(later[0])
            self._cut(span.left - (behind - at), base + behind)
        elif at + need > behind and not span.aligned and not final:
            return False
        stop = min(at + need, behind if final else at + (behind - at) // FRAME * FRAME)
        frames = span.frames(window, at, stop)
        found.frames.append(frames)
        self.filler_bytes += stop - at - int((frames.limit - frames.start).sum())
        span.left -= stop - at
        found.used = stop
        if cut or stop == at + need:
            self._spans.popleft()
        return True

    def _cut(self, missing: int, offset: int) -> None:
        self.findings.add(
            Finding(
                Code.CONTROL_CUT,
                offset,
                f"{missing} more bytes expected, a control record found",
                "reading continues with that control record; what is missing is not in the dump",
            )
        )

    def _unexplained(self, window: U8, base: int, found: Framed, controls: I64) -> None:
        """Frames up to the next control record that none describes: orphans, or lost."""
        at = found.used
        later = controls[controls > at]
        stop = int(later[0]) if len(later) else len(window)
        stop = at + max((stop - at) // FRAME * FRAME, min(FRAME, len(window) - at))
        start = np.arange(at, stop, FRAME, dtype=np.int64)
        limit = np.minimum(start + FRAME, stop)
        readable = are_headers(window, start)
        blank, empty = (np.zeros(len(start), np.bool_) for _ in range(2))
        for number in np.flatnonzero(~readable):
            frame = window[start[number] : limit[number]]
            blank[number] = not frame[AREA:].any()
            empty[number] = blank[number] and not frame.any()
        last = int(np.flatnonzero(~blank)[-1]) + 1 if not blank.all() else len(blank)
        if last < len(blank):
            # What is blank behind them is the end-of-data record, which is read as one.
            start, limit, stop = start[:last], limit[:last], int(limit[last - 1])
            readable, empty = readable[:last], empty[:last]
        self.filler_bytes += int((limit - start)[empty].sum())
        if readable.any():
            found.frames.append(
                Frames(start[readable], limit[readable], np.ones(readable.sum(), np.bool_))
            )
            self._count(Code.FRAME_ORPHAN, base + int(start[readable][0]), int(readable.sum()))
        lost = ~readable & ~empty
        if self.ended and not empty.all():
            self._trailing(base + int(start[~empty][0]), "expected nothing more")
        if lost.any():
            found.lost += list(zip(start[lost].tolist(), limit[lost].tolist(), strict=True))
            self._count(Code.FRAME_LOST, base + int(start[lost][0]), int(lost.sum()))
        found.used = stop

    def _trailing(self, offset: int, detail: str) -> None:
        """Tell once of what stands behind an end-of-data record."""
        if not self._behind_end:
            self.findings.add(Finding(Code.TRAILING_DATA, offset, detail))
        self._behind_end = True

    def _count(self, code: Code, offset: int, frames: int) -> None:
        effect = "kept in quarantine" if code is Code.FRAME_LOST else "landed as sample data"
        detail = "expected a control record, or a frame that one describes"
        self.findings.add(Finding(code, offset, detail, effect, frames))

    def _finish(self, size: int) -> None:
        left = sum(span.left for span in self._spans)
        if self._spans or (size % FRAME and not self.ended):
            missing = f"{left} bytes" if left > 0 else f"{-size % FRAME} bytes of the last frame"
            detail = f"{missing} announced by the last control record are missing"
            effect = "the interval that was being written is incomplete"
            self.findings.add(Finding(Code.TRUNCATED, size, detail, effect))
        elif not self.ended:
            self.findings.add(Finding(Code.END_MISSING, size, "expected an end-of-data record"))


def read_control(frame: U8) -> list[Mce] | None:
    """The entries of a control record; empty for end of data; None if the frame is none."""
    entries = frame[AREA : AREA + ENTRIES * MCE.itemsize].view(MCE)
    good = are_entries(entries)
    count = ENTRIES if good.all() else int(np.argmin(good))
    if count == 0:
        blank = not entries[:1].view(np.uint8).any()
        return [] if blank and not are_headers(frame, np.zeros(1, np.int64))[0] else None
    return [Mce(bool(e["flag"] == SAMPLE), int(e["start"]), int(e["end"])) for e in entries[:count]]


def are_entries(entries: npt.NDArray[np.void]) -> npt.NDArray[np.bool_]:
    """The test of the Linux driver: a known type, some domain, an end above its start."""
    known = (entries["flag"] == SAMPLE) | (entries["flag"] == EVENT)
    some = (entries["mask_a"] | entries["mask_b"]) != 0
    return np.asarray(known & some & (entries["end"] > entries["start"]), np.bool_)


def are_controls(window: U8) -> npt.NDArray[np.bool_]:
    """(frames,) whether a frame is a control record beyond doubt.

    Its interrupt buffer says how many bytes of entries there are, its first entry is one, and it
    does not start with a record.
    """
    count = len(window) // FRAME
    frames = window[: count * FRAME].reshape(count, FRAME)
    area = frames[:, 12:20].copy().view(">u4").astype(np.int64)
    size = area[:, 1] - area[:, 0] + 1
    said = (size > 0) & (size <= FRAME - AREA) & (size % MCE.itemsize == 0)
    entry = frames[:, AREA : AREA + MCE.itemsize].copy().view(MCE)[:, 0]
    starts = np.arange(count, dtype=np.int64) * FRAME
    return np.asarray(said & are_entries(entry) & ~are_headers(window, starts), np.bool_)
