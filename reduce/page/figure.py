"""A chart of a page: its drawing, and what the script of the page needs to draw it again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...render.html import COLORS
from ..metrics.metric import TIME
from .chart import Chart, Points, local_times
from .drawing import CONFIG, over_time, svg

SPAN = "span"
"""Parameter of a specification: begin and end of its axis of times."""
CONFIGURATION = CONFIG | {"background": "transparent"}
"""The configuration of all charts of a page, which their specifications lack."""
UNKNOWN, ABSENT = None, ""
"""A value that breaks the line of its series, and a time that the series does not have."""
_NAMES = {value: name for name, value in COLORS.items()}
_SHARED = ("$schema", "config")


@dataclass(frozen=True, slots=True)
class Entry:
    """A series in the legend. `color` is a name of `html.COLORS`."""

    name: str
    color: str
    is_dashed: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """A rendered chart; `svg` is empty if there is no data.

    Attributes:
        data: for the script of the page; `_data` describes it.
        legend: the series, if there are several.
        missing: why it could not be drawn; may be empty.
    """

    chart: Chart
    svg: str
    data: Mapping[str, Any] = field(default_factory=dict)
    legend: tuple[Entry, ...] = ()
    missing: str = ""


def drawn_figure(
    chart: Chart, points: Points, zone: ZoneInfo, limit: float | None = None
) -> Figure:
    """Draw a chart over time for a page.

    Args:
        limit: upper limit of the values.
    """
    if points.is_empty:
        return Figure(chart, "")
    spec = over_time(chart, points, zone, limit=limit)
    picture = svg(spec, chart.title, chart.about or chart.title, chart.name)
    legend = tuple(_entries(spec["layer"][0]["encoding"])) if len(points.order) > 1 else ()
    data = _data(points, zone) | {
        "spec": _zoomable(spec, chart.name),
        "rule": chart.rule,
        "areas": list(chart.areas),
    }
    return Figure(chart, picture, data, legend)


def _data(points: Points, zone: ZoneInfo) -> dict[str, Any]:
    """Times and values of a chart over time, for the script of the page.

    Returns:
        times: milliseconds since 1970, UTC, ascending; all but the first as distances.
        offsets: pairs of an index of times and the milliseconds by which local time is ahead of
            UTC from there on.
        names: of the series. values: one list for each series, with a value for each time: four
            significant digits, UNKNOWN or ABSENT.
    """
    times = pc.unique(points.table[TIME]).sort()
    utc, local = (_milliseconds(each) for each in (times, local_times(times, zone)))
    offsets = local - utc
    changes = np.flatnonzero(np.diff(offsets, prepend=offsets[0] - 1))
    return {
        "times": np.diff(utc, prepend=0).tolist(),
        "offsets": [[int(at), int(offsets[at])] for at in changes],
        "names": list(points.order),
        "values": [_values(points.table, name, times) for name in points.order],
    }


def _milliseconds(times: pa.Array) -> Any:
    return np.floor_divide(times.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy(), 1000)


def _values(table: pa.Table, name: str, times: pa.Array) -> list[float | str | None]:
    """The values of one series, aligned to `times`."""
    mine = table.filter(pc.equal(table["series"], name))
    at = pc.index_in(times, mine[TIME].combine_chunks())
    values: list[float | str | None] = [
        ABSENT if index is None else value
        for index, value in zip(at.to_pylist(), pc.take(mine["value"], at).to_pylist(), strict=True)
    ]
    return [float(f"{value:.4g}") if isinstance(value, float) else value for value in values]


def _zoomable(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The specification without its points, whose axis of times has a span that the script sets."""
    layers = []
    for layer in spec["layer"]:
        encoding = dict(layer["encoding"])
        if "x" in encoding:
            scale = encoding["x"]["scale"] | {"domain": {"expr": SPAN}}
            encoding["x"] = encoding["x"] | {"scale": scale}
        layers.append(layer | {"encoding": encoding, "mark": layer["mark"] | {"clip": True}})
    own = {key: part for key, part in spec.items() if key not in _SHARED}
    datasets = {key: rows for key, rows in spec["datasets"].items() if key != name}
    return own | {"layer": layers, "datasets": datasets}


def _entries(encoding: Mapping[str, Any]) -> Iterator[Entry]:
    """The legend of the series of a drawing."""
    colors = encoding["color"]["scale"]
    plain = [[1, 0]] * len(colors["domain"])
    dashes = encoding.get("strokeDash", {}).get("scale", {}).get("range", plain)
    for name, color, dash in zip(colors["domain"], colors["range"], dashes, strict=True):
        yield Entry(name, _NAMES[color], dash != plain[0])
