"""Draws points as SVG and PNG by Vega-Lite when a page is written, so that it needs no script.

An SVG has the colours for paper. A page replaces them by their values (`html.COLORS`), so that the
same drawing works in dark mode. A figure of a page also has what its script needs to draw it again.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from html import escape
from importlib.resources import files
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...core.text import printable
from ...render.html import COLORS
from ..metrics.metric import TIME
from .chart import RUNS, Chart, ChartKind, Points, fixed_offset, local_times, runs_points
from .levels import level_data
from .renderer import png_of, svg_of

PALETTE = ("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
WIDTH, HEIGHT = 640, 200
"""Plot size of a stand-alone drawing."""
CARD = 360
"""Total width of a drawing on a page; phones show it and its texts at full size."""
LETTER, SYMBOL = 7, 36
"""Maximum width of a letter of a legend, and width of the symbol between two texts."""
TICK = 80
"""Minimum distance of the ticks of a horizontal axis."""
COLUMNS = WIDTH // 2
"""Columns of two pixels; more than two points in each would make a line a solid area."""
DASH = [5, 4]
LARGE = 10_000
"""From this value on an axis prints 10k."""


def _colored(style: Any) -> Any:
    """Replaces names of colours in a style by their values."""
    if isinstance(style, dict):
        return {key: _colored(value) for key, value in style.items()}
    return COLORS.get(style, style) if isinstance(style, str) else style


_STYLE = (files(__package__) / "drawing.toml").read_text(encoding="utf-8")
CONFIG = {"view": {"stroke": None}, **_colored(tomllib.loads(_STYLE))}
"""The Vega-Lite configuration of every drawing."""
TICKS = CONFIG.pop("ticks")
"""Tick label formats of a time axis, by the unit that begins at the tick."""

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
_ESCAPED = re.compile(r'\\[^"\\]')
"""An escape in JSON of anything but a quotation mark or a backslash: of a control character."""
_SIZE = re.compile(r'^<svg\b[^>]*?\bwidth="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"[^>]*>')


def svg(spec: dict[str, Any], title: str, about: str, name: str) -> str:
    """Render an SVG with title and description for screen readers; its ids begin with `name`."""
    drawn = svg_of(_drawable(spec))
    size = _SIZE.match(drawn)
    assert size, drawn[:200]
    width, height = size["width"], size["height"]
    namespaces = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    head = (
        f'<svg {namespaces} viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(about)}</desc>'
    )
    body = drawn[size.end() :]
    return head + re.sub(r'(\bid="|url\(#)(?=\w)', rf"\g<1>{name}-", body)


def _drawable(spec: dict[str, Any]) -> Any:
    """A specification without control characters in its names: they crash the renderer."""
    text = json.dumps(spec, ensure_ascii=False)
    return _shown(spec) if _ESCAPED.search(text) or printable(text) != text else spec


def _shown(part: Any) -> Any:
    """Escapes control characters in all texts of a specification."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {printable(key): _shown(value) for key, value in part.items()}
    return [_shown(value) for value in part] if isinstance(part, list) else part


def png(spec: dict[str, Any]) -> bytes:
    """Render a PNG with two pixels for each unit of the SVG."""
    return png_of(_drawable(spec))


def over_time(
    chart: Chart,
    points: Points,
    zone: ZoneInfo,
    *,
    limit: float | None = None,
    alone: bool = False,
) -> dict[str, Any]:
    """The Vega-Lite specification of a chart over time.

    Args:
        limit: upper limit of the values, drawn if they come near it.
        alone: a stand-alone file: wide, with a background. Otherwise it fits a card of a page.
    """
    is_stack = chart.kind is ChartKind.STACK
    if chart.kind is ChartKind.LINES:
        points = thinned(points)
    greatest, data = _greatest(points), {chart.name: _rows(points.table, zone)}
    # A mitred join of a spike reaches far beyond its value, also below 0.
    lines = {"type": "line", "strokeJoin": "round", "strokeWidth": 1.8}
    mark = {"type": "area"} if is_stack else lines
    layers = [{"mark": mark, "encoding": _encoding(chart, points, zone, alone=alone)}]
    if limit and greatest >= limit / 2:  # a greater limit would flatten the values
        data[f"{chart.name}_limit"] = [{"limit": limit}]
        rule = {"type": "rule", "color": COLORS["bad"], "strokeDash": DASH}
        layers.append(_layer(f"{chart.name}_limit", rule, {"y": _quantity("limit")}))
    if len(points.bands) and not is_stack:
        data[name := f"{chart.name}{BAND}"] = _band_rows(points.bands, zone)
        between = {"y": _quantity("low") | {"title": chart.unit}, "y2": {"field": "high"}}
        shared = {key: part for key, part in layers[0]["encoding"].items() if key in SHARED}
        area = {"type": "area", "opacity": 0.25}
        layers.insert(0, _layer(name, area, shared | between))
    size = {"height": HEIGHT, "width": WIDTH if alone else CARD}
    return _finished({"data": {"name": chart.name}, "layer": layers} | size, data, alone)


NOT_KNOWN = "its values are not known"
"""Why a chart is empty that has lines."""
BAND = "_band"
"""End of the name of the data of bands."""
SHARED = ("x", "color")
"""Channels of a band that are those of its line."""


def _layer(data: str, mark: dict[str, Any], encoding: dict[str, Any]) -> dict[str, Any]:
    return {"data": {"name": data}, "mark": mark, "encoding": encoding}


def _encoding(chart: Chart, points: Points, zone: ZoneInfo, *, alone: bool) -> dict[str, Any]:
    """How a chart over time shows the columns of its data."""
    width, is_stack = WIDTH if alone else CARD, chart.kind is ChartKind.STACK
    # The legend of a card are buttons of the page.
    symbol = ("square" if is_stack else "stroke") if alone else None
    color = _series(chart, points.order, symbol, width)
    encoding = {"color": color, "order": _quantity("place") if is_stack else _time()}
    dashes = [] if is_stack else _dashes(points)
    if any(dashes):
        styles = [DASH if dash else [1, 0] for dash in dashes]
        scale = {"domain": list(points.order), "range": styles}
        encoding["strokeDash"] = color | {"scale": scale}
    offset, greatest = fixed_offset(points.table[TIME], zone), _greatest(points)
    encoding["x"] = _time() | {
        "title": None if offset is None else str(timezone(offset)),
        # Times are local already: Vega must not convert them.
        "scale": {"type": "utc", "nice": False},
        "axis": {"tickCount": width // TICK, "labelOverlap": True, "grid": False, "format": TICKS},
    }
    end = _end(chart, greatest)
    encoding["y"] = _quantity("value") | {
        "title": chart.unit,
        "scale": {"domainMin": 0} | ({} if end is None else {"domainMax": end}),
        "stack": "zero" if is_stack else None,
        "axis": {"tickCount": 5} | ({"format": "~s"} if greatest >= LARGE else {}),
    }
    return encoding


def _time() -> dict[str, Any]:
    return {"field": "time", "type": "temporal"}


def _quantity(column: str) -> dict[str, Any]:
    return {"field": column, "type": "quantitative"}


def _series(
    chart: Chart, series: tuple[str, ...], symbol: str | None, width: int
) -> dict[str, Any]:
    """The colours of series, and their legend if its symbols are named."""
    order, legend = list(series), None
    if len(series) > 1 and symbol is not None:  # in as many columns as fit
        columns = max(1, width // (max(map(len, series)) * LETTER + SYMBOL))
        legend = {"orient": "top", "title": None, "columns": columns}
        legend |= {"symbolType": symbol} if symbol else {}
    scale = {"domain": order, "range": _colors(chart, series)}
    return {"field": "series", "type": "nominal", "legend": legend, "scale": scale, "sort": order}


def bars(chart: Chart, points: Points, *, alone: bool = False) -> dict[str, Any]:
    """The specification of a chart with a group of bars for each object, one below the other.

    `points.table` has objects in place of times, in the order of their bars.
    """
    rows = points.table.to_pylist()
    objects = list(dict.fromkeys(row["object"] for row in rows))
    width, order = WIDTH if alone else CARD, list(points.order)
    encoding = {
        "color": _series(chart, points.order, "", width),
        "x": _quantity("value") | {"title": chart.unit, "axis": {"tickCount": width // TICK}},
        "y": {"field": "object", "type": "nominal", "sort": objects, "title": None},
        "yOffset": {"field": "series", "type": "nominal", "sort": order},
    }
    drawn = _layer(chart.name, {"type": "bar", "cornerRadiusEnd": 2}, encoding)
    size = {"height": {"step": 14}, "width": width}
    return _finished(drawn | size, {chart.name: rows}, alone)


def runs_figure(con: duckdb.DuckDBPyConnection, runs: Sequence[str]) -> str:
    """The figure of runs as SVG; empty without processor data."""
    return drawn_runs(runs_points(con, runs), RUNS.name)


def drawn_runs(points: Points, name: str) -> str:
    """The figure of the points of runs as SVG, its ids beginning with `name`; may be empty."""
    if points.is_empty:
        return ""
    return svg(bars(RUNS, points), RUNS.title, RUNS.about, name)


def stacked(specs: list[dict[str, Any]]) -> dict[str, Any]:
    """Several specifications one below the other, each with its own axes and colours."""
    first = specs[0]
    if len(specs) == 1:
        return first
    shared = ("config", "background", "$schema", "datasets")
    panels = [{k: v for k, v in spec.items() if k not in shared} for spec in specs]
    return {
        **{k: first[k] for k in shared if k in first},
        "datasets": {k: v for spec in specs for k, v in spec.get("datasets", {}).items()},
        "vconcat": panels,
        "resolve": {"scale": {"color": "independent", "yOffset": "independent"}},
    }


def _rows(table: pa.Table, zone: ZoneInfo) -> list[dict[str, Any]]:
    """The data of a drawing; local times are declared as UTC so that Vega does not convert them."""
    series = table["series"].combine_chunks().dictionary_encode()
    columns = {"time": _clocks(table[TIME], zone), "series": table["series"]}
    columns |= {"value": table["value"], "place": series.indices}
    rows: list[dict[str, Any]] = pa.table(columns).to_pylist()
    return rows


def _band_rows(bands: pa.Table, zone: ZoneInfo) -> list[dict[str, Any]]:
    columns = {"time": _clocks(bands[TIME], zone), "series": bands["series"]}
    rows: list[dict[str, Any]] = pa.table(
        columns | {"low": bands["low"], "high": bands["high"]}
    ).to_pylist()
    return rows


def _clocks(times: pa.ChunkedArray, zone: ZoneInfo) -> pa.ChunkedArray:
    """Local times as Vega reads them."""
    seconds = local_times(times, zone).cast(pa.timestamp("s"), safe=False)
    return pc.strftime(seconds, "%Y-%m-%dT%H:%M:%SZ")


def _colors(chart: Chart, order: tuple[str, ...]) -> list[str]:
    named = {drawn.label: drawn.color for drawn in chart.series if drawn.color}
    free = [name for name in PALETTE if name not in named.values()]
    picked = [named.get(series) or free[n % len(free)] for n, series in enumerate(order)]
    return [COLORS[name] for name in picked]


def thinned(points: Points) -> Points:
    """Reduce the points to those that a drawing can show: minimum and maximum in each of COLUMNS.

    Shorter series are unchanged, and gaps are kept.
    """
    table = points.table
    if len(table) <= 2 * COLUMNS:
        return points
    micros = table.column(TIME).cast(pa.int64()).to_numpy()
    values = table.column("value").to_numpy()
    names = table.column("series").to_numpy(zero_copy_only=False)
    since = micros - micros.min()
    columns = since * COLUMNS // (since.max() + 1)
    keep = np.zeros(len(table), dtype=bool)
    for name in points.order:
        mine = np.flatnonzero(names == name)
        valid = mine[~np.isnan(values[mine])]
        if len(mine) <= 2 * COLUMNS or not len(valid):
            keep[mine] = True
            continue
        ordered = valid[np.lexsort((values[valid], columns[valid]))]
        begins = np.flatnonzero(np.diff(columns[ordered], prepend=-1))
        ends = np.append(begins[1:], len(ordered)) - 1
        keep[ordered[begins]] = keep[ordered[ends]] = True
        keep[mine[np.isnan(values[mine])]] = True
    return replace(points, table=table.filter(pa.array(keep)))


def _dashes(points: Points) -> list[bool]:
    """Whether each series is dashed, because it would hide a series drawn before it.

    It does if half of their common points are too close to be distinguished.
    """
    table, near = points.table, _greatest(points) / HEIGHT
    names = table.column("series").to_pylist()
    times, values = table.column(TIME).to_pylist(), table.column("value").to_pylist()
    series: dict[str, dict[datetime, float]] = {name: {} for name in points.order}
    for name, time, value in zip(names, times, values, strict=True):
        if value is not None:
            series[name][time] = value

    def hides(line: dict[datetime, float], other: dict[datetime, float]) -> bool:
        common = line.keys() & other.keys()
        close = sum(abs(line[time] - other[time]) <= near for time in common)
        return bool(common) and 2 * close >= len(common)

    lines = list(series.values())
    return [any(hides(line, other) for other in lines[:n]) for n, line in enumerate(lines)]


def _greatest(points: Points) -> float:
    ends = (pc.max(column).as_py() or 0 for column in (points.table["value"], points.bands["high"]))
    return float(max(ends))


def _end(chart: Chart, greatest: float) -> float | None:
    """The upper end of the value axis; None to let the values decide."""
    if greatest <= 0:
        return 1
    # A sum of shares may exceed the whole by rounding.
    return chart.whole if chart.whole and greatest <= chart.whole * 1.005 else None


def _finished(spec: dict[str, Any], data: dict[str, Any], alone: bool) -> dict[str, Any]:
    spec |= {"$schema": _SCHEMA, "datasets": data}
    spec["config"] = CONFIG | {"background": COLORS["surface"] if alone else "transparent"}
    if not alone:
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec


SPAN = "span"
"""Parameter of a specification: begin and end of its axis of times."""
CONFIGURATION = CONFIG | {"background": "transparent"}
"""The configuration of all charts of a page, which their specifications lack."""
_NAMES = {value: name for name, value in COLORS.items()}


@dataclass(frozen=True, slots=True)
class LegendEntry:
    """A series in the legend. `color` is a name of `html.COLORS`."""

    name: str
    color: str
    is_dashed: bool


@dataclass(frozen=True, slots=True)
class Figure:
    """A rendered chart and what the script of the page needs (`_data`), or why it is `missing`.

    `svg` is empty without data; the legend is empty for a single series. `notes` say what is not
    known of the points, `length` how long a point is.
    """

    chart: Chart
    svg: str
    data: Mapping[str, Any] = field(default_factory=dict)
    legend: tuple[LegendEntry, ...] = ()
    missing: str = ""
    notes: tuple[str, ...] = ()
    length: str = ""

    @property
    def is_banded(self) -> bool:
        """Whether its points have a least and a greatest interval."""
        return "low" in self.data.get("levels", [{}])[0]


def drawn_figure(
    chart: Chart,
    points: Points,
    zone: ZoneInfo,
    limit: float | None = None,
    detail: Points | None = None,
) -> Figure:
    """Draw a chart over time for a page, with an upper limit of the values.

    `detail`: finer points for a reader who zooms.
    """
    if points.is_empty:
        missing = NOT_KNOWN if len(points.table) else ""
        return Figure(chart, "", missing=missing, notes=points.notes)
    spec = over_time(chart, points, zone, limit=limit)
    picture = svg(spec, chart.title, chart.about or chart.title, chart.name)
    legend = list[LegendEntry]()
    encoding = next(layer["encoding"] for layer in spec["layer"] if "data" not in layer)
    if len(points.order) > 1:
        colors, plain = encoding["color"]["scale"], [[1, 0]] * len(points.order)
        dashes = encoding.get("strokeDash", {}).get("scale", {}).get("range", plain)
        for name, color, dash in zip(colors["domain"], colors["range"], dashes, strict=True):
            legend.append(LegendEntry(name, _NAMES[color], dash != plain[0]))
    data = {
        "names": list(points.order),
        "levels": [level_data(each, zone) for each in (points, detail) if each],
        "spec": _zoomable(spec, chart.name),
        "rule": chart.rule,
        "areas": list(chart.areas),
    }
    return Figure(chart, picture, data, tuple(legend), notes=points.notes, length=points.length)


def _zoomable(spec: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The specification without its points, whose axis of times has a span that the script sets."""
    layers = []
    for layer in spec["layer"]:
        encoding = dict(layer["encoding"])
        if "x" in encoding:
            scale = encoding["x"]["scale"] | {"domain": {"expr": SPAN}}
            encoding["x"] = encoding["x"] | {"scale": scale}
        layers.append(layer | {"encoding": encoding, "mark": layer["mark"] | {"clip": True}})
    own = {key: part for key, part in spec.items() if key not in ("$schema", "config")}
    drawn = (name, f"{name}{BAND}")
    datasets = {key: rows for key, rows in spec["datasets"].items() if key not in drawn}
    return own | {"layer": layers, "datasets": datasets}
