"""A dump whose bytes arrive: where reading stands, and what is certain while nothing comes.

Where nothing comes for a while, frames are believed without the bytes behind them if all that was
announced is there and nothing is wrong with it: the next ones may come in a minute.
"""

from __future__ import annotations

import copy
import errno
import functools
import os
import select
import stat
import time
from collections.abc import Callable, Iterator
from io import BytesIO, RawIOBase
from pathlib import Path
from typing import cast

import numpy as np
from blake3 import blake3

from ...core.errors import CpmonError
from ..codec import I64
from ..findings import Code, Findings
from .compression import LONGEST_MAGIC, compression_of
from .control_records import find_control
from .monreader import SetFramer, starts_set
from .monwrite import Framer
from .record_index import FRAME, NO_FRAMES, Frames, find_runs
from .source import AGAIN_S, Container, Device, Source
from .windows import ByteWindow, Reading

SETTLE_S = 0.3
"""Seconds without a byte after which what has come is looked at alone."""
POLL_S = 0.1
"""Seconds until the end of a file is looked at again."""
ZEROS_S = 1.0
"""Seconds that zeros have to stand at the end of a file until they are what was written."""
PIECE = 8 * 1024 * 1024
"""Bytes that are read at a time."""


class ArrivingSource(Source):
    """A source without a file: what has arrived of it is handed over.

    Attributes:
        hash: of the bytes up to a position, see `hash_up_to`.
    """

    def __init__(self, name: str, container: Container = Container.AUTO) -> None:
        super().__init__(BytesIO(), name, container=container)
        self._behind = bytearray()
        self._hashed = 0
        self._arrived_hash = blake3()

    @property
    def compression(self) -> str:
        """None: what is compressed is refused."""
        return "none"

    def arrive(self, data: bytes) -> None:
        """Count further bytes.

        Raises:
            CpmonError: they are the first ones, and compressed.
        """
        if not self.size and (packed := compression_of(data[:LONGEST_MAGIC])) != "none":
            raise CpmonError(
                f"{self.name} is compressed by {packed}",
                code="follow-compressed",
                expected="monitor data as it is written",
                found=packed,
                effect="nothing was landed of it",
                remedy="a file that is complete is landed by cpmon ingest; decompress a stream on"
                " its way: zcat | cpmon follow -",
            )
        self.size += len(data)
        self._behind += data

    def hash_up_to(self, position: int) -> str:
        """Hash of all bytes up to a position, which is not before that of the last call."""
        count = position - self._hashed
        self._arrived_hash.update(bytes(self._behind[:count]))
        del self._behind[:count]
        self._hashed = position
        return self._arrived_hash.hexdigest(length=16)


class ArrivingReading(Reading):
    """The bytes that have arrived and are not yet done with.

    Attributes:
        held_from: position up to which windows may go, if another one is to begin there.
    """

    def __init__(self, source: ArrivingSource, framer: Framer) -> None:
        super().__init__(source, framer)
        self._arriving = source
        self.held_from: int | None = None

    @property
    def position(self) -> int:
        """Position in the source behind all that windows have had."""
        return self._base

    def arrive(self, data: bytes) -> None:
        """Append bytes, and the frames that are certain then."""
        self._arriving.arrive(data)
        self._data = np.concatenate([self._data, np.frombuffer(data, np.uint8)])
        if (splits := self._recognise(False)) is not None:
            self._append(splits.frames(self._data, self._base, self._explained, False))

    def settle(self) -> bool:
        """Append the frames of what has come, if it is whole and sound; returns whether it was."""
        if self._explained == len(self._data) or (splits := self._recognised_early()) is None:
            return False
        trial = copy.deepcopy(splits)
        books = trial.books if isinstance(trial, SetFramer) else trial
        before, books.findings = books.findings, Findings()
        framed = trial.frames(self._data, self._base, self._explained, True)
        frames = Frames.joined([NO_FRAMES, *framed.frames])
        runs = find_runs(self._data, frames)[1]
        broken = np.flatnonzero(runs.broken)
        is_sound = framed.used == len(self._data) and not framed.lost
        is_sound &= books.findings.counts.keys() <= {Code.END_MISSING}
        is_sound &= not any(self._data[runs.stop[f] : runs.limit[f]].any() for f in broken)
        if not is_sound:
            return False
        books.findings = before
        vars(self._framer).update(vars(books))
        if isinstance(trial, SetFramer):
            trial.books = self._framer
        self._splits = trial if isinstance(trial, SetFramer) else self._framer
        self._append(framed)
        return True

    def _recognised_early(self) -> Framer | SetFramer | None:
        """The framer, also by fewer bytes than are usual where they leave no doubt."""
        has_control = find_control(self._data, 0, len(self._data)) is not None
        is_sure = has_control or starts_set(self._data, 0)
        return self._recognise(final=is_sure)

    def finish(self) -> None:
        """Append the frames of all that is left: nothing follows.

        Raises:
            DumpError: all that has come is no monitor data.
        """
        self._source.ended = True
        if (splits := self._recognise(True)) is not None:
            self._append(splits.frames(self._data, self._base, self._explained, True))

    def first_end(self) -> int | None:
        """Position in the source behind the first interval end that windows have not had."""
        ends: I64 = self._index.interval_ends
        if not len(ends):
            return None
        return self._base + int(self._index.start[ends[0]] + self._index.length[ends[0]])

    def windows(self, final: bool) -> Iterator[ByteWindow]:
        """The windows of what has been read; one ends at `held_from`."""
        if self.held_from is not None:
            count = int(np.searchsorted(self.frames.start + self._base, self.held_from))
            if 0 < count < len(self.frames):
                yield self.take(count, report_open=False)
                self.drop()
        yield from super().windows(final)


Arrival = bytes | None
"""Bytes, or that none came for `SETTLE_S`."""


Missed = Callable[[str], None]
"""Called with what a device could not deliver."""


def arrivals(path: Path, missed: Missed, idle_s: float | None = None) -> Iterator[Arrival]:
    """What comes from a device, a file that grows, a FIFO or a pipe; "-" is standard input.

    Args:
        idle_s: ends where nothing has come for so long; otherwise where a pipe is closed.

    Raises:
        CpmonError: it cannot be read.
    """
    try:
        handle = os.dup(0) if str(path) == "-" else os.open(path, os.O_RDONLY)
    except OSError as error:
        raise CpmonError(
            f"{path} cannot be read: {error.strerror}",
            code="input-unreadable",
            remedy="give the path of a MONWRITE file, or - for standard input",
        ) from None
    try:
        kind = os.fstat(handle).st_mode
        if stat.S_ISCHR(kind):
            os.set_blocking(handle, False)
            yield from device_arrivals(Device(_raw(handle)), missed, idle_s)
        else:
            read = _Grown(handle) if stat.S_ISREG(kind) else functools.partial(_piped, handle)
            yield from _idle_limited(read, idle_s)
    finally:
        os.close(handle)


def _raw(handle: int) -> RawIOBase:
    return cast(RawIOBase, open(handle, "rb", buffering=0, closefd=False))


def device_arrivals(
    device: Device, missed: Missed, idle_s: float | None = None
) -> Iterator[Arrival]:
    """The data sets of a monreader device, each of which is whole when it comes."""
    for data in _idle_limited(lambda: device.next_set() or None, idle_s):
        while device.troubles:
            missed(device.troubles.pop(0)[1])
        yield data
        if data:
            yield None


def _idle_limited(read: Callable[[], Arrival | bool], idle_s: float | None) -> Iterator[Arrival]:
    """What is read, until nothing has come for so long, or it is False."""
    waited = 0.0
    while idle_s is None or waited <= idle_s:
        began = time.monotonic()
        data = read()
        if data is False:
            return
        waited = 0.0 if data else waited + time.monotonic() - began
        yield cast(Arrival, data)


class _Grown:
    """A file that grows. Zeros in it may be room for what is written next.

    They are believed when nothing has taken their place for a while; room at its end never is.
    """

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._zeros: tuple[int, float] | None = None

    def __call__(self) -> Arrival:
        """What it has got, nothing where there are zeros for now, or None after a while."""
        for _ in range(round(SETTLE_S / POLL_S) + 1):
            if (data := self._read()) is not None:
                return data
            time.sleep(POLL_S)
        return None

    def _read(self) -> Arrival:
        """What follows: up to zeros, or these when they have stood for a while."""
        at, size = os.lseek(self._handle, 0, os.SEEK_CUR), os.fstat(self._handle).st_size
        if at >= size:
            return None
        written, hole = (self._place(kind, at, size) for kind in (os.SEEK_DATA, os.SEEK_HOLE))
        if written == size:
            return None
        data = os.pread(self._handle, min(PIECE, max(written, hole) - at), at)
        is_end = at + len(data) == size
        believed = 0 if written > at else len(data) - (self._zero_frames(data) if is_end else 0)
        if not believed:
            if self._zeros is None or self._zeros[0] != at:
                self._zeros = at, time.monotonic()
            if time.monotonic() - self._zeros[1] < ZEROS_S:
                time.sleep(POLL_S)
                return b""
            believed = len(data)
        os.lseek(self._handle, at + believed, os.SEEK_SET)
        return data[:believed]

    def _place(self, kind: int, at: int, size: int) -> int:
        """Where the next hole or data is; where neither is told, all is data."""
        try:
            place = os.lseek(self._handle, at, kind)
        except OSError as error:
            is_none = error.errno == errno.ENXIO or kind == os.SEEK_HOLE
            return size if is_none else at
        finally:
            os.lseek(self._handle, at, os.SEEK_SET)
        return place

    @staticmethod
    def _zero_frames(data: bytes) -> int:
        """Bytes of the frames of zeros at the end of some."""
        return (len(data) - len(data.rstrip(b"\0"))) // FRAME * FRAME


def _piped(handle: int) -> Arrival | bool:
    """What is in a pipe, nothing after a while, or False where its writers have closed it."""
    if not select.select([handle], [], [], SETTLE_S)[0]:
        return None
    try:
        return os.read(handle, PIECE) or False
    except OSError as error:
        if error.errno != errno.EAGAIN:
            raise
        time.sleep(AGAIN_S)
        return None
