"""Compares runs with a base run on the standard metrics, without a spec, and tests the changes.

Values are those of run_summary. The intervals of both steady states decide whether a difference is
a change or noise (`statistics.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from ...core.text import counted
from ...render.printing import Format, Printed, blank, exact, fixed, percentage, show, upper_percent
from ..metrics import Metric, compared_metrics
from ..reductions.reductions import reduction
from ..statistics import (
    FEWEST,
    SIGNIFICANT_P,
    Array,
    MeanDifference,
    adjusted,
    estimate,
    level,
    paired_difference,
    ratio_samples,
    welch_difference,
)
from .run_facts import (
    RunFacts,
    base_and_runs,
    divided,
    pair_length,
    read_facts,
    read_intervals,
    run_notes,
    summed,
)

PAIRED = 0.9
"""Pairing requires that at least this share of the intervals of both runs have a partner."""
LARGE_PERCENT = 10
"""Differences from this percentage of the base on are reported even if not proven; where one may
remain undetected, the runs are not said to agree."""


class Verdict(StrEnum):
    """Outcome of the test of a difference."""

    CHANGE = "change"
    UNPROVEN = "not proven"
    """The difference is large but not significant."""
    UNKNOWN = "cannot tell"
    """The difference is small, but a large one might have gone undetected."""
    WITHIN = "no change"
    """Any change is below a stated bound, which is small."""
    SAME = "same"
    """All intervals of both runs have the same value."""
    NONE = ""
    """No test, for the reason given in the line."""


_RANKS = {verdict: rank for rank, verdict in enumerate(Verdict)}
_RANKS[Verdict.SAME] = _RANKS[Verdict.WITHIN]


@dataclass(frozen=True, slots=True)
class MetricLine:
    """A metric of a run compared with its base run.

    Attributes:
        values: base and run, in the unit of the metric, unrounded; None if unknown.
        difference, change: computed from the printed values; change in percent.
        samples: intervals of base and run, in the unit of the metric; NaN without a value.
        test: of the difference, in the unit of the metric; None if it cannot be tested.
        p_adjusted: its p value, adjusted for the number of metrics.
        bound, detectable: greatest possible change, and smallest one that would probably be found,
            percent of the base; None if that is 0.
        reason: why a cell is empty.
    """

    metric: Metric
    run_id: str
    values: tuple[float | None, float | None]
    printed: tuple[Printed, Printed]
    difference: Printed
    change: Printed
    samples: tuple[Array, Array] = field(compare=False)
    test: MeanDifference | None = None
    p_adjusted: float | None = None
    bound: float | None = None
    detectable: float | None = None
    verdict: Verdict = Verdict.NONE
    reason: str = ""

    @property
    def intervals(self) -> tuple[int, int]:
        """Number of intervals of base and run that have a value."""
        base, run = (int(np.count_nonzero(~np.isnan(s))) for s in self.samples)
        return base, run

    @property
    def confidence(self) -> str:
        """`cl 99%`, `not proven`, `within 2.1%`, `same`, or empty."""
        if self.verdict is Verdict.CHANGE and self.p_adjusted is not None:
            return f"cl {level(self.p_adjusted)}%"
        if self.verdict in (Verdict.UNKNOWN, Verdict.WITHIN) and self.bound is not None:
            return f"within {upper_percent(self.bound)}%"
        return str(self.verdict)


@dataclass(frozen=True, slots=True)
class RunComparison:
    """Runs compared with a base run. `lines` are in reading order: by run, changes first.

    `notes` are remarks about the runs.
    """

    base: RunFacts
    runs: tuple[RunFacts, ...]
    lines: tuple[MetricLine, ...]
    notes: tuple[str, ...] = ()

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

    def to_arrow(self) -> pa.Table:
        """The lines, unrounded, in the unit that each names; unknown values are NULL."""
        columns = {"base_run_id": pa.array([self.base.run_id] * len(self.lines), _TEXT)}
        for name, (kind, value) in COLUMNS.items():
            columns[name] = pa.array([value(line) for line in self.lines], kind)
        return pa.table(columns)


def compare_runs(
    con: duckdb.DuckDBPyConnection, runs: Sequence[str], base: str | None = None
) -> RunComparison:
    """Compare runs with a base run, by default that of the run files, on the standard metrics.

    Raises:
        CpmonError: a run is not in the store, is named twice or is its own base, or the base is
            unknown.
    """
    order = base_and_runs(con, runs, base)
    facts = read_facts(con, order)
    intervals = read_intervals(con, order)
    first, *others = (facts[run] for run in order)
    lines = []
    for other in others:
        length = pair_length(intervals[first.run_id], intervals[other.run_id])
        binned = [intervals[run.run_id].binned(length) for run in (first, other)]
        lines += [_line(metric, first, other, binned) for metric in compared_metrics()]
    places = {run: n for n, run in enumerate(order)}
    judged = sorted(_judged(lines), key=lambda line: (places[line.run_id], *_rank(line)))
    notes = run_notes(con, order, {metric.name: metric.title for metric in compared_metrics()})
    return RunComparison(first, tuple(others), tuple(judged), tuple(notes))


def difference_of_runs(base: Array, run: Array) -> MeanDifference:
    """Test the difference of two runs, paired if nearly all intervals have a partner.

    Args:
        base, run: (intervals,) samples by time into the run; NaN if an interval has no value.
    """
    length = max(base.size, run.size)
    both = [np.pad(s, (0, length - s.size), constant_values=np.nan) for s in (base, run)]
    pairs = np.count_nonzero(~np.isnan(both[0] + both[1]))
    if pairs >= max(FEWEST, PAIRED * max(np.count_nonzero(~np.isnan(s)) for s in both)):
        return paired_difference(*both)
    before, after = estimate(base), estimate(run)
    assert before and after, "callers look for samples first"
    return welch_difference(before, after)


def _line(
    metric: Metric, base: RunFacts, run: RunFacts, binned: Sequence[Mapping[str, Array]]
) -> MetricLine:
    """A line without its verdict."""
    values = base.values[metric.name], run.values[metric.name]
    absence = ""
    if unknown := [r.run_id for r, v in zip((base, run), values, strict=True) if v is None]:
        reason = reduction("run_summary").column(metric.name).absence
        absence = f"not known of {' and '.join(unknown)} {reason}".rstrip()
    form = Format(_decimals(metric, values))
    of_base, of_run = (show(v, form, scale=metric.scale, reason=absence) for v in values)
    before, after = (None if value is None else value * metric.scale for value in values)
    factor = metric.multiplier * metric.scale
    samples = [
        ratio_samples(sums[summed(metric)], sums[divided(metric)]) * factor for sums in binned
    ]
    difference = blank(of_run.reason or of_base.reason)
    if of_run.value is not None and of_base.value is not None:
        difference = show(of_run.value - of_base.value, form)
    line = MetricLine(
        metric,
        run.run_id,
        (before, after),
        (of_base, of_run),
        difference,
        percentage(of_run, of_base),
        (samples[0], samples[1]),
    )
    reason = absence or _untested(line, base, run)
    if reason:
        return replace(line, reason=reason)
    test = difference_of_runs(*line.samples)
    shown = float(line.difference.value or 0)
    if metric.compared.whole and shown * test.gap < 0:
        reason = "in the steady state alone the runs differ the other way"
        return replace(line, reason=reason)
    return replace(line, test=test)


def _decimals(metric: Metric, values: Sequence[float | None]) -> int:
    """Decimals so that the smaller value shows four digits without trailing zeros, at most six."""
    sizes = [exact(abs(value)) * metric.scale for value in values if value]
    if not sizes:
        return metric.compared.digits
    most = min(max(metric.compared.digits, 3 - min(sizes).adjusted()), 6)
    fitting = range(metric.compared.digits, most)
    return next((d for d in fitting if all(fixed(v, d) == fixed(v, most) for v in sizes)), most)


def _untested(line: MetricLine, base: RunFacts, run: RunFacts) -> str:
    """Why a difference cannot be tested; empty if it can."""
    for facts, count in zip((base, run), line.intervals, strict=True):
        if not count:
            return f"no single interval of the steady state of {facts.run_id} has a value"
        if count < FEWEST:
            return (
                f"{counted(count, 'interval')} of the steady state of {facts.run_id}"
                f" {'has' if count == 1 else 'have'} a value; a statement needs {FEWEST}"
            )
    return ""


def _judged(lines: Sequence[MetricLine]) -> list[MetricLine]:
    """The lines with verdicts, adjusted for the number of tests."""
    chances = adjusted([line.test.p for line in lines if line.test is not None])
    changes = sum(level(chance) is not None for chance in chances)
    # Greatest p at which one more metric would be significant (Benjamini and Hochberg).
    least = SIGNIFICANT_P * min(changes + 1, len(chances)) / max(len(chances), 1)
    given, judged = iter(chances), []
    for line in lines:
        test, base = line.test, abs(line.values[0] or 0)
        if test is None:
            judged.append(line)
            continue
        p_adjusted, percent = next(given), 100 / base if base else None
        bound = percent and test.bound() * percent
        smallest = percent and test.detectable(least) * percent
        if level(p_adjusted) is not None:
            verdict = Verdict.CHANGE
        elif not test.uncertainties:
            verdict = Verdict.SAME
        elif percent is None or abs(test.gap) * percent >= LARGE_PERCENT:
            verdict = Verdict.UNPROVEN
        elif bound is None or bound >= LARGE_PERCENT:
            verdict = Verdict.UNKNOWN
        else:
            verdict = Verdict.WITHIN
        judged.append(
            replace(line, p_adjusted=p_adjusted, bound=bound, detectable=smallest, verdict=verdict)
        )
    return judged


def _rank(line: MetricLine) -> tuple[float, ...]:
    """Sort key: changes, then unproven differences, greatest first; others by metric order."""
    rank = _RANKS[line.verdict]
    if line.verdict not in (Verdict.CHANGE, Verdict.UNPROVEN):
        return (rank,)
    size = math.inf if line.change.value is None else abs(float(line.change.value))
    return (rank, -size)


def _difference(line: MetricLine, *, in_percent: bool = False) -> float | None:
    before, after = line.values
    if before is None or after is None or (in_percent and not before):
        return None
    return 100 * (after - before) / abs(before) if in_percent else after - before


_TEXT, _NUMBER, _COUNT = pa.string(), pa.float64(), pa.int64()
COLUMNS: dict[str, tuple[pa.DataType, Callable[[MetricLine], Any]]] = {
    "run_id": (_TEXT, lambda line: line.run_id),
    "metric": (_TEXT, lambda line: line.metric.title),
    "measure": (_TEXT, lambda line: line.metric.name),
    "unit": (_TEXT, lambda line: line.metric.unit or None),
    "base_value": (_NUMBER, lambda line: line.values[0]),
    "value": (_NUMBER, lambda line: line.values[1]),
    "difference": (_NUMBER, _difference),
    "change_percent": (_NUMBER, partial(_difference, in_percent=True)),
    "verdict": (_TEXT, lambda line: str(line.verdict) or None),
    "confidence": (_TEXT, lambda line: line.confidence or None),
    "p": (_NUMBER, lambda line: line.test and line.test.p),
    "p_adjusted": (_NUMBER, lambda line: line.p_adjusted),
    "bound_percent": (_NUMBER, lambda line: line.bound),
    "detectable_percent": (_NUMBER, lambda line: line.detectable),
    "base_intervals": (_COUNT, lambda line: line.intervals[0]),
    "intervals": (_COUNT, lambda line: line.intervals[1]),
    "pairs": (_COUNT, lambda line: line.test and line.test.pairs),
    "degrees_of_freedom": (_NUMBER, lambda line: line.test and line.test.freedom),
    "reason": (_TEXT, lambda line: line.reason or None),
}
"""Columns after `base_run_id`: type, and function of a line."""
