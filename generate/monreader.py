"""The monreader stream: what Linux's /dev/monreader delivers of the same monitor data.

A control element, the 12 bytes of an entry of the control record, then the bytes from its first
to its last address; neither control records nor filler up to whole frames, and no end of data.
Source: Linux kernel, Documentation/arch/s390/monreader.rst.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Literal

from .files import Chunk
from .monwrite import CONTROL_AREA, ENTRY, FRAME

Container = Literal["monwrite", "monreader"]

_SPAN = struct.Struct(">4xII")


def captured(chunks: Iterable[Chunk]) -> Iterator[bytes]:
    """The chunks of a MONWRITE file as the stream has them.

    Args:
        chunks: control records, each followed by one chunk for each of its entries.
    """
    waiting = iter(chunks)
    for control in waiting:
        entries = bytes(control[CONTROL_AREA:FRAME])
        for at in range(0, len(entries), ENTRY.size):
            element = entries[at : at + ENTRY.size]
            if not any(element):
                break
            start, end = _SPAN.unpack(element)
            yield element + next(waiting)[: end - start + 1]
