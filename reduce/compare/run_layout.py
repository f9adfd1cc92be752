"""A run comparison laid out: what is known of the runs, then what changed first, run by run."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from ...render.printing import upper_percent
from .layout import SCHEMA_VERSION, Block, Body, Layout, attribute_heading, footnote_marks
from .run_comparison import LARGE_PERCENT, MetricLine, RunComparison, Verdict

_SECTIONS = {
    Verdict.CHANGE: "Changes",
    Verdict.UNPROVEN: "Large, but not proven",
    Verdict.UNKNOWN: "Cannot tell",
    Verdict.WITHIN: "No change",
    Verdict.SAME: "No change",
    Verdict.NONE: "No statement",
}


def run_layout(comparison: RunComparison) -> Layout:
    """The layout of a run comparison."""
    reasons = dict.fromkeys(line.reason for line in comparison.lines if line.reason)
    marks = footnote_marks(reasons)
    runs = ", ".join(run.run_id for run in comparison.runs)
    title = f"{runs} compared with {comparison.base.run_id}"
    notes = list(_notes(comparison))
    return Layout(
        title=title,
        blocks=[
            _facts(comparison),
            *(_metrics(comparison, run.run_id, marks) for run in comparison.runs),
        ],
        marks=marks,
        notes=notes,
        cells=comparison.to_arrow(),
        document=_document(comparison, title, notes),
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
        upper_percent(line.detectable) if line.detectable else "",
    ]


def _document(comparison: RunComparison, title: str, notes: list[str]) -> dict[str, Any]:
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
        "notes": notes,
    }


def _notes(comparison: RunComparison) -> Iterator[str]:
    """How to read the comparison, and what to be careful with."""
    tests = [line.test for line in comparison.lines if line.test is not None]
    verdicts = {line.verdict for line in comparison.lines}
    yield from comparison.notes
    yield (
        "cl: confidence level of a two-sided t-test of the intervals of both steady states, paired "
        "by their time into the run, which count for less the more each resembles the one before "
        f"it; adjusted for the {len(tests)} differences tested."
    )
    if Verdict.UNPROVEN in verdicts:
        yield (
            f"not proven: {LARGE_PERCENT} % or more, but chance alone would show it in more than "
            "5 % of such comparisons."
        )
    if verdicts & {Verdict.UNKNOWN, Verdict.WITHIN}:
        yield "within: no change, or none that is greater than this part of the base (at 95 %)."
    if Verdict.UNKNOWN in verdicts:
        yield f"Cannot tell: a change of {LARGE_PERCENT} % or more may be there and was not seen."
    if any(line.detectable is not None for line in comparison.lines):
        yield (
            "Detectable: the smallest change that would have been found in four of five such "
            "comparisons."
        )
    if Verdict.SAME in verdicts:
        yield "same: all intervals of both runs have one value."
    alone = [line for line in comparison.lines if line.test is not None and not line.test.pairs]
    if alone:
        metrics = ", ".join(dict.fromkeys(line.metric.title for line in alone))
        which = "The intervals" if len(alone) == len(tests) else f"Those of {metrics}"
        yield (
            f"{which} have no partners in the other run: a course that both runs have in common "
            "counts as autocorrelation, and less is found."
        )
    if any(line.metric.compared.whole and line.printed[1].text for line in comparison.lines):
        yield "CPU/Tx is that of the whole run, its confidence that of the steady state."
    if any(line.metric.unit == "%" for line in comparison.lines):
        yield "Differences of percentages are in percentage points, changes relative to the base."
    lengths = {round(run.seconds or 0) for run in comparison.facts}
    if len(lengths) > 1:
        runs = ", ".join(f"{run.run_id} {run.seconds or 0:.0f} s" for run in comparison.facts)
        yield f"The steady states differ in length: {runs}."
