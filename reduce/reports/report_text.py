"""Formats a report as text or as a sheet: heading, lines, mean line, notes."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ...config.moments import is_twice
from ...core.errors import CpmonError
from ...core.text import counted, printable
from ...render.printing import Style
from ...render.render import render
from ...render.text import GAP, bullets, text_lines, widths_of
from ...render.xlsx import CLOCK, Sheet, SheetColumn, workbook
from ..metrics.metric import HEX, TIME, ReportColumn
from .cells import cell_text, clock, column_texts
from .report import ReportResult


@dataclass(frozen=True, slots=True)
class ColourLimit:
    """A limit, of values times `scale`, beyond which these are coloured.

    `is_highest`: it is a maximum. `least`: column -> least value; lines with less are not coloured.
    """

    reduction: str
    metric: str
    scale: float
    limit: float
    is_highest: bool
    colour: str
    least: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Screen:
    """How a table is read, on a terminal or as plain text.

    Attributes:
        width: limits the columns.
        thresholds: values beyond one have its colour, that of the first exceeded; or a mark.
        has_colours: whether there are colours.
        is_brief: whether notes about layouts and columns are counted, where there are several.
    """

    width: int | None = None
    thresholds: Sequence[ColourLimit] = ()
    has_colours: bool = True
    is_brief: bool = False


MARK = "!"
"""Behind a value beyond a threshold, where there are no colours."""


def render_reports(
    results: Sequence[ReportResult], format: str = "text", screen: Screen | None = None
) -> bytes:
    """Render several reports: text and Markdown one below the other, XLSX a sheet for each.

    Colours of text are markup of `core.text.painted`.

    Raises:
        CpmonError: the format can hold only one table.
    """
    if format == "xlsx":
        return b"".join(workbook(map(_sheet, results)))
    if len(results) > 1 and format not in ("text", "table", "markdown"):
        raise CpmonError(
            f"--format {format} holds one report",
            code="format-holds-one-report",
            found=f"{len(results)} reports",
            remedy="use xlsx, which has a sheet for each, or name one report",
        )
    return b"\n".join(render_report(result, format, screen) for result in results)


def render_report(
    result: ReportResult, format: str = "text", screen: Screen | None = None
) -> bytes:
    """Render a report as text, or its unrounded lines in any format of `render`.

    Text follows the rules of `printing`.

    Raises:
        CpmonError: no such format.
    """
    if format in ("text", "table"):
        return printable(_text(result, screen or Screen())).encode()
    if format == "xlsx":
        return render_reports([result], format)
    return render(result.for_programs, format, title=result.report.name)


def lines_after(
    result: ReportResult, time: datetime | None, format: str, screen: Screen | None = None
) -> bytes:
    """The lines of a report by time that end after a time, in a format with a line each.

    The first ones (`time` is None) have the heading; none have means and notes. Nothing if there is
    no such line.

    Raises:
        CpmonError: no such format.
    """
    mask = [time is None or end > time for end in result.table.column(TIME).to_pylist()]
    if not any(mask):
        return b""
    covered = result.covered and result.covered.filter(pa.array(mask))
    table = result.table.filter(pa.array(mask))
    result = replace(result, table=table, covered=covered, mean={}, total={}, notes=())
    text = render_report(result, format, screen)
    if time is None or format == "jsonl":
        return text
    lines = text.splitlines(keepends=True)
    return b"".join(lines[-table.num_rows :])


def _text(result: ReportResult, screen: Screen) -> str:
    columns = result.report.columns
    cells = [
        column_texts(column, result.table.column(column.name), result.zone) for column in columns
    ]
    below = [[""] * len(result.summaries) for _ in columns]
    for number, (name, values) in enumerate(result.summaries):
        for column, texts in zip(columns, below, strict=True):
            texts[number] = _cell(column, values.get(column.name), result)
        below[0][number] = name
    stacks = [[*column.label.split("|"), column.unit] for column in columns]
    height = max(map(len, stacks))
    heads = [[""] * (height - len(stack)) + stack for stack in stacks]
    kinds = [result.table.schema.field(column.name).type for column in columns]
    left = [bool(pa.types.is_string(kind)) for kind in kinds]
    left[0] = True
    blocks = [
        pa.concat_arrays(
            [pa.array([*head, ""]), texts, pa.array([""] * bool(last) + last, pa.string())]
        )
        for head, texts, last in zip(heads, cells, below, strict=True)
    ]
    least, result_notes = [column.width for column in columns], _notes(result, screen)
    coloured = list(_coloured(result, columns, screen.thresholds))
    head, last = ([False] * count for count in (height + 1, len(below[0]) + bool(below[0])))
    # A mask of values becomes one of the column with its heading and the lines below.
    colours = [
        (number, pa.concat_arrays([pa.array(head), mask, pa.array(last, pa.bool_())]), colour)
        for number, mask, colour in coloured
        if pc.any(mask).as_py()
    ]
    if not screen.has_colours:
        for number in {number for number, *_ in colours}:
            beyond = [mask for n, mask, _ in colours if n == number]
            marks = pc.if_else(functools.reduce(pc.or_, beyond), MARK, " ")
            blocks[number] = pc.binary_join_element_wise(blocks[number], marks, "")
        if colours:
            result_notes.append(f"{MARK} is beyond the limit of a rule of cpmon exceptions.")
    count = _fitting(result, widths_of(blocks, least), screen.width)
    if count < len(columns):
        absent = ", ".join(column.name for column in columns[count:])
        result_notes.append(f"Without what this terminal has no room for: {absent} (--wide).")
    colours = [each for each in colours if each[0] < count and screen.has_colours]
    lines = text_lines(blocks[:count], left[:count], least[:count], colours=colours)
    notes = ["", *bullets(result_notes)] if result_notes else []
    return "\n".join([*report_heading(result), "", *lines, *notes]) + "\n"


def _notes(result: ReportResult, screen: Screen) -> list[str]:
    """The notes; in brief those that matter for the figures, and how many others there are."""
    others = {*result.background} & {*result.notes}
    if not screen.is_brief or len(others) < 2:
        return list(result.notes)
    inferred = " on inferred layouts and more" if any("inferred" in n for n in others) else ""
    shown = [note for note in result.notes if note not in others]
    return [*shown, f"{len(others)} more{inferred}: --notes."]


def _fitting(result: ReportResult, widths: Sequence[int], width: int | None) -> int:
    """Number of columns that fit into a width; times and keys are always included."""
    always = (TIME, *result.report.keys)
    needed = 1 + max(
        (n for n, column in enumerate(result.report.columns) if column.name in always), default=0
    )
    count, taken = 0, -len(GAP)
    for count, each in enumerate(widths, start=1):
        taken += len(GAP) + each
        if width is not None and taken > width:
            return max(count - 1, needed)
    return count


def _coloured(
    result: ReportResult, columns: Sequence[ReportColumn], thresholds: Sequence[ColourLimit]
) -> Iterator[tuple[int, pa.Array, str]]:
    """Numbers of columns with the mask of values beyond a threshold, and its colour."""
    table = result.table
    nothing = pa.array([False] * table.num_rows, pa.bool_())
    painted = dict.fromkeys(range(len(columns)), nothing)
    judged = (  # a maximum by the limit of what it is the maximum of
        (number, column, threshold)
        for threshold in thresholds
        for number, column in enumerate(columns)
        if threshold.metric
        in (column.name, column.of and column.statistic == "max" and column.of.name)
    )
    for number, column, threshold in judged:
        is_of_report = threshold.reduction == result.report.reduction
        if not (is_of_report and {*threshold.least}.issubset(table.column_names)):
            continue
        values = pc.multiply(table.column(column.name), threshold.scale)
        mask = (pc.greater if threshold.is_highest else pc.less)(values, threshold.limit)
        for name, least in threshold.least.items():
            mask = pc.and_(mask, pc.greater_equal(table.column(name), least))
        mask = pc.and_not(pc.fill_null(mask, False).combine_chunks(), painted[number])
        painted[number] = pc.or_(painted[number], mask)
        yield number, mask, threshold.colour


def report_heading(result: ReportResult) -> list[str]:
    """Two lines: name and title; system, run, filters, span and time zone."""
    run = f", run {result.run_id}" if result.run_id else ""
    several = "s" if ", " in result.system else ""
    first, last = (clock(time, result.zone) for time in (result.starts, result.ends))
    narrowed = "".join(f", {restriction}" for restriction in result.restrictions)
    return [
        f"{result.report.name}  {result.report.title}",
        f"System{several} {result.system}{run}{narrowed}, {first} to {last} {result.zone.key},"
        f" {counted(result.intervals, 'interval')}",
    ]


def _cell(column: ReportColumn, value: Any, result: ReportResult) -> str:
    """Formats a value on one line; line breaks in names are escaped."""
    return cell_text(column, value, result.zone).replace("\r", "\\r").replace("\n", "\\n")


def _sheet(result: ReportResult) -> Sheet:
    """The unrounded lines of a report and its mean line; headings include units and zone."""
    columns = result.report.columns
    values = [partial(_value, column, result) for column in columns]
    cells = [
        [value(cell) for cell in result.table[column.name].to_pylist()]
        for column, value in zip(columns, values, strict=True)
    ]
    below = [
        [name, *(v(sums.get(c.name)) for c, v in zip(columns[1:], values[1:], strict=True))]
        for name, sums in result.summaries
    ]
    return Sheet(
        result.report.name,
        [_column(column, result) for column in columns],
        zip(*cells, strict=True),
        report_heading(result),
        below,
        result.notes,
    )


def _column(column: ReportColumn, result: ReportResult) -> SheetColumn:
    is_time = pa.types.is_timestamp(result.table.schema.field(column.name).type)
    in_seconds = column.form.style in (Style.MINUTES, Style.HUNDREDTHS)
    unit = result.zone.key if is_time else "s" if in_seconds else column.unit
    heading = f"{column.heading} ({unit})" if unit else column.heading
    form = CLOCK if is_time else _number_format(column)
    return SheetColumn(heading, form, max(len(heading), len(form)) + 2)


def _number_format(column: ReportColumn) -> str:
    """Excel's number format with the decimals of the report."""
    if column.base == HEX:
        return ""
    if column.form.style is Style.FIXED and column.form.digits:
        return "0." + "0" * column.form.digits
    formats = {Style.FIXED: "#,##0", Style.THOUSANDS: "#,##0", Style.KEPT: "0.000"}
    return formats.get(column.form.style, "0.00")  # seconds, where the report prints minutes


def _value(column: ReportColumn, result: ReportResult, value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case datetime() if column.calendar:
            return cell_text(column, value, result.zone)
        case datetime():
            local = value.replace(tzinfo=UTC).astimezone(result.zone)
            return clock(value, result.zone) if is_twice(local) else local
    return cell_text(column, value) if column.base == HEX else value * column.scale
