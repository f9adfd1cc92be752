"""Containers of monitor data: frames, the MONWRITE file, and the monreader stream.

Layouts: MRRECHDR (record), MWTBK (control record).
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...core.errors import CpmonError
from ..numeric import I64, U8, U64
from ..sink import Chunk

FRAME = 4096
HEADER = struct.Struct(">HHBxHQ4x")
"""MRRECHDR: length, zeros, domain, record number, TOD."""

END_OF_FRAME = 13
INTERVAL_END = 11
MONITOR_DOMAIN = 1

LARGEST_RECORD = FRAME - HEADER.size
"""Bytes of a frame for records; the record that ends the frame must fit, too."""


@dataclass(frozen=True, slots=True)
class Block:
    """Records of one type: (records, length) bytes, their domain and time stamps."""

    domain: int
    records: U8
    tods: U64


def sample_frames(blocks: Iterable[Block], end_tod: int) -> U8:
    """(frames, 4096): records packed into frames, in order; none crosses a frame.

    A frame that is followed by another ends with MTREOF, the last with MTREND at `end_tod`; the
    rest of a frame is zero.
    """
    frames, used = _packed(blocks, by_time=False)
    _scatter(frames, np.array([used]), _closing_records(INTERVAL_END, np.array([end_tod])))
    return frames.reshape(-1, FRAME)


def _closing_records(number: int, tods: U64) -> U8:
    """(records, 20): records of the monitor domain without a body, with these time stamps."""
    header = HEADER.pack(HEADER.size, 0, MONITOR_DOMAIN, number, 0)
    records = np.tile(np.frombuffer(header, dtype=np.uint8), (len(tods), 1))
    records[:, 8:16] = tods.astype(">u8")[:, None].view(np.uint8)
    return records


def set_domains(blocks: Iterable[Block]) -> frozenset[int]:
    """The domains in the entry of a set, with the monitor domain of MTREOF."""
    return frozenset({MONITOR_DOMAIN, *(block.domain for block in blocks)})


def event_frames(blocks: Iterable[Block]) -> U8:
    """(bytes,): event records packed into frames, in the order of their time stamps.

    A frame that is followed by another ends with MTREOF. The bytes end with the last record: the
    end address of the entry is there. Records of one time stay in the order given.
    """
    frames, used = _packed(blocks, by_time=True)
    return frames[:used]


def _packed(blocks: Iterable[Block], *, by_time: bool) -> tuple[U8, int]:
    """Records packed into frames, as bytes, and where the last record ends.

    Every frame but the last is closed by MTREOF with the time stamp of its last record.
    """
    filled = [block for block in blocks if len(block.records)]
    if not filled:
        return np.zeros(FRAME, dtype=np.uint8), 0
    tods = np.concatenate([block.tods for block in filled])
    lengths = np.concatenate([np.full(*block.records.shape) for block in filled])
    order = np.argsort(tods, kind="stable") if by_time else np.arange(len(tods))
    placed, last = _offsets(lengths[order])
    out = np.zeros((len(last) + 1) * FRAME, dtype=np.uint8)
    offsets = np.empty_like(placed)
    offsets[order] = placed
    ends = np.cumsum([len(block.records) for block in filled])
    for block, own in zip(filled, np.split(offsets, ends[:-1]), strict=True):
        _scatter(out, own, block.records)
    closing = order[last]
    closed_at = offsets[closing] + lengths[closing]
    _scatter(out, closed_at, _closing_records(END_OF_FRAME, tods[closing]))
    return out, int(placed[-1] + lengths[order[-1]])


def _offsets(lengths: I64) -> tuple[I64, I64]:
    """Offsets of records, (records,), and the last record of each frame except the last one."""
    behind = np.cumsum(lengths)
    ends, stops, base = behind.tolist(), [0], 0
    while stops[-1] < len(ends):
        stops.append(bisect_right(ends, base + LARGEST_RECORD))
        base = ends[stops[-1] - 1]
    offsets = behind - lengths
    shifts = np.arange(len(stops) - 1) * FRAME - offsets[stops[:-1]]
    return offsets + np.repeat(shifts, np.diff(stops)), np.array(stops[1:-1], dtype=np.int64) - 1


def _scatter(out: U8, offsets: I64, records: U8) -> None:
    length = records.shape[1]
    target = np.ndarray((len(out) - length + 1,), f"V{length}", out, 0, (1,))
    target[offsets] = records.view(f"V{length}")[:, 0]


SAMPLE_FLAG, EVENT_FLAG = 0xE2, 0xC5
_BUFFER = struct.Struct(">HBBI4sIII12x4x")
ENTRY = struct.Struct(">BBBxII")
"""An entry of a control record: flag, two domain masks, first and last address."""
CONTROL_AREA = _BUFFER.size
"""Offset of the first entry of a control record."""

SEGMENT = 0x01000000
"""Address of the monitor segment: a saved segment at 16 MiB."""


class Ring:
    """A ring buffer in the monitor segment.

    A set is contiguous. It begins after the previous set if it fits into the frame in which that
    ended, else at the next frame, or at the front if the rest of the ring is too small. The size is
    a multiple of a frame.
    """

    def __init__(self, address: int, size: int) -> None:
        self.address, self.size = address, size
        self._next = 0

    def take(self, length: int) -> int:
        """Allocate a set; returns its address.

        Raises:
            CpmonError: the set is larger than the ring.
        """
        if length > self.size:
            before = self.address - SEGMENT
            raise CpmonError(
                "the monitor segment is too small for a sample",
                code="monitor-segment-too-small",
                place="monitor.segment_mib",
                expected=f"at least {(before + length - 1 >> 20) + 1}",
                found=str(before + self.size >> 20),
                effect="CP would drop the connection; nothing more was written",
                remedy="raise segment_mib",
            )
        start = self._next
        if length + HEADER.size > -start % FRAME:
            start = -(-start // FRAME) * FRAME
        if start + length > self.size:
            start = 0
        self._next = start + length
        return self.address + start


def entry(flag: int, domains: Iterable[int], start: int, length: int) -> bytes:
    """An entry of a control record (MCE); bits of the second mask are inferred."""
    masks = [0, 0]
    for domain in domains:
        masks[domain >> 3] |= 0x80 >> (domain & 7)
    return ENTRY.pack(flag, *masks, start, start + length - 1)


def control_record(message: int, entries: Sequence[bytes]) -> bytes:
    """The 4096-byte record (MWTBK) before the data that its entries describe.

    It begins with a copy of the IUCV message-pending (9) interrupt buffer. The class text is
    inferred: the flag bytes of the entries.
    """
    text = bytes(each[0] for each in entries).ljust(4, b"\x40")
    last = SEGMENT + ENTRY.size * len(entries) - 1
    buffer = _BUFFER.pack(1, 0, 9, message, text, SEGMENT, last, 0)
    return (buffer + b"".join(entries)).ljust(FRAME, b"\x00")


END_OF_DATA = bytes(FRAME)
"""The record that closes the file: a control record without an entry."""


def event_block(records: bytes | U8) -> bytes:
    """Event data as the file holds it: from byte 0 of a block, filled up to whole frames."""
    return bytes(records).ljust(-(-len(records) // FRAME) * FRAME, b"\x00")


class Delivery:
    """Delivery of data by CP through a monitor segment of some bytes, message by message.

    An eighth of the segment is for events. If the events of an interval fill more than a quarter of
    that, they are delivered in parts before the sample; the last part comes with the sample.
    """

    def __init__(self, size: int) -> None:
        room = size // 8 // FRAME * FRAME
        self._events = Ring(SEGMENT + FRAME, room)
        self._samples = Ring(SEGMENT + FRAME + room, size - FRAME - room)
        self._messages = 0

    def interval(
        self, blocks: Sequence[Block], events: Sequence[Block], end_tod: int
    ) -> Iterator[Chunk]:
        """Control records, each followed by the data of its entries: events, then the sample.

        Raises:
            CpmonError: the segment cannot hold the sample.
        """
        data, domains = event_frames(events), set_domains(events)
        room = self._events.size // 4 // FRAME * FRAME
        entries, waiting = list[bytes](), list[Chunk]()
        for at in range(0, len(data), room):
            if entries:
                yield from self._announced(entries, waiting)
            part = data[at : at + room]
            start = self._events.take(len(part))
            entries, waiting = [entry(EVENT_FLAG, domains, start, len(part))], [event_block(part)]
        frames = sample_frames(blocks, end_tod)
        start = self._samples.take(frames.size)
        entries.append(entry(SAMPLE_FLAG, set_domains(blocks), start, frames.size))
        yield from self._announced(entries, [*waiting, frames.reshape(-1).data])

    def _announced(self, entries: Sequence[bytes], data: Sequence[Chunk]) -> Iterator[Chunk]:
        self._messages += 1
        yield control_record(self._messages, entries)
        yield from data


Container = Literal["monwrite", "monreader"]


def captured(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """Converts the chunks of a MONWRITE file to those of a monreader stream.

    Control records are each followed by one chunk for each of their entries.
    """
    waiting = iter(chunks)
    for control in waiting:
        for at in range(CONTROL_AREA, FRAME, ENTRY.size):
            element = bytes(control[at : at + ENTRY.size])
            if not any(element):
                break
            *_, start, end = ENTRY.unpack(element)
            yield element + next(waiting)[: end - start + 1]
