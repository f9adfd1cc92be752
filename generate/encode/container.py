"""Containers of monitor data: the MONWRITE file (layout: MWTBK) and the monreader stream."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ...schemas.errors import CpmonError
from ..numeric import U8
from ..sink import Chunk
from .frames import FRAME, HEADER, Block, event_frames, sample_frames, set_domains

SAMPLE_FLAG, EVENT_FLAG = 0xE2, 0xC5
_BUFFER = struct.Struct(">HBBI4sIII12x4x")
ENTRY = struct.Struct(">BBBxII")
"""An entry of a control record: flag, two domain masks, first and last address."""
CONTROL_AREA = _BUFFER.size
"""Offset of the first entry of a control record."""
MOST_ENTRIES = (FRAME - CONTROL_AREA) // ENTRY.size
_MESSAGE_PENDING = 9


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

    def take(self, length: int) -> int:
        """Address for a sample set of that many bytes, a multiple of a frame.

        Raises:
            CpmonError: the set is larger than the ring.
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
            CpmonError: there is more of it than the ring holds.
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


def _too_small(what: str, expected: str, found: str) -> CpmonError:
    return CpmonError(
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
        CpmonError: more entries than it has room for.
    """
    if len(entries) > MOST_ENTRIES:
        raise CpmonError(
            "an interval has more sets of data than a control record can describe",
            expected=f"at most {MOST_ENTRIES}",
            found=str(len(entries)),
            remedy="take samples more often, or watch fewer events",
        )
    text = bytes(entry.flag for entry in entries).ljust(4, b"\x40")[:4]
    last = segment.base + 12 * len(entries) - 1
    buffer = _BUFFER.pack(1, 0, _MESSAGE_PENDING, message, text, segment.base, last, 0)
    body = buffer + b"".join(entry.encode() for entry in entries)
    return body.ljust(FRAME, b"\x00")


END_OF_DATA = bytes(FRAME)
"""The record that closes the file: a control record without an entry."""


def event_block(records: bytes | U8) -> bytes:
    """Event data as the file holds it: from byte 0 of a block, filled up to whole frames."""
    return bytes(records).ljust(-(-len(records) // FRAME) * FRAME, b"\x00")


_RING_SHARE = 8
_FILLED_SHARE = 4
"""CP notifies the reader of events when one of so many parts of their ring is full."""


class Delivery:
    """What CP puts into the monitor segment and announces to its reader, message by message.

    An eighth of the segment is for events. Where more of them happen in an interval than a quarter
    of that holds, they go out in parts, before the sample; the last part goes out with it.

    Args:
        size: of the monitor segment in bytes.
    """

    def __init__(self, size: int) -> None:
        self._segment = Segment(size, event_size=size // _RING_SHARE // FRAME * FRAME)
        self._messages = 0

    def interval(
        self, blocks: Sequence[Block], events: Sequence[Block], end_tod: int
    ) -> Iterator[Chunk]:
        """Control records, each followed by the data of its entries.

        Args:
            blocks: the sample. events: what happened before it. end_tod: when the sample ends.

        Raises:
            CpmonError: a sample that the segment cannot hold.
        """
        data, domains = event_frames(events), set_domains(events)
        room = self._segment.event_size // _FILLED_SHARE // FRAME * FRAME
        parts = [data[at : at + room] for at in range(0, len(data), room)]
        for part in parts[:-1]:
            yield self._control([self._events(part, domains)])
            yield event_block(part)
        entries = [self._events(part, domains) for part in parts[-1:]]
        frames = sample_frames(blocks, end_tod)
        start = self._segment.take(frames.size)
        entries.append(Entry(SAMPLE_FLAG, set_domains(blocks), start, start + frames.size - 1))
        yield self._control(entries)
        for part in parts[-1:]:
            yield event_block(part)
        yield frames.reshape(-1).data

    def _events(self, part: U8, domains: frozenset[int]) -> Entry:
        start = self._segment.take_events(len(part))
        return Entry(EVENT_FLAG, domains, start, start + len(part) - 1)

    def _control(self, entries: Sequence[Entry]) -> bytes:
        self._messages += 1
        return control_record(self._segment, self._messages, entries)


Container = Literal["monwrite", "monreader"]

_SPAN = struct.Struct(">4xII")


def captured(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """The chunks of a MONWRITE file as the stream has them.

    Args:
        chunks: control records, each followed by one chunk for each of its entries.
    """
    waiting = iter(chunks)
    for control in waiting:
        entries = bytes(control[CONTROL_AREA:FRAME])
        for at in range(0, len(entries), ENTRY.size):
            element = entries[at : at + ENTRY.size]
            if not any(element):
                break
            start, end = _SPAN.unpack(element)
            yield element + next(waiting)[: end - start + 1]
