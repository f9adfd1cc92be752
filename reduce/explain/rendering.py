"""Renders an explanation in every format, by the layout of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from ...core.text import counted
from ...render.printing import Format, Style, show
from ..compare.rendering import Block, Body, ComparisonLayout, render_layout
from ..metrics.metric import print_rule
from ..reports.cells import UTC_ZONE, clock
from .explanation import FALSE_ALARM, Explanation, Line

MOST_LINES = 10
"""Lines that are printed."""
SCHEMA_VERSION = 1
_HEAD = ("Object", "What", "Who, or when", "Usual", "Range", "Value", "Change %", "Weight")
_LEFT = 3
_SCHEMA = pa.schema(
    {
        "kind": pa.string(),
        "weight": pa.float64(),
        **dict.fromkeys(("object", "what", "name", "unit"), pa.string()),
        **dict.fromkeys(("value", "usual", "low", "high", "change_percent"), pa.float64()),
        **dict.fromkeys(("score", "p_adjusted"), pa.float64()),
        "proven": pa.bool_(),
        **dict.fromkeys(("first", "last"), pa.timestamp("us")),
        "contributors": pa.list_(
            pa.struct(
                {
                    "kind": pa.string(),
                    "object": pa.string(),
                    "change": pa.float64(),
                    "unit": pa.string(),
                    "share": pa.float64(),
                }
            )
        ),
    }
)
"""Columns of the long form; times are UTC."""


def render_explanation(
    explanation: Explanation,
    format: str = "text",
    zone: ZoneInfo = UTC_ZONE,
    most: int = MOST_LINES,
) -> bytes:
    """Render an explanation in one of FORMATS or html.

    csv, json, jsonl and parquet hold unrounded values and times in UTC.

    Args:
        most: lines at most.

    Raises:
        CpmonError: no such format.
    """
    return render_layout(_layout(explanation, zone, most), format)


def explanation_table(explanation: Explanation, most: int = MOST_LINES) -> pa.Table:
    """The lines of an explanation, unrounded, at most so many; times are UTC."""
    return pa.Table.from_pylist([_cells(line) for line in explanation.lines[:most]], schema=_SCHEMA)


def _layout(explanation: Explanation, zone: ZoneInfo, most: int) -> ComparisonLayout:
    lines = explanation.lines[:most]
    cells = explanation_table(explanation, most)
    notes = list(_notes(explanation, most))
    title = _title(explanation, zone)
    return ComparisonLayout(
        title=title,
        blocks=[Block(_HEAD, [Body([_row(line, zone) for line in lines])], left=_LEFT)],
        cells=cells,
        document=_document(explanation, cells, title, notes),
        notes=notes,
    )


def _title(explanation: Explanation, zone: ZoneInfo) -> str:
    span, (intervals, _) = explanation.span, explanation.intervals
    assert span.since and span.until
    run = f", run {explanation.run_id}" if explanation.run_id else ""
    times = f"{clock(span.since, zone)} to {clock(span.until, zone)} {zone.key}"
    found = "What was different" if explanation.lines else "Nothing was different"
    return f"{found}: {explanation.system}{run}, {times}, {counted(intervals, 'interval')}"


def _row(line: Line, zone: ZoneInfo) -> list[str]:
    if line.metric is None:
        value = "" if line.value is None else f"{line.value:.1f} {line.unit}".rstrip()
        return [line.object, line.what, _when(line, zone), "", "", value, "", f"{line.weight:.0f}"]
    form = _form(line)
    usual, low, high, value = (
        show(x, form).text for x in (line.usual, line.low, line.high, line.value)
    )
    unit = f", {line.unit}" if line.unit and line.unit not in line.what else ""
    change = line.change_percent
    return [
        line.object,
        f"{line.what}{unit}",
        "; ".join(_who(line)),
        usual,
        f"{low} to {high}",
        value,
        "" if change is None else f"{change:+.0f}",
        f"{line.weight:.0f}" if line.proven else "not proven",
    ]


def _form(line: Line) -> Format:
    """The format of the metric; with a decimal where that would hide the difference."""
    assert line.metric
    form = print_rule(line.metric.format)
    same = show(line.usual, form).text == show(line.value, form).text
    return Format(2) if same and form.style is not Style.THOUSANDS else form


def _who(line: Line) -> Iterator[str]:
    for each in line.contributors:
        unit = f" {each.unit}".rstrip()
        yield f"{each.noun} {each.object} {each.change:+.1f}{unit}, {each.share:.0%}"


def _when(line: Line, zone: ZoneInfo) -> str:
    if line.first is None or line.last is None:
        return ""
    first, last = clock(line.first, zone), clock(line.last, zone)
    return first if first == last else f"{first} to {last}"


def _cells(line: Line) -> dict[str, Any]:
    values = {name: getattr(line, name) for name in _SCHEMA.names if name != "contributors"}
    who = [
        {"kind": c.noun, "object": c.object, "change": c.change, "unit": c.unit, "share": c.share}
        for c in line.contributors
    ]
    return {**values, "unit": line.unit or None, "contributors": who}


def _notes(explanation: Explanation, most: int) -> Iterator[str]:
    """What the baseline is, how to read the lines, and what was not looked at."""
    more = len(explanation.lines) - most
    if more > 0:
        yield f"{counted(more, 'line')} of less weight not shown."
    if explanation.baseline is not None:
        _, intervals = explanation.intervals
        share = f"{FALSE_ALARM:.0%}".replace("%", " %")
        yield (
            f"Compared with {explanation.baseline.text}, {counted(intervals, 'interval')}:"
            f" {explanation.looked_at:,} series. Usual is their median, range the least and the"
            " greatest value. Where nothing is different, about"
            f" {share} of explanations have a line of a metric."
        )
    if any(not line.proven for line in explanation.lines[:most]):
        yield "not proven: large, but there are too few intervals, or they vary too much."
    yield from explanation.notes


def _document(
    explanation: Explanation, cells: pa.Table, title: str, notes: list[str]
) -> dict[str, Any]:
    """The explanation as JSON."""
    baseline, (intervals, base_intervals) = explanation.baseline, explanation.intervals
    return {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "system": explanation.system,
        "run_id": explanation.run_id,
        "since": _utc(explanation.span.since),
        "until": _utc(explanation.span.until),
        "intervals": intervals,
        "baseline": baseline
        and {
            "text": baseline.text,
            "system": baseline.scope.system,
            "since": _utc(baseline.scope.since),
            "until": _utc(baseline.scope.until),
            "intervals": base_intervals,
        },
        "series": explanation.looked_at,
        "lines": [
            row | {"first": _utc(row["first"]), "last": _utc(row["last"])}
            for row in cells.to_pylist()
        ],
        "notes": notes,
    }


def _utc(time: Any) -> str | None:
    return f"{time.isoformat()}Z" if time is not None else None
