"""The values of a chart for the pointer: what a reader sees beside the mouse."""

from __future__ import annotations

from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..reports.report_sql import TIME
from .points import Points


def hover_values(points: Points, zone: ZoneInfo) -> dict[str, Any]:
    """Times and values of a chart over time, for the script of the page.

    Returns:
        times: milliseconds since 1970 as the clocks of the zone show them, ascending.
        names: of the series. values: for each series one for each time, four digits or null.
    """
    times = pc.unique(points.table[TIME]).sort()
    local = pc.local_timestamp(pc.assume_timezone(times, "UTC").cast(pa.timestamp("us", zone.key)))
    return {
        "times": pc.floor(pc.divide(local.cast(pa.int64()), 1000.0)).cast(pa.int64()).to_pylist(),
        "names": list(points.order),
        "values": [_values(points.table, name, times) for name in points.order],
    }


def _values(table: pa.Table, name: str, times: pa.Array) -> list[float | None]:
    """The values of one series at all times."""
    mine = table.filter(pc.equal(table["series"], name))
    at = pc.index_in(times, mine[TIME].combine_chunks())
    found = pc.take(mine["value"], at).to_numpy()
    return [None if np.isnan(value) else float(f"{value:.4g}") for value in found]
