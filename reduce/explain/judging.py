"""Judges all series of a span against a baseline: which lines they give, and how heavy.

False alarms are limited as in the comparison of runs: p values are adjusted for their number
(Benjamini and Hochberg), so that about FALSE_ALARM of quiet times have a line of a metric. Half of
it is for metrics of the system, half for those of objects, which are many more. Where baseline and
span are paired, the metrics that `cpmon compare` has are judged by it.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
import numpy as np

from ...core.grace_period import GRACE
from ...core.text import counted
from ...store.connection import Connection, point
from ...store.measured.runs import Run
from ...store.sql.scope import Scope
from ..compare.run_comparison import LARGE_PERCENT, Verdict, compare_runs
from ..metrics import Metric
from ..statistics import Array, adjusted
from .baseline import Baseline
from .departure import SERIES, Mask, departures, quantiles
from .line import Contributor, Line
from .resources import Compared, Scales
from .series import Series, read_rows, series_of, subjects

FALSE_ALARM = 0.05
"""Share of the times at which nothing is different that have a line of a metric."""
LARGE = LARGE_PERCENT / 100
"""A departure is listed from this share of the usual value on, as in the comparison of runs."""
PART = 0.02
"""A change of an object is listed from this share of the sum over all objects on."""
MOST_OBJECTS = 3
"""Objects of a kind that have lines, and contributors named for a metric."""
RARE = 0.05
"""An object or a setting that was away, or different, in less of the intervals was always there."""


@dataclass(frozen=True, slots=True)
class Worst:
    """The interval of the span in which the processors were busiest.

    Attributes:
        metric: total utilization. end: of the interval, UTC.
        value: of that interval, mean: of the span, usual: of the baseline, printed scale; None
            where it is not known.
    """

    metric: Metric
    end: datetime
    value: float
    mean: float
    usual: float | None


@dataclass(frozen=True, slots=True)
class Judged:
    """The lines of all series.

    Attributes:
        looked_at: number of series with values in span and baseline.
        notes: on what could not be judged, or is not shown.
    """

    lines: list[Line]
    worst: Worst | None
    looked_at: int
    notes: list[str]


def judge(con: duckdb.DuckDBPyConnection, span: Scope, baseline: Baseline | None) -> Judged:
    """Judge the series of a span; without a baseline only the worst interval is known."""
    if baseline is None:
        (subject,) = (each for each in subjects() if each.name == "system_summary_by_time")
        point(con, span)
        seen = series_of(subject, read_rows(con, subject, span), span)
        return Judged([], _worst(seen, None), 0, [])
    sides, empty, worst = [], [], None
    for base, seen in _read(con, span, baseline):
        if base.times.size and seen.times.size:
            sides.append(_compared(base, seen, baseline))
        else:
            empty.append(base.subject.name)
        if base.subject.name == "system_summary_by_time" and seen.times.size:
            worst = _worst(seen, sides[-1] if base.times.size else None)
    scales = Scales(sides)
    verdicts = _verdicts(con, span, baseline)
    lines, looked_at = list[Line](), 0
    for is_of_objects in (False, True):
        family = [side for side in sides if bool(side.subject.noun) is is_of_objects]
        tests = _Tests(family, verdicts, unproven=not baseline.by_time)
        lines += (_line(*test, sides, scales) for test in tests.lines())
        looked_at += tests.count
    for side in sides:
        lines += _presences(side, scales)
        lines += _changed_settings(side, scales)
    shown, hidden = _shown(lines, sides)
    return Judged(shown, worst, looked_at, [*hidden, *_unseen(sides, empty)])


def _read(
    con: duckdb.DuckDBPyConnection, span: Scope, baseline: Baseline
) -> list[tuple[Series, Series]]:
    """The series of each subject in the baseline and in the span."""
    if baseline.trend:  # the one follows the other: a query reads both
        whole = Scope(span.system, baseline.scope.since, span.until)
        point(con, whole)
        tables = ((each, read_rows(con, each, whole)) for each in subjects())
        return [
            (series_of(each, rows, baseline.scope), series_of(each, rows, span))
            for each, rows in tables
        ]
    sides = []
    for scope, condition in ((baseline.scope, baseline.condition), (span, "true")):
        point(con, scope)
        sides.append(
            [series_of(each, read_rows(con, each, scope, condition), scope) for each in subjects()]
        )
    return list(zip(*sides, strict=True))


def _compared(base: Series, seen: Series, baseline: Baseline) -> Compared:
    objects = tuple(sorted({*base.objects, *seen.objects}))
    times = base.times, seen.times
    found = {
        metric.name: departures(
            base.of_objects(metric.name, objects),
            seen.of_objects(metric.name, objects),
            times,
            trend=baseline.trend,
            shift=baseline.shift,
        )
        for metric in base.subject.metrics
    }
    present = seen.presence(objects)
    settings = {
        name: np.stack([_lasting(side.of_objects(name, objects)) for side in (base, seen)])
        for name in base.subject.settings
    }
    before = base.presence(objects).mean(axis=1)
    return Compared(
        base.subject, objects, found, before, present.mean(axis=1), present[:, -1], settings
    )


def _lasting(values: Array) -> Array:
    """(objects,) the value that a state has but for RARE intervals; NaN if it varies."""
    low, middle, high = (quantiles(values, share) for share in (RARE, 0.5, 1 - RARE))
    return np.where(low == high, middle, np.nan)


def _worst(seen: Series, side: Compared | None) -> Worst | None:
    """The busiest interval of the span; None if no utilization is known."""
    metric = seen.subject.metrics[0]
    values = seen.values[metric.name]
    if not values.size or np.isnan(values).all():
        return None
    place = int(np.nanargmax(values[0]))
    usual = float(side.departures[metric.name].usual[0]) if side else math.nan
    return Worst(
        metric,
        datetime.fromtimestamp(float(seen.times[place]), UTC).replace(tzinfo=None),
        float(values[0, place]),
        float(np.nanmean(values)),
        None if math.isnan(usual) else usual,
    )


def _verdicts(
    con: duckdb.DuckDBPyConnection, span: Scope, baseline: Baseline
) -> dict[str, tuple[bool, float | None]]:
    """Metric of the system -> whether `cpmon compare` calls it a change, and its adjusted p."""
    if baseline.shift is None or not isinstance(con, Connection):
        return {}
    times = (("span", span), ("base", baseline.scope))
    runs = []
    for name, scope in times:
        assert scope.system and scope.since and scope.until
        # A run has the intervals that end in it but for the grace period, a scope exactly those.
        begin, end = (each.replace(tzinfo=UTC) - GRACE for each in (scope.since, scope.until))
        runs.append(Run(name, scope.system, begin, end).text())
    con.measure(runs)
    point(con, Scope(span.system))
    lines = compare_runs(con, ["span"], "base").lines
    con.measure(None)
    return {line.metric.name: (line.verdict is Verdict.CHANGE, line.p_adjusted) for line in lines}


class _Tests:
    """A family of tests: the values of all metrics of some subjects.

    `count` is the number of those with values in span and baseline.
    """

    def __init__(
        self,
        family: Sequence[Compared],
        verdicts: dict[str, tuple[bool, float | None]],
        *,
        unproven: bool,
    ) -> None:
        self._unproven, self._verdicts = unproven, verdicts
        self._places = [
            (side, metric, int(n))
            for side in family
            for metric in side.subject.judged
            for n in np.flatnonzero(_is_large(side, metric))
        ]
        p = np.concatenate(
            [np.zeros(0)]
            + [side.departures[m.name].p for side in family for m in side.subject.judged]
        )
        tested = p[~np.isnan(p)]
        self.count = sum(_both(side, m) for side in family for m in side.subject.judged)
        order = np.argsort(tested)
        self._sorted = tested[order]
        self._adjusted: Array = np.array(adjusted(self._sorted.tolist()))

    def lines(self) -> Iterator[tuple[Compared, Metric, int, float, bool]]:
        """Side, metric, object, adjusted p value and whether it is proven, of each line."""
        for side, metric, n in self._places:
            p = float(side.departures[metric.name].p[n])
            if not math.isnan(p):
                p = float(self._adjusted[np.searchsorted(self._sorted, p)])
            proven = p <= FALSE_ALARM / 2
            if not side.subject.noun and metric.name in self._verdicts:
                proven, compared = self._verdicts[metric.name]
                p = math.nan if compared is None else compared
            if proven or self._unproven:
                yield side, metric, n, p, proven


def _both(side: Compared, metric: Metric) -> int:
    """Number of objects with values of a metric in span and baseline."""
    found = side.departures[metric.name]
    return int(np.count_nonzero(~np.isnan(found.value - found.usual)))


def _is_large(side: Compared, metric: Metric) -> Mask:
    """(objects,) whether a departure is outside of the range, and matters."""
    judged = side.departures[metric.name]
    gap = np.abs(judged.value - judged.usual)
    is_large: Mask = judged.outside & (gap >= LARGE * np.abs(judged.usual))
    if side.subject.noun:
        usual, value = side.amounts(metric.name)
        whole = float(np.nansum(np.abs(usual)))
        is_large &= np.abs(value - usual) >= PART * whole
    return is_large


def _line(
    side: Compared,
    metric: Metric,
    n: int,
    p: float,
    proven: bool,
    sides: Sequence[Compared],
    scales: Scales,
) -> Line:
    judged = side.departures[metric.name]
    usual, value, score = (float(a[n]) for a in (judged.usual, judged.value, judged.score))
    amounts = side.amounts(metric.name)[:, n]
    noun = side.subject.noun
    return Line(
        kind="object" if noun else "metric",
        weight=scales.weight(side, metric.name, float(amounts[1] - amounts[0])),
        object=f"{noun} {side.objects[n]}" if noun else "system",
        what=metric.title,
        name=metric.name,
        unit=metric.unit,
        value=value,
        usual=usual,
        low=float(judged.low[n]),
        high=float(judged.high[n]),
        score=score if math.isfinite(score) else None,
        p_adjusted=None if math.isnan(p) else p,
        proven=proven,
        contributors=() if noun else tuple(_contributors(metric, value - usual, sides)),
        metric=metric,
    )


def _contributors(
    metric: Metric, change: float, sides: Sequence[Compared]
) -> Iterator[Contributor]:
    """The objects that changed most in the direction of a metric."""
    for side in sides:
        name = side.subject.explains.get(metric.name)
        if name is None:
            continue
        sign = np.sign(change) * (-1 if name.startswith("-") else 1)
        name = name.lstrip("-")
        (own,) = (m for m in side.subject.metrics if m.name == name)
        usual, value = side.amounts(name)
        changes = np.nan_to_num(value - usual)
        along = np.maximum(changes * sign, 0.0)
        total = float(along.sum())
        for n in np.argsort(-along, kind="stable")[:MOST_OBJECTS]:
            if total and along[n] / total >= LARGE:
                share = float(along[n]) / total
                yield Contributor(
                    side.subject.noun, side.objects[n], float(changes[n]), own.unit, share
                )


def _presences(side: Compared, scales: Scales) -> Iterator[Line]:
    """Lines of objects that are new, or gone, with what they used of the resource that it hit."""
    if not side.subject.noun:
        return
    is_new = (side.before < SERIES) & (side.after > 0)
    is_gone = (side.before > 1 - RARE) & ~side.stays
    metrics = [m for m in side.subject.metrics if m.name in side.subject.resources]
    amounts = {m.name: np.nan_to_num(side.amounts(m.name)) for m in metrics}
    for n in np.flatnonzero(is_new | is_gone):
        changes = {name: float(both[1, n] - both[0, n]) for name, both in amounts.items()}
        shares = {name: scales.share(side, name, change) for name, change in changes.items()}
        weights = {name: scales.weight(side, name, change) for name, change in changes.items()}
        heaviest = max(metrics, key=lambda metric: weights[metric.name])
        if max(shares.values()) < PART:
            continue
        usual, value = amounts[heaviest.name][:, n]
        word = "new" if is_new[n] else "gone"
        yield Line(
            kind="object",
            weight=weights[heaviest.name],
            object=f"{side.subject.noun} {side.objects[n]}",
            what=f"{word}: {heaviest.title}",
            name=heaviest.name,
            unit=heaviest.unit,
            value=float(value),
            usual=float(usual),
            presence=word,
            metric=heaviest,
        )


def _changed_settings(side: Compared, scales: Scales) -> Iterator[Line]:
    """Lines of settings that differ between baseline and span."""
    for setting, metric in side.subject.settings.items():
        before, after = side.settings[setting]
        for n in np.flatnonzero(np.abs(after - before) > 0).tolist():
            part = abs(after - before)[n] / max(abs(after[n]), abs(before[n]))
            yield Line(
                kind="setting",
                weight=100 * float(part * _size(side, n)) * scales.shortages.get("machine", 1.0),
                object=f"{side.subject.noun} {side.objects[n]}",
                what=metric.title,
                name=setting,
                value=float(after[n]),
                usual=float(before[n]),
                metric=metric,
            )


def _size(side: Compared, n: int) -> float:
    """Part of an object in the sum of the first setting over all objects, 0..1."""
    sizes = np.nanmax(side.settings[next(iter(side.subject.settings))], axis=0, initial=0.0)
    total = float(np.nansum(sizes))
    return float(sizes[n]) / total if total else 0.0


def _shown(lines: Sequence[Line], sides: Sequence[Compared]) -> tuple[list[Line], list[str]]:
    """The heaviest line of each object and resource, MOST_OBJECTS of a metric, and notes on others.

    An object that a heavier line names as a contributor has no line of its own.
    """
    resource_of: dict[str, str] = {}
    for side in (side for side in sides if not side.subject.noun):
        resource_of |= side.subject.resources
    named: dict[str, float] = {}
    for line in lines:
        for each in line.contributors:
            key = f"{each.noun} {each.object}"
            named[key] = max(named.get(key, 0.0), line.weight)
    best: dict[str, Line] = {}
    for line in sorted(lines, key=lambda line: -line.weight):
        is_known = line.kind == "object" and not line.presence
        if is_known and named.get(line.object, -1.0) >= line.weight:
            continue
        key = resource_of[line.name] if line.kind == "metric" else line.object
        best.setdefault(f"{line.kind == 'setting'} {key}", line)
    by_metric: defaultdict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in best.values():
        by_metric[line.object.split()[0], line.what].append(line)
    shown = [line for group in by_metric.values() for line in group[:MOST_OBJECTS]]
    return shown, [
        f"{what}: {counted(len(group) - MOST_OBJECTS, 'other ' + noun)} left the range, too."
        for (noun, what), group in by_metric.items()
        if len(group) > MOST_OBJECTS
    ]


def _unseen(sides: Sequence[Compared], empty: Sequence[str]) -> Iterator[str]:
    if empty:
        yield f"Not looked at, for lack of records: {', '.join(empty)}."
    blank = [
        metric.title for side in sides for metric in side.subject.judged if not _both(side, metric)
    ]
    if blank:
        titles = ", ".join(dict.fromkeys(blank))
        yield f"Not looked at, without values in span or baseline: {titles}."
