"""Frames of monitor data as arrays, and the index of the records in them, window by window.

The index has start, length, kind and time of each record. They are found in runs of one kind and
length. All frames advance together: each step finds the next run of every frame that is not
finished. Comparing one word shows that a header has the length and the kind of the previous one, so
a window takes few steps and little time for each record.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, U64, Mask, Rows, items

FRAME = 4096
TOP_DOMAIN = 11

HEADER = np.dtype(
    {
        "names": ["length", "zero", "domain", "reserved", "record", "tod"],
        "formats": [">u2", ">u2", "u1", "u1", ">u2", ">u8"],
    }
)
"""The part of MRRECHDR that framing needs."""

INTERVAL_END = (1, 11)
"""MTREND closes an interval: it is the last record of its sample data."""
SYSTEM = (1, 4)
"""MTRSYS names the system and its release."""
FRAME_END = (1, 13)
"""MTREOF: no more records in this frame."""


@dataclass(frozen=True)
class Frames(Rows):
    """Frames of a window, in the order of the dump.

    `start`: (frames,) position of the first record in the window. `limit`: (frames,) position
    behind the last byte that can belong to a record. `sample`: (frames,) sample or event data.
    """

    start: I64
    limit: I64
    sample: Mask


def frames_between(at: int, stop: int, sample: bool = True) -> Frames:
    """Frames from one position on, one behind the other; the last ends where the other is."""
    start = np.arange(at, stop, FRAME, dtype=np.int64)
    return Frames(start, np.minimum(start + FRAME, stop), np.full(len(start), sample))


NO_FRAMES = Frames(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))


@dataclass(frozen=True)
class IndexedFrames(Frames):
    """Frames whose records have been located.

    `stop`: (frames,) where reading ended. `broken`: (frames,) whether it ended at something that is
    no record header.
    """

    stop: I64
    broken: Mask


def are_headers(window: U8, at: I64) -> Mask:
    """Whether a record header is at each position: the plausibility test of the format."""
    fits = at + HEADER_LENGTH <= len(window)
    header = headers_at(window, at[fits])
    good = (header["length"] >= HEADER_LENGTH) & (header["length"] <= FRAME)
    good &= (header["zero"] == 0) & (header["domain"] <= TOP_DOMAIN) & (header["tod"] != 0)
    result = np.zeros(len(at), np.bool_)
    result[fits] = good
    return result


def is_header(window: U8, at: int) -> bool:
    """Whether a record header is at a position."""
    return bool(are_headers(window, np.array([at], np.int64))[0])


def headers_at(window: U8, at: I64) -> npt.NDArray[np.void]:
    """(positions,) the bytes there as dtype `HEADER`."""
    return items(window, HEADER.itemsize)[at].view(HEADER)


def end_frames(header: npt.NDArray[np.void]) -> Mask:
    """Whether each header is that of a record that ends its frame."""
    ends = (header["record"] == FRAME_END[1]) | (header["record"] == INTERVAL_END[1])
    return np.asarray((header["domain"] == FRAME_END[0]) & ends)


Kind = tuple[int, int]


@dataclass(frozen=True)
class RecordIndex(Rows):
    """Records of a window in the order of the dump: arrays of (records,).

    `frame` is the number of the record's frame in `Frames`; `sample`: sample or event data.
    """

    start: I64
    length: I64
    domain: npt.NDArray[np.uint8]
    record: npt.NDArray[np.uint16]
    tod: U64
    frame: I64
    sample: Mask

    def where(self, domain: int, record: int) -> I64:
        """Numbers of the records of one kind, ascending."""
        return np.flatnonzero((self.domain == domain) & (self.record == record))

    def are_of(self, kinds: Iterable[Kind]) -> Mask:
        """(records,) whether each is of one of these (domain, record)."""
        numbers = [domain << 16 | record for domain, record in kinds]
        return np.isin(self.domain.astype(np.int64) << 16 | self.record, numbers)

    @functools.cached_property
    def interval_ends(self) -> I64:
        """Numbers of the records that close an interval of sample data, ascending."""
        ends = self.where(*INTERVAL_END)
        return ends[self.sample[ends]]

    @property
    def open_samples(self) -> I64:
        """Numbers of the samples whose interval does not end here, ascending."""
        ends = self.interval_ends
        closed = int(ends[-1]) + 1 if len(ends) else 0
        return closed + np.flatnonzero(self.sample[closed:])

    def by_kind(self) -> list[tuple[Kind, I64]]:
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


def index_records(window: U8, frames: Frames) -> tuple[RecordIndex, IndexedFrames]:
    """Find the records of all frames. A frame ends at its end record, its limit, or damage."""
    runs, indexed = find_runs(window, frames)
    start = runs.starts()
    index = RecordIndex(
        start,
        np.repeat(runs.length, runs.count),
        np.repeat(runs.domain, runs.count),
        np.repeat(runs.record, runs.count),
        items(window[8:], 8)[start].view(">u8").astype(np.uint64),
        np.repeat(runs.frame, runs.count),
        np.repeat(frames.sample[runs.frame], runs.count),
    )
    return index, indexed


LONGEST = 24
"""Records of a run that are looked at together; a longer run becomes several."""
BLOCK = 128
"""Frames that are looked at together: what is looked up for them stays in the cache."""


@dataclass(frozen=True)
class Runs(Rows):
    """Runs in the order of the dump, arrays of (runs,).

    `start`: position of the first record in the window. `count`, `length`: records, and bytes of
    each. `frame`: number of their frame in `Frames`.
    """

    start: I64
    count: I64
    length: I64
    domain: npt.NDArray[np.uint8]
    record: npt.NDArray[np.uint16]
    frame: I64

    def starts(self) -> I64:
        """(records,) positions of all records of the runs."""
        size = self.count * self.length
        first = self.start - (np.cumsum(size) - size)
        lengths = np.repeat(self.length, self.count)
        return np.asarray(np.cumsum(lengths) - lengths + np.repeat(first, self.count))


def find_runs(window: U8, frames: Frames) -> tuple[Runs, IndexedFrames]:
    """The runs of all frames. A frame ends at its end record, its limit, or damage."""
    headers = items(window, HEADER.itemsize)
    at, broken = frames.start.copy(), np.zeros(len(frames), np.bool_)
    empty = np.empty(0, np.int64)
    steps: list[tuple[I64, I64, I64, npt.NDArray[np.void]]] = [
        (empty, empty, empty, np.empty(0, "V16"))
    ]
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
    frame, start, count, raw = (np.concatenate(side) for side in zip(*steps, strict=True))
    # By frame; the runs of a frame stay in the order of the steps.
    order = np.argsort(frame, kind="stable")
    header = raw[order].view(HEADER)
    runs = Runs(
        start[order],
        count[order],
        header["length"].astype(np.int64),
        header["domain"].copy(),
        header["record"].astype(np.uint16),
        frame[order],
    )
    return runs, IndexedFrames(frames.start, frames.limit, frames.sample, at, broken)


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
    last = good & end_frames(header)
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


NO_RECORDS, NO_INDEXED_FRAMES = index_records(np.empty(0, np.uint8), NO_FRAMES)
