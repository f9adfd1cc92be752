"""A dump as a stream of decompressed bytes: a file, a pipe, gzip or zstd of either."""

from __future__ import annotations

import functools
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Protocol, cast

import pyarrow as pa
from blake3 import blake3

from ..schemas.errors import DumpError
from .device import Device

PIECE = 256 * 1024
"""How much is decompressed at once; at most this is lost in front of damage."""


class Container(StrEnum):
    """How the monitor's data is wrapped; AUTO: the first bytes tell."""

    AUTO = "auto"
    MONWRITE = "monwrite"
    MONREADER = "monreader"


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
    """One dump, read once from front to back. Nothing is read before it is asked for.

    Attributes:
        name: for messages: the file's name, or "standard input".
        stored_size: bytes on disk, or None for a pipe or device.
        stored_read: how many of them have been read, for progress.
        size: bytes delivered so far, decompressed.
        ended: whether everything has been delivered.
        compression: "none", "gzip" or "zstd", by the first bytes.
        damage: what the decompressor said when it gave up, or None.
        container: how the data is wrapped, as far as the user says.
        device: the device that it comes from, or None.
        hashing: whether what is delivered is hashed on the way; a quarter of the time of a list.
    """

    def __init__(
        self,
        raw: Stored,
        name: str,
        stored_size: int | None = None,
        container: Container = Container.AUTO,
    ) -> None:
        self.name = name
        self.stored_size = stored_size
        self.size = 0
        self.ended = False
        self.damage: str | None = None
        self.container = container
        self.device = raw if isinstance(raw, Device) else None
        self._stored = _Counted(raw)
        self.hashing = True
        self._hash = blake3()

    @property
    def stored_read(self) -> int:
        """Bytes read from the file or pipe."""
        return self._stored.count

    @property
    def identity(self) -> str:
        """Hash of the bytes delivered so far: of the whole dump, once it has been read.

        Raises:
            RuntimeError: they were not hashed.
        """
        if not self.hashing:
            raise RuntimeError(f"{self.name} was read without being hashed")
        return self._hash.hexdigest(length=16)

    @property
    def compression(self) -> str:
        """Of the stored bytes: "none", "gzip" or "zstd"."""
        return self._stored.compression

    def readinto(self, target: memoryview) -> int:
        """Fill `target` with the next bytes; returns how many there were.

        They are less than asked for at the end only; or where a device's data set ends, since the
        next one may take its time.
        """
        filled = 0
        while filled < len(target) and (got := self._delivered.readinto(target[filled:])):
            filled += got
            if self.device:
                break
        self.ended = not filled if self.device else filled < len(target)
        if self.hashing:
            self._hash.update(target[:filled])
        self.size += filled
        return filled

    @functools.cached_property
    def _delivered(self) -> Delivered:
        if self.compression == "gzip":
            return _Pieces(_gunzip(self._stored), self)
        if self.compression == "zstd":
            return _Pieces(_unzstd(self._stored), self)
        return self._stored


@contextmanager
def open_source(path: str | Path, container: Container | str = Container.AUTO) -> Iterator[Source]:
    """The dump at a path, or on standard input for "-". A character device is read set by set.

    Raises:
        DumpError: there is no such file, or it cannot be read.
    """
    container = Container(container)
    if str(path) == "-":
        yield Source(cast(Stored, sys.stdin.buffer), "standard input", container=container)
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
        size = path.stat().st_size if path.is_file() else None
        raw = Device(stored) if path.is_char_device() else stored
        yield Source(raw, path.name, size, container)


class _Counted:
    """Stored bytes, counted; the first four are looked at to find the compression."""

    MAGIC = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"))

    def __init__(self, raw: Stored) -> None:
        self._raw = raw
        self._head = b""
        self.count = 0
        self.closed = False

    @functools.cached_property
    def compression(self) -> str:
        """Name of the compression whose magic number comes first, or "none"."""
        if isinstance(self._raw, Device):
            return "none"
        self._head = self._fully(4)
        named = (name for magic, name in self.MAGIC if self._head.startswith(magic))
        return next(named, "none")

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
