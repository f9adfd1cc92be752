"""A report as an HTML table: cell texts, and sort keys where the text cannot serve as one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from ...core.text import counted
from ..metrics.metric import ReportColumn
from ..metrics.report_set import Lines, Report
from ..reports.cells import cell_text, clock, column_texts
from ..reports.report import ReportResult
from .window import STEPS, Window

DECIMAL = 10
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z")
_PLAIN = r"^(-?\d+(\.\d+)?)?$"
"""Texts that can serve as sort key."""
MOST_LINES = 500
"""Maximum lines of a table by time or object; `cpmon report` prints all."""
MOST_ROWS = 1000
"""Maximum lines of a log."""

Read = Callable[..., ReportResult]
"""Reads a report by name, with lines of a length (`by`) or a number of objects (`top`)."""


@dataclass(frozen=True, slots=True)
class Head:
    """A column heading. `parts` are the words of its label, `is_text` aligns it left."""

    parts: tuple[str, ...]
    unit: str
    about: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell text, and its number where that cannot be parsed from the text ("101k")."""

    text: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A report table of a page.

    Attributes:
        covers: the span and the filters, as text.
        rows: cells of each line. below: cells of the mean and total lines.
        missing: why the table is empty; may be empty.
    """

    name: str
    title: str
    covers: str = ""
    heads: tuple[Head, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    below: tuple[tuple[Cell, ...], ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""


def short_report(
    read: Read, window: Window, report: Report, most: int = MOST_LINES
) -> ReportResult:
    """Read a report with longer and longer lines until it is short enough for a page.

    Args:
        most: maximum number of lines by time or object; lines beyond it are cut, with a note.

    Raises:
        CpmonError: there is nothing to report.
    """
    if report.lines is not Lines.TIME:
        return read(report.name, top=MOST_ROWS if report.lines is Lines.ROW else most)
    by = window.step(most)
    result = read(report.name, by=by)
    longer = [step for step in STEPS if by is None or step > by]
    while result.table.num_rows > most and longer:
        length = (window.last - window.first) * result.table.num_rows / most**2
        by = next((step for step in longer if step >= length), longer[-1])
        longer = [step for step in longer if step > by]
        result = read(report.name, by=by)
    lines = result.table.num_rows
    if lines <= most:
        return result
    note = f"Only the first {most} of {counted(lines, 'line')}; cpmon report has all."
    return replace(result, table=result.table.slice(0, most), notes=(note, *result.notes))


def listing(result: ReportResult, docs: dict[str, str]) -> Listing:
    """Convert a report to a table.

    Args:
        docs: column of the reduction -> documentation.
    """
    report = result.report
    columns = [_cells(result, column) for column in report.columns]
    below = [
        (Cell(name), *(_cell(result, c, values.get(c.name)) for c in report.columns[1:]))
        for name, values in result.summaries
    ]
    return Listing(
        report.name,
        report.title,
        _covers(result),
        tuple(_head(result, column, docs.get(column.name, "")) for column in report.columns),
        tuple(zip(*columns, strict=True)),
        tuple(below),
        result.notes,
    )


def _head(result: ReportResult, column: ReportColumn, about: str) -> Head:
    kind = result.table.schema.field(column.name).type
    is_text = pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_boolean(kind)
    return Head(tuple(column.label.replace("-|", "").split("|")), column.unit, about, is_text)


def _cells(result: ReportResult, column: ReportColumn) -> list[Cell]:
    values = result.table.column(column.name)
    if not pa.types.is_string(values.type):
        texts = column_texts(column, values, result.zone)
        if column.base != DECIMAL or pc.all(pc.match_substring_regex(texts, _PLAIN)).as_py():
            return [Cell(text) for text in texts.to_pylist()]
    return [_cell(result, column, value) for value in values.to_pylist()]


def _cell(result: ReportResult, column: ReportColumn, value: object) -> Cell:
    text = cell_text(column, value, result.zone)
    if isinstance(value, int | float) and column.base == DECIMAL and not _NUMBER.match(text):
        return Cell(text, f"{value * column.scale:.12g}" if text else "")
    return Cell(text)


def _covers(result: ReportResult) -> str:
    first, last = (clock(time, result.zone) for time in (result.starts, result.ends))
    span = f"{first} to {last} {result.zone.key}"
    return ", ".join([span, counted(result.intervals, "interval"), *result.restrictions])
