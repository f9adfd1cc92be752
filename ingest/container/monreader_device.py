"""Reads a monreader device, `/dev/monreader` of Linux on z/VM, data set by data set.

A read of 0 bytes ends a data set and not the stream (Linux: monreader.rst). What was read of a set
is valid only then; EIO and EFAULT say that it never will be.
"""

from __future__ import annotations

import errno
import time
from dataclasses import dataclass, field
from io import RawIOBase

READ = 1024 * 1024
"""Bytes asked for at a time; the driver hands out less."""
SET_LIMIT = 256 * 1024 * 1024
"""A set that has grown to this is handed on as it is: memory stays bounded."""
AGAIN_S = 0.1
"""Pause before a device is asked again that has nothing yet."""

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

    def _next(self) -> bytes:
        """The next complete data set; nothing if there is none."""
        read, idle = bytearray(), 0
        while idle < 2:
            try:
                piece = self.raw.read(READ)
            except OSError as error:
                self._trouble(error, read)
                idle += 1
                continue
            if piece is None:
                time.sleep(AGAIN_S)
            elif piece:
                read += piece
                idle = 0
            if read and (piece == b"" or len(read) >= SET_LIMIT):
                return bytes(read)
            idle += piece == b""
        if read:
            self.troubles.append((self._taken, DISCARDED))
        self._ended = True
        return b""

    def _trouble(self, error: OSError, read: bytearray) -> None:
        """Note what a failed read costs: what was read of the set, or sets that follow."""
        if error.errno == errno.EOVERFLOW:
            self.troubles.append((self._taken, MISSED))
        elif error.errno in (errno.EIO, errno.EFAULT):
            if read:
                self.troubles.append((self._taken, DISCARDED))
            read.clear()
        else:
            raise error
