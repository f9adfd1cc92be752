"""Charts and tiles of a page (`page.toml`), and the points that they show."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import StrEnum
from importlib.resources import files
from itertools import groupby
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...config import Document, Table
from ...config.definitions import of_definitions
from ...config.moments import fixed_offset_s
from ...core.errors import CpmonError, unknown
from ...core.sql import name as quoted
from ...core.text import length_of_time
from ...store.connection import table_of
from ..metrics import metric_of
from ..metrics.metric import TIME, ReportColumn
from ..metrics.report_set import Lines, Report, end_column, own_documents, reports
from ..metrics.rollups import bucket
from ..reports.cells import cell_text
from ..reports.narrowing import known_column
from ..reports.report_notes import is_doubted, known_notes
from ..reports.report_sql import COVERED, Asked, Span, covered_sql, lines_sql, source_of


class ChartKind(StrEnum):
    """Chart type."""

    LINES = "lines"
    STACK = "stack"
    """Stacked areas: parts of a whole."""
    BARS = "bars"


class Series(Table, frozen=True):
    """A series of a chart: a column of a report, with the legend text `label`.

    `color` is a name of `html.COLORS`; by default the next color of the palette.
    """

    report: str
    column: str
    label: str = ""
    color: str = ""


class Chart(Table, frozen=True):
    """A chart of a page.

    Attributes:
        name: id of the chart. title, about: title and description for the reader.
        series: the series. Reports with lines by object contribute one value over all objects.
        top: draw this many objects of the first series instead, the greatest by the sort column of
            the report, or by the column itself for a report by time.
        rule: exception rule whose limit is drawn, and whose exceptions are marked.
        areas: areas of rules whose exceptions are marked.
        axis: title of the value axis; by default the unit of the first series.
        whole: upper end of the value axis; by default the greatest value.
    """

    name: str
    title: str
    about: str
    series: Sequence[Series]
    kind: ChartKind = ChartKind.LINES
    top: int = 0
    rule: str = ""
    areas: Sequence[str] = ()
    whole: float | None = None
    axis: str | None = None

    @property
    def unit(self) -> str:
        """The unit of all printed values."""
        if self.axis is not None:
            return self.axis
        return unit_of(self.series[0].report, self.series[0].column)


class Tile(Table, frozen=True):
    """A key figure at the head of a page.

    `rule` is the exception rule with its limit. For a report by time the tile shows the mean and
    counts the intervals beyond the limit; for one by object it shows the greatest value and counts
    the objects. `noun` replaces the unit of the metric.

    It has no methods: msgspec hides instances that hold texts only from the garbage collector, so
    what a method refers to would outlive this module, the types of DuckDB too, and these complain.
    """

    label: str
    report: str
    column: str
    rule: str = ""
    noun: str | None = None


class Page(Table, frozen=True):
    """The charts and tiles of all pages, and the chart that compares runs."""

    charts: list[Chart]
    tiles: list[Tile]
    runs: Chart


def unit_of(report: str, column: str) -> str:
    """The printed unit of a report column."""
    return metric_of(reports()[report].reduction, column).unit


def column_of(report: Report, name: str) -> ReportColumn:
    """Finds a report column by its name in the reduction."""
    return next(column for column in report.columns if column.name == name)


_TEXT = (files(__package__) / "page.toml").read_text(encoding="utf-8")
_PAGE = Document(_TEXT, "page.toml", "the page").read(Page)
CHARTS, TILES, RUNS = _PAGE.charts, _PAGE.tiles, _PAGE.runs


@of_definitions
def charts() -> Sequence[Chart]:
    """The charts of a page: the shipped ones, then those of the site.

    Raises:
        CpmonError: a chart of the site has an unknown key or an invalid value, or refers to a
            column that the report lacks.
    """
    found = [*CHARTS]
    for document in own_documents():
        for number, values in enumerate(document.values.get("chart", ())):
            key = f"chart[{number}]"
            place, chart = document.place(key), document.read_part(values, key, Chart)
            if chart.name in {each.name for each in CHARTS}:
                raise CpmonError("two charts have one name", place=place, found=chart.name)
            for series in chart.series:
                if series.report not in reports():
                    raise unknown("report", series.report, reports(), place=place)
                known_column(series.column, reports()[series.report], place)
            found.append(chart)
    return found


POINTS = pa.schema([(TIME, pa.timestamp("us")), ("series", pa.string()), ("value", pa.float64())])
"""One row for each point; a NULL value breaks the line."""
BANDS = pa.schema([*list(POINTS)[:2], ("low", pa.float64()), ("high", pa.float64())])
"""The least and the greatest value within each point; NULL breaks the band."""
INTERVAL = "one interval"
"""How long a point is that aggregates nothing."""


@dataclass(frozen=True, slots=True)
class Points:
    """The data of a chart: `table` has the columns of POINTS, `order` the names of its series.

    `notes` say what is not known of the points, in the words of reports. `bands` has the columns of
    BANDS, or none: then each point is one interval, or its intervals are no longer kept. `length`
    says how long a point is.
    """

    table: pa.Table
    order: tuple[str, ...]
    notes: tuple[str, ...] = ()
    bands: pa.Table = field(default_factory=BANDS.empty_table)
    length: str = INTERVAL

    @property
    def is_empty(self) -> bool:
        """Whether all values are NULL."""
        values = self.table.column("value")
        return bool(values.null_count == len(values))


def read_points(
    con: duckdb.DuckDBPyConnection,
    chart: Chart,
    span: Span,
    by: timedelta | None,
    zone: ZoneInfo,
    ranked: Span | None = None,
) -> Points:
    """Read the points of a chart over a span, each `by` a length of time, aligned to a zone.

    `ranked`: the span whose top objects are drawn, by default the same.
    """
    reader = _SeriesReader(con, span, by, zone, ranked or span)
    if chart.top:
        tables = reader.top(chart.series[0], chart.top)
    else:
        by_report = groupby(chart.series, lambda series: series.report)
        tables = [table for name, same in by_report for table in reader.together(name, same)]
    drawn = pa.concat_tables([_WITH_BANDS.empty_table(), *tables])
    table, bands = (drawn.select(each.names) for each in (POINTS, BANDS))
    order = tuple(dict.fromkeys(t.column("series")[0].as_py() for t in tables))
    notes = tuple(dict.fromkeys(reader.notes(chart)))
    length = length_of_time(by) if by else INTERVAL
    return Points(table, order, notes, bands if _has_values(bands) else bands.slice(0, 0), length)


_WITH_BANDS = pa.schema([*POINTS, *list(BANDS)[2:]])


def _has_values(bands: pa.Table) -> bool:
    return bool(bands.column("high").null_count < len(bands))


@dataclass(frozen=True, slots=True)
class _SeriesReader:
    """Reads series over a span, one table each; the fields are the arguments of `read_points`."""

    con: duckdb.DuckDBPyConnection
    span: Span
    by: timedelta | None
    zone: ZoneInfo
    ranked: Span

    def together(self, name: str, drawn: Iterable[Series]) -> list[pa.Table]:
        """Columns of a report over time, aggregated over all objects."""
        report = reports()[name]
        columns = {d.label: column_of(report, d.column) for d in drawn}
        sql, values = self._over_time(report, tuple(columns.values()), ())
        lines = table_of(self.con, sql, values)
        return [_banded(lines, column, label) for label, column in columns.items() if len(lines)]

    def top(self, drawn: Series, top: int) -> list[pa.Table]:
        """A column of the top objects over time, the greatest first."""
        report = reports()[drawn.report]
        column, keys = column_of(report, drawn.column), [column_of(report, k) for k in report.keys]
        sort = column_of(report, report.sort or column.name)
        shown = tuple(dict.fromkeys((*keys, column, sort)))
        ranked = replace(report, columns=shown, lines=Lines.OBJECT, sort=sort.name)
        source, _ = source_of(self.con, report, self.ranked, self.by, self.zone)
        greatest, ranking = lines_sql(ranked, self.ranked, source, Asked(over_time=False, top=top))
        sql, values = self._over_time(report, (*keys, column), report.keys)
        same = (f"l.{key} IS NOT DISTINCT FROM g.{key}" for key in report.keys)
        lines = table_of(
            self.con,
            f"SELECT l.*, g.place FROM ({sql}) AS l"
            f" JOIN (SELECT *, row_number() OVER () AS place FROM ({greatest})) AS g"
            f" ON {' AND '.join(same)} ORDER BY g.place, l.{TIME}",
            [*values, *ranking],
        )
        tables = (lines.filter(pc.equal(lines["place"], n + 1)) for n in range(top))
        return [
            _banded(table, column, object_name(keys, table.slice(0, 1).to_pylist()[0]))
            for table in tables
            if len(table)
        ]

    def notes(self, chart: Chart) -> Iterator[str]:
        """What is not known of the points, as under the reports that they are of.

        A point of one interval and object is drawn or not: the note is about those that are drawn.
        Others are means of what is known; the first sample of the span is no part of them.
        """
        for name, same in groupby(chart.series, lambda series: series.report):
            report = reports()[name]
            source, _ = source_of(self.con, report, self.span, self.by, self.zone)
            where, values = source.where(self.span)
            is_single = chart.top or not report.keys
            if is_single and self.by is None and not source.is_rolled:
                known = (f"{column_of(report, each.column).name} IS NOT NULL" for each in same)
                where += f" AND ({' OR '.join(known)}) AND seconds IS NOT NULL"
            else:
                first = f"SELECT min({TIME}) FROM {source.relation} WHERE {where}"
                where += f" AND (seconds IS NOT NULL OR {TIME} > ({first}))"
                values = [*values, *values]
            told = ", ".join(covered_sql(report, source, doubted=is_doubted(report)))
            rows = f"SELECT * FROM {source.relation} WHERE {where}"
            ((coverage, doubts),) = self.con.execute(
                f"WITH {COVERED} AS ({rows}) SELECT {told}", values
            ).fetchall()
            yield from known_notes(coverage, doubts)

    def _over_time(
        self, report: Report, columns: tuple[ReportColumn, ...], keys: tuple[str, ...]
    ) -> tuple[str, list[Any]]:
        """SELECT of columns by time and by keys, with bands, and the values of its parameters."""
        shown = replace(report, columns=(end_column(), *columns), lines=Lines.TIME, keys=keys)
        source, _ = source_of(self.con, report, self.span, self.by, self.zone)
        figures = [column.name for column in columns if column.name not in keys]
        lines, values = lines_sql(shown, self.span, source, Asked(True, self.by, self.zone.key))
        if self.by is None or source.is_rolled:
            unknown_bands = ", ".join(f"NULL AS {name}" for name in _ends(figures))
            return f"SELECT *, {unknown_bands} FROM ({lines})", values
        single, same = lines_sql(shown, self.span, source, Asked(True, None, self.zone.key))
        ends = [
            f"{function}({quoted(figure)}) AS {end}"
            for figure in figures
            for function, end in zip(("min", "max"), _ends([figure]), strict=True)
        ]
        by = ", ".join([f"{bucket(self.by, self.zone.key)} AS {TIME}", *map(quoted, keys)])
        both = " AND ".join(f"l.{k} IS NOT DISTINCT FROM e.{k}" for k in (TIME, *keys))
        return (
            f"SELECT l.*, {', '.join(f'e.{name}' for name in _ends(figures))} FROM ({lines}) AS l"
            f" LEFT JOIN (SELECT {by}, {', '.join(ends)} FROM ({single}) GROUP BY ALL) AS e"
            f" ON {both} ORDER BY l.{TIME}",
            [*values, *same],
        )


def _ends(figures: Iterable[str]) -> list[str]:
    """Names of the least and the greatest value of figures, as SQL."""
    return [quoted(f"{name}_{end}") for name in figures for end in ("low", "high")]


def runs_points(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> Points:
    """The points of the run figure: `object` (the run), `series` and `value` in percent."""
    series = [f"({n}, '{d.label}', s.{d.column})" for n, d in enumerate(RUNS.series)]
    table = table_of(
        con,
        "SELECT s.run_id AS object, v.series, 100 * v.value AS value FROM run_summary AS s,"
        f" LATERAL (VALUES {', '.join(series)}) AS v (n, series, value)"
        " WHERE list_contains($1, s.run_id) ORDER BY list_position($1, s.run_id), v.n",
        [list(runs)],
    )
    return Points(table, tuple(drawn.label for drawn in RUNS.series))


def object_name(keys: Sequence[ReportColumn], row: dict[str, Any]) -> str:
    """The printed keys of an object."""
    return " ".join(cell_text(key, row[key.name]) for key in keys if row[key.name] is not None)


def series_of(lines: pa.Table, column: ReportColumn, label: str) -> pa.Table:
    """A column of report lines as points, in the printed unit, with gaps."""
    return with_gaps(_points_of(lines, column, label, (column.name,), POINTS))


def _banded(lines: pa.Table, column: ReportColumn, label: str) -> pa.Table:
    """A column of report lines as points, and the least and greatest value within each."""
    names = (column.name, *(f"{column.name}_{end}" for end in ("low", "high")))
    return with_gaps(_points_of(lines, column, label, names, _WITH_BANDS))


def _points_of(
    lines: pa.Table, column: ReportColumn, label: str, names: Sequence[str], schema: pa.Schema
) -> pa.Table:
    values = [
        pc.multiply(lines.column(name).cast(pa.float64()), float(column.scale)) for name in names
    ]
    labels = pa.repeat(pa.scalar(label, pa.string()), len(lines))
    times = lines.column(TIME).cast(pa.timestamp("us"))
    return pa.table([times, labels, *values], schema=schema)


def with_gaps(points: pa.Table) -> pa.Table:
    """Insert a NULL point into every gap of a series, so that no line crosses it.

    A gap is longer than 1.9 times the usual distance of two points.
    """
    if len(points) < 3:
        return points
    micros = points.column(TIME).cast(pa.int64()).to_numpy()
    steps = np.diff(micros)
    usual = np.median(steps)
    behind = np.flatnonzero(steps > 1.9 * usual)
    if not len(behind):
        return points
    missing = pa.array(micros[behind] + int(usual)).cast(pa.timestamp("us"))
    labels = pa.repeat(points.column("series")[0], len(behind))
    unknown_values = [pa.nulls(len(behind), pa.float64())] * (points.num_columns - 2)
    empty = pa.table([missing, labels, *unknown_values], schema=points.schema)
    return pa.concat_tables([points, empty]).sort_by(TIME)


def local_times(times: pa.Array | pa.ChunkedArray, zone: ZoneInfo) -> pa.Array | pa.ChunkedArray:
    """Convert UTC times to local times of a zone, without zone, in microseconds.

    If clocks are set back in between, all times get the offset of the first, so that no hour is
    drawn over another one.
    """
    if offset := fixed_offset(times, zone):
        return pc.add(times.cast(pa.timestamp("us")), pa.scalar(offset, pa.duration("us")))
    return clock_times(times, zone)


def fixed_offset(times: pa.Array | pa.ChunkedArray, zone: ZoneInfo) -> timedelta | None:
    """The common UTC offset for all times; None if each has the offset of the zone."""
    in_order = pc.unique(times).sort()
    local = clock_times(in_order, zone).cast(pa.int64()).to_numpy()
    if not (np.diff(local) <= 0).any():
        return None
    return timedelta(microseconds=int(local[0]) - in_order[0].cast(pa.timestamp("us")).value)


def clock_times(times: pa.Array | pa.ChunkedArray, zone: ZoneInfo) -> pa.Array | pa.ChunkedArray:
    """UTC times as the clocks of a zone show them, without zone, in microseconds."""
    name = zone.key if fixed_offset_s(zone.key) is None else zone.key.removeprefix("GMT")
    utc = pc.assume_timezone(times, "UTC").cast(pa.timestamp("us", name))
    return pc.local_timestamp(utc)
