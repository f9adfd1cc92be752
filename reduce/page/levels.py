"""Points of a chart as the script of a page has them: those of the drawing, and finer ones."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
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
from .chart import BANDS, INTERVAL, Points, charts, local_times, read_points

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
        values: one list for each series, with a value for each time: four significant digits,
            UNKNOWN or ABSENT. low, high: the same of bands, if there are.
        length: how long a point is, for the reader. finer: whether there are finer points.
    """
    times = pc.unique(points.table[TIME]).sort()
    utc, local = (_milliseconds(each) for each in (times, local_times(times, zone)))
    offsets = local - utc
    changes = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 1))
    columns = {"values": (points.table, "value")}
    if len(points.bands):
        columns |= {end: (points.bands, end) for end in ("low", "high")}
    return {
        "length": points.length,
        "finer": points.length != INTERVAL,
        "times": np.diff(utc, prepend=0).tolist(),
        "offsets": [[int(at), int(offsets[at])] for at in changes],
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
