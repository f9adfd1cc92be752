"""Writes records as a MONWRITE file: frames, sets and their control records.

Records keep their order and stay what they were, sample or event data. A frame takes records as
long as the record that ends it (1.13) still fits; a set of sample data ends with its interval
(1.11), or like a frame if the interval goes on.
Layouts: MWTBK, MRRECHDR; the 40 bytes of the interrupt buffer are as IUCV writes them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ...schemas.field import HEADER_LENGTH
from ..codec import I64, U8, U64, Mask, items
from ..container.control_records import EVENT, SAMPLE
from ..container.frames import FRAME, FRAME_END, INTERVAL_END
from ..container.record_index import Kind, RecordIndex
from ..container.windows import Window
from ..decode.columns import copied, copy_pieces

CONTROL_AT, SAMPLES_AT, EVENTS_AT = 0x0100_0000, 0x0100_1000, 0x4000_0000
"""Addresses in the monitor segment: of control entries, of sample frames, of event data."""

CONTROL = np.dtype(
    {
        "names": [
            *("path", "type", "message", "text", "first", "last"),
            *("flag", "domains", "start", "end"),
        ],
        "formats": [">u2", "u1", ">u4", "u1", ">u4", ">u4", "u1", ">u2", ">u4", ">u4"],
        "offsets": [0, 3, 4, 8, 12, 16, 40, 41, 44, 48],
        "itemsize": 52,
    }
)
"""A control record with one entry: IUCV's interrupt buffer, then flag, domain masks, addresses."""
MESSAGE_PENDING = 9

CLOSING = np.dtype(
    {
        "names": ["length", "domain", "record", "tod"],
        "formats": [">u2", "u1", ">u2", ">u8"],
        "offsets": [0, 4, 6, 8],
        "itemsize": HEADER_LENGTH,
    }
)
"""A record that is a header only (MRRECHDR)."""

END_OF_DATA = bytes(FRAME)
"""The control record without entries that ends the file."""

HELD_LIMIT = 64 * 1024 * 1024
"""Samples of this many bytes whose interval goes on are written without waiting for its end."""


class Sink(Protocol):
    """A binary file that can be written to."""

    def write(self, data: bytes, /) -> Any:
        """Write the next bytes."""


@dataclass(frozen=True)
class RecordSelection:
    """Records in the order of the dump: `data[start : start + length]` each; (records,) arrays."""

    data: U8
    start: I64
    length: I64
    domain: npt.NDArray[np.uint8]
    record: npt.NDArray[np.uint16]
    tod: U64
    sample: Mask

    def __len__(self) -> int:
        return len(self.start)

    @staticmethod
    def none() -> RecordSelection:
        """No records."""
        no = np.empty(0, np.int64)
        kind = no.astype(np.uint8), no.astype(np.uint16), no.astype(np.uint64)
        return RecordSelection(no.astype(np.uint8), no, no, *kind, no.astype(np.bool_))

    @staticmethod
    def of(window: Window, mask: Mask) -> RecordSelection:
        """Selects the records of a window where `mask` is true, without those that end frames."""
        index = window.index
        chosen = np.flatnonzero(mask & ~are_of(index, [FRAME_END]))
        return RecordSelection(
            window.data,
            index.start[chosen],
            index.length[chosen],
            index.domain[chosen],
            index.record[chosen],
            index.tod[chosen],
            window.sample[chosen],
        )

    def __getitem__(self, chosen: slice | Mask) -> RecordSelection:
        parts = (getattr(self, f.name)[chosen] for f in fields(self) if f.name != "data")
        return RecordSelection(self.data, *parts)

    def alone(self) -> RecordSelection:
        """The same with a copy of the bytes, and of no others."""
        start = np.cumsum(self.length) - self.length
        data = copied(self.data, self.start, self.length)
        return replace(self, data=data, start=start)

    def followed_by(self, other: RecordSelection) -> RecordSelection:
        """These records, then those."""
        if not len(self):
            return other
        first, second = self.alone(), other.alone()
        parts = {
            f.name: np.concatenate([getattr(first, f.name), getattr(second, f.name)])
            for f in fields(self)
        }
        parts["start"][len(first) :] += len(first.data)
        return RecordSelection(**parts)


def are_of(records: RecordIndex | RecordSelection, kinds: Iterable[Kind]) -> Mask:
    """(records,) whether each is of one of these (domain, record)."""
    numbers = [domain << 16 | record for domain, record in kinds]
    return np.isin(records.domain.astype(np.int64) << 16 | records.record, numbers)


@dataclass
class MonwriteWriter:
    """Writes selected records as the sets of a MONWRITE file.

    Samples wait for the end of their interval, so that they are written as one set with it.

    Attributes:
        records, intervals, size: written so far; records that end frames are not counted.
    """

    sink: Sink
    records: int = 0
    intervals: int = 0
    size: int = 0
    _held: RecordSelection = field(default_factory=RecordSelection.none)
    _sets: int = 0

    def put(self, chosen: RecordSelection, *, hold: bool = False) -> None:
        """Add records. `hold`: write none of them yet."""
        waiting = self._held.followed_by(chosen)
        closed = 0 if hold else _closed(waiting)
        if not hold and int(waiting.length[closed:].sum()) > HELD_LIMIT:
            closed = len(waiting)
        self._write(waiting[:closed])
        self._held = waiting[closed:].alone()

    def take_back(self) -> RecordSelection:
        """Remove and return the records that have not been written."""
        held, self._held = self._held, RecordSelection.none()
        return held

    def finish(self) -> None:
        """Write the remaining records and the end of data."""
        self._write(self.take_back())
        self._out(END_OF_DATA)

    def _write(self, chosen: RecordSelection) -> None:
        if not len(chosen):
            return
        data, sets = pack(chosen, self._sets)
        self._sets += sets
        self.records += len(chosen)
        self.intervals += int((are_of(chosen, [INTERVAL_END]) & chosen.sample).sum())
        self._out(data.data)

    def _out(self, data: bytes | memoryview) -> None:
        self.size += len(data)
        self.sink.write(data)  # type: ignore[arg-type] # a buffer is as good as bytes


def _closed(records: RecordSelection) -> int:
    """How many records stand in front of the first sample whose interval goes on."""
    ends = np.flatnonzero(are_of(records, [INTERVAL_END]) & records.sample)
    behind = int(ends[-1]) + 1 if len(ends) else 0
    going_on = np.flatnonzero(records.sample[behind:])
    return behind + int(going_on[0]) if len(going_on) else len(records)


def pack(records: RecordSelection, sets_before: int = 0) -> tuple[U8, int]:
    """Control records and frames of some records, and the number of their sets.

    A set is a run of sample or event records; the end of an interval ends it as well.
    """
    count = len(records)
    ends = are_of(records, [INTERVAL_END])
    begins = np.append(True, (records.sample[1:] != records.sample[:-1]) | ends[:-1])
    set_first = np.flatnonzero(begins)
    set_of = np.cumsum(begins) - 1
    bytes_before = np.append(0, np.cumsum(records.length))
    set_behind = np.append(set_first[1:], count)
    events = ~records.sample[set_first]
    # Neither event data nor the end of an interval needs a record that ends the frame.
    ended = events | ends[set_behind - 1]
    room = np.where(ended, FRAME, FRAME - HEADER_LENGTH)
    first, behind = _frames(bytes_before, set_behind[set_of], room[set_of])
    frame_set = set_of[first]
    place = (np.arange(len(first)) + frame_set + 1) * FRAME
    out = np.zeros((len(first) + len(set_first)) * FRAME, np.uint8)
    frame_of = np.repeat(np.arange(len(first)), behind - first)
    places = bytes_before[:-1] + (place - bytes_before[first])[frame_of]
    copy_pieces(records.data, records.start, records.length, out, places)
    used = bytes_before[behind] - bytes_before[first]
    last = np.append(frame_set[1:] != frame_set[:-1], True)
    open_ = ~(last & ended[frame_set]) & (used + HEADER_LENGTH <= FRAME)
    _end_frames(out, (place + used)[open_], records.tod[behind[open_] - 1])
    size = np.bincount(frame_set) * FRAME
    size[events] += used[last][events] - FRAME
    domains = np.bitwise_or.reduceat(_domain_bits(records.domain), set_first)
    controls = place[np.append(True, last[:-1])] - FRAME
    _control(out, controls, events, domains, size, sets_before)
    return out, len(set_first)


def _frames(bytes_before: I64, set_behind: I64, room: I64) -> tuple[I64, I64]:
    """First record of each frame, and the one behind its last.

    Computes for every record where a frame that begins with it would end, then follows that chain
    from the first record, doubling the number of frames with each step.

    Args:
        bytes_before: (records + 1,) bytes of the records before each, and of all.
        set_behind: (records,) the record behind the set of each.
        room: (records,) bytes of records in the last frame of that set.
    """
    count, at = len(set_behind), bytes_before[:-1]
    behind = np.searchsorted(bytes_before, at + FRAME - HEADER_LENGTH, side="right") - 1
    behind = np.clip(behind, np.arange(count) + 1, set_behind)
    rest_fits = bytes_before[set_behind] - at <= room
    behind[rest_fits] = set_behind[rest_fits]
    first, following = np.zeros(1, np.int64), np.append(behind, count)
    while True:
        more = following[first]
        more = more[more < count]
        if not len(more):
            return first, behind[first]
        first, following = np.concatenate([first, more]), following[following]


def _end_frames(out: U8, place: I64, tod: U64) -> None:
    """Write the record that ends a frame at each place; it has the time of the one before."""
    closing = np.zeros(len(place), CLOSING)
    closing["length"] = HEADER_LENGTH
    closing["domain"], closing["record"] = FRAME_END
    closing["tod"] = tod
    items(out, HEADER_LENGTH)[place] = closing.view(f"V{HEADER_LENGTH}")


def _domain_bits(domain: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint16]:
    """Each domain as its bit of the two masks; the monitor's own ends frames and intervals."""
    shift = np.minimum(domain, 15).astype(np.uint16)
    bit = np.where(domain < 16, np.uint16(0x8000) >> shift, 0)
    return (bit | 0x8000 >> INTERVAL_END[0]).astype(np.uint16)


def _control(
    out: U8, place: I64, events: Mask, domains: npt.NDArray[np.uint16], size: I64, before: int
) -> None:
    """Write the control record of each set; `size`: bytes of its data, `before`: sets before."""
    control = np.zeros(len(place), CONTROL)
    control["path"], control["type"] = 1, MESSAGE_PENDING
    control["message"] = before + 1 + np.arange(len(place))
    control["flag"] = control["text"] = np.where(events, EVENT, SAMPLE)
    control["first"], control["last"] = CONTROL_AT, CONTROL_AT + 11
    control["domains"] = domains
    control["start"] = np.where(events, EVENTS_AT, SAMPLES_AT)
    control["end"] = control["start"] + size - 1
    items(out, CONTROL.itemsize)[place] = control.view(f"V{CONTROL.itemsize}")
