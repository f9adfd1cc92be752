"""Points of a chart as the script of a page has them: those of the drawing, and finer ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...core.errors import CpmonError
from ...core.grace_period import GRACE
from ...store.connection import point
from ...store.sql.scope import Scope
from ..metrics.metric import TIME
from ..reports.report_sql import Span
from .chart import BANDS, INTERVAL, Points, charts, clock_times, local_times, read_points

UNKNOWN, ABSENT = None, ""
"""A value that breaks the line of its series, and a time that the series does not have."""
VARIES = 0.05
"""A point whose values differ by more than this share of the greatest has its finer points."""


def detail(points: Points, finer: Points) -> Points:
    """The finer points where values vary within a point, and the points elsewhere.

    All series of a chart have the same times, so that each of them varies where any does.
    """
    bands = points.bands
    high = bands["high"].to_numpy()
    reach = VARIES * (np.nanmax(high, initial=0.0, where=~np.isnan(high)))
    ends = bands[TIME].cast(pa.int64()).to_numpy()
    varying = np.unique(ends[high - bands["low"].to_numpy() > reach])
    every = np.unique(ends)

    def varies(table: pa.Table) -> Any:
        times = table[TIME].cast(pa.int64()).to_numpy()
        late = times - GRACE // timedelta(microseconds=1)
        place = np.minimum(np.searchsorted(every, late), len(every) - 1)
        return np.isin(every[place], varying)

    def either(coarse: pa.Table, fine: pa.Table) -> pa.Table:
        both = [coarse.filter(pa.array(~varies(coarse))), fine.filter(pa.array(varies(fine)))]
        return pa.concat_tables(both).sort_by([("series", "ascending"), (TIME, "ascending")])

    between = either(bands, finer.bands) if len(finer.bands) else BANDS.empty_table()
    length = f"{finer.length}, or {points.length} where values hardly vary"
    return replace(points, table=either(points.table, finer.table), bands=between, length=length)


def level_data(points: Points, zone: ZoneInfo) -> dict[str, Any]:
    """Times and values of a chart over time, for the script of the page.

    Returns:
        times: milliseconds since 1970, UTC, ascending; all but the first as distances.
        offsets: pairs of an index of times and the milliseconds by which local time is ahead of
            UTC from there on.
        clocks: the same as offsets by the clocks of the zone, where drawings keep one offset. Its
            times within `repeated`, begin and end in milliseconds, are shown with their offset.
        values: one list for each series, with a value for each time: four significant digits,
            UNKNOWN or ABSENT. low, high: the same of bands, if there are.
        length: how long a point is, for the reader. finer: whether there are finer points.
    """
    times = pc.unique(points.table[TIME]).sort()
    utc, local = (_milliseconds(each) for each in (times, local_times(times, zone)))
    clocks = _milliseconds(clock_times(times, zone)) - utc
    offsets = local - utc
    columns = {"values": (points.table, "value")}
    if len(points.bands):
        columns |= {end: (points.bands, end) for end in ("low", "high")}
    return {
        "length": points.length,
        "finer": points.length != INTERVAL,
        "times": np.diff(utc, prepend=0).tolist(),
        "offsets": _changes(offsets),
        **({} if (clocks == offsets).all() else _set_back(utc, clocks, zone)),
        **{
            key: [_values(table, column, name, times) for name in points.order]
            for key, (table, column) in columns.items()
        },
    }


def read_levels(
    con: duckdb.DuckDBPyConnection, span: Span, whole: Span, by: timedelta | None, zone: ZoneInfo
) -> dict[str, dict[str, Any]]:
    """Name of a chart -> its points within a span: `level_data` and the names of its series.

    Charts of the greatest objects show those of the whole span of their page.
    """
    levels = {}
    for chart in charts():
        read = whole if chart.top else span
        point(con, Scope(read.system, read.since, read.until))
        with suppress(CpmonError):  # the page tells why there is nothing to draw
            points = read_points(con, chart, span, by, zone, whole)
            if not points.is_empty:
                levels[chart.name] = {"names": points.order, **level_data(points, zone)}
    return levels


def _changes(offsets: Any) -> list[list[int]]:
    """Pairs of an index and the value from there on."""
    places = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 1))
    return [[int(place), int(offsets[place])] for place in places]


def _set_back(utc: Any, clocks: Any, zone: ZoneInfo) -> dict[str, Any]:
    """Offsets by the clocks of a zone, and the spans of the hours that they show twice."""
    repeated = []
    for place in np.flatnonzero(np.diff(clocks) < 0):
        low, high = (int(utc[at]) // 1000 for at in (place, place + 1))
        before = _offset(low, zone)
        while high - low > 1:  # the second at which clocks are set back
            middle = (low + high) // 2
            low, high = (middle, high) if _offset(middle, zone) == before else (low, middle)
        length = before - _offset(high, zone)
        repeated.append([1000 * (high - length), 1000 * (high + length)])
    return {"clocks": _changes(clocks), "repeated": repeated}


def _offset(second: int, zone: ZoneInfo) -> int:
    """Seconds by which a zone is ahead of UTC at a second since 1970."""
    ahead = datetime.fromtimestamp(second, zone).utcoffset() or timedelta()
    return ahead // timedelta(seconds=1)


def _milliseconds(times: pa.Array) -> Any:
    return np.floor_divide(times.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(), 1000)


def _values(table: pa.Table, column: str, name: str, times: pa.Array) -> list[float | str | None]:
    """The values of one series, aligned to `times`."""
    mine = table.filter(pc.equal(table["series"], name))
    at = pc.index_in(times, mine[TIME].combine_chunks())
    values: list[float | str | None] = [
        ABSENT if index is None else value
        for index, value in zip(at.to_pylist(), pc.take(mine[column], at).to_pylist(), strict=True)
    ]
    return [float(f"{value:.4g}") if isinstance(value, float) else value for value in values]
