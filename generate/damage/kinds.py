"""Kinds of damage to a dump between CP and its reader: one function for each.

Each takes a dump stream, the place and the amount of damage, and yields the damaged dump; the rest
of the stream follows unchanged. docs/generate.md lists what cpmon reports of each. The buffer of a
stream is bounded by the largest read and by the pieces of the dump.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from ...core.errors import CpmonError
from ..encode.container import (
    CONTROL_AREA,
    END_OF_FRAME,
    ENTRY,
    EVENT_FLAG,
    FRAME,
    HEADER,
    INTERVAL_END,
    MONITOR_DOMAIN,
    SAMPLE_FLAG,
)
from ..model.measurement import TOD_PER_S
from ..numeric import I64, U8, Bool
from ..sink import Chunk


def are_controls(frames: U8) -> Bool:
    """Which of (frames, 4096) are control records with an entry: they announce data."""
    entry = frames[:, CONTROL_AREA : CONTROL_AREA + ENTRY.size]
    start, end = (_words(entry[:, at : at + 4]) for at in (4, 8))
    first, last = (_words(frames[:, at : at + 4]) for at in (12, 16))
    flagged = (entry[:, 0] == SAMPLE_FLAG) | (entry[:, 0] == EVENT_FLAG)
    sized = (last > first) & ((last - first + 1) % ENTRY.size == 0)
    return np.asarray(flagged & entry[:, 1:3].any(axis=1) & (end > start) & sized)


def hold_records(frames: U8) -> Bool:
    """Which of (frames, 4096) begin with a record."""
    length = _words(frames[:, 0:2])
    fits = (length >= HEADER.size) & (length <= FRAME) & (frames[:, 4] <= 11)
    return np.asarray(fits & ~frames[:, 2:4].any(axis=1) & frames[:, 8:16].any(axis=1))


def record_starts(data: U8, starts: I64, limits: I64, *, closing: bool) -> I64:
    """Positions of the records of some frames, ascending.

    All frames advance together, one record a step, each up to its closing record or up to bytes
    that are no record.

    Args:
        starts, limits: (frames,) position of the first record, and behind the last byte.
        closing: whether to include records that close a frame (1.11, 1.13).
    """
    records = [np.empty(0, np.int64)]
    at, behind = starts, limits
    while len(at):
        inside = behind - at >= HEADER.size
        at, behind = at[inside], behind[inside]
        header = data[at[:, None] + np.arange(HEADER.size)]
        length = _words(header[:, 0:2])
        good = (length >= HEADER.size) & (length <= behind - at) & ~header[:, 2:4].any(axis=1)
        kind = _words(header[:, 6:8])
        ends = (header[:, 4] == MONITOR_DOMAIN) & ((kind == END_OF_FRAME) | (kind == INTERVAL_END))
        on = good & ~ends
        records.append(at[good if closing else on])
        at, behind = at[on] + length[on], behind[on]
    return np.sort(np.concatenate(records))


def _words(raw: U8) -> I64:
    """Big-endian numbers of (rows, width) bytes."""
    return np.ascontiguousarray(raw).view(f">u{raw.shape[1]}")[:, 0].astype(np.int64)


class DamageError(CpmonError):
    """Damage of an unknown kind, or damage that does not apply to this dump."""


class DumpStream:
    """Reads a dump once, from front to back.

    `offset` counts the bytes returned so far. Methods that pass bytes through are iterators of
    these bytes: `yield from stream.rest()`.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.offset = 0
        self._chunks = iter(chunks)
        self._buffer = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        self._fill(size)
        return self._take(size)

    def peek(self, size: int) -> bytes:
        """The next bytes without consuming them; fewer at the end."""
        self._fill(size)
        return self._buffer[self._at : self._at + size]

    def until(self, offset: int) -> Iterator[bytes]:
        """Yield the bytes before an offset; none if it has been passed."""
        while self.offset < offset and self._fill(1):
            yield self._take(offset - self.offset)

    def rest(self) -> Iterator[bytes]:
        """Yield everything."""
        while have := self._fill(1):
            yield self._take(have)

    def close(self) -> None:
        """Drop everything that has not been read."""
        self._chunks, self._buffer, self._at = iter(()), b"", 0

    def frames(self) -> Iterator[bytes]:
        """The rest in pieces of whole frames; the last piece may be a part of a frame."""
        while have := self._fill(FRAME):
            yield self._take(have // FRAME * FRAME or have)

    def until_frame(self, place: int, is_match: Callable[[U8], Bool], what: str) -> Iterator[bytes]:
        """Yield up to the first matching frame, `what` in a message, at or after `place`.

        Raises:
            DamageError: the dump ends before.
        """
        yield from self.until(place // FRAME * FRAME)
        while count := self._fill(FRAME) // FRAME:
            held = np.frombuffer(self._buffer, np.uint8, count * FRAME, self._at)
            frames = held.reshape(count, FRAME)
            hits = np.flatnonzero(is_match(frames))
            passing = int(hits[0]) if len(hits) else count
            yield self._take(passing * FRAME)
            if len(hits):
                return
        end = self.offset + len(self._buffer) - self._at
        raise DamageError(
            f"there is no {what} from byte {place:,} on, so nothing was damaged",
            code="damage-place-beyond-end",
            expected=f"a MONWRITE dump with one behind that place; it ends at byte {end:,}",
            effect="no dump was written",
            remedy="name an earlier place",
        )

    def until_record(self, place: int) -> Generator[bytes, None, tuple[bytearray, int]]:
        """Yield up to the frame of the first record at or after `place`.

        Records that close a frame or an interval do not count. Returns the frame, taken out of the
        stream, and the start of the record in it.

        Raises:
            DamageError: the dump ends before.
        """
        while True:
            yield from self.until_frame(place, hold_records, "record")
            first = self.offset
            frame = self.read(FRAME)
            data, whole = np.frombuffer(frame, np.uint8), (np.array([0]), np.array([FRAME]))
            starts = record_starts(data, *whole, closing=False)
            behind = starts[starts >= place - first]
            if len(behind):
                return bytearray(frame), int(behind[0])
            yield frame

    def _fill(self, size: int) -> int:
        """Buffer that many bytes, as far as the dump has them; returns how many are buffered."""
        have = len(self._buffer) - self._at
        if have < size:
            parts: list[Chunk] = [self._buffer[self._at :]]
            while have < size and (chunk := next(self._chunks, None)) is not None:
                parts.append(chunk)
                have += len(chunk)
            self._buffer, self._at = b"".join(parts), 0
        return have

    def _take(self, size: int) -> bytes:
        taken = self._buffer[self._at : self._at + size]
        self._at += len(taken)
        self.offset += len(taken)
        return taken


_BULK = 1024 * FRAME
_TO_ASCII = bytes(range(256)).decode("cp037").encode("latin-1")


@dataclass(frozen=True, slots=True)
class Spot:
    """`place`: offset in the undamaged dump. `count`: amount of damage, in a unit of the kind."""

    place: int
    count: int
    rng: np.random.Generator


Damaging = Callable[[DumpStream, Spot], Iterator[bytes]]


@dataclass(frozen=True, slots=True)
class DamageKind:
    """A kind of damage.

    Attributes:
        apply: the function; None if it damages the compressed file.
        placed: whether it has a place.
        count: default count; None if it has no count.
        counts, least: unit of the count; the smallest one.
    """

    name: str
    meaning: str
    apply: Damaging | None = None
    placed: bool = True
    count: int | None = None
    counts: str = ""
    least: int = 1


KINDS: dict[str, DamageKind] = {}
CUT_COMPRESSED = "cut-compressed"


def kind(
    name: str, *, placed: bool = True, count: int | None = None, counts: str = "", least: int = 1
) -> Callable[[Damaging], Damaging]:
    """Registers a function as a kind; the first line of its docstring is its meaning."""

    def add(apply: Damaging) -> Damaging:
        meaning = (apply.__doc__ or "").partition("\n")[0]
        KINDS[name] = DamageKind(name, meaning, apply, placed, count, counts, least)
        return apply

    return add


@kind("truncate")
def truncate(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """The dump ends at PLACE."""
    yield from stream.until(spot.place)
    stream.close()


@kind("flip-bits", count=1, counts="bytes")
def flip_bits(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """One bit of each of COUNT bytes is inverted, from PLACE on."""
    yield from stream.until(spot.place)
    left = spot.count
    while left and (piece := stream.read(min(left, _BULK))):
        bits = np.uint8(1) << spot.rng.integers(0, 8, len(piece), dtype=np.uint8)
        yield (np.frombuffer(piece, np.uint8) ^ bits).tobytes()
        left -= len(piece)


@kind("zero-frames", count=1, counts="frames")
def zero_frames(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """COUNT frames, from the first with records at PLACE or behind, become zeros."""
    yield from stream.until_frame(spot.place, hold_records, "frame of records")
    for _ in range(spot.count):
        yield bytes(len(stream.read(FRAME)))


@kind("repeat-frames", count=1, counts="times")
def repeat_frames(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A frame of records comes COUNT more times; what follows it is shifted."""
    yield from stream.until_frame(spot.place, hold_records, "frame of records")
    frame = stream.read(FRAME)
    for _ in range(spot.count + 1):
        yield frame


@kind("swap-frames")
def swap_frames(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """Two frames of records that follow each other change places."""
    while True:
        yield from stream.until_frame(spot.place, hold_records, "frame of records")
        first = stream.read(FRAME)
        second = np.frombuffer(stream.peek(FRAME), np.uint8)
        if len(second) == FRAME and hold_records(second.reshape(1, FRAME))[0]:
            break
        yield first
    yield stream.read(FRAME)
    yield first


@kind("length-short", count=8, counts="bytes")
def length_short(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A record claims COUNT bytes only, by default fewer than its header has."""
    yield from _changed(stream, spot, _LENGTH, lambda _length: spot.count)


@kind("length-long", count=4, counts="bytes")
def length_long(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A record claims COUNT bytes more than it has, so that it swallows what follows."""
    yield from _changed(stream, spot, _LENGTH, lambda length: length + spot.count)


@kind("length-past-frame")
def length_past_frame(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A record claims more bytes than its frame has left."""
    yield from _changed(stream, spot, _LENGTH, lambda _length: FRAME + HEADER.size)


@kind("wrong-domain")
def wrong_domain(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A record claims a domain that there is not."""
    yield from _changed(stream, spot, _DOMAIN, lambda _domain: int(spot.rng.integers(12, 256)))


@kind("unknown-record")
def unknown_record(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A record claims a number that its domain does not have."""
    number = int(spot.rng.integers(1000, 0x10000))
    yield from _changed(stream, spot, _RECORD, lambda _number: number)


@kind("tod-back", count=3600, counts="seconds")
def tod_back(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """The clock is set back by COUNT seconds in front of the set of data at PLACE or behind."""
    yield from stream.until_frame(spot.place, are_controls, "control record")
    ticks = np.uint64(spot.count * TOD_PER_S)
    while head := stream.read(FRAME):
        yield head
        for lead, size in _announced(head):
            yield from _earlier(stream, lead, size, ticks)


@kind("control-missing")
def control_missing(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A control record is not there; the data that it describes is."""
    yield from stream.until_frame(spot.place, are_controls, "control record")
    stream.read(FRAME)


@kind("control-lies", count=16, counts="frames", least=-0xFFFF)
def control_lies(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """A control record announces COUNT frames more than follow; fewer if COUNT is negative."""
    yield from stream.until_frame(spot.place, are_controls, "control record")
    head = bytearray(stream.read(FRAME))
    last = CONTROL_AREA + ENTRY.size * (len(_announced(bytes(head))) - 1)
    start, end = struct.unpack_from(">II", head, last + 4)
    claimed = min(max(end + spot.count * FRAME, start + HEADER.size - 1), 0xFFFFFFFF)
    struct.pack_into(">I", head, last + 8, claimed)
    yield bytes(head)


@kind("end-missing", placed=False)
def end_missing(stream: DumpStream, _spot: Spot) -> Iterator[bytes]:
    """The end-of-data record is not there."""
    held = b""
    for piece in stream.frames():
        held += piece
        yield held[:-FRAME]
        held = held[-FRAME:]
    # A control record without an entry; data can have zeros, too.
    is_end = len(held) == FRAME and not any(held[CONTROL_AREA : CONTROL_AREA + ENTRY.size])
    if not is_end or hold_records(np.frombuffer(held, np.uint8)[None, :])[0]:
        raise DamageError(
            "the dump has no end-of-data record, so none can be left out",
            code="damage-end-record-missing",
            effect="no dump was written",
            remedy="leave end-missing out, or put it in front of the other damages",
        )


@kind("to-ascii", placed=False)
def to_ascii(stream: DumpStream, _spot: Spot) -> Iterator[bytes]:
    """A text transfer: every byte is taken for EBCDIC and translated to ASCII."""
    for piece in stream.rest():
        yield piece.translate(_TO_ASCII)


@kind("line-ends", placed=False)
def line_ends(stream: DumpStream, _spot: Spot) -> Iterator[bytes]:
    """A text transfer: CR and LF are put behind every record of 4096 bytes."""
    for piece in stream.frames():
        count = len(piece) // FRAME
        if not count:
            yield piece
            break
        frames = np.frombuffer(piece, np.uint8).reshape(count, FRAME)
        ends = np.tile(np.frombuffer(b"\r\n", np.uint8), (count, 1))
        yield np.hstack([frames, ends]).tobytes()


@kind("record-prefixes", placed=False)
def record_prefixes(stream: DumpStream, _spot: Spot) -> Iterator[bytes]:
    """A record descriptor word of 4 bytes stands in front of every record of 4096 bytes."""
    while piece := stream.read(FRAME):
        yield _descriptor(len(piece)) + piece


@kind("block-prefixes", placed=False)
def block_prefixes(stream: DumpStream, _spot: Spot) -> Iterator[bytes]:
    """Block descriptor words of 4 bytes stand in front of every six records, beside theirs."""
    while block := stream.read(6 * FRAME):
        pieces = [block[at : at + FRAME] for at in range(0, len(block), FRAME)]
        records = b"".join(_descriptor(len(piece)) + piece for piece in pieces)
        yield _descriptor(len(records)) + records


@kind("trailing-garbage", placed=False, count=5000, counts="bytes")
def trailing_garbage(stream: DumpStream, spot: Spot) -> Iterator[bytes]:
    """COUNT random bytes follow the dump."""
    yield from stream.rest()
    for at in range(0, spot.count, _BULK):
        yield spot.rng.integers(0, 256, min(_BULK, spot.count - at), np.uint8).tobytes()


KINDS[CUT_COMPRESSED] = DamageKind(
    CUT_COMPRESSED, "The gzip or zstd file, not the dump in it, ends at PLACE."
)


_LENGTH, _DOMAIN, _RECORD = range(0, 2), range(4, 5), range(6, 8)
"""Byte ranges of numbers in the header of a record."""


def _changed(
    stream: DumpStream, spot: Spot, field: range, new: Callable[[int], int]
) -> Iterator[bytes]:
    """The dump up to a record, with a number in the record's header changed by a function."""
    frame, at = yield from stream.until_record(spot.place)
    number = slice(at + field.start, at + field.stop)
    most = (1 << 8 * len(field)) - 1
    frame[number] = min(new(int.from_bytes(frame[number])), most).to_bytes(len(field))
    yield bytes(frame)


def _announced(control: bytes) -> list[tuple[int, int]]:
    """Data areas that a control record announces: (bytes before the data in its frame, length)."""
    sets = []
    if len(control) == FRAME and are_controls(np.frombuffer(control, np.uint8).reshape(1, FRAME)):
        for flag, mask_a, mask_b, start, end in ENTRY.iter_unpack(control[CONTROL_AREA:]):
            if flag not in (SAMPLE_FLAG, EVENT_FLAG) or not (mask_a or mask_b) or end <= start:
                break
            sets.append((start % FRAME, end - start + 1))
    return sets


def _earlier(stream: DumpStream, lead: int, size: int, ticks: np.uint64) -> Iterator[bytes]:
    """A set of data with all time stamps set back, as whole frames."""
    skipped = 0
    if lead:
        head = np.frombuffer(stream.peek(FRAME).ljust(FRAME, b"\0"), np.uint8)
        at_front, behind = hold_records(np.stack([head, np.roll(head, -lead)])).tolist()
        skipped = lead if behind and not at_front else 0
    # Event data that is not aligned to a frame is buffered as a whole, up to 64 MiB.
    whole, limit = -(-(skipped + size) // FRAME) * FRAME, 64 << 20 if lead else _BULK
    done = 0
    while done < whole and (piece := stream.read(min(whole - done, limit))):
        data = np.frombuffer(piece, np.uint8).copy()
        end = min(len(data), skipped + size - done)
        first = skipped + FRAME - lead if lead else FRAME
        starts = np.concatenate([[skipped], np.arange(first, end, FRAME)]).astype(np.int64)
        every = record_starts(data, starts, np.append(starts[1:], end), closing=True)
        stamps = every[:, None] + np.arange(8, 16)
        tods = data[stamps].view(">u8")[:, 0].astype(np.uint64) - ticks
        data[stamps] = tods.astype(">u8")[:, None].view(np.uint8)
        yield data.tobytes()
        done += len(piece)


def _descriptor(length: int) -> bytes:
    """A block or record descriptor word: a length that counts itself, and two zeros."""
    return struct.pack(">HH", length + 4, 0)
