"""Values of fields that the model knows nothing about: they differ, and counters grow."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...schemas import Type
from ..model.measurement import TOD_PER_US
from ..records.table import Values
from .encoding import Encoding, Place


def filled(encoding: Encoding, names: Iterable[str], rows: int, number: int, end: int) -> Values:
    """Values of some fields in all rows of a sample; what the release does not have is left out.

    Args:
        number: of the sample, or of the interval of an event.
        end: TOD clock at its end.
    """
    present = sorted(encoding.places.keys() & set(names))
    return {name: _value(name, encoding.places[name], rows, number, end) for name in present}


def _value(name: str, place: Place, rows: int, number: int, end: int) -> Any:
    """(rows,) or (rows, entries), or one value for all of them."""
    field, seed = place.field, zlib.crc32(name.encode())
    # Numbers of rows, or of entries row by row.
    each = np.arange(rows * max(place.entries, 1), dtype=np.int64).reshape(place.shape(rows))
    if field.is_cumulative:
        # The delta of an interval: of times, some milliseconds.
        unit = 1000 * TOD_PER_US if field.type is Type.TIMER else 1
        return (1 + (seed + 7 * each) % 97) * unit
    if field.type is Type.TOD:
        return np.uint64(end)
    if field.is_number:
        most = 1 << min(8 * field.length - 1, 20)
        return (seed + 31 * each + number) % most
    if field.type in (Type.CHAR, Type.GUEST):
        letter = chr(ord("A") + seed % 26)
        texts = np.char.add(letter, (each + number % 7).astype(np.str_))
        return texts.astype(f"<U{field.length}")
    digits = bytes((seed >> n % 24) % 10 << 4 | (seed >> n % 20) % 10 for n in range(field.length))
    return np.void(digits)
