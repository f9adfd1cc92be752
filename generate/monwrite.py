"""The MONWRITE file: control records, sample and event sets, frames (layouts: MWTBK, MRRECHDR)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .clock import U64
from .tables import ScenarioError

U8 = npt.NDArray[np.uint8]

FRAME = 4096
HEADER = struct.Struct(">HHBxHQ4x")
"""MRRECHDR: length, zeros, domain, record number, TOD."""

END_OF_FRAME = 13
INTERVAL_END = 11
MONITOR_DOMAIN = 1

SAMPLE_FLAG, EVENT_FLAG = 0xE2, 0xC5
_BUFFER = struct.Struct(">HBBI4sIII12x4x")
ENTRY = struct.Struct(">BBBxII")
"""An entry of a control record: flag, two domain masks, first and last address."""
CONTROL_AREA = _BUFFER.size
"""Offset of the first entry of a control record."""
MOST_ENTRIES = (FRAME - CONTROL_AREA) // ENTRY.size
_MESSAGE_PENDING = 9

LARGEST_RECORD = FRAME - HEADER.size
"""Bytes of a frame for records: the record that ends the frame must always fit."""


@dataclass(frozen=True, slots=True)
class Block:
    """Records of one type: (records, length) bytes, their domain and time stamps."""

    domain: int
    records: U8
    tods: U64


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a control record (MCE): kind, domains, first and last byte in the segment."""

    flag: int
    domains: frozenset[int]
    start: int
    end: int

    def encode(self) -> bytes:
        """The 12 bytes of the entry; bits of the second mask are inferred."""
        masks = [0, 0]
        for domain in self.domains:
            masks[domain >> 3] |= 0x80 >> (domain & 7)
        return ENTRY.pack(self.flag, *masks, self.start, self.end)


@dataclass(slots=True)
class Segment:
    """The monitor segment: a control area, a ring of event frames, and one of sample frames.

    Addresses are those of a saved segment at 16 MiB. A set lies in one piece; where the rest of
    its ring is too small for it, it starts at the front again.

    Attributes:
        size: of the segment in bytes.
        event_size: of the ring of event frames in bytes, a multiple of a frame.
    """

    size: int
    base: int = 0x01000000
    event_size: int = FRAME
    _next: int = field(default=0, init=False)
    _next_event: int = field(default=0, init=False)

    @property
    def control_area(self) -> int:
        """Address of the control entries."""
        return self.base

    def take(self, length: int) -> int:
        """Address for a sample set of that many bytes, a multiple of a frame.

        Raises:
            ScenarioError: the set is larger than the ring.
        """
        first = FRAME + self.event_size
        if length > self.size - first:
            least = (length + first - 1 >> 20) + 1
            raise _too_small("a sample", f"at least {least}", str(self.size >> 20))
        fits = self._next and self._next + length <= self.size
        start = self._next if fits else first
        self._next = start + length
        return self.base + start

    def take_events(self, length: int) -> int:
        """Address for event data of that many bytes.

        It is behind the data before it, where it fits into the frame that that ended in; else it
        begins a frame.

        Raises:
            ScenarioError: there is more of it than the ring holds.
        """
        room = self.event_size
        if length > room:
            held = f"{length:,} bytes for event data"
            raise _too_small("the events of an interval", held, f"{room:,}")
        start = self._next_event
        if length + HEADER.size > -start % FRAME:
            start = -(-start // FRAME) * FRAME
        if start + length > room:
            start = 0
        self._next_event = start + length
        return self.base + FRAME + start


def _too_small(what: str, expected: str, found: str) -> ScenarioError:
    return ScenarioError(
        f"the monitor segment is too small for {what}",
        place="monitor.segment_mib",
        expected=expected,
        found=found,
        effect="CP would drop the connection; nothing more was written",
        remedy="raise segment_mib",
    )


def control_record(segment: Segment, message: int, entries: Sequence[Entry]) -> bytes:
    """The 4096-byte record (MWTBK) in front of the data that its entries describe.

    It begins with a copy of the IUCV message-pending interrupt buffer. The class text is
    inferred: the flag bytes of the entries.

    Raises:
        ScenarioError: more entries than it has room for.
    """
    if len(entries) > MOST_ENTRIES:
        raise ScenarioError(
            "an interval has more sets of data than a control record can describe",
            expected=f"at most {MOST_ENTRIES}",
            found=str(len(entries)),
            remedy="take samples more often, or watch fewer events",
        )
    text = bytes(entry.flag for entry in entries).ljust(4, b"\x40")[:4]
    last = segment.control_area + 12 * len(entries) - 1
    buffer = _BUFFER.pack(1, 0, _MESSAGE_PENDING, message, text, segment.control_area, last, 0)
    body = buffer + b"".join(entry.encode() for entry in entries)
    return body.ljust(FRAME, b"\x00")


END_OF_DATA = bytes(FRAME)
"""The record that closes the file: a control record without an entry."""


def event_block(records: bytes | U8) -> bytes:
    """Event data as the file holds it: from byte 0 of a block, filled up to whole frames."""
    return bytes(records).ljust(-(-len(records) // FRAME) * FRAME, b"\x00")


def sample_frames(blocks: Iterable[Block], end_tod: int) -> U8:
    """Records packed into frames, in order; none crosses a frame.

    A frame that is followed by another ends with MTREOF, the last with MTREND; what is left of a
    frame is zero.

    Args:
        blocks: the records, type after type.
        end_tod: TOD of the interval-end record.

    Returns:
        (frames, 4096) bytes.
    """
    kept = [block for block in blocks if len(block.records)]
    most = sum(len(b.records) // (LARGEST_RECORD // b.records.shape[1]) + 2 for b in kept) + 1
    packing = _Packing(most, end_tod)
    for block in kept:
        packing.add(block)
    return packing.closed(end_tod)


class _Packing:
    """Frames that are being filled; what closes each of them is written at the end, for all.

    Args:
        most: frames that may be needed.
        before: TOD of the record before the first one.
    """

    def __init__(self, most: int, before: int) -> None:
        # Not zeroed as a whole: nearly all of it is written to.
        self._frames = np.empty((most, FRAME), dtype=np.uint8)
        self._ends = np.empty(most, dtype=np.int64)
        self._tods = np.empty(most, dtype=np.uint64)
        self._frame, self._used, self._last = 0, 0, before

    def add(self, block: Block) -> None:
        """Put one block behind what is there."""
        records, tods, (count, length) = block.records, block.tods, block.records.shape
        frame, used = self._frame, self._used
        done = min((LARGEST_RECORD - used) // length, count)
        self._frames[frame, used : used + done * length] = records[:done].reshape(-1)
        used += done * length
        if done < count:
            self._close(slice(frame, frame + 1), used, tods[done - 1] if done else self._last)
            fit = LARGEST_RECORD // length
            full = (count - done - 1) // fit
            behind = done + full * fit
            bulk = slice(frame + 1, frame + 1 + full)
            in_rows = records[done:behind].reshape(full, fit * length)
            self._frames[bulk, : fit * length] = in_rows
            self._close(bulk, fit * length, tods[done + fit - 1 : behind : fit])
            frame += 1 + full
            used = (count - behind) * length
            self._frames[frame, :used] = records[behind:].reshape(-1)
        self._frame, self._used, self._last = frame, used, int(tods[-1])

    def closed(self, end_tod: int) -> U8:
        """(frames, 4096): all frames by MTREOF, the last by MTREND."""
        count = self._frame + 1
        self._close(slice(count - 1, count), self._used, end_tod)
        headers = ends_of_frames(self._tods[:count])
        headers[-1] = np.frombuffer(
            HEADER.pack(HEADER.size, 0, MONITOR_DOMAIN, INTERVAL_END, end_tod), dtype=np.uint8
        )
        frames = self._frames[:count]
        # Where the headers stand among the bytes of all frames.
        first = self._ends[:count] + np.arange(0, count * FRAME, FRAME)
        frames.reshape(-1)[first[:, None] + np.arange(HEADER.size)] = headers
        return frames

    def _close(self, frames: slice, used: int, tods: Any) -> None:
        """Note what some frames end with; behind that they are zero."""
        self._ends[frames], self._tods[frames] = used, tods
        self._frames[frames, used + HEADER.size :] = 0


def ends_of_frames(tods: U64) -> U8:
    """MTREOF records of those times, (records, 20)."""
    headers = np.zeros(len(tods), dtype=_HEADER_DTYPE)
    headers["length"], headers["domain"] = HEADER.size, MONITOR_DOMAIN
    headers["record"], headers["tod"] = END_OF_FRAME, tods
    return headers.view(np.uint8).reshape(len(tods), HEADER.size)


_HEADER_DTYPE = np.dtype(
    {
        "names": ["length", "domain", "record", "tod"],
        "formats": [">u2", "u1", ">u2", ">u8"],
        "offsets": [0, 4, 6, 8],
        "itemsize": HEADER.size,
    }
)
