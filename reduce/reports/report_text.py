"""A report as an analyst knows it: heading, lines by time, the mean line, what is missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ...schemas.errors import CpmonError
from ...schemas.printable import printable
from ..metrics.report_shape import Lines, ReportColumn
from ..render.render import render
from ..render.text import bullets, text_lines
from ..render.xlsx import workbook
from .cells import cell_text, clock
from .column_texts import column_texts
from .report import ReportResult
from .report_sheet import report_sheet


def render_reports(results: Sequence[ReportResult], format: str = "text") -> bytes:
    """Several reports, one below the other as text or Markdown, each on a sheet of an XLSX file.

    Raises:
        CpmonError: the format holds one table.
    """
    if format == "xlsx":
        return b"".join(workbook(report_sheet(r, report_heading(r)) for r in results))
    if len(results) > 1 and format not in ("text", "table", "markdown"):
        raise CpmonError(
            f"--format {format} holds one report",
            found=f"{len(results)} reports",
            remedy="use xlsx, which has a sheet for each, or name one report",
        )
    return b"\n".join(render_report(result, format) for result in results)


def render_report(result: ReportResult, format: str = "text") -> bytes:
    """A report as text, or its unrounded lines in any format of `render`.

    Text is printed by the rules of `printing`.

    Raises:
        CpmonError: there is no such format.
    """
    if format in ("text", "table"):
        return printable(_text(result)).encode()
    if format == "xlsx":
        return render_reports([result], format)
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
    blocks = [
        pa.concat_arrays([pa.array([*head, ""]), texts, pa.array(["", mean])])
        for head, texts, mean in zip(heads, cells, means, strict=True)
    ]
    lines = text_lines(blocks, left, [column.width for column in columns])
    if result.lines is not Lines.TIME:
        del lines[-2:]
    notes = ["", *bullets(result.notes)] if result.notes else []
    return "\n".join([*report_heading(result), "", *lines, *notes]) + "\n"


def report_heading(result: ReportResult) -> list[str]:
    """Two lines: name and title; system, run, how it was narrowed, span and zone."""
    noun = "interval" if result.intervals == 1 else "intervals"
    run = f", run {result.run_id}" if result.run_id else ""
    first, last = (clock(time, result.zone) for time in (result.starts, result.ends))
    narrowed = "".join(f", {restriction}" for restriction in result.restrictions)
    return [
        f"{result.report.name}  {result.report.title}",
        f"System {result.system}{run}{narrowed}, {first} to {last} {result.zone.key},"
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
