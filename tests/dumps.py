"""Dumps written byte by byte, for tests: what stands where is said in the test, not by a model."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from cpmon.schemas import HEADER_LENGTH, layout

FRAME = 4096
EPOCH = 0x7D91048BCA000000  # 1970-01-01 on the TOD clock
BEGIN_S = 1_008_669_600  # 2001-12-18 10:00:00 UTC
BEGIN_US = BEGIN_S * 1_000_000


def tod(second: float) -> int:
    """TOD clock `second` seconds after the tests' begin."""
    return EPOCH + (BEGIN_US + round(second * 1e6) << 12)


def record(
    domain: int, number: int, body: bytes = b"", at: float = 0, *, claimed: int | None = None
) -> bytes:
    """A record; `claimed` is written as its length instead of the true one."""
    length = HEADER_LENGTH + len(body) if claimed is None else claimed
    return struct.pack(">HHBBHQ4x", length, 0, domain, 0, number, tod(at)) + body


def fields(name: str, at: float = 0, *, length: int | None = None, **values: Any) -> bytes:
    """A record of a layout with some fields set; text is written in EBCDIC."""
    found = layout(name)
    row = np.zeros(1, found.dtype)
    for key, value in values.items():
        field = found.field(key)
        if isinstance(value, str):
            raw = value.ljust(field.length).encode("cp037")
            row[key] = np.frombuffer(raw, f"V{field.length}")
        else:
            row[key] = value
    body = row.tobytes()[HEADER_LENGTH:]
    if length is not None:
        body = body[: length - HEADER_LENGTH].ljust(length - HEADER_LENGTH, b"\0")
    return record(found.domain, found.record, body, at)


def frame_end(at: float = 0) -> bytes:
    """MTREOF: another frame follows."""
    return record(1, 13, at=at)


def interval_end(at: float) -> bytes:
    """MTREND: the interval is over."""
    return record(1, 11, at=at)


def frame(*records: bytes) -> bytes:
    """Records in a frame, the rest zeros."""
    content = b"".join(records)
    assert len(content) <= FRAME
    return content.ljust(FRAME, b"\0")


def filler(to: int, at: float = 0) -> bytes:
    """Records without meaning that take a frame up to byte `to`."""
    assert to >= HEADER_LENGTH
    return record(9, 99, bytes(to - HEADER_LENGTH), at)


def control(*entries: tuple[str, int, int], first: int = 0x2000) -> bytes:
    """A control record: entries of ("S" or "E", first address, last address); none ends a file."""
    area = b"".join(
        struct.pack(">BBBxII", kind.encode("cp037")[0], 0xFF, 0, start, end)
        for kind, start, end in entries
    )
    buffer = struct.pack(">HBBI4sII20x", 1, 0, 9, 1, "SA".encode("cp037") + b"\0\0", first,
                         first + len(area) - 1)  # fmt: skip
    return (buffer + area).ljust(FRAME, b"\0")


def samples(*frames: bytes, address: int = 0x40000) -> bytes:
    """A control record and the sample data that it describes."""
    data = b"".join(frames)
    return control(("S", address, address + len(data) - 1)) + data


def interval(end: float, *records: bytes) -> bytes:
    """One sample set in one frame: records, then the interval's end."""
    return samples(frame(*records, interval_end(end)))


END = control()


def dump(*parts: bytes) -> bytes:
    """Sets one after the other, then the end-of-data record."""
    return b"".join(parts) + END
