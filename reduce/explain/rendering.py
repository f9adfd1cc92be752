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
    """Render at most `most` lines of an explanation in one of FORMATS or html.

    csv, json, jsonl and parquet hold unrounded values and times in UTC.

    Raises:
        CpmonError: no such format.
    """
    cells, notes = explanation_table(explanation, most), list(_notes(explanation, most))
    title = _title(explanation, zone)
    rows = [_row(line, zone) for line in explanation.lines[:most]]
    document = _document(explanation, cells, title, notes)
    layout = ComparisonLayout(
        title, [Block(_HEAD, [Body(rows)], left=3)], cells, document, notes=notes
    )
    return render_layout(layout, format)


def explanation_table(explanation: Explanation, most: int = MOST_LINES) -> pa.Table:
    """The lines of an explanation, unrounded, at most so many; times are UTC."""
    rows = []
    for line in explanation.lines[:most]:
        contributors = [
            {"kind": each.noun}
            | {name: getattr(each, name) for name in ("object", "change", "unit", "share")}
            for each in line.contributors
        ]
        row = {name: getattr(line, name) for name in _SCHEMA.names}
        rows.append(row | {"unit": line.unit or None, "contributors": contributors})
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


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
        "; ".join(
            f"{each.noun} {each.object} {each.change:+.1f}{f' {each.unit}'.rstrip()},"
            f" {each.share:.0%}"
            for each in line.contributors
        ),
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


def _when(line: Line, zone: ZoneInfo) -> str:
    if line.first is None or line.last is None:
        return ""
    first, last = clock(line.first, zone), clock(line.last, zone)
    return first if first == last else f"{first} to {last}"


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
