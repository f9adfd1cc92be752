"""Where every record of a window starts, how long it is and what it is, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from .codec import I64, U8, U64
from .frames import Frames
from .record_runs import find_runs, tods


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
    runs = find_runs(window, frames)
    start = runs.starts(np.arange(len(runs)))
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
