"""A report as an analyst knows it: heading, lines by time, the mean line, what is missing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from .printing import show
from .render import render
from .report import ReportResult
from .report_shape import ReportColumn

_GAP = "  "
_WIDTH = 100
_TIME = "%Y-%m-%d %H:%M:%S"


def render_report(result: ReportResult, format: str = "text") -> bytes:
    """A report as text, or its unrounded lines in any format of `render`.

    Text is printed by the rules of `printing`, cell by cell: it is as long as a reader's patience.

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("text", "table"):
        return _text(result).encode()
    return render(result.table, format, title=result.report.name)


def _text(result: ReportResult) -> str:
    columns = result.report.columns
    cells = [
        [_cell(column, value) for value in result.table.column(column.name).to_pylist()]
        for column in columns
    ]
    means = [
        _cell(column, result.mean[column.name]) if column.name in result.mean else ""
        for column in columns
    ]
    means[0] = "Mean"
    heads = _heads(columns)
    widths = [
        max(column.width, len(mean), *map(len, texts), *map(len, head))
        for column, mean, texts, head in zip(columns, means, cells, heads, strict=True)
    ]
    lines = [
        *_lines(zip(*heads, strict=True), widths),
        "",
        *_lines(zip(*cells, strict=True), widths),
        "",
        *_lines([means], widths),
    ]
    notes = [
        line
        for note in result.notes
        for line in textwrap.wrap(note, _WIDTH, initial_indent="* ", subsequent_indent="  ")
    ]
    return "\n".join([*_heading(result), "", *lines, *([""] if notes else []), *notes]) + "\n"


def _heading(result: ReportResult) -> list[str]:
    noun = "interval" if result.intervals == 1 else "intervals"
    run = f", run {result.run_id}" if result.run_id else ""
    span = f"{_clock(result.starts)} to {_clock(result.ends)} UTC"
    return [
        f"{result.report.name}  {result.report.title}",
        f"System {result.system}{run}, {span}, {result.intervals} {noun}",
    ]


def _clock(time: datetime) -> str:
    """A time to the nearest second."""
    return (time + timedelta(milliseconds=500)).strftime(_TIME)


def _cell(column: ReportColumn, value: Any) -> str:
    if isinstance(value, datetime):
        return _clock(value)
    return show(value, column.form, scale=column.scale).text


def _heads(columns: Sequence[ReportColumn]) -> list[list[str]]:
    """Stacked labels, the units as their last line, filled from above to one height."""
    stacks = [[*column.label.split("|"), column.unit] for column in columns]
    height = max(map(len, stacks))
    return [[""] * (height - len(stack)) + stack for stack in stacks]


def _lines(rows: Any, widths: Sequence[int]) -> list[str]:
    """Rows of texts as lines: the first column to the left, the others to the right."""
    return [
        _GAP.join(
            text.ljust(width) if n == 0 else text.rjust(width)
            for n, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
