"""Small good dumps to start from, and what an independent reader finds in them.

The reader shares no code with cpmon: a mistake they had in common would not be seen.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cpmon.generate import dump_frames, parse_scenario
from tests.dumps import (
    control,
    dump,
    fields,
    frame,
    frame_end,
    interval,
    interval_end,
    record,
    samples,
)
from tests.generate.plain_reader import FRAME, sets

I64 = npt.NDArray[np.int64]
ENTRY = struct.Struct(">BBBxII")
SMALL = """
name = "small"
title = "Two processors, three guests"
system = "LAB"
seed = 1
machine = { type = "2064", model = "102", processors = 2 }
storage = { central_mib = 1024 }
users = [{ name = "guests", prefix = "GUEST", count = 3 }]
volumes = [{ prefix = "PAG", kind = "page", count = 1, first_device = "0500" }]

[run.A]
cp_level = "4.3.0"
start = 2003-03-03T10:00:00Z
targets = { total_util = 20.0, emul_util = 12.0, dasd_page_rate = 10, \
resident_pages_per_user = 2000, dasd_pages_per_user = 500 }
"""


@dataclass(frozen=True)
class Unit:
    """Bytes of a dump that are read for themselves: a frame, or a set with what announces it.

    `first`, `behind`: where it is. `aligned`: it is read only where a frame of the file begins.
    `records`: where its records start.
    """

    first: int
    behind: int
    aligned: bool
    records: tuple[int, ...]


@dataclass(frozen=True)
class Seed:
    """A good dump. `landmarks`: where headers, entries and frames stand, to be damaged."""

    name: str
    data: bytes
    units: tuple[Unit, ...]
    landmarks: I64
    captured: bool


def seeds() -> list[Seed]:
    """Dumps of a few frames, each as a file and as a capture."""
    return [seed for name, data in _files() for seed in both(name, data)]


def both(name: str, data: bytes) -> Iterator[Seed]:
    """A good file, and the capture of its sets."""
    units = tuple(_file_units(data))
    yield Seed(name, data, units, _landmarks(data, units, captured=False), False)
    stream = b"".join(
        ENTRY.pack(s.flag, *s.masks, s.start, s.end)
        + data[s.offset : s.offset + s.end - s.start + 1]
        for s in sets(data)
    )
    units = tuple(_capture_units(stream))
    yield Seed(f"{name}-captured", stream, units, _landmarks(stream, units, captured=True), True)


def generated(intervals: int) -> bytes:
    """A dump of the small system."""
    return b"".join(dump_frames(parse_scenario(SMALL, "small.toml"), "A", intervals=intervals))


def _files() -> Iterator[tuple[str, bytes]]:
    yield "plain", _plain()
    yield "events", _events()
    yield "groups", _groups()
    yield "generated", generated(1)


def _plain() -> bytes:
    """Four intervals of three frames: one full to its last byte, one ended, one closed."""
    start = fields("mtrsys", systmid="VMFUZZ")
    sets = []
    for number in range(4):
        at = 60 * (number + 1)
        head = start if number == 0 else b""
        sample = [fields("sytrsp", at, pfxcpuad=cpu, plsmvb2g=number) for cpu in range(4)]
        used = len(head) + sum(map(len, sample))
        full = frame(head, *sample, record(9, 99, bytes(FRAME - used - 20), at))
        user = [fields("useact", at, vmduser=f"USER{n}", vmdttime=at * n) for n in range(3)]
        sets.append(samples(full, frame(*user, frame_end(at)), frame(*sample, interval_end(at))))
    return dump(*sets)


def _events() -> bytes:
    """Event data that starts within a frame of the segment, on one, and before sample data."""
    start = 0x80000 + FRAME - 200
    first = (fields("mtrepr", 1, config=1) + frame_end(1)).ljust(200, b"\0")
    second = frame(*[fields("mtrepr", n, config=n) for n in range(2, 40)], frame_end(2))
    last = fields("mtrepr", 50, config=50)
    data = first + second + last
    whole = data.ljust(-(-len(data) // FRAME) * FRAME, b"\0")
    odd = control(("E", start, start + len(data) - 1)) + whole
    even = control(("E", 0x90000, 0x90000 + len(last) - 1), ("S", 0x40000, 0x40FFF))
    later = frame(fields("sytrsp", 120, pfxcpuad=1), interval_end(120))
    head = interval(60, fields("mtrsys", systmid="VMFUZZ"), fields("sytrsp", 60, pfxcpuad=1))
    return dump(head, odd, even + frame(last) + later, odd, interval(180, fields("sytrsp", 180)))


def _groups() -> bytes:
    """Records with repeated parts, whose number and place can lie."""
    sets = []
    for number in range(3):
        at = 60 * (number + 1)
        parts = fields("sytcup", at, lcupname="LP1", lcupcpct=2, calcpuof=64, calcpuln=40)
        parts += b"".join(n.to_bytes(2, "big").ljust(40, b"\0") for n in range(2))
        parts = len(parts).to_bytes(2, "big") + parts[2:]
        sets.append(interval(at, fields("mtrsys", at, systmid="VMFUZZ"), *[parts] * 8))
    return dump(*sets)


def _file_units(data: bytes) -> Iterator[Unit]:
    for part in sets(data):
        size = part.end - part.start + 1
        lead = part.start % FRAME
        if lead == 0:
            for at in range(part.offset, part.offset + size, FRAME):
                behind = min(at + FRAME, part.offset + size)
                yield Unit(at, behind, True, tuple(_walk(data, at, behind)))
        else:
            found = tuple(_segment(data, part.offset, size, lead))
            yield Unit(part.control, part.offset + size, True, found)


def _capture_units(stream: bytes) -> Iterator[Unit]:
    at = 0
    while at < len(stream):
        _, _, _, start, end = ENTRY.unpack_from(stream, at)
        begin, size = at + ENTRY.size, end - start + 1
        records = tuple(_segment(stream, begin, size, start % FRAME))
        yield Unit(at, begin + size, False, records)
        at = begin + size


def _segment(data: bytes, begin: int, size: int, lead: int) -> Iterator[int]:
    """Starts of the records of a set: its frames end where those of the segment do."""
    at, limit = begin, begin + FRAME - lead
    while at < begin + size:
        yield from _walk(data, at, min(limit, begin + size))
        at, limit = limit, limit + FRAME


def _walk(data: bytes, at: int, limit: int) -> Iterator[int]:
    """Starts of the records of a frame, up to what closes it."""
    while found := header(data, at, limit):
        yield at
        length, kind = found
        if kind in ((1, 11), (1, 13)):
            return
        at += length


def header(data: bytes, at: int, limit: int | None = None) -> tuple[int, tuple[int, int]] | None:
    """Length and kind of the record that begins there, if one does, in front of the limit."""
    if (len(data) if limit is None else limit) - at < 20:
        return None
    length, zeros, domain, number, _ = struct.unpack_from(">HHBxHQ", data, at)
    return None if length < 20 or zeros else (length, (domain, number))


def _landmarks(data: bytes, units: tuple[Unit, ...], *, captured: bool) -> I64:
    """Places of headers and of what announces data: where damage hurts most."""
    found = {start for unit in units for start in unit.records}
    found |= {unit.first for unit in units}
    if not captured:
        for part in sets(data):
            found |= {part.control + 12, part.control + 40, part.control + 52}
    return np.array(sorted(found), np.int64)
