"""The figures at the head of a page, against what they should stay below."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.compute as pc

from ..metrics.report_shape import TIME, Lines, ReportColumn
from ..reports.cells import UTC_ZONE, cell_text, clock
from ..reports.report import ReportResult
from .chart import TILES, Tile, column_of
from .points import object_name

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Shown:
    """A tile as it stands on a page. `state` is good, bad or empty without a limit."""

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
    """The tiles whose reports have the figure, in order.

    Args:
        results: report name -> its lines, not thinned; a maximum is one of intervals.
        limits: of the rules of exceptions that are switched on, by id, in the printed unit.
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
    """The greatest value and when it was; the day only where there are several."""
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
