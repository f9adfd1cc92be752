"""A dump as it passes by: most of it is let through, a part is taken out to be changed.

What is held is bounded by what is asked for, and by the pieces that the dump comes in.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator

import numpy as np

from ..schemas.errors import CpmonError
from .files import Chunk
from .landmarks import Mask, hold_records, record_starts
from .monwrite import FRAME, U8


class DamageError(CpmonError):
    """A damage that is not known, or that cannot be done to this dump."""


class Tape:
    """Reads a dump once, from front to back.

    `offset` counts the bytes handed out so far. Methods that let bytes through are iterators of
    these bytes: `yield from tape.rest()`.
    """

    def __init__(self, chunks: Iterable[Chunk]) -> None:
        self.offset = 0
        self._chunks = iter(chunks)
        self._held = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """The next bytes; fewer at the end."""
        self._hold(size)
        return self._take(size)

    def peek(self, size: int) -> bytes:
        """The next bytes, which stay; fewer at the end."""
        self._hold(size)
        return self._held[self._at : self._at + size]

    def until(self, offset: int) -> Iterator[bytes]:
        """Let through what comes before an offset; nothing if that has passed."""
        while self.offset < offset and self._hold(1):
            yield self._take(offset - self.offset)

    def rest(self) -> Iterator[bytes]:
        """Let through everything."""
        while have := self._hold(1):
            yield self._take(have)

    def frames(self) -> Iterator[bytes]:
        """Everything in pieces of whole frames; what is left of the last one comes at the end."""
        while have := self._hold(FRAME):
            yield self._take(have // FRAME * FRAME or have)

    def until_frame(self, place: int, wanted: Callable[[U8], Mask], what: str) -> Iterator[bytes]:
        """Let through up to a frame: the first that is wanted, from the one of `place` on.

        Args:
            wanted: which of (frames, 4096) are.
            what: the frame's name in a message.

        Raises:
            DamageError: the dump ends before.
        """
        yield from self.until(place // FRAME * FRAME)
        while count := self._hold(FRAME) // FRAME:
            held = np.frombuffer(self._held, np.uint8, count * FRAME, self._at)
            frames = held.reshape(count, FRAME)
            hits = np.flatnonzero(wanted(frames))
            passing = int(hits[0]) if len(hits) else count
            yield self._take(passing * FRAME)
            if len(hits):
                return
        raise DamageError(
            f"there is no {what} from byte {place:,} on, so nothing was damaged",
            expected=f"a MONWRITE dump with one behind that place; it ends at byte {self.end:,}",
            effect="no dump was written",
            remedy="name an earlier place",
        )

    def until_record(self, place: int) -> Generator[bytes, None, tuple[bytearray, int]]:
        """Let through up to the frame of a record: the first that starts at `place` or behind.

        Records that close a frame or an interval do not count.

        Returns:
            The frame, taken out, and where the record starts in it.

        Raises:
            DamageError: the dump ends before.
        """
        while True:
            yield from self.until_frame(place, hold_records, "record")
            first = self.offset
            frame = self.read(FRAME)
            data = np.frombuffer(frame, np.uint8)
            starts, _ = record_starts(data, np.zeros(1, np.int64), np.array([FRAME]))
            behind = starts[starts >= place - first]
            if len(behind):
                return bytearray(frame), int(behind[0])
            yield frame

    @property
    def end(self) -> int:
        """Offset behind the last byte that has come."""
        return self.offset + len(self._held) - self._at

    def _hold(self, size: int) -> int:
        """Have that many bytes at hand, as far as there are any; returns how many there are."""
        have = len(self._held) - self._at
        if have < size:
            parts: list[Chunk] = [self._held[self._at :]]
            while have < size and (chunk := next(self._chunks, None)) is not None:
                parts.append(chunk)
                have += len(chunk)
            self._held, self._at = b"".join(parts), 0
        return have

    def _take(self, size: int) -> bytes:
        taken = self._held[self._at : self._at + size]
        self._at += len(taken)
        self.offset += len(taken)
        return taken
