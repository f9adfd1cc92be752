"""Indexes the records of a window: start, length, kind and time of each, as arrays.

They are found in runs of one kind and length. All frames advance together: each step finds the next
run of every frame that is still going. One comparison of a word says that a header has the length
and the kind of the one before, so a window costs few steps and little for each record.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, U64, Mask, items
from .frames import FRAME_END, HEADER, INTERVAL_END, Frames

OF_FRAMES = ("stop", "broken")


@dataclass(frozen=True)
class RecordIndex:
    """Every record of a window in the order of the dump: arrays of (records,).

    `frame` is the number of the record's frame in `Frames`. `stop` and `broken` are (frames,):
    where reading ended, and whether it ended at something that is no record header.
    """

    start: I64
    length: I64
    domain: npt.NDArray[np.uint8]
    record: npt.NDArray[np.uint16]
    tod: U64
    frame: I64
    stop: I64
    broken: Mask

    def __len__(self) -> int:
        return len(self.start)

    def where(self, domain: int, record: int) -> I64:
        """Numbers of the records of one kind, ascending."""
        return np.flatnonzero((self.domain == domain) & (self.record == record))

    def interval_ends(self, frames: Frames) -> I64:
        """Numbers of the records that close an interval of sample data, ascending."""
        ends = self.where(*INTERVAL_END)
        return ends[frames.sample[self.frame[ends]]]

    def by_kind(self) -> list[tuple[tuple[int, int], I64]]:
        """Numbers of the records of each (domain, record), ascending.

        Records come in runs of one kind: sorting the runs costs a fraction of sorting the records.
        """
        kind = self.domain.astype(np.uint32) << 16 | self.record
        start = np.flatnonzero(np.diff(kind, prepend=~kind[:1]))
        if not len(start):
            return []
        length = np.diff(start, append=len(kind))
        order = np.argsort(kind[start], kind="stable")
        start, length = start[order], length[order]
        before = np.cumsum(length) - length
        records = np.repeat(start - before, length) + np.arange(len(kind))
        kinds, first = np.unique(kind[start], return_index=True)
        groups = np.split(records, before[first[1:]])
        return [((int(k) >> 16, int(k) & 0xFFFF), g) for k, g in zip(kinds, groups, strict=True)]

    def split(self, records: int, frames: int, moved: int) -> tuple[RecordIndex, RecordIndex]:
        """The index of the first `frames` frames, with the first `records` records; and the rest.

        The rest is for a window that starts `moved` bytes later.
        """
        whole = self._part(slice(records), slice(frames))
        rest = self._part(slice(records, None), slice(frames, None))
        return whole, replace(
            rest, start=rest.start - moved, frame=rest.frame - frames, stop=rest.stop - moved
        )

    def followed_by(self, other: RecordIndex) -> RecordIndex:
        """This index and that of the frames behind it."""
        later = replace(other, frame=other.frame + len(self.stop))
        pairs = {f.name: (getattr(self, f.name), getattr(later, f.name)) for f in fields(self)}
        return RecordIndex(**{name: np.concatenate(pair) for name, pair in pairs.items()})

    def _part(self, records: slice, frames: slice) -> RecordIndex:
        parts = (
            getattr(self, f.name)[frames if f.name in OF_FRAMES else records] for f in fields(self)
        )
        return RecordIndex(*parts)


def index_records(window: U8, frames: Frames) -> RecordIndex:
    """Find the records of all frames. A frame ends at its end record, its limit, or damage."""
    runs = find_runs(window, frames)
    start = runs.starts()
    return RecordIndex(
        start,
        np.repeat(runs.length, runs.count),
        np.repeat(runs.domain, runs.count),
        np.repeat(runs.record, runs.count),
        tods(window, start),
        np.repeat(runs.frame, runs.count),
        runs.stop,
        runs.broken,
    )


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
