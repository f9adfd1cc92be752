"""A report as an analyst knows it: heading, lines by time, the mean line, what is missing."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...schemas.printable import printable
from ..metrics.report_shape import Lines, ReportColumn
from ..render.render import render
from .cells import cell_text, clock
from .column_texts import column_texts
from .report import ReportResult

_GAP = "  "
_WIDTH = 100


def render_report(result: ReportResult, format: str = "text") -> bytes:
    """A report as text, or its unrounded lines in any format of `render`.

    Text is printed by the rules of `printing`.

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("text", "table"):
        return printable(_text(result)).encode()
    return render(result.table, format, title=result.report.name)


def _text(result: ReportResult) -> str:
    columns = result.report.columns
    cells = [
        column_texts(column, result.table.column(column.name), result.zone) for column in columns
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
        max(column.width, len(mean), _longest(texts), *map(len, head))
        for column, mean, texts, head in zip(columns, means, cells, heads, strict=True)
    ]
    lines = [
        *_lines(map(pa.array, heads), widths, left),
        "",
        *_lines(cells, widths, left),
        *(["", *_lines(map(_alone, means), widths, left)] if result.lines is Lines.TIME else []),
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


def _longest(texts: pa.Array) -> int:
    return pc.max(pc.utf8_length(texts)).as_py() or 0


def _alone(text: str) -> pa.Array:
    return pa.array([text])


def _lines(columns: Iterable[pa.Array], widths: Sequence[int], left: Sequence[bool]) -> list[str]:
    """Columns of texts as lines: the first one and texts to the left, numbers to the right."""
    padded = [
        (pc.utf8_rpad if to_left else pc.utf8_lpad)(texts, width)
        for texts, width, to_left in zip(columns, widths, left, strict=True)
    ]
    lines: list[str] = pc.utf8_rtrim(pc.binary_join_element_wise(*padded, _GAP), " ").to_pylist()
    return lines
