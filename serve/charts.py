"""Charts of metrics that an address names, also over those of the same time before or of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ..config import Settings
from ..config.moments import find_zone
from ..core.errors import CpmonError, unknown
from ..reduce.metrics.metric import FIGURES, TIME, ReportColumn
from ..reduce.metrics.report_set import Lines, reports
from ..reduce.page.chart import Chart, Points, charts, read_points, series_of
from ..reduce.page.content import Window, windows
from ..reduce.page.drawing import Figure, drawn_figure, over_time, png, stacked
from ..reduce.page.object_page import MAIN
from ..reduce.reports.combined import combined_reports
from ..reduce.reports.report import ReportResult
from .addresses import chosen_object, chosen_window, span

BEFORE = {"day": timedelta(days=1), "week": timedelta(days=7)}
"""What a chart is held against, other than a run -> how much earlier that is."""
MOST_SERIES = 16


@dataclass(frozen=True, slots=True)
class Drawing:
    """Charts one below the other, as figures of a page, as data, or as a picture."""

    panels: Sequence[tuple[Chart, Points]]
    zone: ZoneInfo

    def figures(self) -> list[Figure]:
        """The charts for a page."""
        return [drawn_figure(chart, points, self.zone) for chart, points in self.panels]

    def png(self) -> bytes:
        """The charts as a picture."""
        drawn = [over_time(chart, points, self.zone, alone=True) for chart, points in self.panels]
        return png(stacked(drawn))

    def table(self) -> pa.Table:
        """A row for each point: time in UTC, series, value, unit."""
        parts = []
        for chart, points in self.panels:
            rows = points.table.filter(pc.is_valid(points.table["value"]))
            parts.append(rows.append_column("unit", pa.repeat(chart.unit, len(rows))))
        return pa.concat_tables(parts)


def metric_headings() -> dict[str, str]:
    """Name of a metric that a chart can draw -> its heading."""
    return {
        column.name: column.heading
        for definition in reports().values()
        if definition.lines is not Lines.ROW
        for column in definition.columns
        if column.kind in FIGURES
    }


def draw(con: duckdb.DuckDBPyConnection, chosen: Mapping[str, str], settings: Settings) -> Drawing:
    """The charts of the metrics of an address, one for each unit.

    Raises:
        CpmonError: a name is unknown, or there is nothing to draw.
    """
    window = chosen_window(con, chosen, *span(chosen))
    zone = find_zone(settings.zone(window.system))
    metrics, objects = chosen["metric"].split(","), _objects(chosen)
    against = [(window, timedelta(), ""), *_against(con, chosen, window)]
    if len(metrics) * len(objects) * len(against) > MOST_SERIES:
        raise CpmonError(
            "a chart cannot show that many series",
            expected=f"at most {MOST_SERIES}: metrics times objects, twice against another time",
        )
    by_unit: dict[str, list[pa.Table]] = {}
    for shown, later, when in against:
        for named in objects:
            options = {**shown.selection, "objects": named or None, "zone": zone.key}
            (result,) = combined_reports(
                con, metrics, by=window.step(), settings=settings, **options
            )
            for column in result.report.columns:
                if column.kind in FIGURES:
                    whose = [*([_name(named)] if len(objects) > 1 else []), column.heading, when]
                    series = _series(result, column, " ".join(filter(None, whose)), later)
                    by_unit.setdefault(column.unit, []).append(series)
    title = ", ".join(map(_name, objects)) or f"System {window.system}"
    return Drawing([*_panels(by_unit, title)], zone)


def draw_chart(
    con: duckdb.DuckDBPyConnection, chosen: Mapping[str, str], settings: Settings
) -> Drawing:
    """The chart of a page that an address names.

    Raises:
        CpmonError: there is none of that name, or nothing to draw.
    """
    named = {chart.name: chart for chart in charts()}
    if chosen.get("chart") not in named:
        raise unknown("chart", chosen.get("chart", ""), named)
    window = chosen_window(con, chosen, *span(chosen))
    zone, chart = find_zone(settings.zone(window.system)), named[chosen["chart"]]
    return Drawing([(chart, read_points(con, chart, window.span, window.step(), zone))], zone)


def _objects(chosen: Mapping[str, str]) -> list[dict[str, Any]]:
    """The objects of an address, as option and value each; one without any is the system."""
    named = [
        dict([chosen_object({"kind": kind, "name": name.strip()})])
        for kind in MAIN
        for name in chosen.get(kind, "").split(",")
        if name.strip()
    ]
    return named or [{}]


def _name(named: Mapping[str, Any]) -> str:
    return ", ".join(f"{v:04X}" if kind == "device" else f"{v}" for kind, v in named.items())


def _against(
    con: duckdb.DuckDBPyConnection, chosen: Mapping[str, str], window: Window
) -> Iterator[tuple[Window, timedelta, str]]:
    """The window before, or of a run; how much later it is drawn; and the words for it."""
    name = chosen.get("against")
    if name in BEFORE:
        earlier, ends = BEFORE[name], (window.first, window.last)
        since, until = (end - earlier for end in ends)
        yield replace(window, run_id=None, since=since, until=until), earlier, f"a {name} before"
    elif name:
        (base,) = windows(con, run=name)
        yield base, window.first - base.first, f"of run {name}"


def _series(result: ReportResult, column: ReportColumn, label: str, later: timedelta) -> pa.Table:
    table = result.table
    times = pc.add(table[TIME].cast(pa.timestamp("us")), pa.scalar(later, pa.duration("us")))
    return series_of(table.set_column(table.column_names.index(TIME), TIME, times), column, label)


def _panels(by_unit: Mapping[str, list[pa.Table]], title: str) -> Iterator[tuple[Chart, Points]]:
    for number, (unit, tables) in enumerate(by_unit.items()):
        order = tuple(dict.fromkeys(table["series"][0].as_py() for table in tables if len(table)))
        points = Points(pa.concat_tables(tables), order)
        yield Chart(f"chart-{number}", title, ", ".join(order), (), axis=unit), points
