"""A report as an analyst knows it: heading, lines by time, the mean line, what is missing."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from .cells import cell_text, clock
from .render import render
from .report import ReportResult
from .report_shape import Lines, ReportColumn

_GAP = "  "
_WIDTH = 100


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
        [_cell(column, value, result) for value in result.table.column(column.name).to_pylist()]
        for column in columns
    ]
    means = [
        _cell(column, result.mean[column.name], result) if column.name in result.mean else ""
        for column in columns
    ]
    means[0] = "Mean"
    heads = _heads(columns)
    left = [_is_text(result.table, column.name) for column in columns]
    left[0] = True
    widths = [
        max(column.width, len(mean), *map(len, texts), *map(len, head))
        for column, mean, texts, head in zip(columns, means, cells, heads, strict=True)
    ]
    lines = [
        *_lines(zip(*heads, strict=True), widths, left),
        "",
        *_lines(zip(*cells, strict=True), widths, left),
        *(["", *_lines([means], widths, left)] if result.lines is Lines.TIME else []),
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
    first, last = (clock(time, result.zone) for time in (result.starts, result.ends))
    told = "".join(f", {said}" for said in result.said)
    return [
        f"{result.report.name}  {result.report.title}",
        f"System {result.system}{run}{told}, {first} to {last} {result.zone.key},"
        f" {result.intervals} {noun}",
    ]


def _cell(column: ReportColumn, value: Any, result: ReportResult) -> str:
    """A value on one line, whatever a name holds."""
    return cell_text(column, value, result.zone).replace("\r", "\\r").replace("\n", "\\n")


def _is_text(table: pa.Table, name: str) -> bool:
    return bool(pa.types.is_string(table.schema.field(name).type))


def _heads(columns: Sequence[ReportColumn]) -> list[list[str]]:
    """Stacked labels, the units as their last line, filled from above to one height."""
    stacks = [[*column.label.split("|"), column.unit] for column in columns]
    height = max(map(len, stacks))
    return [[""] * (height - len(stack)) + stack for stack in stacks]


def _lines(rows: Any, widths: Sequence[int], left: Sequence[bool]) -> list[str]:
    """Rows of texts as lines: the first column and texts to the left, numbers to the right."""
    return [
        _GAP.join(
            text.ljust(width) if to_left else text.rjust(width)
            for text, width, to_left in zip(row, widths, left, strict=True)
        ).rstrip()
        for row in rows
    ]
