"""Points to SVG and PNG by Vega-Lite, at the time of writing: what is written needs no script.

An SVG carries the colours of paper. A page repaints them by their values (`html.COLORS`), so that
the same drawing reads on a dark screen.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
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
from ..metrics.report_shape import TIME
from .chart import RUNS, Chart, Kind, Points, fixed_offset, local_times, runs_points

PALETTE = ("c1", "c2", "c3", "c4", "c5", "c6", "c7", "c8")
WIDTH, HEIGHT = 640, 200
"""The plot of a drawing that stands alone."""
CARD = 360
"""Width of a drawing on a page, all included: a phone shows it as large, and its texts as well."""
LETTER, SYMBOL = 7, 36
"""Width of a letter of a legend, at most, and of what stands between two texts."""
BAR = 14
"""Height of a bar."""
TICK = 80
"""So far apart are ticks of an axis across, at least."""
COLUMNS = WIDTH // 2
"""Of two pixels each: a line through more points than two a column is a blot."""
DASH = [5, 4]
LARGE = 10_000
"""From here on an axis says 10k."""


def _colored(style: Any) -> Any:
    """A style with the values of the colours that it names."""
    if isinstance(style, dict):
        return {key: _colored(value) for key, value in style.items()}
    return COLORS.get(style, style) if isinstance(style, str) else style


_STYLE = (files(__package__) / "drawing.toml").read_text(encoding="utf-8")
CONFIG = {"view": {"stroke": None}, **_colored(tomllib.loads(_STYLE))}
"""The look of every drawing."""
TICKS = CONFIG.pop("ticks")
"""How an axis of times writes its ticks, by what begins with them."""

_SIZE = re.compile(r'^<svg\b[^>]*?\bwidth="(?P<width>[\d.]+)" height="(?P<height>[\d.]+)"[^>]*>')
_NAMESPACES = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'


def svg(spec: dict[str, Any], title: str, about: str, name: str) -> str:
    """A drawing that scales, with its title and description for readers who do not see it.

    Args:
        name: begins the ids inside, which must differ between drawings of one page.
    """
    import vl_convert

    drawn: str = vl_convert.vegalite_to_svg(_shown(spec))
    size = _SIZE.match(drawn)
    assert size, drawn[:200]
    width, height = size["width"], size["height"]
    head = (
        f'<svg {_NAMESPACES} viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
        f' role="img" aria-labelledby="{name}-title {name}-desc">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-desc">{escape(about)}</desc>'
    )
    body = drawn[size.end() :]
    return head + re.sub(r'(\bid="|url\(#)(?=\w)', rf"\g<1>{name}-", body)


def _shown(part: Any) -> Any:
    """A specification without control characters of names: the renderer dies of them."""
    if isinstance(part, str):
        return printable(part)
    if isinstance(part, dict):
        return {printable(key): _shown(value) for key, value in part.items()}
    return [_shown(value) for value in part] if isinstance(part, list) else part


def png(spec: dict[str, Any], scale: float = 2) -> bytes:
    """A drawing as pixels, `scale` to the unit of the SVG."""
    import vl_convert

    drawn: bytes = vl_convert.vegalite_to_png(_shown(spec), scale=scale)
    return drawn


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
        limit: a line that values should stay below, if they come near it.
        alone: the drawing is a file: wide, with a background. Else it fits a card of a page.
    """
    import altair as alt

    if chart.kind is Kind.LINES:
        points = thinned(points)
    number = "~s" if _greatest(points) >= LARGE else alt.Undefined
    symbol = "square" if chart.kind is Kind.STACK else "stroke"
    width = WIDTH if alone else CARD
    base = _colored_chart(chart, points.order, symbol, width).encode(
        x=alt.X(
            "time:T",
            title=_axis_title(points.table[TIME], zone),
            # Times are local already: the drawing must not move them again.
            scale=alt.Scale(type="utc", nice=False),
            axis=alt.Axis(tickCount=width // TICK, labelOverlap=True, grid=False, format=TICKS),
        ),
        y=alt.Y(
            "value:Q",
            title=chart.unit,
            scale=alt.Scale(domainMin=0, domainMax=_end(chart, points)),
            stack="zero" if chart.kind is Kind.STACK else None,
            axis=alt.Axis(tickCount=5, format=number),
        ),
        order=alt.Order("place:Q"),
    )
    layers = [base.mark_area() if chart.kind is Kind.STACK else _lines(base, points)]
    if limit and _greatest(points) >= limit / 2:  # a greater one would press the values down
        rule = alt.Chart(alt.InlineData(values=[{"limit": limit}]))
        layers.append(rule.mark_rule(color=COLORS["bad"], strokeDash=DASH).encode(y="limit:Q"))
    rows = _rows(points.table, zone)
    return _finished(alt.layer(*layers), {chart.name: rows}, alone)


def _legend(series: tuple[str, ...], symbol: Any, width: int) -> Any:
    """The legend of several series, with such symbols, in as many columns as have room."""
    import altair as alt

    if len(series) < 2:
        return None
    columns = max(1, width // (max(map(len, series)) * LETTER + SYMBOL))
    return alt.Legend(orient="top", title=None, symbolType=symbol, columns=columns)


def _colored_chart(chart: Chart, series: tuple[str, ...], symbol: Any, width: int) -> Any:
    """An empty drawing with the colours of its series, and with their legend."""
    import altair as alt

    order, legend = list(series), _legend(series, symbol, width)
    scale = alt.Scale(domain=order, range=_colors(chart, series))
    drawing = alt.Chart(alt.NamedData(name=chart.name), width=width, height=HEIGHT)
    return drawing.encode(color=alt.Color("series:N", scale=scale, sort=order, legend=legend))


def _lines(base: Any, points: Points) -> Any:
    """Lines of the series, some of them dashed."""
    import altair as alt

    # A pointed join of a spike reaches far beyond its value, below 0 too.
    lines = base.mark_line(strokeWidth=1.8, strokeJoin="round").encode(order=alt.Order("time:T"))
    dashes = _dashes(points)
    if not any(dashes):
        return lines
    order, legend = list(points.order), base.encoding.color["legend"]
    scale = alt.Scale(domain=order, range=[DASH if dash else [1, 0] for dash in dashes])
    return lines.encode(
        strokeDash=alt.StrokeDash("series:N", scale=scale, sort=order, legend=legend)
    )


def bars(chart: Chart, points: Points, *, alone: bool = False) -> dict[str, Any]:
    """The specification of a chart with a group of bars for each object, below each other.

    `points.table` has the objects in place of times, in the order of their bars.
    """
    import altair as alt

    rows = points.table.to_pylist()
    objects = list(dict.fromkeys(row["object"] for row in rows))
    width = WIDTH if alone else CARD
    drawn = (
        _colored_chart(chart, points.order, alt.Undefined, width)
        .mark_bar(cornerRadiusEnd=2)
        .encode(
            x=alt.X("value:Q", title=chart.unit, axis=alt.Axis(tickCount=width // TICK)),
            y=alt.Y("object:N", sort=objects, title=None),
            yOffset=alt.YOffset("series:N", sort=list(points.order)),
        )
        .properties(height=alt.Step(BAR))
    )
    return _finished(drawn, {chart.name: rows}, alone)


def runs_figure(con: duckdb.DuckDBPyConnection, runs: Sequence[str], name: str = "") -> str:
    """The figure of some runs as SVG, in their order; empty if none knows its processors.

    Args:
        con: a connection on which the reductions are views.
        name: begins the ids inside, where a page has several.
    """
    points = runs_points(con, runs)
    if points.is_empty:
        return ""
    return svg(bars(RUNS, points), RUNS.title, RUNS.about, name or RUNS.name)


def stacked(specs: list[dict[str, Any]]) -> dict[str, Any]:
    """Several specifications below each other, each with its own axes and colours."""
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
    """The data of a drawing; local times are marked as UTC so that they are taken as they are."""
    seconds = local_times(table[TIME], zone).cast(pa.timestamp("s"), safe=False)
    series = table["series"].combine_chunks().dictionary_encode()
    columns = {"time": pc.strftime(seconds, "%Y-%m-%dT%H:%M:%SZ"), "series": table["series"]}
    columns |= {"value": table["value"], "place": series.indices}
    rows: list[dict[str, Any]] = pa.table(columns).to_pylist()
    return rows


def _axis_title(times: pa.ChunkedArray, zone: ZoneInfo) -> str | None:
    """Names the offset from UTC of an axis over a night in which clocks are put back."""
    offset = fixed_offset(times, zone)
    return None if offset is None else str(timezone(offset))


def _colors(chart: Chart, order: tuple[str, ...]) -> list[str]:
    named = {drawn.label: drawn.color for drawn in chart.series if drawn.color}
    free = [name for name in PALETTE if name not in named.values()]
    picked = [named.get(series) or free[n % len(free)] for n, series in enumerate(order)]
    return [COLORS[name] for name in picked]


def thinned(points: Points) -> Points:
    """The points that a drawing can show: of each series the least and greatest of COLUMNS.

    A series of no more points stays as it is; so do its gaps.
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
        if len(mine) <= 2 * COLUMNS:
            keep[mine] = True
            continue
        valid = mine[~np.isnan(values[mine])]
        ordered = valid[np.lexsort((values[valid], columns[valid]))]
        begins = np.flatnonzero(np.diff(columns[ordered], prepend=-1))
        ends = np.append(begins[1:], len(ordered)) - 1
        keep[ordered[begins]] = keep[ordered[ends]] = True
        keep[mine[np.isnan(values[mine])]] = True
    return Points(table.filter(pa.array(keep)), points.order)


def _dashes(points: Points) -> list[bool]:
    """Whether each series is drawn in dashes, since it hides one that is drawn before it.

    It does where half of their common points are nearer to each other than the eye can tell.
    """
    table, near = points.table, _greatest(points) / HEIGHT
    names = table.column("series").to_pylist()
    times, values = table.column(TIME).to_pylist(), table.column("value").to_pylist()
    series: dict[str, dict[datetime, float]] = {name: {} for name in points.order}
    for name, time, value in zip(names, times, values, strict=True):
        if value is not None:
            series[name][time] = value
    lines = list(series.values())
    return [any(_hides(line, other, near) for other in lines[:n]) for n, line in enumerate(lines)]


def _hides(line: dict[datetime, float], other: dict[datetime, float], near: float) -> bool:
    common = line.keys() & other.keys()
    close = sum(abs(line[time] - other[time]) <= near for time in common)
    return bool(common) and 2 * close >= len(common)


def _greatest(points: Points) -> float:
    return float(pc.max(points.table["value"]).as_py() or 0)


def _end(chart: Chart, points: Points) -> Any:
    """Where the axis of values ends, if that is not left to the values."""
    import altair as alt

    greatest = _greatest(points)
    if greatest <= 0:
        return 1
    # A sum of shares may be over the whole by a rounding.
    return chart.whole if chart.whole and greatest <= chart.whole * 1.005 else alt.Undefined


def _finished(drawn: Any, data: dict[str, Any], alone: bool) -> dict[str, Any]:
    spec: dict[str, Any] = drawn.to_dict()
    spec["datasets"] = {**spec.get("datasets", {}), **data}
    spec["config"] = CONFIG | {"background": COLORS["surface"] if alone else "transparent"}
    if not alone:
        spec["autosize"] = {"type": "fit-x", "contains": "padding"}
    return spec
