"""Control records of a MONWRITE file (IBM: MWTBK), and the entries (MCEs) in them.

A control record is 4096 bytes: 40 bytes of the IUCV interrupt buffer, then entries of 12 bytes.
Each announces sample or event data by its first and last address in the monitor segment. A control
record without an entry ends the file.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..codec import I64, U8, Mask, items
from .record_index import FRAME, are_headers, is_header

SAMPLE, EVENT = 0xE2, 0xC5
"""EBCDIC S and E: the first byte of an entry (MWTCAFLG)."""

AREA = 40
MCE = np.dtype(
    {
        "names": ["flag", "mask_a", "mask_b", "reserved", "start", "end"],
        "formats": ["u1", "u1", "u1", "u1", ">u4", ">u4"],
    }
)
"""An entry (MWTCADOM, MWTCASTR, MWTCAEND)."""
ENTRIES = (FRAME - AREA) // MCE.itemsize


@dataclass(frozen=True)
class Mce:
    """One entry of a control record: data of `start` to `end` of the monitor segment."""

    sample: bool
    start: int
    end: int

    @property
    def length(self) -> int:
        """Bytes of data: the end address is that of the last byte."""
        return self.end - self.start + 1

    @property
    def lead(self) -> int:
        """Bytes between the beginning of the first frame and the data."""
        return self.start % FRAME


def read_control(frame: U8) -> list[Mce] | None:
    """The entries of a control record; empty for end of data; None if the frame is none.

    The last bytes of the frame may be missing: they count as zeros.
    """
    if len(frame) < FRAME:
        frame = np.append(frame, np.zeros(FRAME - len(frame), np.uint8))
    entries = frame[AREA : AREA + ENTRIES * MCE.itemsize].view(MCE)
    good = are_entries(entries)
    count = ENTRIES if good.all() else int(np.argmin(good))
    if count == 0:
        blank = not entries[:1].view(np.uint8).any()
        return [] if blank and not is_header(frame, 0) else None
    return [Mce(bool(e["flag"] == SAMPLE), int(e["start"]), int(e["end"])) for e in entries[:count]]


def are_entries(entries: npt.NDArray[np.void]) -> Mask:
    """The test of the Linux driver: a known type, some domain, an end above its start."""
    kind = (entries["flag"] == SAMPLE) | (entries["flag"] == EVENT)
    some = (entries["mask_a"] | entries["mask_b"]) != 0
    return np.asarray(kind & some & (entries["end"] > entries["start"]), np.bool_)


def are_controls(window: U8, at: I64) -> Mask:
    """Whether each position certainly has a control record, all of it in the window.

    Its interrupt buffer has the number of bytes of entries, its first entry is one, and it
    does not start with a record.
    """
    fits = at + FRAME <= len(window)
    good = fits.copy()
    at = at[fits]
    size = _entry_bytes(window, at)
    whole = (size > 0) & (size <= FRAME - AREA) & (size % MCE.itemsize == 0)
    good[fits] = whole & are_entries(entries_at(window, at + AREA)) & ~are_headers(window, at)
    return good


def find_control(window: U8, first: int, behind: int) -> int | None:
    """Position of the first control record beyond doubt that begins in `window[first:behind]`.

    It may begin at any byte, so more is asked than in `are_controls`: its last entry is one, and
    a record follows it, or zeros follow its entries.
    """
    behind = min(behind, len(window) - FRAME + 1)
    if behind <= first:
        return None
    flag = window[first + AREA : behind + AREA]
    at = first + np.flatnonzero((flag == SAMPLE) | (flag == EVENT))
    at = at[are_controls(window, at)]
    size = _entry_bytes(window, at)
    at = at[are_entries(entries_at(window, at + AREA + size - MCE.itemsize))]
    for place in at.tolist():
        mces = read_control(window[place : place + FRAME]) or []
        data = place + FRAME
        used = place + AREA + len(mces) * MCE.itemsize
        starts = np.array([data, data + (mces[0].lead if mces else 0)])
        if are_headers(window, starts).any() or not window[used:data].any():
            return int(place)
    return None


def _entry_bytes(window: U8, at: I64) -> I64:
    """Bytes of entries that the interrupt buffer of a control record at each position claims."""
    # Two words at offset 12 are the first and last address of the entries.
    words = items(window, 8)[at + 12].view(">u4").astype(np.int64).reshape(-1, 2)
    return np.asarray(words[:, 1] - words[:, 0] + 1)


def entries_at(window: U8, at: I64) -> npt.NDArray[np.void]:
    """(positions,) the entries there, of dtype `MCE`."""
    return items(window, MCE.itemsize)[at].view(MCE)
