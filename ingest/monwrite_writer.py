"""Writes records as a MONWRITE file: frames, sets and their control records.

Records keep their order, and remain sample or event data. A frame takes records as long as the
record that ends it (1.13) still fits; a set of sample data ends with its interval (1.11), or like a
frame if the interval continues.

Layouts: MWTBK, MRRECHDR; the 40 bytes of the interrupt buffer are as IUCV writes them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from ..schemas.field import HEADER_LENGTH
from .codec import I64, U8, U64, Mask, chain, items
from .container.control_records import EVENT, SAMPLE
from .container.record_index import FRAME, FRAME_END, HEADER, INTERVAL_END, NO_RECORDS, RecordIndex
from .container.windows import ByteWindow
from .decode.columns import copied, copy_pieces

_CONTROL_AT, _SAMPLES_AT, _EVENTS_AT = 0x0100_0000, 0x0100_1000, 0x4000_0000
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

_HELD_LIMIT = 64 * 1024 * 1024
"""Samples of this many bytes whose interval goes on are written without waiting for its end."""


class RecordSink(Protocol):
    """A binary file that can be written to."""

    def write(self, data: bytes, /) -> Any:
        """Write the next bytes."""


@dataclass(frozen=True)
class RecordSelection:
    """Records in the order of the dump: `data[start : start + length]` each, by `index`."""

    data: U8
    index: RecordIndex

    def __len__(self) -> int:
        return len(self.index)

    @staticmethod
    def of(window: ByteWindow, mask: Mask) -> RecordSelection:
        """Selects the records of a window where `mask` is true, without those that end frames."""
        index = window.index
        return RecordSelection(window.data, index[mask & ~index.are_of([FRAME_END])])

    def __getitem__(self, chosen: slice | Mask) -> RecordSelection:
        return RecordSelection(self.data, self.index[chosen])

    def alone(self) -> RecordSelection:
        """The same with a copy of the bytes, and of no others."""
        start, length = self.index.start, self.index.length
        index = replace(self.index, start=np.cumsum(length) - length)
        return RecordSelection(copied(self.data, start, length), index)

    def followed_by(self, other: RecordSelection) -> RecordSelection:
        """These records, then those."""
        if not len(self):
            return other
        first, second = self.alone(), other.alone()
        later = replace(second.index, start=second.index.start + len(first.data))
        data = np.concatenate([first.data, second.data])
        return RecordSelection(data, RecordIndex.joined([first.index, later]))


NONE = RecordSelection(np.empty(0, np.uint8), NO_RECORDS)


@dataclass
class MonwriteWriter:
    """Writes selected records as the sets of a MONWRITE file.

    Samples wait for the end of their interval, so that they are written as one set with it.

    Attributes:
        records, intervals, size: written so far; records that end frames are not counted.
    """

    sink: RecordSink
    records: int = 0
    intervals: int = 0
    size: int = 0
    _held: RecordSelection = NONE
    _sets: int = 0

    def put(self, chosen: RecordSelection, *, hold: bool = False) -> None:
        """Add records. `hold`: write none of them yet."""
        waiting = self._held.followed_by(chosen)
        closed = int(min([len(waiting), *waiting.index.open_samples[:1]]))
        if hold:
            closed = 0
        elif int(waiting.index.length[closed:].sum()) > _HELD_LIMIT:
            closed = len(waiting)
        self._write(waiting[:closed])
        self._held = waiting[closed:].alone()

    def take_back(self) -> RecordSelection:
        """Remove and return the records that have not been written."""
        held, self._held = self._held, NONE
        return held

    def finish(self) -> None:
        """Write the remaining records and the end of data."""
        self._write(self.take_back())
        self._out(bytes(FRAME))  # a control record without entries

    def _write(self, chosen: RecordSelection) -> None:
        if not len(chosen):
            return
        data, sets = pack(chosen, self._sets)
        self._sets += sets
        self.records += len(chosen)
        self.intervals += len(chosen.index.interval_ends)
        self._out(data.data)

    def _out(self, data: bytes | memoryview) -> None:
        self.size += len(data)
        self.sink.write(data)  # type: ignore[arg-type] # a buffer is as good as bytes


def pack(records: RecordSelection, sets_before: int = 0) -> tuple[U8, int]:
    """Control records and frames of some records, and the number of their sets.

    A set is a run of sample or event records; the end of an interval ends it as well.
    """
    count, index = len(records), records.index
    ends = index.are_of([INTERVAL_END])
    begins = np.append(True, (index.sample[1:] != index.sample[:-1]) | ends[:-1])
    set_first = np.flatnonzero(begins)
    set_of = np.cumsum(begins) - 1
    bytes_before = np.append(0, np.cumsum(index.length))
    set_behind = np.append(set_first[1:], count)
    events = ~index.sample[set_first]
    # Neither event data nor the end of an interval needs a record that ends the frame.
    ended = events | ends[set_behind - 1]
    room = np.where(ended, FRAME, FRAME - HEADER_LENGTH)
    first, behind = _frames(bytes_before, set_behind[set_of], room[set_of])
    frame_set = set_of[first]
    place = (np.arange(len(first)) + frame_set + 1) * FRAME
    out = np.zeros((len(first) + len(set_first)) * FRAME, np.uint8)
    frame_of = np.repeat(np.arange(len(first)), behind - first)
    places = bytes_before[:-1] + (place - bytes_before[first])[frame_of]
    copy_pieces(records.data, index.start, index.length, out, places)
    used = bytes_before[behind] - bytes_before[first]
    last = np.append(frame_set[1:] != frame_set[:-1], True)
    open_ = ~(last & ended[frame_set]) & (used + HEADER_LENGTH <= FRAME)
    _end_frames(out, (place + used)[open_], index.tod[behind[open_] - 1])
    size = np.bincount(frame_set) * FRAME
    size[events] += used[last][events] - FRAME
    domains = np.bitwise_or.reduceat(_domain_bits(index.domain), set_first)
    controls = place[np.append(True, last[:-1])] - FRAME
    _control(out, controls, events, domains, size, sets_before)
    return out, len(set_first)


def _frames(bytes_before: I64, set_behind: I64, room: I64) -> tuple[I64, I64]:
    """First record of each frame, and the one behind its last.

    Computes for every record where a frame that begins with it would end, then follows that chain
    from the first record.

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
    first = chain(np.append(behind, count), 0)[:-1]
    return first, behind[first]


def _end_frames(out: U8, place: I64, tod: U64) -> None:
    """Write the record that ends a frame at each place; it has the time of the one before."""
    closing = np.zeros(len(place), HEADER)
    closing["length"] = HEADER_LENGTH
    closing["domain"], closing["record"] = FRAME_END
    closing["tod"] = tod
    items(out, HEADER.itemsize)[place] = closing.view(f"V{HEADER.itemsize}")


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
    control["path"], control["type"] = 1, 9  # a message is pending
    control["message"] = before + 1 + np.arange(len(place))
    control["flag"] = control["text"] = np.where(events, EVENT, SAMPLE)
    control["first"], control["last"] = _CONTROL_AT, _CONTROL_AT + 11
    control["domains"] = domains
    control["start"] = np.where(events, _EVENTS_AT, _SAMPLES_AT)
    control["end"] = control["start"] + size - 1
    items(out, CONTROL.itemsize)[place] = control.view(f"V{CONTROL.itemsize}")
