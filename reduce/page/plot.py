"""Plots any report as SVG or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import structs

from ...core.errors import CpmonError, unknown
from ...render.render import is_number
from ..metrics.metric import MetricKind, ReportColumn
from ..metrics.report_set import Lines
from ..reports.cells import cell_text, clock
from ..reports.report import ReportResult
from .chart import Chart, ChartKind, Points, Series, column_of, object_name, series_of
from .drawing import bars, over_time, png, stacked, svg

FORMATS = ("svg", "png")
MOST_OBJECTS = 20
"""Maximum number of bars, or of lines for objects; more could not be distinguished."""


def plot_report(result: ReportResult, format: str, columns: Sequence[str] = ()) -> bytes:
    """Plot a report: lines over time, or bars of the top objects.

    Columns with the same unit share a panel. For a report by time and object each column has its
    own panel, with a line for each object.

    Args:
        format: one of FORMATS.
        columns: columns of the reduction; by default the sort column of a report by object, else
            the first metric and others with its unit.

    Raises:
        CpmonError: no such format or column, or the report has no numeric data.
    """
    return drawn_alone(result, plot_spec(result, columns), format)


def plot_spec(result: ReportResult, columns: Sequence[str] = ()) -> dict[str, Any]:
    """The Vega-Lite specification of a plot; errors are those of `plot_report`."""
    drawn = [
        bars(chart, points, alone=True)
        if chart.kind is ChartKind.BARS
        else over_time(chart, points, result.zone, alone=True)
        for chart, points in panels(result, columns)
    ]
    title = {"text": result.report.title, "subtitle": _about(result)}
    form = {"anchor": "start", "fontSize": 13, "subtitleFontSize": 11, "offset": 12}
    return stacked(drawn) | {"title": title | form}


def panels(result: ReportResult, columns: Sequence[str] = ()) -> list[tuple[Chart, Points]]:
    """The charts of a report and their points, as `plot_report` describes."""
    drawn = _columns(result, columns)
    if _is_split(result):
        groups = [[column] for column in drawn]
    else:
        units = [column.unit for column in drawn]
        ordered = sorted(drawn, key=lambda column: units.index(column.unit))
        groups = [list(same) for _, same in groupby(ordered, lambda column: column.unit)]
    return [_panel(result, group) for group in groups]


def drawn_alone(result: ReportResult, spec: dict[str, Any], format: str) -> bytes:
    """Draw a specification with the title of a report.

    Raises:
        CpmonError: no such format.
    """
    if format not in FORMATS:
        raise CpmonError(
            "a chart cannot be written in that format",
            expected=" or ".join(f".{suffix}" for suffix in FORMATS),
            found=format or "a name without ending",
        )
    if format == "png":
        return png(spec)
    return svg(spec, result.report.title, _about(result), result.report.name.lower()).encode()


def _about(result: ReportResult) -> str:
    first, last = (clock(time, result.zone) for time in (result.starts, result.ends))
    run = [f"run {result.run_id}"] if result.run_id else []
    parts = [result.report.name, f"system {result.system}", *run, *result.restrictions]
    return ", ".join([*parts, f"{first} to {last} {result.zone.key}"])


def figures_of(result: ReportResult) -> list[ReportColumn]:
    """The columns of a report that can be drawn."""
    kind_of = result.table.schema.field
    others = (MetricKind.KEY, MetricKind.ELAPSED, MetricKind.LATEST)
    numbers = [column for column in result.report.columns if is_number(kind_of(column.name).type)]
    return [column for column in numbers if column.kind not in others]


def _columns(result: ReportResult, names: Sequence[str]) -> list[ReportColumn]:
    report, figures = result.report, figures_of(result)
    by_name = {column.name: column for column in figures}
    for name in names:
        if name not in by_name:
            raise unknown("figure", name, by_name, place=report.name)
    if names:
        return [by_name[name] for name in names]
    if not figures:
        raise CpmonError(
            f"{report.name} has no figures to draw",
            code="report-not-plottable",
            remedy="print it, or name another report",
        )
    if result.lines is Lines.OBJECT and report.sort in by_name:
        return [by_name[report.sort]]
    return [column for column in figures if column.unit == figures[0].unit]


def _is_split(result: ReportResult) -> bool:
    """Whether the report has several objects."""
    if result.lines is not Lines.TIME or not result.report.keys:
        return False
    objects = result.table.group_by(list(result.report.keys)).aggregate([])
    return len(objects) > 1


def _panel(result: ReportResult, columns: list[ReportColumn]) -> tuple[Chart, Points]:
    """One panel; its axis title is the unit, and for a single column also its heading."""
    first = columns[0]
    single = len(columns) == 1
    named = f"{first.heading} {first.unit}".strip() if first.unit not in first.heading else ""
    axis = (named or first.heading) if single else first.unit
    kind = ChartKind.BARS if result.lines is Lines.OBJECT else ChartKind.LINES
    chart = Chart(first.name, result.report.title, "", (), kind, axis=axis)
    if result.lines is Lines.OBJECT:
        return chart, _objects(result, columns)
    if _is_split(result):
        return chart, _split(result, first)
    series = [Series(result.report.name, column.name, column.heading) for column in columns]
    chart = structs.replace(chart, series=series)
    tables = [series_of(result.table, column, column.heading) for column in columns]
    return chart, Points(pa.concat_tables(tables), tuple(column.heading for column in columns))


def _split(result: ReportResult, column: ReportColumn) -> Points:
    """A column over time by object, limited to the first objects by name."""
    keys = list(result.report.keys)
    objects = result.table.group_by(keys).aggregate([]).sort_by([(k, "ascending") for k in keys])
    shown = [column_of(result.report, key) for key in keys]
    tables, names = [], []
    for row in objects.slice(0, MOST_OBJECTS).to_pylist():
        lines = result.table
        for key in keys:
            values = lines.column(key)
            is_same = values.is_null() if row[key] is None else pc.equal(values, row[key])
            lines = lines.filter(is_same)
        # Labels include the headings of keys: CPU 0, Userid MAINT.
        present = [key for key in shown if row[key.name] is not None]
        names.append(" ".join(f"{k.heading} {cell_text(k, row[k.name])}" for k in present))
        tables.append(series_of(lines, column, names[-1]))
    return Points(pa.concat_tables(tables), tuple(names))


def _objects(result: ReportResult, columns: list[ReportColumn]) -> Points:
    """The top objects of a report, in its order."""
    shown = result.table.slice(0, MOST_OBJECTS)
    keys = [column_of(result.report, key) for key in result.report.keys]
    rows = [
        {
            "object": object_name(keys, line),
            "series": column.heading,
            "value": None if line[column.name] is None else line[column.name] * column.scale,
        }
        for line in shown.to_pylist()
        for column in columns
    ]
    return Points(pa.Table.from_pylist(rows), tuple(column.heading for column in columns))
