"""Runs beside a base run on the standard metrics, without a spec, and which differences count.

Values are those of run_summary. Whether a difference is one, and not noise, is told from the
intervals of both steady states (`estimate.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import duckdb
import pyarrow as pa

from ..metrics import Metric, compared_metrics
from ..reductions.reductions import reduction
from ..render.printing import Format, Printed, blank, exact, fixed, percentage, show
from .estimate import (
    FEWEST,
    Array,
    Estimate,
    adjusted,
    difference_p,
    estimate,
    level,
    ratio_samples,
)
from .run_facts import RunFacts, base_and_runs, read_facts, read_samples

SHOWN_DIGITS = 4
"""Significant digits of a value, so that a small change can be read from what is printed."""
MOST_DECIMALS = 6

_TEXT, _NUMBER, _COUNT = pa.string(), pa.float64(), pa.int64()
LINES = pa.schema(
    {
        "base_run_id": _TEXT,
        "run_id": _TEXT,
        "metric": _TEXT,
        "measure": _TEXT,
        "unit": _TEXT,
        "base_value": _NUMBER,
        "value": _NUMBER,
        "difference": _NUMBER,
        "change_percent": _NUMBER,
        "confidence": _TEXT,
        "p": _NUMBER,
        "p_adjusted": _NUMBER,
        "base_intervals": _COUNT,
        "intervals": _COUNT,
        "base_effective": _NUMBER,
        "effective": _NUMBER,
        "reason": _TEXT,
    }.items()
)


class Verdict(StrEnum):
    """What the intervals say about a difference."""

    CHANGE = "change"
    NOISE = "noise"
    """Chance alone would show it too often."""
    SAME = "same"
    """All intervals of both runs have one and the same value."""
    NONE = ""
    """Nothing, for a reason that the line names."""


_RANKS = {Verdict.CHANGE: 0, Verdict.NOISE: 1, Verdict.SAME: 1, Verdict.NONE: 2}


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A metric of a run beside the same of its base run.

    Attributes:
        run_id: of the run compared.
        values: of base and run, in the unit of the metric, unrounded; None if not known.
        printed: the same as printed. difference, change: of what is printed; change in percent.
        p: how often chance alone would show the difference; p_adjusted: allowing for how many
            metrics are compared. None where the intervals say nothing.
        estimates: of base and run, from the intervals of their steady states.
        reason: why a cell is empty.
    """

    metric: Metric
    run_id: str
    values: tuple[float | None, float | None]
    printed: tuple[Printed, Printed]
    difference: Printed
    change: Printed
    estimates: tuple[Estimate | None, Estimate | None]
    p: float | None = None
    p_adjusted: float | None = None
    verdict: Verdict = Verdict.NONE
    reason: str = ""

    @property
    def confidence(self) -> str:
        """`cl 99%`, `noise`, `same`, or nothing."""
        if self.verdict is Verdict.CHANGE and self.p_adjusted is not None:
            return f"cl {level(self.p_adjusted)}%"
        return str(self.verdict)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Runs beside a base run. `lines` are in reading order: run by run, what changed first."""

    base: RunFacts
    runs: tuple[RunFacts, ...]
    lines: tuple[MetricLine, ...]

    @property
    def facts(self) -> tuple[RunFacts, ...]:
        """The base run, then the others."""
        return (self.base, *self.runs)

    @property
    def run_ids(self) -> list[str]:
        """The base run, then the others."""
        return [run.run_id for run in self.facts]

    def of(self, run: str) -> tuple[MetricLine, ...]:
        """The lines of a run."""
        return tuple(line for line in self.lines if line.run_id == run)

    def reasons(self) -> tuple[str, ...]:
        """Why cells are empty, each reason once, in order of appearance."""
        return tuple(dict.fromkeys(line.reason for line in self.lines if line.reason))

    def notes(self) -> tuple[str, ...]:
        """How to read the comparison, and what to be careful with."""
        return tuple(_notes(self))

    def to_arrow(self) -> pa.Table:
        """The lines, unrounded, in the unit that each names; what is not known is NULL."""
        return pa.Table.from_pylist([_row(self.base, line) for line in self.lines], schema=LINES)


def compare_runs(
    con: duckdb.DuckDBPyConnection, runs: Sequence[str], base: str | None = None
) -> RunComparison:
    """Runs beside a base run, on the standard metrics.

    Args:
        con: a connection on which the reductions are views.
        runs: at least one.
        base: by default the one that the runs themselves name.

    Raises:
        CpmonError: a run is not in the store, is named twice or is its own base, or the base is
            not known.
    """
    wanted = base_and_runs(con, runs, base)
    facts = read_facts(con, wanted)
    samples = read_samples(con, wanted)
    first, *others = (facts[run] for run in wanted)
    lines = [
        _line(metric, first, other, [_estimate(metric, samples[f.run_id]) for f in (first, other)])
        for other in others
        for metric in compared_metrics()
    ]
    order = {run: n for n, run in enumerate(wanted)}
    judged = sorted(_judged(lines), key=lambda line: (order[line.run_id], *_rank(line)))
    return RunComparison(first, tuple(others), tuple(judged))


def _estimate(metric: Metric, samples: Mapping[str, Array]) -> Estimate | None:
    over, under = samples[metric.sampled], metric.denominator
    values = ratio_samples(over, samples[under]) if under else over
    return estimate(values * metric.multiplier)


def _line(
    metric: Metric, base: RunFacts, run: RunFacts, estimates: list[Estimate | None]
) -> MetricLine:
    """A line without a verdict."""
    values = base.values[metric.name], run.values[metric.name]
    absence = _absence(metric, [f for f, v in zip((base, run), values, strict=True) if v is None])
    form = Format(_decimals(metric, values))
    of_base, of_run = (show(v, form, scale=metric.scale, reason=absence) for v in values)
    line = MetricLine(
        metric,
        run.run_id,
        (_scaled(values[0], metric), _scaled(values[1], metric)),
        (of_base, of_run),
        _less(of_run, of_base, form),
        percentage(of_run, of_base),
        (estimates[0], estimates[1]),
    )
    reason = absence or _untested(line, base, run)
    if reason:
        return replace(line, reason=reason)
    these, those = estimates
    return replace(line, p=difference_p(these, those)) if these and those else line


def _scaled(value: float | None, metric: Metric) -> float | None:
    return None if value is None else value * metric.scale


def _decimals(metric: Metric, values: Sequence[float | None]) -> int:
    """As many as the smaller of both values needs for four digits, but no zeros at the end."""
    sizes = [exact(abs(value)) * metric.scale for value in values if value]
    if not sizes:
        return metric.compared.digits
    most = min(max(metric.compared.digits, SHOWN_DIGITS - 1 - min(sizes).adjusted()), MOST_DECIMALS)
    fitting = range(metric.compared.digits, most)
    return next((d for d in fitting if all(fixed(v, d) == fixed(v, most) for v in sizes)), most)


def _absence(metric: Metric, missing: Sequence[RunFacts]) -> str:
    """Why the metric is not known of some runs; empty without any."""
    if not missing:
        return ""
    absence = reduction("run_summary").column(metric.name).absence
    return f"not known of {' and '.join(run.run_id for run in missing)} {absence}".rstrip()


def _less(value: Printed, base: Printed, form: Format) -> Printed:
    if value.value is None or base.value is None:
        return blank(value.reason or base.reason)
    return show(value.value - base.value, form)


def _untested(line: MetricLine, base: RunFacts, run: RunFacts) -> str:
    """Why the intervals say nothing about a difference; empty if they do."""
    for facts, found in zip((base, run), line.estimates, strict=True):
        if found is None:
            return f"no single interval of the steady state of {facts.run_id} has a value"
        if found.samples < FEWEST:
            return (
                f"{found.samples} intervals of the steady state of {facts.run_id} have a value; "
                f"a statement needs {FEWEST}"
            )
    before, after = (found.mean for found in line.estimates if found)
    shown = float(line.difference.value or 0)
    if line.metric.compared.whole and shown * (after - before) < 0:
        return "in the steady state alone the runs differ the other way"
    return ""


def _judged(lines: Sequence[MetricLine]) -> list[MetricLine]:
    """The lines with verdicts, which allow for how many there are."""
    tested = [line for line in lines if line.p is not None]
    chances = iter(adjusted([line.p for line in tested if line.p is not None]))
    return [line if line.p is None else _with_verdict(line, next(chances)) for line in lines]


def _with_verdict(line: MetricLine, p_adjusted: float) -> MetricLine:
    constant = not any(found.variance for found in line.estimates if found)
    if level(p_adjusted) is not None:
        verdict = Verdict.CHANGE
    else:
        verdict = Verdict.SAME if constant else Verdict.NOISE
    return replace(line, p_adjusted=p_adjusted, verdict=verdict)


def _rank(line: MetricLine) -> tuple[float, ...]:
    """Changes first, the greatest first; the others in the order of the metrics."""
    if line.verdict is not Verdict.CHANGE:
        return (_RANKS[line.verdict],)
    size = math.inf if line.change.value is None else abs(float(line.change.value))
    return (_RANKS[line.verdict], -size)


def _notes(found: RunComparison) -> Iterable[str]:
    tested = sum(line.p is not None for line in found.lines)
    yield (
        "cl: confidence level of a two-sided t-test (Welch) of the intervals of both steady "
        "states, which count for less the more each resembles the one before it, adjusted for "
        f"the {tested} differences tested; noise: below 95 %."
    )
    if any(line.verdict is Verdict.SAME for line in found.lines):
        yield "same: all intervals of both runs have one value."
    if any(line.metric.compared.whole and line.printed[1].text for line in found.lines):
        yield "CPU/Tx is that of the whole run, its confidence that of the steady state."
    if any(line.metric.unit == "%" for line in found.lines):
        yield "Differences of percentages are in percentage points, changes relative to the base."
    lengths = {round(run.seconds or 0) for run in found.facts}
    if len(lengths) > 1:
        said = ", ".join(f"{run.run_id} {run.seconds or 0:.0f} s" for run in found.facts)
        yield f"The steady states differ in length: {said}."


def _row(base: RunFacts, line: MetricLine) -> dict[str, Any]:
    before, after = line.values
    difference = None if before is None or after is None else after - before
    of_base, of_run = line.estimates
    return {
        "base_run_id": base.run_id,
        "run_id": line.run_id,
        "metric": line.metric.title,
        "measure": line.metric.name,
        "unit": line.metric.unit or None,
        "base_value": before,
        "value": after,
        "difference": difference,
        "change_percent": _percent(difference, before),
        "confidence": line.confidence or None,
        "p": line.p,
        "p_adjusted": line.p_adjusted,
        "base_intervals": of_base and of_base.samples,
        "intervals": of_run and of_run.samples,
        "base_effective": of_base and of_base.effective,
        "effective": of_run and of_run.effective,
        "reason": line.reason or None,
    }


def _percent(difference: float | None, base: float | None) -> float | None:
    return None if difference is None or not base else 100 * difference / abs(base)
