"""Formats the values of a report as text: single cells, or a whole column at once.

Whole columns are formatted with numpy: a scaled float is rounded half up. Values close to a tie of
the intended decimal number, and rare kinds of values, go through `cell_text`, each distinct value
once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...config.moments import local_text
from ...render.printing import KEPT_CHARACTERS, RATIO_DIGITS, Style, show
from ..metrics.metric import HEX, ReportColumn

UTC_ZONE = ZoneInfo("UTC")


def cell_text(column: ReportColumn, value: Any, zone: ZoneInfo = UTC_ZONE) -> str:
    """Formats a value by the rules of its column, times in a zone; empty for NULL."""
    match value:
        case datetime():
            return calendar_name(column.calendar, value, zone) or clock(value, zone)
        case bool():
            return "yes" if value else "no"
        case str():
            return value
    if column.base == HEX and value is not None:
        return f"{value:04X}"
    return show(value, column.form, scale=column.scale).text


def clock(time: datetime, zone: ZoneInfo = UTC_ZONE) -> str:
    """Formats a UTC time without zone, rounded to seconds, as local time of a zone.

    A local time that occurs twice has its offset: 20031026T023000+02:00.
    """
    rounded = (time + timedelta(milliseconds=500)).replace(microsecond=0, tzinfo=UTC)
    return local_text(rounded, zone)


REPEATED = r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)([+-]\d\d)(?::00|(:\d\d))"
SPELLED = r"\1-\2-\3 \4:\5:\6 \7\8"
"""A local time that occurs twice as `clock` has it, and as a page shows it."""


def page_clock(time: datetime, zone: ZoneInfo = UTC_ZONE) -> str:
    """A time as `clock` has it; one that occurs twice as 2003-10-26 02:30:00 +02."""
    return re.sub(REPEATED, SPELLED, clock(time, zone))


def calendar_name(calendar: str, end: datetime, zone: ZoneInfo) -> str:
    """The day (2003-05-06), week (2003-W19) or month (2003-05) that ends; empty without one.

    Args:
        end: UTC without zone.
    """
    last = (end.replace(tzinfo=UTC) - timedelta(seconds=1)).astimezone(zone)
    forms = {"Day": "%Y-%m-%d", "Week": "%G-W%V", "Month": "%Y-%m"}
    return f"{last:{forms[calendar]}}" if calendar else ""


def utc(time: datetime | None) -> datetime | None:
    """Converts a time to UTC without zone, as the catalogue stores it."""
    if time is None or time.tzinfo is None:
        return time
    return time.astimezone(UTC).replace(tzinfo=None)


Floats = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


def column_texts(column: ReportColumn, values: pa.ChunkedArray, zone: ZoneInfo) -> pa.Array:
    """Formats a column: empty text for NULL; line breaks in names are escaped."""
    whole = values.combine_chunks()
    if isinstance(whole, pa.ChunkedArray):  # a column without rows
        whole = pa.array([], values.type)
    if pa.types.is_string(whole.type):
        texts = pc.fill_null(whole, "")
        return pc.replace_substring(pc.replace_substring(texts, "\r", "\\r"), "\n", "\\n")
    is_number = pa.types.is_floating(whole.type) or pa.types.is_integer(whole.type)
    is_quick = column.form.style in (Style.FIXED, Style.KEPT, Style.THOUSANDS)
    if not is_number or column.base == HEX or not is_quick:
        return _each(partial(cell_text, column, zone=zone), whole)
    return _numbers(column, whole)


def _each(text: Callable[..., str], values: pa.Array) -> pa.Array:
    """Applies a function once to each distinct value."""
    encoded = values.dictionary_encode()
    texts = pa.array([text(value) for value in encoded.dictionary.to_pylist()], pa.string())
    return pc.fill_null(texts.take(encoded.indices), "")


def _numbers(column: ReportColumn, values: pa.Array) -> pa.Array:
    number = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    finite = np.isfinite(number)
    with np.errstate(over="ignore", invalid="ignore"):  # `cell_text` formats values too large
        scaled = np.where(finite, number, 0.0) * float(column.scale)
        if column.form.style is Style.KEPT:
            texts, doubtful = _kept(scaled)
        elif column.form.style is Style.THOUSANDS:
            texts, doubtful = _fixed(scaled, 0)
            doubtful |= _beyond(texts)
        else:
            texts, doubtful = _fixed(scaled, column.form.digits)
    doubtful &= finite
    if doubtful.any():
        exactly = _each(partial(cell_text, column), values.filter(_booleans(doubtful)))
        texts = pc.replace_with_mask(texts, _booleans(doubtful), exactly)
    return texts if finite.all() else pc.if_else(_booleans(finite), texts, "")


def _booleans(mask: Mask) -> pa.Array:
    """Converts a mask to pyarrow; `pa.array` of a numpy array would import `numpy.ma`."""
    bits = np.packbits(mask, bitorder="little")
    return pa.Array.from_buffers(pa.bool_(), len(mask), [None, pa.py_buffer(bits)])


def _fixed(scaled: Floats, digits: int) -> tuple[pa.Array, Mask]:
    """Rounds half up to a number of decimals; the mask marks doubtful values."""
    size = np.abs(scaled) * float(Decimal(1).scaleb(digits))
    below = np.floor(size)
    # So close to a tie a value is rounded by its 12 significant digits.
    doubtful = np.abs(size - below - 0.5) <= 1e-11 * np.maximum(size, 1.0)
    large = size >= 1e15  # from this size on a float has no tenths
    units = np.where(large, 0.0, np.floor(size + 0.5)).astype(np.int64)
    units = np.where(scaled < 0, -units, units)
    return _decimals(units, digits), doubtful | large


def _kept(scaled: Floats) -> tuple[pa.Array, Mask]:
    """Formats with up to three decimals, as many as fit."""
    texts, doubtful = _fixed(scaled, 0)
    for digits in range(1, RATIO_DIGITS + 1):
        longer, in_doubt = _fixed(scaled, digits)
        doubtful |= in_doubt
        texts = pc.if_else(_booleans(_beyond(longer)), texts, longer)
    return texts, doubtful


def _beyond(texts: pa.Array) -> Mask:
    """Whether texts are wider than a narrow column."""
    mask: Mask = pc.greater(pc.utf8_length(texts), KEPT_CHARACTERS).to_numpy(zero_copy_only=False)
    return mask


def _decimals(units: npt.NDArray[np.int64], digits: int) -> pa.Array:
    """Formats integers, counted in units of the last decimal, as decimal numbers."""
    if not digits:
        whole = pa.Array.from_buffers(pa.int64(), len(units), [None, pa.py_buffer(units)])
        return whole.cast(pa.string())
    halves = np.empty((len(units), 2), dtype=np.int64)  # decimal128: low half first
    halves[:, 0], halves[:, 1] = units, units >> 63
    kind = pa.decimal128(19, digits)
    return pa.Array.from_buffers(kind, len(units), [None, pa.py_buffer(halves)]).cast(pa.string())
