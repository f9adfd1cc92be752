"""Writes XLSX workbooks: numbers and times keep their type; text is never a formula.

Rows are streamed. Excel has no time zones, so headings or the lines above a table name the zone.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from ..core.text import printable

MAX_ROWS = 1_048_576
"""Most rows of a sheet; further rows are in another one."""
MAX_TEXT = 32_767
"""Most characters of a cell."""
MAX_EXACT = 2**53
"""A cell holds a floating point number; larger integers are written as text."""
MAX_NAME = 31
PIECE = 1024 * 1024
CLOCK = "yyyy-mm-dd hh:mm:ss"
TICKS = f"{CLOCK}.000"
NUMBER = re.compile(r"-?(\d+|\d{1,3}(,\d{3})+)(\.\d+)?")
_FIRST_DAY = datetime(1900, 1, 1)  # noqa: DTZ001 - Excel's own, which has no time zone


@dataclass(frozen=True, slots=True)
class SheetColumn:
    """A column of a sheet: its heading, unit included; `format` is Excel's for its numbers."""

    heading: str
    format: str = ""
    width: int = 12


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table with lines of text above and below; its last rows can be summaries."""

    name: str
    columns: Sequence[SheetColumn]
    rows: Iterable[Sequence[Any]]
    head: Sequence[str] = ()
    summaries: Sequence[Sequence[Any]] = ()
    notes: Sequence[str] = ()


def workbook(sheets: Iterable[Sheet]) -> Iterator[bytes]:
    """Write sheets as the file of a workbook, in pieces; rows are streamed."""
    import xlsxwriter

    options = {"constant_memory": True, "strings_to_formulas": False, "strings_to_urls": False}
    with tempfile.TemporaryFile() as file:
        book = xlsxwriter.Workbook(file, options)
        writer = _Writer(book)
        for sheet in sheets:
            writer.write(sheet)
        book.close()
        file.seek(0)
        yield from iter(partial(file.read, PIECE), b"")


def number_of(text: str) -> float | str | None:
    """A printed number as a float, an empty text as None, other text unchanged."""
    return float(text.replace(",", "")) if NUMBER.fullmatch(text) else text or None


class _Writer:
    """Writes sheets of a workbook from their first to their last row."""

    def __init__(self, book: Any) -> None:
        self._book = book
        self._bold, self._ticks, self._day = map(
            book.add_format, ({"bold": True}, {"num_format": TICKS}, {"num_format": "yyyy-mm-dd"})
        )
        self._names: set[str] = set()
        self._page: Any = None
        self._row = 0

    def write(self, sheet: Sheet) -> None:
        """Write a sheet, and further ones if its rows need them."""
        formats = [self._format(column, bold=False) for column in sheet.columns]
        self._begin(sheet)
        for row in sheet.rows:
            if self._row == MAX_ROWS:
                self._begin(sheet)
            self._put(row, formats)
        for summary in sheet.summaries:
            self._put(summary, [self._format(column, bold=True) for column in sheet.columns])
        for note in ("", *sheet.notes) if sheet.notes else ():
            self._put([note], [None])

    def _begin(self, sheet: Sheet) -> None:
        self._page, self._row = self._book.add_worksheet(self._name(sheet.name)), 0
        for number, column in enumerate(sheet.columns):
            self._page.set_column(number, number, max(column.width, 8))
        for line in sheet.head:
            self._put([line], [self._bold])
        self._row += bool(sheet.head)
        self._put([column.heading for column in sheet.columns], [self._bold] * len(sheet.columns))
        self._page.freeze_panes(self._row, 0)

    def _name(self, name: str) -> str:
        """A valid and unique name of a sheet."""
        plain = re.sub(r"[\[\]:*?/\\]", "_", printable(name)).strip("'") or "sheet"
        number, free = 1, plain[:MAX_NAME]
        while free.lower() in self._names:
            number += 1
            free = f"{plain[: MAX_NAME - 5]} {number}"
        self._names.add(free.lower())
        return free

    def _put(self, values: Sequence[Any], formats: Sequence[Any]) -> None:
        page, row = self._page, self._row
        for number, (value, form) in enumerate(zip(values, formats, strict=True)):
            match value:
                case None:
                    pass
                case bool():
                    page.write_boolean(row, number, value, form)
                case int() if abs(value) > MAX_EXACT:
                    page.write_string(row, number, str(value), form)
                case int() | float() | Decimal():
                    if math.isfinite(value):
                        page.write_number(row, number, value, form)
                case datetime() if value.replace(tzinfo=None) >= _FIRST_DAY:
                    time = value.replace(tzinfo=None)
                    page.write_datetime(row, number, time, form or self._ticks)
                case date() if not isinstance(value, datetime) and value >= _FIRST_DAY.date():
                    page.write_datetime(row, number, value, self._day)
                case _:
                    page.write_string(row, number, printable(str(value))[:MAX_TEXT], form)
        self._row += 1

    def _format(self, column: SheetColumn, *, bold: bool) -> Any:
        properties = ({"num_format": column.format} if column.format else {}) | {"bold": bold}
        return self._book.add_format(properties) if column.format or bold else None
