"""The MONWRITE file: control records, sample and event sets, frames (layouts: MWTBK, MRRECHDR)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

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
    """The monitor segment: a control area, a page of event data, and a ring of sample frames.

    Addresses are those of a saved segment at 16 MiB. A sample set lies in one piece; where the
    rest of the ring is too small for it, it starts at the front again.
    """

    size: int
    base: int = 0x01000000
    _next: int = field(default=0, init=False)

    @property
    def control_area(self) -> int:
        """Address of the control entries."""
        return self.base

    @property
    def events(self) -> int:
        """Address of the event data: inside a frame, as event data may be."""
        return self.base + FRAME + 0x260

    def take(self, length: int) -> int:
        """Address for a sample set of that many bytes, a multiple of a frame.

        Raises:
            ScenarioError: the set is larger than the ring.
        """
        first = 2 * FRAME
        if length > self.size - first:
            raise ScenarioError(
                "the monitor segment is too small for a sample",
                place="monitor.segment_mib",
                expected=f"at least {(length + first >> 20) + 1}",
                found=str(self.size >> 20),
                effect="CP would drop the connection; nothing more was written",
                remedy="raise segment_mib",
            )
        if not self._next or self._next + length > self.size:
            self._next = first
        start = self.base + self._next
        self._next += length
        return start


def control_record(segment: Segment, message: int, entries: Sequence[Entry]) -> bytes:
    """The 4096-byte record (MWTBK) in front of the data that its entries describe.

    It begins with a copy of the IUCV message-pending interrupt buffer. The class text is
    inferred: the flag bytes of the entries.
    """
    text = bytes(entry.flag for entry in entries).ljust(4, b"\x40")[:4]
    last = segment.control_area + 12 * len(entries) - 1
    buffer = _BUFFER.pack(1, 0, _MESSAGE_PENDING, message, text, segment.control_area, last, 0)
    body = buffer + b"".join(entry.encode() for entry in entries)
    return body.ljust(FRAME, b"\x00")


END_OF_DATA = bytes(FRAME)
"""The record that closes the file: a control record without an entry."""


def event_block(records: bytes) -> bytes:
    """Event data as the file holds it: from byte 0 of a block, filled up to whole frames."""
    return records.ljust(-(-len(records) // FRAME) * FRAME, b"\x00")


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
    out = np.zeros((most, FRAME), dtype=np.uint8)
    frame, used, last = 0, 0, end_tod
    for block in kept:
        frame, used = _place(out, frame, used, block, last)
        last = int(block.tods[-1])
    out[frame, used : used + HEADER.size] = _closing(INTERVAL_END, end_tod)
    return out[: frame + 1]


def _place(out: U8, frame: int, used: int, block: Block, last: int) -> tuple[int, int]:
    """Put one block behind what is there; `last` is the TOD of the record before it.

    Returns the frame and the offset where the next record belongs.
    """
    records, (count, length) = block.records, block.records.shape
    done = min((LARGEST_RECORD - used) // length, count)
    out[frame, used : used + done * length] = records[:done].reshape(-1)
    used += done * length
    if done == count:
        return frame, used
    _end_frame(out, frame, used, int(block.tods[done - 1]) if done else last)
    fit = LARGEST_RECORD // length
    full = (count - done - 1) // fit
    bulk = out[frame + 1 : frame + 1 + full]
    bulk[:, : fit * length] = records[done : done + full * fit].reshape(full, fit * length)
    closing = np.zeros(full, dtype=_HEADER_DTYPE)
    closing["length"], closing["domain"] = HEADER.size, MONITOR_DOMAIN
    closing["record"] = END_OF_FRAME
    closing["tod"] = block.tods[done + fit - 1 : done + full * fit : fit]
    end = fit * length
    bulk[:, end : end + HEADER.size] = closing.view(np.uint8).reshape(full, HEADER.size)
    rest = records[done + full * fit :]
    frame += 1 + full
    out[frame, : rest.size] = rest.reshape(-1)
    return frame, rest.size


def _end_frame(out: U8, frame: int, used: int, tod: int) -> None:
    out[frame, used : used + HEADER.size] = _closing(END_OF_FRAME, tod)


def _closing(record: int, tod: int) -> U8:
    """A header-only record: MTREOF or MTREND."""
    packed = HEADER.pack(HEADER.size, 0, MONITOR_DOMAIN, record, tod)
    return np.frombuffer(packed, dtype=np.uint8)


_HEADER_DTYPE = np.dtype(
    {
        "names": ["length", "domain", "record", "tod"],
        "formats": [">u2", "u1", ">u2", ">u8"],
        "offsets": [0, 4, 6, 8],
        "itemsize": HEADER.size,
    }
)
