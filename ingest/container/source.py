"""Reads a dump as a stream of its own bytes, whatever it was compressed with or wrapped in.

It may come from a monreader device, `/dev/monreader` of Linux on z/VM. A read of 0 bytes ends a
data set there and not the stream (Linux: monreader.rst). The bytes of a set are valid only then;
after EIO and EFAULT they never are.
"""

from __future__ import annotations

import errno
import functools
import lzma
import os
import sys
import tarfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from io import RawIOBase
from pathlib import Path
from typing import cast

from blake3 import blake3

from ...core.errors import BusyError, CpmonError, DumpError
from .compression import (
    DECOMPRESSORS,
    LONGEST_MAGIC,
    Delivered,
    Peeked,
    compression_of,
    is_of_system,
    tar_member,
    zip_member,
)
from .framing import HEAD, find_framing, unframed

READ = 1024 * 1024
"""Bytes asked for at a time; the driver hands out less."""
SET_LIMIT = 256 * 1024 * 1024
"""A set of this size is passed on as it is, so that memory is bounded."""
AGAIN_S = 0.1
"""Pause before a device without data is read again."""

DISCARDED = "a data set could not be read to its end and was discarded"
MISSED = "the system delivered faster than was read: data sets are missing"


@dataclass
class Device:
    """Complete data sets of a device, one after the other, as a stream of bytes.

    The stream ends where two reads in a row give nothing, or fail: a device that delivers waits
    instead. A data set that is not complete then is discarded.

    Attributes:
        raw: reads no bytes at the end of a data set, and None if there is nothing yet.
        troubles: what went wrong, and how many bytes had been taken from the device before.
    """

    raw: RawIOBase
    troubles: list[tuple[int, str]] = field(default_factory=list)
    _taken: int = 0
    _read: bytearray = field(default_factory=bytearray)
    _idle: int = 0
    _set: memoryview = field(default_factory=lambda: memoryview(b""))
    _ended: bool = False

    def readinto(self, target: memoryview) -> int:
        """Fill `target` from one data set; returns how far, 0 at the end."""
        if not self._set and not self._ended:
            self._set = memoryview(self._next())
            self._taken += len(self._set)
        count = min(len(target), len(self._set))
        target[:count], self._set = self._set[:count], self._set[count:]
        return count

    def next_set(self) -> bytes:
        """The next complete data set; nothing if it is not complete now. Its front is kept."""
        data = self._step()
        if not data and self._idle:
            time.sleep(AGAIN_S)
        self._taken += len(data)
        return data

    def _next(self) -> bytes:
        """The next complete data set; nothing if there is none."""
        while self._idle < 2:
            if data := self._step():
                return data
        if self._read:
            self.troubles.append((self._taken, DISCARDED))
        self._ended = True
        return b""

    def _step(self) -> bytes:
        """Reads once; returns the data set that is complete by that, if one is."""
        try:
            piece = self.raw.read(READ)
        except OSError as error:
            if error.errno == errno.EOVERFLOW:
                self.troubles.append((self._taken, MISSED))
            elif error.errno not in (errno.EIO, errno.EFAULT):
                raise
            elif self._read:
                self.troubles.append((self._taken, DISCARDED))
                self._read.clear()
            self._idle += 1
            return b""
        if piece is None:
            time.sleep(AGAIN_S)
        elif piece:
            self._read += piece
            self._idle = 0
        if self._read and (piece == b"" or len(self._read) >= SET_LIMIT):
            data = bytes(self._read)
            self._read.clear()
            return data
        self._idle += piece == b""
        return b""


LARGEST_RATIO, FREE_BYTES = 400, 256 * 1024 * 1024
"""How many times its stored size a dump may have, once it has more than `FREE_BYTES`: samples of
idle systems compress by less than a hundred, and files made to fill a disk by a thousand."""


class Container(StrEnum):
    """How the monitor's data is wrapped; AUTO: detected from the first bytes."""

    AUTO = "auto"
    MONWRITE = "monwrite"
    MONREADER = "monreader"


class Source:
    """One dump, read once from front to back. Nothing is read before it is asked for.

    Attributes:
        name: for messages: the file's name, or "standard input".
        stored_size: bytes on disk, or None for a pipe or device.
        stored_read: how many of them have been read, for progress.
        size: bytes delivered so far, decompressed.
        ended: whether everything has been delivered.
        compression: "none", "gzip", "zstd", "bzip2", "xz" or "zip", by the first bytes.
        wrapping: what else was around it, outermost first: "tar", "gzip", "BDW and RDW".
        damage: message of the decompressor's error, or None.
        words_broken: where descriptor words stop matching, or None.
        container: how the data is wrapped; AUTO until it is detected.
        device: the device that it comes from, or None.
        hashing: whether what is delivered is hashed on the way; a quarter of the time of a list.
    """

    def __init__(
        self,
        raw: Delivered,
        name: str,
        stored_size: int | None = None,
        container: Container = Container.AUTO,
        file: RawIOBase | None = None,
    ) -> None:
        self.name = name
        self._file = file
        self._opened = None if file is None else os.fstat(file.fileno())
        self.stored_size = stored_size
        self.size = 0
        self.ended = False
        self.damage: str | None = None
        self.wrapping: list[str] = []
        self.words_broken: str | None = None
        self.container = container
        self.device = raw if isinstance(raw, Device) else None
        self._stored = Peeked(raw)
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

    @functools.cached_property
    def compression(self) -> str:
        """Of the stored bytes, by the first of them; "none" if they are the dump itself."""
        return "none" if self.device else compression_of(self._stored.peek(LONGEST_MAGIC))

    def readinto(self, target: memoryview) -> int:
        """Fill `target` with the next bytes; returns how many there were.

        They are less than asked for at the end only; or where a device's data set ends, since the
        next one may take its time.
        """
        filled = 0
        try:
            while filled < len(target) and (count := self._delivered.readinto(target[filled:])):
                filled += count
                if self.device:
                    break
        except OSError as error:
            raise CpmonError(
                f"{self.name} cannot be read to its end: {error.strerror}",
                code="input-read-failed",
                place=f"stored offset {self._file.tell() if self._file else self.stored_read:#x}",
                effect="nothing was landed",
                remedy="look into the system's log; have the disk or its mount repaired, then do "
                "the same again",
            ) from error
        self.ended = not filled if self.device else filled < len(target)
        if self.hashing:
            self._hash.update(target[:filled])
        self.size += filled
        return filled

    def check_unchanged(self) -> None:
        """Check that the file is as it was: the whole would be another dump with its intervals.

        Raises:
            BusyError: it was written to since it was opened.
        """
        if self._file is None or self._opened is None:
            return
        before, now = self._opened, os.fstat(self._file.fileno())
        change = "its time of change is another one"
        if before.st_size != now.st_size:
            change = f"{before.st_size:,} bytes at the beginning, {now.st_size:,} bytes now"
        elif before.st_mtime_ns == now.st_mtime_ns:
            return
        raise BusyError(
            f"{self.name} changed while it was read",
            code="dump-changed",
            found=change,
            effect="nothing was landed",
            remedy="ingest it again when it is complete: after MONWRITE STOP, or when the copy is "
            "done; cpmon batch waits for that by itself",
        )

    def check_ratio(self, size: int, most: int) -> None:
        """Refuse what was made to grow without end; nothing of it is landed.

        Args:
            size: bytes that a decompressor, an archive or descriptor words have given so far.
            most: how many times the stored size they may be.

        Raises:
            DumpError: they are too many.
        """
        stored = self._file.tell() if self._file and self.compression == "zip" else self.stored_read
        if size > max(FREE_BYTES, most * stored):
            raise DumpError(
                f"{self.name} grows too much when it is unpacked",
                code="decompression-limit-exceeded",
                expected=f"at most {most} times its stored size",
                found=f"{size:,} bytes of {stored:,}",
                effect="nothing was landed",
                remedy="if it is a dump all the same, decompress or unpack it first",
            )

    @functools.cached_property
    def _delivered(self) -> Delivered:
        if self.device:
            return self._stored
        pieces: Iterator[bytes] | None = None
        if self.compression == "zip":
            pieces = zip_member(self._file, self.name)
        elif decompress := DECOMPRESSORS.get(self.compression):
            pieces = decompress(self._stored)
        outer: Delivered = _Pieces(pieces, self) if pieces else self._stored
        stream = Peeked(outer)
        head = stream.peek(HEAD)
        for _ in range(3):  # limit of nested compression
            if head.startswith(b"ustar", 257):  # in the header of an archive's first member
                self.wrapping.append("tar")
                stream = Peeked(_Pieces(tar_member(stream, self.name), self))
            elif inner := DECOMPRESSORS.get(compression_of(head)):
                self.wrapping.append(compression_of(head))
                if isinstance(outer, _Pieces):
                    outer.most = 10  # what is compressed inside does not become much smaller again
                outer = _Pieces(inner(stream), self)
                stream = Peeked(outer)
            else:
                break
            head = stream.peek(HEAD)
        if framing := find_framing(head):
            self.wrapping.append(framing.name)
            broken = functools.partial(setattr, self, "words_broken")
            return _Pieces(unframed(stream, framing, broken), self)
        return stream


Progress = Callable[[Source], None]
"""Called after every window of a dump that is read."""


@contextmanager
def open_source(path: str | Path, container: Container | str = Container.AUTO) -> Iterator[Source]:
    """The dump at a path, or on standard input for "-". A character device is read set by set.

    Raises:
        CpmonError: there is no such file, or it cannot be read.
    """
    container = Container(container)
    if str(path) == "-":
        yield Source(cast(Delivered, sys.stdin.buffer), "standard input", container=container)
        return
    path = Path(path)
    try:
        stored = path.open("rb", buffering=0)
    except OSError as error:
        raise CpmonError(
            f"{path} cannot be read: {error.strerror}",
            code="input-unreadable",
            remedy="give the path of a MONWRITE file, or - for standard input",
        ) from None
    with stored:
        size = path.stat().st_size if path.is_file() else None
        raw = Device(stored) if path.is_char_device() else stored
        yield Source(raw, path.name, size, container, stored if size is not None else None)


class _Pieces:
    """An iterator of byte strings as a stream; damage ends it and is kept in the source.

    `most`: how many times the stored size they may be.
    """

    def __init__(self, pieces: Iterator[bytes], source: Source) -> None:
        self._pieces = pieces
        self._source = source
        self.most, self._count = LARGEST_RATIO, 0
        self._rest = memoryview(b"")

    def readinto(self, target: memoryview) -> int:
        """Read from the current piece, or from the next one."""
        if not self._rest:
            try:
                self._rest = memoryview(next(self._pieces, b""))
            except (zlib.error, lzma.LZMAError, tarfile.TarError, EOFError, OSError) as error:
                if is_of_system(error):
                    raise
                self._source.damage = str(error)
            self._count += len(self._rest)
            self._source.check_ratio(self._count, self.most)
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
