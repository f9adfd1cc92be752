"""Finds runs of records of one kind and length in the frames of a window, as arrays.

All frames advance together: each step finds the next run of every frame that is still going. One
comparison of a word says that a header has the length and the kind of the one before, so a window
costs few steps and little for each record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, U64, Mask, items
from .frames import FRAME_END, HEADER, INTERVAL_END, Frames

LONGEST = 24
"""Records of a run that are looked at together; a longer run becomes several."""
BLOCK = 128
"""Frames that are looked at together: what is looked up for them stays in the cache."""

Kind = tuple[int, int]


@dataclass(frozen=True)
class Runs:
    """Runs in the order of the dump, arrays of (runs,).

    `start`: position of the first record in the window. `count`, `length`: records, and bytes of
    each. `frame`: number of their frame in `Frames`. `stop` and `broken` are (frames,): where
    reading ended, and whether it ended at something that is no record header.
    """

    start: I64
    count: I64
    length: I64
    domain: npt.NDArray[np.uint8]
    record: npt.NDArray[np.uint16]
    frame: I64
    stop: I64
    broken: Mask

    def __len__(self) -> int:
        return len(self.start)

    def starts(self) -> I64:
        """(records,) positions of all records of the runs."""
        size = self.count * self.length
        first = self.start - (np.cumsum(size) - size)
        lengths = np.repeat(self.length, self.count)
        return np.asarray(np.cumsum(lengths) - lengths + np.repeat(first, self.count))


def find_runs(window: U8, frames: Frames) -> Runs:
    """The runs of all frames. A frame ends at its end record, its limit, or damage."""
    headers = items(window, HEADER.itemsize)
    at, broken = frames.start.copy(), np.zeros(len(frames), np.bool_)
    steps: list[tuple[I64, I64, I64, npt.NDArray[np.void]]] = []
    going = np.flatnonzero(frames.limit - at >= HEADER_LENGTH)
    while len(going):
        position, limit = at[going], frames.limit[going]
        raw = headers[position]
        count, length, last = _run(headers, raw, position, limit)
        valid = count > 0
        steps.append((going[valid], position[valid], count[valid], raw[valid]))
        behind = position + count * length
        at[going] = behind
        broken[going[~valid]] = True
        going = going[valid & ~last & (limit - behind >= HEADER_LENGTH)]
    return _in_order(steps, at, broken)


def tods(window: U8, starts: I64) -> U64:
    """TOD clocks of the records at these positions."""
    return items(window[8:], 8)[starts].view(">u8").astype(np.uint64)


def _run(
    headers: npt.NDArray[np.void], raw: npt.NDArray[np.void], at: I64, limit: I64
) -> tuple[I64, I64, Mask]:
    """How many records of one kind begin at each position, their length, and if they end a frame.

    `raw`: (positions,) the headers there. Where none begins the number is 0.
    """
    header = raw.view(HEADER)
    length = header["length"].astype(np.int64)
    good = (length >= HEADER_LENGTH) & (length <= limit - at)
    good &= (header["zero"] == 0) & (header["tod"] != 0)
    kind = header["domain"].astype(np.uint32) << 16 | header["record"]
    last = good & ((kind == _kind(INTERVAL_END)) | (kind == _kind(FRAME_END)))
    fitting = np.where(last, 1, good * ((limit - at) // np.maximum(length, 1)))
    fitting = np.minimum(fitting, LONGEST)
    for first in range(0, len(at), BLOCK):
        rows = slice(first, first + BLOCK)
        fitting[rows] = np.minimum(
            fitting[rows], _alike(headers, at[rows], length[rows], fitting[rows])
        )
    return fitting, length, last


def _alike(headers: npt.NDArray[np.void], at: I64, length: I64, fitting: I64) -> I64:
    """How many headers, one `length` behind the other, are like the first, up to `fitting`."""
    width = int(fitting.max())
    if width < 2:
        return fitting
    # Positions behind the limit are looked up as well, and not counted: cheaper than leaving out.
    places = at[:, None] + length[:, None] * np.arange(width)
    np.minimum(places, len(headers) - 1, out=places)
    words = headers[places].view(np.uint64).reshape(len(at), width, 2)
    alike = words[:, :, 0] == words[:, :1, 0]
    alike &= words[:, :, 1] != 0
    other = np.argmin(alike, axis=1)
    return np.where(alike[:, -1] & (other == 0), width, other)


def _kind(record: Kind) -> int:
    return record[0] << 16 | record[1]


def _in_order(
    steps: list[tuple[I64, I64, I64, npt.NDArray[np.void]]],
    stop: I64,
    broken: Mask,
) -> Runs:
    """The runs of all steps by frame, those of a frame in the order of the steps."""
    empty = np.empty(0, np.int64)
    parts = [(empty, empty, empty, np.empty(0, "V16")), *steps]
    frame, start, count, raw = (np.concatenate(side) for side in zip(*parts, strict=True))
    order = np.argsort(frame, kind="stable")
    header = raw[order].view(HEADER)
    return Runs(
        start[order],
        count[order],
        header["length"].astype(np.int64),
        header["domain"].copy(),
        header["record"].astype(np.uint16),
        frame[order],
        stop,
        broken,
    )
