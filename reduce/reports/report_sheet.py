"""A report as a sheet of a workbook: unrounded numbers in the units of the report."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Any

import pyarrow as pa

from ..metrics.report_shape import HEX, Lines, ReportColumn
from ..render.printing import Style
from ..render.xlsx import CLOCK, Column, Sheet
from .cells import cell_text
from .report import ReportResult


def report_sheet(result: ReportResult, head: Sequence[str]) -> Sheet:
    """The lines of a report and its mean line, below `head`; headings say units and zone."""
    columns = result.report.columns
    values = [partial(_value, column, result) for column in columns]
    cells = [
        [value(cell) for cell in result.table[column.name].to_pylist()]
        for column, value in zip(columns, values, strict=True)
    ]
    means = [value(result.mean.get(c.name)) for c, value in zip(columns, values, strict=True)]
    mean = ["Mean", *means[1:]] if result.lines is Lines.TIME else []
    return Sheet(
        result.report.name,
        [_column(column, result) for column in columns],
        zip(*cells, strict=True),
        head,
        mean,
        result.notes,
    )


def _column(column: ReportColumn, result: ReportResult) -> Column:
    is_time = pa.types.is_timestamp(result.table.schema.field(column.name).type)
    in_seconds = column.form.style in (Style.MINUTES, Style.HUNDREDTHS)
    unit = result.zone.key if is_time else "s" if in_seconds else column.unit
    heading = f"{column.heading} ({unit})" if unit else column.heading
    form = CLOCK if is_time else _number_format(column)
    return Column(heading, form, max(len(heading), len(form)) + 2)


def _number_format(column: ReportColumn) -> str:
    """Excel's format with the decimals that the report prints."""
    if column.base == HEX:
        return ""
    match column.form.style:
        case Style.FIXED:
            return "0." + "0" * column.form.digits if column.form.digits else "#,##0"
        case Style.THOUSANDS:
            return "#,##0"
        case Style.KEPT:
            return "0.000"
    return "0.00"  # seconds, which the report prints as minutes and seconds


def _value(column: ReportColumn, result: ReportResult, value: Any) -> Any:
    match value:
        case None | bool() | str():
            return value
        case datetime():
            return value.replace(tzinfo=UTC).astimezone(result.zone)
    return cell_text(column, value) if column.base == HEX else value * column.scale
