"""Where every record of a window starts, how long it is and what it is, as arrays.

All frames advance together: each step reads the headers of the next few records of every frame
that is still going, so a window costs few steps, whatever the number of its records.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

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
RUN_BITS = 3
RUN = 1 << RUN_BITS
"""Records of one length that are looked at together."""


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
        return RecordIndex(
            self.start[records],
            self.length[records],
            self.domain[records],
            self.record[records],
            self.tod[records],
            self.frame[records],
            self.stop[frames],
            self.broken[frames],
        )


def index_records(window: U8, frames: Frames) -> RecordIndex:
    """Find the records of all frames. A frame ends at its end record, its limit, or damage."""
    headers = np.ndarray((max(len(window) - HEADER.itemsize + 1, 0),), "V16", window, 0, (1,))
    stop, broken = frames.start.copy(), np.zeros(len(frames), np.bool_)
    counts = np.zeros(len(frames), np.int64)
    steps: list[_Step] = []
    going = np.flatnonzero(frames.limit - stop >= HEADER_LENGTH)
    while len(going):
        step, found, behind, ended = _run(headers, going, stop[going], frames.limit[going])
        steps.append(replace(step, place=step.place + counts[step.frame]))
        counts[going] += found
        stop[going] = behind
        broken[going[found == 0]] = True
        room = frames.limit[going] - behind >= HEADER_LENGTH
        going = going[(found > 0) & ~ended & room]
    return _in_order(steps, counts, stop, broken)


@dataclass(frozen=True)
class _Step:
    """Records met in one step, (records,) each: frame, position, place in the frame, header.

    The header is moved about as 16 bytes: numpy copies named fields one by one, ten times slower.
    """

    frame: I64
    start: I64
    place: I64
    raw: npt.NDArray[np.void]


def _run(
    headers: npt.NDArray[np.void], going: I64, at: I64, limit: I64
) -> tuple[_Step, I64, I64, npt.NDArray[np.bool_]]:
    """The record at each position, and those behind it as long as they have its length.

    Records come in runs of one kind, so `RUN` are looked at together; the first one of another
    length still counts, since the one before says where it starts.

    Returns:
        The records; and, for each position, how many they are, the position behind them, and
        whether the last of them ends the frame.
    """
    first = headers[at].view(HEADER)["length"].astype(np.int64)
    ahead = at[:, None] + first[:, None] * np.arange(RUN)
    fits = ahead + HEADER_LENGTH <= limit[:, None]
    raw = headers[np.where(fits, ahead, at[:, None])]
    header = raw.view(HEADER)
    length = header["length"].astype(np.int64)
    good = fits & (length >= HEADER_LENGTH) & (length <= limit[:, None] - ahead)
    good &= (header["zero"] == 0) & (header["tod"] != 0)
    kind = header["domain"].astype(np.uint32) << 16 | header["record"]
    last = (kind == _kind(INTERVAL_END)) | (kind == _kind(FRAME_END))
    on = good & ~last & (length == first[:, None])
    taken = good.copy()
    taken[:, 1:] &= np.logical_and.accumulate(on, axis=1)[:, :-1]
    found = taken.sum(axis=1)
    chosen = np.flatnonzero(taken)
    row, place = chosen >> RUN_BITS, chosen & (RUN - 1)
    step = _Step(going[row], ahead.ravel()[chosen], place, raw.ravel()[chosen])
    every, final = np.arange(len(going)), np.maximum(found - 1, 0)
    behind = np.where(found > 0, ahead[every, final] + length[every, final], at)
    return step, found, behind, taken[every, final] & last[every, final]


def _kind(record: tuple[int, int]) -> int:
    return record[0] << 16 | record[1]


def _in_order(
    steps: list[_Step], counts: I64, stop: I64, broken: npt.NDArray[np.bool_]
) -> RecordIndex:
    """The records of all steps in the order of the dump. `counts`: (frames,) records of each."""
    base = np.cumsum(counts) - counts
    total = int(counts.sum())
    start, frame = np.empty(total, np.int64), np.repeat(np.arange(len(counts)), counts)
    raw = np.empty(total, "V16")
    for step in steps:
        place = base[step.frame] + step.place
        start[place], raw[place] = step.start, step.raw
    header = raw.view(HEADER)
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
