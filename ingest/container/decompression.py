"""Detects compression; decompresses, and delivers what precedes damage before an error."""

from __future__ import annotations

import bz2
import functools
import lzma
import zlib
from collections.abc import Callable, Iterator
from io import RawIOBase
from typing import Protocol

import pyarrow as pa

PIECE = 256 * 1024
"""How much of gzip is decompressed at once."""
XZ_MEMORY = 128 * 1024 * 1024
"""Bytes that xz may take: the largest of its presets needs half of them."""
ZSTD_STEP = 4096
"""How much of zstd is taken in, and given out, at once: what stands there in front of damage is
lost with the block that is damaged."""


class Stored(Protocol):
    """A stream of stored bytes."""

    def read(self, size: int, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        ...


def gunzip(stored: Stored) -> Iterator[bytes]:
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

    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `ZSTD_STEP` bytes."""
        return self._stored.read(min(size, ZSTD_STEP) if size >= 0 else ZSTD_STEP)


def unzstd(stored: Stored) -> Iterator[bytes]:
    """Frames one after the other.

    Raises:
        OSError: one is damaged, or ends early.
    """
    with pa.CompressedInputStream(pa.PythonFile(_SmallReads(stored), mode="r"), "zstd") as stream:
        while piece := stream.read(ZSTD_STEP):
            yield piece


def _streams(
    begin: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor], stored: Stored
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
_begin_xz = functools.partial(lzma.LZMADecompressor, lzma.FORMAT_XZ, XZ_MEMORY)
DECOMPRESSORS: dict[str, Callable[[Stored], Iterator[bytes]]] = {
    "gzip": gunzip,
    "zstd": unzstd,
    "bzip2": functools.partial(_streams, bz2.BZ2Decompressor),
    "xz": functools.partial(_streams, _begin_xz),
}


def compression_of(head: bytes) -> str:
    """Name of the compression whose magic number comes first, or "none"."""
    return next((name for magic, name in MAGIC if head.startswith(magic)), "none")
