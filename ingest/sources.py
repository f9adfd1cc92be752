"""A dump as a stream of decompressed bytes: a file, a pipe, gzip or zstd of either."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol, cast

import pyarrow as pa
from blake3 import blake3

from ..schemas.errors import DumpError

PIECE = 256 * 1024
"""How much is decompressed at once; at most this is lost in front of damage."""


class Stored(Protocol):
    """What is needed of a stream of stored bytes: any binary file has it."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        ...

    def readinto(self, target: memoryview, /) -> int:
        """Fill `target` from its front; returns how far, 0 at the end."""
        ...


class Delivered(Protocol):
    """A stream of decompressed bytes."""

    def readinto(self, target: memoryview, /) -> int:
        """Fill `target` from its front; returns how far, 0 at the end."""
        ...


class Source:
    """One dump, read once from front to back.

    Attributes:
        name: for messages: the file's name, or "standard input".
        stored_size: bytes on disk, or None for a pipe.
        stored_read: how many of them have been read, for progress.
        size: bytes delivered so far, decompressed.
        compression: "none", "gzip" or "zstd", by the first bytes.
        damage: what the decompressor said when it gave up, or None.
    """

    def __init__(self, raw: Stored, name: str, stored_size: int | None = None) -> None:
        self.name = name
        self.stored_size = stored_size
        self.size = 0
        self.damage: str | None = None
        self._stored = _Counted(raw)
        self.compression = self._stored.compression
        self._hash = blake3()
        self._delivered = self._open()

    @property
    def stored_read(self) -> int:
        """Bytes read from the file or pipe."""
        return self._stored.count

    @property
    def identity(self) -> str:
        """Hash of the bytes delivered so far: of the whole dump, once it has been read."""
        return self._hash.hexdigest(length=16)

    def readinto(self, target: memoryview) -> int:
        """Fill `target` with the next bytes; returns how many there were, less at the end only."""
        filled = 0
        while filled < len(target) and (got := self._delivered.readinto(target[filled:])):
            filled += got
        self._hash.update(target[:filled])
        self.size += filled
        return filled

    def _open(self) -> Delivered:
        if self.compression == "gzip":
            return _Pieces(_gunzip(self._stored), self)
        if self.compression == "zstd":
            return _Pieces(_unzstd(self._stored), self)
        return self._stored


@contextmanager
def open_source(path: str | Path) -> Iterator[Source]:
    """The dump at a path, or on standard input for "-".

    Raises:
        DumpError: there is no such file, or it cannot be read.
    """
    if str(path) == "-":
        yield Source(cast(Stored, sys.stdin.buffer), "standard input")
        return
    path = Path(path)
    try:
        stored = path.open("rb", buffering=0)
    except OSError as error:
        raise DumpError(
            f"{path} cannot be read: {error.strerror}",
            remedy="give the path of a MONWRITE file, or - for standard input",
        ) from None
    with stored:
        yield Source(stored, path.name, path.stat().st_size)


class _Counted:
    """Stored bytes, counted; the first four are looked at to find the compression."""

    MAGIC = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))

    def __init__(self, raw: Stored) -> None:
        self._raw = raw
        self._head = self._fully(4)
        self.count = 0
        self.closed = False
        named = (name for magic, name in self.MAGIC if self._head.startswith(magic))
        self.compression = next(named, "none")

    def read(self, size: int = -1) -> bytes:
        """The head at once, then as much as is asked for."""
        if self._head:
            piece, self._head = self._head, b""
        else:
            piece = self._raw.read(size)
        self.count += len(piece)
        return piece

    def readinto(self, target: memoryview) -> int:
        """Straight from the file, but for the head."""
        got = min(len(self._head), len(target))
        if got:
            target[:got] = self._head[:got]
            self._head = self._head[got:]
        else:
            got = self._raw.readinto(target)
        self.count += got
        return got

    def close(self) -> None:
        """Nothing: whoever opened the file closes it; pyarrow asks for this."""
        self.closed = True

    def _fully(self, size: int) -> bytes:
        head = b""
        while len(head) < size and (piece := self._raw.read(size - len(head))):
            head += piece
        return head


class _Pieces:
    """An iterator of byte strings as a stream; damage ends it and is kept in the source."""

    def __init__(self, pieces: Iterator[bytes], source: Source) -> None:
        self._pieces = pieces
        self._source = source
        self._rest = memoryview(b"")

    def readinto(self, target: memoryview) -> int:
        """From the piece at hand, or from the next one."""
        if not self._rest:
            try:
                self._rest = memoryview(next(self._pieces, b""))
            except (zlib.error, EOFError, OSError) as error:
                self._source.damage = str(error)
        got = min(len(target), len(self._rest))
        target[:got] = self._rest[:got]
        self._rest = self._rest[got:]
        return got


def _gunzip(stored: Stored) -> Iterator[bytes]:
    """Members one after the other, as `cat a.gz b.gz` makes them; padding zeros end them."""
    member = zlib.decompressobj(wbits=31)
    waiting = b""
    while waiting or (waiting := stored.read(PIECE)):
        piece = member.decompress(waiting, PIECE)
        waiting = member.unconsumed_tail
        if piece:
            yield piece
        if member.eof:
            waiting = member.unused_data or stored.read(PIECE)
            if not waiting.strip(b"\0"):
                return
            member = zlib.decompressobj(wbits=31)
    if not member.eof:
        if rest := member.flush():
            yield rest
        raise EOFError("the gzip file ends inside a member")


def _unzstd(stored: Stored) -> Iterator[bytes]:
    with pa.CompressedInputStream(pa.PythonFile(stored, mode="r"), "zstd") as stream:
        while piece := stream.read(PIECE):
            yield piece
