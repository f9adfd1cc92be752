"""Where every record of a window starts, how long it is and what it is, as arrays.

All frames advance together: each step reads the current header of every frame that is still
going, so a window costs as many steps as its fullest frame has records.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..schemas.layout import HEADER_LENGTH
from .codec import I64, U8, U64

HEADER = np.dtype(
    {
        "names": ["length", "zero", "domain", "record", "tod"],
        "formats": [">u2", ">u2", "u1", ">u2", ">u8"],
        "offsets": [0, 2, 4, 6, 8],
        "itemsize": 16,
    }
)
"""The part of MRRECHDR that framing needs."""

INTERVAL_END = (1, 11)
"""MTREND closes an interval: it is the last record of its sample data."""
FRAME_END = (1, 13)
"""MTREOF: no more records in this frame."""


@dataclass(frozen=True)
class Frames:
    """Frames of a window, one an element, in the order of the dump.

    `start`: (frames,) position of the first record in the window. `limit`: (frames,) position
    behind the last byte that can belong to a record. `sample`: (frames,) sample or event data.
    """

    start: I64
    limit: I64
    sample: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, chosen: slice) -> Frames:
        return Frames(self.start[chosen], self.limit[chosen], self.sample[chosen])

    def moved(self, by: int) -> Frames:
        """The same frames in a window that starts `by` bytes later."""
        return Frames(self.start - by, self.limit - by, self.sample)

    @staticmethod
    def joined(parts: list[Frames]) -> Frames:
        """The frames of several stretches of a window, one after the other."""
        if not parts:
            return Frames(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
        return Frames(
            np.concatenate([p.start for p in parts]),
            np.concatenate([p.limit for p in parts]),
            np.concatenate([p.sample for p in parts]),
        )


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
    broken: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.start)

    def where(self, domain: int, record: int) -> I64:
        """Numbers of the records of one kind, ascending."""
        return np.flatnonzero((self.domain == domain) & (self.record == record))

    def split(self, records: int, frames: int, moved: int) -> tuple[RecordIndex, RecordIndex]:
        """The index of the first `frames` frames, with the first `records` records; and the rest.

        The rest is for a window that starts `moved` bytes later.
        """
        head, tail = slice(records), slice(records, None)
        first = RecordIndex(
            *(a[head] for a in self._by_record), self.stop[:frames], self.broken[:frames]
        )
        start, length, domain, record, tod, frame = (a[tail] for a in self._by_record)
        rest = RecordIndex(
            start - moved,
            length,
            domain,
            record,
            tod,
            frame - frames,
            self.stop[frames:] - moved,
            self.broken[frames:],
        )
        return first, rest

    def followed_by(self, other: RecordIndex) -> RecordIndex:
        """This index and that of the frames behind it."""
        mine, theirs = self._by_record, other._by_record
        start, length, domain, record, tod, frame = (
            np.concatenate(pair) for pair in zip(mine, theirs, strict=True)
        )
        frame[len(self) :] += len(self.stop)
        stop = np.concatenate([self.stop, other.stop])
        broken = np.concatenate([self.broken, other.broken])
        return RecordIndex(start, length, domain, record, tod, frame, stop, broken)

    @property
    def _by_record(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        return self.start, self.length, self.domain, self.record, self.tod, self.frame


def index_records(window: U8, frames: Frames) -> RecordIndex:
    """Find the records of all frames. A frame ends at its end record, its limit, or damage."""
    headers = np.ndarray((max(len(window) - HEADER.itemsize + 1, 0),), "V16", window, 0, (1,))
    stop, broken = frames.start.copy(), np.zeros(len(frames), np.bool_)
    steps: list[tuple[I64, I64, npt.NDArray[np.void]]] = []
    going = np.flatnonzero(frames.limit - stop >= HEADER_LENGTH)
    while len(going):
        at = stop[going]
        header = headers[at].view(HEADER)
        length = header["length"].astype(np.int64)
        good = (
            (length >= HEADER_LENGTH)
            & (length <= frames.limit[going] - at)
            & (header["zero"] == 0)
            & (header["tod"] != 0)
        )
        broken[going[~good]] = True
        going, at, header, length = going[good], at[good], header[good], length[good]
        steps.append((going, at, header))
        stop[going] = at + length
        kind = header["domain"].astype(np.uint32) << 16 | header["record"]
        last = (kind == _kind(INTERVAL_END)) | (kind == _kind(FRAME_END))
        room = frames.limit[going] - stop[going] >= HEADER_LENGTH
        going = going[~last & room]
    return _in_order(steps, stop, broken)


def _kind(record: tuple[int, int]) -> int:
    return record[0] << 16 | record[1]


def _in_order(
    steps: list[tuple[I64, I64, npt.NDArray[np.void]]],
    stop: I64,
    broken: npt.NDArray[np.bool_],
) -> RecordIndex:
    """Steps hold the n-th record of every frame; put them into the order of the dump."""
    counts = np.zeros(len(stop), np.int64)
    for frames, _, _ in steps:
        counts[frames] += 1
    base = np.cumsum(counts) - counts
    total = int(counts.sum())
    start, frame = np.empty(total, np.int64), np.empty(total, np.int64)
    header = np.empty(total, HEADER)
    for number, (frames, at, found) in enumerate(steps):
        place = base[frames] + number
        start[place], frame[place], header[place] = at, frames, found
    return RecordIndex(
        start,
        header["length"].astype(np.int64),
        header["domain"].copy(),
        header["record"].astype(np.uint16),
        header["tod"].astype(np.uint64),
        frame,
        stop,
        broken,
    )
