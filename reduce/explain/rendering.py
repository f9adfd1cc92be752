"""Renders an explanation in every format, by the layout of comparisons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from textwrap import wrap
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

from ...core.text import counted
from ...render.printing import Format, Style, show
from ..compare.rendering import Block, Body, ComparisonLayout, render_layout
from ..metrics.metric import print_rule
from ..reports.cells import UTC_ZONE, clock
from .explanation import Explanation
from .judging import FALSE_ALARM
from .line import Line

MOST_LINES = 10
"""Lines that are printed."""
SCHEMA_VERSION = 2
_HEAD = ("Object", "What", "Usual", "Value", "Weight")
_WIDTH, _OBJECT_WIDTH, _GAPS = 80, 18, 12
"""Characters of a terminal, of the column of objects, and between five columns."""
_LEAST_WIDTH = 20
_SCHEMA = pa.schema(
    {
        "kind": pa.string(),
        "weight": pa.float64(),
        **dict.fromkeys(("object", "what", "name", "unit"), pa.string()),
        **dict.fromkeys(("value", "usual", "low", "high", "change_percent"), pa.float64()),
        **dict.fromkeys(("score", "p_adjusted"), pa.float64()),
        "proven": pa.bool_(),
        "presence": pa.string(),
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
        "also": pa.list_(pa.string()),
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
    rows = list(_rows(explanation, most, zone))
    grid = [row.joined() for row in rows]
    if format in ("table", "text"):
        columns = list(zip(_HEAD, *grid, strict=True))[2:]
        numbers = sum(max(map(len, column)) for column in columns)
        width = max(_WIDTH - _OBJECT_WIDTH - numbers - _GAPS, _LEAST_WIDTH)
        grid = [cells for row in rows for cells in row.wrapped(width)]
    document = _document(explanation, cells, title, notes)
    block = Block(_HEAD, [Body(grid)], left=2)
    layout = ComparisonLayout(title, [block], cells, document, notes=notes)
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
        row |= {"unit": line.unit or None, "presence": line.presence or None}
        rows.append(row | {"contributors": contributors, "also": list(line.also)})
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _title(explanation: Explanation, zone: ZoneInfo) -> str:
    span, (intervals, _) = explanation.span, explanation.intervals
    assert span.since and span.until
    run = f", run {explanation.run_id}" if explanation.run_id else ""
    times = f"{clock(span.since, zone)} to {clock(span.until, zone)} {zone.key}"
    found = "What was different" if explanation.lines else "Nothing was different"
    return f"{found}: {explanation.system}{run}, {times}, {counted(intervals, 'interval')}"


def _rows(explanation: Explanation, most: int, zone: ZoneInfo) -> Iterator[_Row]:
    """The interval in which the processors were busiest, then the lines."""
    if worst := explanation.worst:
        form = print_rule(worst.metric.format)
        yield _Row(
            "system",
            f"{worst.metric.title}, {worst.metric.unit}: worst at {clock(worst.end, zone)}",
            show(worst.usual, form).text,
            show(worst.value, form).text,
        )
    for line in explanation.lines[:most]:
        yield _row(line, zone)


@dataclass(frozen=True, slots=True)
class _Row:
    """A line as texts. `details`: object and text of what belongs to it."""

    object: str
    what: str
    usual: str = ""
    value: str = ""
    weight: str = ""
    details: tuple[tuple[str, str], ...] = ()

    def joined(self) -> list[str]:
        """One row of cells."""
        more = (f"{name} {text}".strip() for name, text in self.details)
        return [self.object, "; ".join((self.what, *more)), self.usual, self.value, self.weight]

    def wrapped(self, width: int) -> Iterator[list[str]]:
        """Rows of cells whose texts are no wider than _OBJECT_WIDTH and `width`."""
        numbers = [self.usual, self.value, self.weight]
        texts = (self.object, self.what), *((f"  {name}", text) for name, text in self.details)
        for names, what in texts:
            cells = (
                wrap(text, size, subsequent_indent=indent)
                for text, size, indent in ((names, _OBJECT_WIDTH, "  "), (what, width, ""))
            )
            for name, text in zip_longest(*cells, fillvalue=""):
                yield [name, text, *numbers]
                numbers = ["", "", ""]


def _row(line: Line, zone: ZoneInfo) -> _Row:
    when = [("", text) for text in filter(None, [_when(line, zone)])]
    also, weight = [("", text) for text in line.also], f"{line.weight:.0f}"
    unit = f", {line.unit}" if line.unit and line.unit not in line.what else ""
    if line.metric is None:
        value = "" if line.value is None else f"{line.value:.1f}"
        what = f"{line.what}{unit}" if value else line.what
        return _Row(line.object, what, "", value, weight, (*when, *also))
    form, proven = _form(line), "" if line.proven else " (not proven)"
    usual, value = (show(x, form).text for x in (line.usual, line.value))
    who = [
        (
            f"{each.noun} {each.object}",
            f"{each.change:+,.1f} {each.unit}, {each.share:.0%}".replace(" ,", ","),
        )
        for each in line.contributors
    ]
    what = f"{line.what}{unit}{proven}"
    return _Row(line.object, what, usual, value, weight, (*who, *also, *when))


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
        usual = "median" if explanation.baseline.shift is None else "mean"
        yield (
            f"Compared with {explanation.baseline.text}, {counted(intervals, 'interval')}:"
            f" {explanation.looked_at:,} series; usual is their {usual}. Weight: the share of the"
            " whole that changed, in percent, times the part of that resource that was in use."
            f" Where nothing is different, about {share} of explanations have a line of a metric."
        )
    if any(not line.proven for line in explanation.lines[:most]):
        yield "not proven: large, but there are too few intervals, or they vary too much."
    yield from explanation.notes


def _document(
    explanation: Explanation, cells: pa.Table, title: str, notes: list[str]
) -> dict[str, Any]:
    baseline, (intervals, base_intervals) = explanation.baseline, explanation.intervals
    worst = explanation.worst
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
        "worst": worst
        and {
            "name": worst.metric.name,
            "end": _utc(worst.end),
            "value": worst.value,
            "mean": worst.mean,
            "usual": worst.usual,
        },
        "lines": [
            row | {"first": _utc(row["first"]), "last": _utc(row["last"])}
            for row in cells.to_pylist()
        ],
        "notes": notes,
    }


def _utc(time: Any) -> str | None:
    return f"{time.isoformat()}Z" if time is not None else None
