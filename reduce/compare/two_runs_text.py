"""A comparison of runs without a spec for a reader: what changed first, run by run."""

from __future__ import annotations

import itertools
import json
import textwrap
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from ...schemas import CpmonError
from ...schemas.printable import printable
from ..render.render import markdown_row, render
from .run_facts import RunFacts
from .table_text import FORMATS, SCHEMA_VERSION, Grid, heading
from .two_runs import MetricLine, RunComparison, Verdict

HEADINGS = ("Metric", "Unit", "Base", "Run", "Difference", "Change %", "Confidence")
_GAP = "   "
_WIDTH = 100
_SECTIONS = {
    Verdict.CHANGE: "Changes",
    Verdict.NOISE: "No change, as far as the intervals can tell",
    Verdict.SAME: "No change, as far as the intervals can tell",
    Verdict.NONE: "No statement",
}


def render_runs(found: RunComparison, format: str = "text") -> bytes:
    """A comparison of runs in one of FORMATS, UTF-8 (parquet: the file).

    csv, jsonl and parquet hold a line a metric, unrounded; json adds the runs and the notes.

    Raises:
        CpmonError: there is no such format.
    """
    match format:
        case "text" | "table":
            return printable(_text(found)).encode()
        case "markdown":
            return printable(_markdown(found)).encode()
        case "json":
            return (json.dumps(_document(found), indent=2, ensure_ascii=False) + "\n").encode()
        case "csv" | "jsonl" | "parquet":
            return render(found.to_arrow(), format)
        case "html":
            from .table_html import runs_page

            return runs_page(found)
    raise CpmonError(
        "a comparison cannot be printed in that format",
        expected=", ".join(FORMATS),
        found=format,
    )


def title(found: RunComparison) -> str:
    """What the comparison is about, in a line."""
    return f"{', '.join(run.run_id for run in found.runs)} compared with {found.base.run_id}"


def head(found: RunComparison) -> Grid:
    """What is known of the runs, a column each."""
    facts = found.facts
    first = facts[0].attributes
    return [
        ["Run", *(run.run_id for run in facts)],
        ["System", *(run.system for run in facts)],
        *([heading(key), *(run.attributes[key] for run in facts)] for key in first),
        ["Steady state from", *(_clock(run.since) for run in facts)],
        ["Steady state until", *(_clock(run.until) for run in facts)],
        ["Intervals", *(f"{run.intervals}" for run in facts)],
        ["Seconds", *(_seconds(run) for run in facts)],
    ]


def sections(found: RunComparison, run: str) -> list[tuple[str, list[MetricLine]]]:
    """The lines of a run under headings, in reading order."""
    lines = found.of(run)
    groups = itertools.groupby(lines, key=lambda line: _SECTIONS[line.verdict])
    return [(name, list(group)) for name, group in groups]


def cells(line: MetricLine, marks: dict[str, str]) -> list[str]:
    """A line under HEADINGS; `marks` has the footnote of each reason."""
    base, run = line.printed
    numbers = [cell.text for cell in (base, run, line.difference, line.change)]
    return [
        line.metric.title,
        line.metric.unit,
        *numbers,
        line.confidence or marks.get(line.reason, ""),
    ]


def marks(found: RunComparison) -> dict[str, str]:
    """The footnote of each reason: (1), (2) ..."""
    return {reason: f"({n})" for n, reason in enumerate(found.reasons(), start=1)}


def headings(found: RunComparison, run: str) -> list[str]:
    """HEADINGS with the names of the runs in place of Base and Run."""
    names = {"Base": found.base.run_id, "Run": run}
    return [names.get(name, name) for name in HEADINGS]


def _clock(time: datetime) -> str:
    return f"{time:%Y-%m-%d %H:%M:%S}"


def _seconds(run: RunFacts) -> str:
    return "" if run.seconds is None else f"{run.seconds:.0f}"


def _text(found: RunComparison) -> str:
    noted = marks(found)
    out = [title(found), "", *_aligned(head(found), left=1)]
    for run in found.runs:
        parts = sections(found, run.run_id)
        grids = [[cells(line, noted) for line in lines] for _, lines in parts]
        top = headings(found, run.run_id)
        lines = iter(_aligned([top, *itertools.chain.from_iterable(grids)], left=2))
        out += ["", next(lines)]
        for (name, _), grid in zip(parts, grids, strict=True):
            out += ["", name, *itertools.islice(lines, len(grid))]
    out += ["", *(f"{mark} {reason}" for reason, mark in noted.items())] if noted else []
    return "\n".join([*out, "", *_wrapped(found.notes())]) + "\n"


def _wrapped(notes: Sequence[str]) -> Iterator[str]:
    for note in notes:
        yield from textwrap.wrap(note, _WIDTH, initial_indent="* ", subsequent_indent="  ")


def _aligned(grid: Grid, left: int) -> list[str]:
    """Lines of a grid; the first columns to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    return [
        _GAP.join(
            cell.ljust(width) if n < left else cell.rjust(width)
            for n, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in grid
    ]


def _markdown(found: RunComparison) -> str:
    noted, facts = marks(found), head(found)
    out = [f"## {_plain(title(found))}", "", _row(facts[0]), _rule(len(facts[0]), left=1)]
    out += [_row(line) for line in facts[1:]]
    for run in found.runs:
        for name, lines in sections(found, run.run_id):
            out += ["", f"### {_plain(run.run_id)}: {name}", ""]
            out += [_row(headings(found, run.run_id)), _rule(len(HEADINGS), left=2)]
            out += [_row(cells(line, noted)) for line in lines]
    for line in (*(f"{mark} {reason}" for reason, mark in noted.items()), *found.notes()):
        out += ["", _plain(line)]
    return "\n".join(out) + "\n"


def _row(texts: Sequence[str]) -> str:
    return markdown_row(map(_plain, texts))


def _plain(text: str) -> str:
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _rule(columns: int, left: int) -> str:
    return "|" + "|".join([":--"] * left + ["--:"] * (columns - left)) + "|"


def _document(found: RunComparison) -> dict[str, Any]:
    runs = [
        {
            "run_id": run.run_id,
            "system": run.system,
            **{key: value or None for key, value in run.attributes.items()},
            "steady_since": f"{run.since.isoformat()}Z",
            "steady_until": f"{run.until.isoformat()}Z",
            "intervals": run.intervals,
            "seconds": run.seconds,
        }
        for run in found.facts
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "title": title(found),
        "base_run_id": found.base.run_id,
        "runs": runs,
        "metrics": found.to_arrow().to_pylist(),
        "notes": list(found.notes()),
    }
