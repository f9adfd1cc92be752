"""A small reader of MONWRITE files, for tests: plain struct, offsets written down by hand.

It shares no code with cpmon, neither `generate` nor `ingest` nor the layouts, so that a mistake
they have in common is seen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

FRAME = 4096


class Record(NamedTuple):
    """One record: place of its first byte in the file, number of its sample set, and its bytes."""

    offset: int
    sample: int
    domain: int
    number: int
    tod: int
    data: bytes

    def u2(self, at: int) -> int:
        return int(struct.unpack_from(">H", self.data, at)[0])

    def u4(self, at: int) -> int:
        return int(struct.unpack_from(">I", self.data, at)[0])

    def u8(self, at: int) -> int:
        return int(struct.unpack_from(">Q", self.data, at)[0])

    def text(self, at: int, length: int) -> str:
        return self.data[at : at + length].decode("cp037").rstrip(" ")


class Set(NamedTuple):
    """One entry of a control record and where its data is in the file."""

    control: int
    flag: int
    masks: tuple[int, int]
    start: int
    end: int
    offset: int


def sets(dump: bytes) -> Iterator[Set]:
    """The sets of a dump; stops at the end-of-data record, which must be the last bytes."""
    at = 0
    while True:
        control, at = at, at + FRAME
        entries = []
        for entry in range(control + 40, control + FRAME, 12):
            flag, mask_a, mask_b = dump[entry], dump[entry + 1], dump[entry + 2]
            if flag not in (0xE2, 0xC5):
                break
            entries.append((flag, (mask_a, mask_b), *struct.unpack_from(">II", dump, entry + 4)))
        if not entries:
            assert at == len(dump), "bytes after the end of data"
            return
        first, last = struct.unpack_from(">II", dump, control + 12)
        assert last - first + 1 == 12 * len(entries)
        for flag, masks, start, end in entries:
            yield Set(control, flag, masks, start, end, at)
            at += -(-(end - start + 1) // FRAME) * FRAME


def records(dump: bytes) -> Iterator[Record]:
    """All records of a dump in order, those that end frames and intervals included."""
    sample = -1
    for part in sets(dump):
        size = part.end - part.start + 1
        sample += part.flag == 0xE2
        at, end = part.offset, part.offset + size
        while at < end:
            length, zeros, domain, number, tod = struct.unpack_from(">HHBxHQ", dump, at)
            assert length >= 20 and zeros == 0, f"no record at {at:#x}"
            assert part.flag == 0xC5 or at % FRAME + length <= FRAME, "a record crosses a frame"
            yield Record(at, sample, domain, number, tod, dump[at : at + length])
            at += length
            if (domain, number) == (1, 11):
                assert not any(dump[at:end]) and end - at < FRAME, "data after the interval end"
                break
            if (domain, number) == (1, 13):
                following = -(-at // FRAME) * FRAME
                assert not any(dump[at:following]), "data after the end of a frame"
                at = following
