"""Reads the content of a page: tiles, charts, report tables and notes of a window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow.compute as pc

from ...config import Settings
from ...core.errors import CpmonError
from ..metrics.metric import TIME, ReportColumn
from ..metrics.report_set import Lines, Report, reports
from ..reductions.pinned import pinned
from ..reductions.reductions import reduction
from ..reports.cells import UTC_ZONE, cell_text, clock
from ..reports.report import ReportResult, report
from ..rules.exceptions import exceptions
from ..rules.rendering import unknowns
from .chart import TILES, Chart, Tile, charts, column_of, hover_values, object_name, read_points
from .drawing import over_time, svg
from .listing import Listing, Read, listing, short_report
from .window import Window

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Shown:
    """The text of a tile. `state` is good or bad; empty without a limit."""

    label: str
    value: str
    unit: str
    detail: str
    state: str
    verdict: str


def shown_tiles(
    results: Mapping[str, ReportResult],
    limits: Mapping[str, float],
    zone: ZoneInfo = UTC_ZONE,
) -> list[Shown]:
    """The tiles whose reports are available, in order.

    Args:
        results: report name -> its result with a line for each interval, needed for maxima.
        limits: rule id -> limit in the printed unit, for the enabled exception rules.
    """
    shown = [
        _shown(tile, results[tile.report], limits.get(tile.rule), zone)
        for tile in TILES
        if tile.report in results
    ]
    return [tile for tile in shown if tile is not None]


def _shown(tile: Tile, result: ReportResult, limit: float | None, zone: ZoneInfo) -> Shown | None:
    names = [column.name for column in result.report.columns]
    if tile.column not in names:
        return None
    column, values = column_of(result.report, tile.column), result.table.column(tile.column)
    greatest = pc.max(values).as_py()
    if greatest is None:
        return None
    over_time = result.lines is Lines.TIME
    value = result.mean.get(tile.column) if over_time else greatest
    where = result.table.slice(pc.index(values, greatest).as_py(), 1).to_pylist()[0]
    keys = [column_of(result.report, key) for key in result.report.keys]
    detail = _highest(result, column, where, zone) if over_time else object_name(keys, where)
    noun = "intervals" if over_time else "objects"
    state, verdict = _verdict(limit, tile.unit, column.scale, values, noun)
    return Shown(tile.label, cell_text(column, value, zone), tile.unit, detail, state, verdict)


def _highest(
    result: ReportResult, column: ReportColumn, line: dict[str, Any], zone: ZoneInfo
) -> str:
    """The greatest value and its time; with the date if the report spans several days."""
    text, when = cell_text(column, line[column.name]), clock(line[TIME], zone)
    if pc.min(result.table.column(column.name)).as_py() == line[column.name]:
        return "all the time"
    return f"highest {text} at {when if result.ends - result.starts > DAY else when[11:]}"


def _verdict(limit: float | None, unit: str, scale: int, values: Any, noun: str) -> tuple[str, str]:
    if limit is None:
        return "", ""
    bound = f"{limit:g} {unit}".strip()
    over = pc.sum(pc.greater(values, limit / scale)).as_py() or 0
    if not over:
        return "good", f"never over {bound}"
    return "bad", f"over {bound} in {over} of {len(values)} {noun}"


MOST_EPISODES = 500
"""Maximum number of exceptions on a page."""
TITLES = {
    "system": "System",
    "processors": "Processors",
    "users": "Users",
    "dasd": "Disks and storage",
    "events": "Events",
    "configuration": "Configuration",
}
"""Titles of the report groups, in order of display."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A rendered chart; `svg` is empty if there is no data.

    Attributes:
        missing: why it could not be drawn; may be empty.
    """

    chart: Chart
    svg: str
    hover: Mapping[str, Any]
    missing: str = ""


@dataclass(frozen=True, slots=True)
class Group:
    """The report tables of one group."""

    name: str
    title: str
    listings: tuple[Listing, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page.

    Attributes:
        episodes: exceptions, rows of `exceptions.SCHEMA`. unknowns: what could not be evaluated.
        facts: settings and their values. dumps, findings: rows of the store's tables.
        thinned: length of time that a point of the charts covers; None: one interval.
    """

    window: Window
    tiles: tuple[Shown, ...]
    episodes: tuple[Mapping[str, Any], ...]
    unknowns: tuple[str, ...]
    facts: tuple[tuple[str, str], ...]
    dumps: tuple[Mapping[str, Any], ...]
    findings: tuple[Mapping[str, Any], ...]
    figures: tuple[Figure, ...]
    groups: tuple[Group, ...]
    thinned: timedelta | None


def read_content(
    con: duckdb.DuckDBPyConnection, window: Window, zone: ZoneInfo, settings: Settings
) -> Content:
    """Read the content of the page of a window.

    Args:
        con: a connection on which the reductions are views.
        zone: time zone of the printed times.
    """
    by = window.step()
    read = partial(report, con, **window.selection, zone=zone.key, settings=settings)
    matches = exceptions(con, **window.selection, settings=settings)
    limits = {rule.id: rule.limit for rule in matches.rules if rule.limit is not None}
    timed = {r.reduction for r in reports().values() if r.lines is not Lines.ROW}
    with pinned(con, sorted(timed), *window.span.where()):
        return Content(
            window,
            tuple(shown_tiles(_for_tiles(read), limits, zone)),
            tuple(matches.table.slice(0, MOST_EPISODES).to_pylist()),
            tuple(unknowns(matches, zone)),
            tuple((key.replace("_", " "), value) for key, value in window.attributes.items()),
            tuple(_rows(con, "dumps.sql", window)),
            tuple(_rows(con, "findings.sql", window)),
            tuple(_figures(con, window, by, zone, limits)),
            tuple(_groups(read, window)),
            by,
        )


def _for_tiles(read: Read) -> dict[str, ReportResult]:
    """The reports that tiles need, with a line for each interval."""
    results = {}
    for name in dict.fromkeys(tile.report for tile in TILES):
        with suppress(CpmonError):  # the table of the report explains that there is no data
            results[name] = read(name)
    return results


def _figures(
    con: duckdb.DuckDBPyConnection,
    window: Window,
    by: timedelta | None,
    zone: ZoneInfo,
    limits: Mapping[str, float],
) -> Iterator[Figure]:
    for chart in charts():
        try:
            points = read_points(con, chart, window.span, by, zone)
        except CpmonError as error:
            yield Figure(chart, "", {}, missing=str(error))
            continue
        if points.is_empty:
            yield Figure(chart, "", {})
            continue
        spec = over_time(chart, points, zone, limit=limits.get(chart.rule))
        picture = svg(spec, chart.title, chart.about, chart.name)
        yield Figure(chart, picture, hover_values(points, zone))


def _groups(read: Read, window: Window) -> list[Group]:
    listings: dict[str, list[Listing]] = {name: [] for name in TITLES}
    for listed in reports().values():
        listings.setdefault(listed.group, []).append(_listing(read, window, listed))
    return [
        Group(name, TITLES.get(name, name.capitalize()), tuple(of_group))
        for name, of_group in listings.items()
        if of_group
    ]


def _listing(read: Read, window: Window, listed: Report) -> Listing:
    try:
        result = short_report(read, window, listed)
    except CpmonError as error:
        return Listing(listed.name, listed.title, missing=str(error))
    docs = {column.name: column.doc for column in reduction(listed.reduction).columns}
    return listing(result, docs)


def _rows(con: duckdb.DuckDBPyConnection, file: str, window: Window) -> list[dict[str, Any]]:
    """Runs a SQL file about the dumps of a window."""
    sql = (files(__package__) / file).read_text(encoding="utf-8")
    parameters = [window.system, window.first, window.last]
    rows: list[dict[str, Any]] = con.sql(sql, params=parameters).to_arrow_table().to_pylist()
    return rows
