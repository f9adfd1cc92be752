"""A run comparison laid out: what is known of the runs, then what changed first, run by run."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from .layout import SCHEMA_VERSION, Block, Body, Layout, attribute_heading, footnote_marks
from .run_comparison import MetricLine, RunComparison, Verdict, shown_percent

_SECTIONS = {
    Verdict.CHANGE: "Changes",
    Verdict.UNPROVEN: "Large, but not proven",
    Verdict.WITHIN: "No change",
    Verdict.SAME: "No change",
    Verdict.NONE: "No statement",
}


def run_layout(comparison: RunComparison) -> Layout:
    """The layout of a run comparison."""
    marks = footnote_marks(comparison.reasons())
    title = f"{', '.join(run.run_id for run in comparison.runs)} compared with"
    return Layout(
        title=f"{title} {comparison.base.run_id}",
        blocks=[
            _facts(comparison),
            *(_metrics(comparison, run.run_id, marks) for run in comparison.runs),
        ],
        footnotes={mark: reason for reason, mark in marks.items()},
        notes=comparison.notes(),
        cells=comparison.to_arrow(),
        document=_document(comparison, f"{title} {comparison.base.run_id}"),
    )


def _facts(comparison: RunComparison) -> Block:
    """What is known of the runs, a column each."""
    facts = comparison.facts
    rows = [
        ["System", *(run.system for run in facts)],
        *(
            [attribute_heading(key), *(run.attributes[key] for run in facts)]
            for key in facts[0].attributes
        ),
        ["Steady state from", *(f"{run.since:%Y-%m-%d %H:%M:%S}" for run in facts)],
        ["Steady state until", *(f"{run.until:%Y-%m-%d %H:%M:%S}" for run in facts)],
        ["Intervals", *(f"{run.intervals}" for run in facts)],
        ["Seconds", *("" if run.seconds is None else f"{run.seconds:.0f}" for run in facts)],
    ]
    return Block(["Run", *(run.run_id for run in facts)], [Body(rows, about=True)])


def _metrics(comparison: RunComparison, run: str, marks: Mapping[str, str]) -> Block:
    """The lines of a run under headings, in reading order."""
    base = comparison.base.run_id
    head = ["Metric", "Unit", base, run, "Difference", "Change %", "Confidence", "Detectable %"]
    sections = itertools.groupby(comparison.of(run), key=lambda line: _SECTIONS[line.verdict])
    bodies = [
        Body([_row(line, marks) for line in lines], name, changed=name == "Changes")
        for name, lines in sections
    ]
    return Block(head, bodies, run, left=2)


def _row(line: MetricLine, marks: Mapping[str, str]) -> list[str]:
    cells = (*line.printed, line.difference, line.change)
    return [
        line.metric.title,
        line.metric.unit,
        *(cell.text for cell in cells),
        line.confidence or marks.get(line.reason, ""),
        shown_percent(line.detectable) if line.detectable else "",
    ]


def _document(comparison: RunComparison, title: str) -> dict[str, Any]:
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
        for run in comparison.facts
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "title": title,
        "base_run_id": comparison.base.run_id,
        "runs": runs,
        "metrics": comparison.to_arrow().to_pylist(),
        "notes": list(comparison.notes()),
    }
