"""Compression and archives of one dump: detected, undone, and read up to damage in them."""

from __future__ import annotations

import bz2
import errno
import functools
import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from io import RawIOBase
from typing import IO, Protocol, cast

import pyarrow as pa

from ...core.errors import DumpError

PIECE = 256 * 1024
"""How much of gzip is decompressed at once."""
XZ_MEMORY = 128 * 1024 * 1024
"""Bytes that xz may take: the largest of its presets needs half of them."""
ZSTD_STEP = 4096
"""Bytes of zstd that are read, and returned, at once: those in front of damage are lost with the
damaged block."""


class Readable(Protocol):
    """A stream of bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        ...


def gunzip(stored: Readable) -> Iterator[bytes]:
    """Members one after the other, as `cat a.gz b.gz` makes them; padding zeros end them.

    Raises:
        zlib.error: one is damaged; all before the damage has been given.
        EOFError: the last one ends early.
    """
    member = zlib.decompressobj(wbits=31)
    waiting = b""
    while waiting or (waiting := stored.read(PIECE)):
        before = member.copy()
        try:
            piece = member.decompress(waiting, PIECE)
        except zlib.error:
            yield from _up_to_damage(before, waiting)
            raise
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


def _up_to_damage(member: zlib._Decompress, waiting: bytes) -> Iterator[bytes]:
    """Decompresses up to the damage: zlib returns nothing of a piece that has an error."""
    step = 4096
    while True:
        before = member.copy()
        try:
            piece = member.decompress(waiting, step)
        except zlib.error:
            if step == 1:
                return
            member, step = before, max(step // 16, 1)
            continue
        if not piece:
            return
        waiting = member.unconsumed_tail
        yield piece


class _SmallReads(RawIOBase):
    """Reads few bytes at a time: what a decompressor has buffered is lost with its error.

    Closing it leaves the stream open.
    """

    def __init__(self, stored: Readable) -> None:
        self._stored = stored

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `ZSTD_STEP` bytes."""
        return self._stored.read(min(size, ZSTD_STEP) if size >= 0 else ZSTD_STEP)


def unzstd(stored: Readable) -> Iterator[bytes]:
    """Frames one after the other.

    Raises:
        OSError: one is damaged, or ends early.
    """
    with pa.CompressedInputStream(pa.PythonFile(_SmallReads(stored), mode="r"), "zstd") as stream:
        while piece := stream.read(ZSTD_STEP):
            yield piece


def _streams(
    begin: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor], stored: Readable
) -> Iterator[bytes]:
    """Streams of bzip2 or xz, one after the other; `begin` makes the decompressor of each.

    Raises:
        OSError, lzma.LZMAError, EOFError: one is damaged, needs too much memory, or ends early;
            all before it has been given.
    """
    stream, waiting = begin(), b""
    while True:
        if stream.needs_input and not waiting and not (waiting := stored.read(PIECE)):
            raise EOFError("the compressed file ends inside a stream")
        piece = stream.decompress(waiting, PIECE)
        waiting = b""
        if piece:
            yield piece
        if stream.eof:
            waiting = stream.unused_data or stored.read(PIECE)
            if not waiting.strip(b"\0"):
                return
            stream = begin()


MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"PK\x03\x04", "zip"),
)
LONGEST_MAGIC = max(len(magic) for magic, _ in MAGIC)
DECOMPRESSORS: dict[str, Callable[[Readable], Iterator[bytes]]] = {
    "gzip": gunzip,
    "zstd": unzstd,
    "bzip2": functools.partial(_streams, bz2.BZ2Decompressor),
    "xz": functools.partial(_streams, lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, XZ_MEMORY)),
}


def compression_of(head: bytes) -> str:
    """Name of the compression whose magic number comes first, or "none"."""
    return next((name for magic, name in MAGIC if head.startswith(magic)), "none")


LARGEST_HEADERS = 4 * 1024 * 1024
"""Bytes of headers and of files that are passed over, in front of a dump in an archive."""


class Delivered(Protocol):
    """A stream of bytes."""

    def readinto(self, target: memoryview, /) -> int:
        """Fill `target` from its front; returns how far, 0 at the end."""
        ...


class Peeked:
    """A stream whose first bytes can be looked at before they are read.

    `count`: bytes taken from it so far.
    """

    def __init__(self, stream: Delivered) -> None:
        self._stream = stream
        self._head = memoryview(b"")
        self.count = 0

    def peek(self, size: int) -> bytes:
        """The first bytes, at most `size` of them; before anything else is read."""
        head = memoryview(bytearray(size))
        filled = 0
        while filled < size and (count := self._take(head[filled:])):
            filled += count
        self._head = head[:filled]
        return self._head.tobytes()

    def readinto(self, target: memoryview) -> int:
        """From what was looked at, then straight from the stream."""
        if not self._head:
            return self._take(target)
        count = min(len(target), len(self._head))
        target[:count], self._head = self._head[:count], self._head[count:]
        return count

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end."""
        target = bytearray(size)
        return bytes(target[: self.readinto(memoryview(target))])

    def _take(self, target: memoryview) -> int:
        count = self._stream.readinto(target)
        self.count += count
        return count


class _Archive:
    """An archive as tarfile reads it: it keeps headers in memory, and may read on at the end.

    `left`: bytes that it may read before some of a dump's come.
    """

    def __init__(self, stream: Peeked) -> None:
        self._stream = stream
        self.left = LARGEST_HEADERS

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; none at the end.

        Raises:
            tarfile.ReadError: they are too many, or were asked for too often.
        """
        piece = self._stream.read(size)
        self.left -= len(piece) or size
        if self.left < 0:
            raise tarfile.ReadError(f"more than {LARGEST_HEADERS:,} bytes of headers")
        return piece


def tar_member(stream: Peeked, name: str) -> Iterator[bytes]:
    """The bytes of the one file of an archive.

    Raises:
        DumpError: it holds several files or none, or is damaged in front of the first.
        tarfile.TarError, EOFError: it is damaged; all before the damage has been given.
    """
    first, stored = "", _Archive(stream)
    try:
        with tarfile.open(fileobj=cast(IO[bytes], stored), mode="r|", bufsize=PIECE) as archive:
            for member in archive:
                if not member.isfile() or _is_beside(member.name):
                    continue
                if first:
                    raise _several(name, "tar", [first, member.name])
                first, file = member.name, archive.extractfile(member)
                while file and (piece := file.read(PIECE)):
                    stored.left = LARGEST_HEADERS
                    yield piece
    except (tarfile.TarError, ValueError, RecursionError) as error:
        if first:
            raise tarfile.ReadError(str(error)) from None
        raise _damaged(name, error) from None
    if not first:
        raise _several(name, "tar", [])


def zip_member(file: RawIOBase | None, name: str) -> Iterator[bytes]:
    """The bytes of the one file of an archive.

    Raises:
        DumpError: it holds several files or none, comes from a pipe, is damaged, or needs a
            password or a method that Python lacks.
    """
    if file is None:
        raise DumpError(
            f"{name} is a zip archive, which has its list at the end",
            code="archive-not-streamable",
            effect="nothing was read",
            remedy="give the file itself, or unpack it: unzip -p FILE.zip | cpmon ingest -",
        )
    try:
        with zipfile.ZipFile(cast(IO[bytes], file)) as archive:
            members = [
                member
                for member in archive.infolist()
                if not member.is_dir() and not _is_beside(member.filename)
            ]
            if len(members) != 1:
                raise _several(name, "zip", [member.filename for member in members])
            with archive.open(members[0]) as opened:
                while piece := opened.read(PIECE):
                    yield piece
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        for cause in (error, error.__context__):  # zipfile: what cannot be read is no zip file
            if cause and is_of_system(cause):
                raise cause from None
        raise _damaged(name, error) from None


def is_of_system(error: BaseException) -> bool:
    """Whether a file could not be read; errors in what was read have no number.

    But for EINVAL, of a damaged archive: a position in front of the file's first byte.
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def _is_beside(member: str) -> bool:
    """Whether a file of an archive is what macOS keeps beside another one."""
    return member.startswith("__MACOSX/") or member.rpartition("/")[2].startswith("._")


def _damaged(name: str, error: Exception) -> DumpError:
    return DumpError(
        f"{name} cannot be unpacked",
        code="archive-unreadable",
        expected="a zip or tar archive of one dump",
        found=str(error),
        effect="nothing was landed",
        remedy="unpack it, and give the dump",
    )


def _several(name: str, kind: str, members: list[str]) -> DumpError:
    return DumpError(
        f"{name} is a {kind} archive of {'several files' if members else 'no file'}",
        code="archive-not-one-dump",
        expected="an archive of one dump",
        found=", ".join(members[:3]) or "nothing",
        effect="nothing was landed",
        remedy="unpack it, and give the dumps in it",
    )
