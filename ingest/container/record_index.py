"""Indexes the records of a window: start, length, kind and time of each, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from ..codec import I64, U8, U64, Mask
from .frames import INTERVAL_END, Frames
from .record_runs import find_runs, tods

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
