"""Breaks the bytes of a dump in one place, as a mistake in a model would: a figure or a record."""

from __future__ import annotations

import numpy as np

from tests.generate.columns import I64, Columns, Rows
from tests.generate.plain_reader import FRAME


def doubled(dump: Columns, kind: str, field: str, sample: int = 1) -> bytes | None:
    """A counter of one object grows twice as much before a sample; later ones keep what it had.

    Of the objects, the one whose counter grew most. None where none grew.
    """
    place = dump.place(kind, field)
    before, now = dump.rows(kind, sample - 1), dump.rows(kind, sample)
    if not _hold(before, place) or not _hold(now, place):
        return None
    shared, old, new = np.intersect1d(before.keys, now.keys, return_indices=True)
    growth = _signed(now.at(*place)[new] - before.at(*place)[old], place[1])
    if not growth.any():
        return None
    most = int(np.abs(growth).argmax())
    every = dump.rows(kind)
    later = np.flatnonzero((every.keys == shared[most]) & (every.tod >= now.tod[new][most]))
    return _added(dump.data, every, later, place, int(growth[most]))


def shifted(dump: Columns, kind: str, field: str, sample: int = 1) -> bytes | None:
    """A figure of one object is one more in one sample: of the object where it is greatest."""
    place, rows = dump.place(kind, field), dump.rows(kind, sample)
    if not _hold(rows, place) or not (values := rows.at(*place)).any():
        return None
    return _added(dump.data, rows, np.array([values.argmax()]), place, 1)


def swollen(dump: Columns, kind: str, field: str, sample: int = 1) -> bytes | None:
    """A level of one object is twice as high in one sample: of the object where it is highest."""
    place, rows = dump.place(kind, field), dump.rows(kind, sample)
    if not _hold(rows, place) or not (values := rows.at(*place)).any():
        return None
    return _added(dump.data, rows, np.array([values.argmax()]), place, int(values.max()))


def lost(dump: Columns, kind: str, sample: int = 1) -> bytes | None:
    """The last record of a type is missing in a sample; what follows in its frame moves up."""
    data, rows = dump.data, dump.rows(kind, sample)
    if not len(rows):
        return None
    at, length = int(rows.offsets[-1]), int(rows.lengths[-1])
    end = at - at % FRAME + FRAME
    return data[:at] + data[at + length : end] + bytes(length) + data[end:]


def _hold(rows: Rows, place: tuple[int, int]) -> bool:
    """Whether there are records, and all of them have the field."""
    return len(rows) > 0 and bool((rows.lengths >= sum(place)).all())


def _signed(growth: I64, width: int) -> I64:
    """Growth of fields of that length; the shorter way round where they may have wrapped."""
    span = 1 << 8 * width
    return growth if width == 8 else (growth + span // 2) % span - span // 2


def _added(data: bytes, rows: Rows, chosen: I64, place: tuple[int, int], amount: int) -> bytes:
    """The dump with an amount added to a field of some records."""
    broken, (offset, width) = bytearray(data), place
    for row in chosen.tolist():
        at = int(rows.offsets[row]) + offset
        value = int.from_bytes(broken[at : at + width]) + amount
        broken[at : at + width] = (value % (1 << 8 * width)).to_bytes(width)
    return bytes(broken)
