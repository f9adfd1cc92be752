"""A dump stream: most of it passes through, a part is taken out to be changed.

The buffer is bounded by the largest read and by the pieces of the dump.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator

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
from ..numeric import I64, U8, Bool
from ..sink import Chunk

_TOP_DOMAIN = 11


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
    fits = (length >= HEADER.size) & (length <= FRAME) & (frames[:, 4] <= _TOP_DOMAIN)
    return np.asarray(fits & ~frames[:, 2:4].any(axis=1) & frames[:, 8:16].any(axis=1))


def record_starts(data: U8, starts: I64, limits: I64, *, closing: bool) -> I64:
    """Positions of the records of some frames, ascending.

    All frames advance together, one record a step, each up to its closing record or up to bytes
    that are no record.

    Args:
        data: bytes of the frames.
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
        """Yield up to the first matching frame at or after `place`.

        Args:
            is_match: which of (frames, 4096) match.
            what: the frame's name in a message.

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

        Records that close a frame or an interval do not count.

        Returns:
            The frame, taken out of the stream, and the start of the record in it.

        Raises:
            DamageError: the dump ends before.
        """
        while True:
            yield from self.until_frame(place, hold_records, "record")
            first = self.offset
            frame = self.read(FRAME)
            data = np.frombuffer(frame, np.uint8)
            first_record, limit = np.zeros(1, np.int64), np.array([FRAME])
            starts = record_starts(data, first_record, limit, closing=False)
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
