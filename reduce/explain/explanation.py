"""Explains a time: what was different from a baseline, who contributed, and what stood near.

Metrics of the system and of its objects (users, classes, devices, partitions, locks, DIAGNOSEs) are
judged against their baseline (`departure.py`). False alarms are limited as in the comparison of
runs: p values are adjusted for their number (Benjamini and Hochberg), so that about FALSE_ALARM
of quiet times have a line of a metric. Half of it is for metrics of the system,
half for those of objects, which are many more.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb
import numpy as np

from ...config import Settings
from ...core.errors import CpmonError
from ...core.grace_period import bounds_of_ends
from ...core.text import counted
from ...store.connection import point
from ...store.sql.scope import ALL, Scope
from ..metrics import Metric
from ..reports.cells import UTC_ZONE, utc
from ..reports.report import whole_span
from ..reports.report_sql import run_window
from ..rules.exceptions import exceptions
from ..statistics import FEWEST, Array, adjusted
from .baseline import Baseline, count_intervals, find_baseline
from .departure import Departures, departures
from .series import Series, Subject, read_rows, series_of, subjects

FALSE_ALARM = 0.05
"""Share of the times at which nothing is different that have a line of a metric."""
LARGE = 0.10
"""A departure is listed from this share of the usual value on."""
PART = 0.02
"""A departure of an object is listed from this share of the usual value of all objects on."""
MOST_OBJECTS = 3
"""Contributors named for a metric."""
NEAR = timedelta(minutes=10)
"""Events from this time before the span on are listed."""
MOST_SCORE = 50.0
MOST_DOUBLINGS = 5.0
GRAVE = {"IPL": 100.0, "clock": 80.0, "data loss": 80.0, "gap": 80.0}
"""Weight of events by kind; others have ORDINARY."""
ORDINARY = 20.0
SEVERE = {"critical": 90.0, "warning": 70.0, "info": 30.0}
"""Weight of exceptions that began after the baseline did; a quarter of it if they began before."""


@dataclass(frozen=True, slots=True)
class Contributor:
    """An object that explains a part of a departure.

    Attributes:
        change: of its own value, in `unit`. share: of the changes of all objects, 0..1, of those
            in the same direction.
    """

    noun: str
    object: str
    change: float
    unit: str
    share: float


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was different, or stood near.

    Attributes:
        kind: metric, object, event or exception.
        weight: 0..100, by which lines are ordered.
        object: the object, or the system.
        what: title of the metric or rule, or text of the event. name: of either, or kind of event.
        value, usual, low, high: in `unit`; None for events.
        score: departure in standard errors; None if the baseline never varied.
        p_adjusted: adjusted for the number of metrics; None if it has too few values.
        proven: whether it is significant. Large departures that are not are listed if a run is the
            baseline, as in the comparison of runs.
        first, last: of an exception or event, UTC.
        contributors: greatest first.
    """

    kind: str
    weight: float
    object: str
    what: str
    name: str
    unit: str = ""
    value: float | None = None
    usual: float | None = None
    low: float | None = None
    high: float | None = None
    score: float | None = None
    p_adjusted: float | None = None
    proven: bool = True
    first: datetime | None = None
    last: datetime | None = None
    contributors: tuple[Contributor, ...] = ()
    metric: Metric | None = None

    @property
    def change_percent(self) -> float | None:
        """Change from the usual value in percent of it; None if that is 0 or unknown."""
        if self.value is None or not self.usual:
            return None
        return 100 * (self.value - self.usual) / abs(self.usual)


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was different in a span.

    Attributes:
        span: begin and end, UTC. intervals: number of intervals in span and baseline.
        lines: by weight, all of them. looked_at: number of series that were judged.
        notes: what could not be looked at, and how to read the lines.
    """

    system: str
    run_id: str | None
    span: Scope
    intervals: tuple[int, int]
    baseline: Baseline | None
    lines: tuple[Line, ...]
    looked_at: int
    notes: tuple[str, ...]


def explain(  # noqa: PLR0913 - each is an option of the command
    con: duckdb.DuckDBPyConnection,
    *,
    run: str | None = None,
    system: str | None = None,
    moment: datetime | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    base: str | None = None,
    against: str = "auto",
    zone: ZoneInfo = UTC_ZONE,
    settings: Settings | None = None,
) -> Explanation:
    """Explain what was different in an interval or a span.

    Args:
        con: a connection on which the reductions are views.
        run: by default its steady state is the span, and its base run the baseline.
        system: required if the store has several systems and no run is given.
        moment: the interval that it falls into is the span. since, until: bounds of a span.
            Times without zone are UTC.
        base: the run whose steady state is the baseline.
        against: `before` for the time before the span, `days` for the same hours of other days,
            `auto` for the latter if there are FEWEST_DAYS of them.
        zone: the zone whose hours these are.

    Raises:
        CpmonError: a name is unknown, or no interval is in the span.
    """
    point(con, ALL)
    system, window, named = _window(con, run, system)
    whole = moment is None and since is None and until is None
    span = _span(con, window, utc(moment), utc(since), utc(until))
    base = base or (named if whole and named != run else None)
    baseline = find_baseline(con, span, base, against, zone)
    judged, tested, unjudged = _judged(con, span, baseline) if baseline else ([], 0, [])
    nearby, remarks = _exceptions(con, span, baseline, settings)
    lines = [*judged, *nearby, *_events(con, span, baseline)]
    counts = (
        count_intervals(con, span),
        count_intervals(con, baseline.scope, baseline.condition) if baseline else 0,
    )
    notes = (*_span_notes(con, span, counts, baseline), *unjudged, *remarks)
    lines.sort(key=lambda line: (-line.weight, line.kind, line.what, line.object))
    return Explanation(system, run, span, counts, baseline, tuple(lines), tested, notes)


def _window(
    con: duckdb.DuckDBPyConnection, run: str | None, system: str | None
) -> tuple[str, Scope, str | None]:
    """System, window of the run or of all, and base run of the run."""
    if run is None:
        system = whole_span(con, system=system).system
        return system, Scope(system), None
    run_window(con, run, system)
    ((measured, since, until, base),) = con.execute(
        "SELECT system, steady_since, steady_until, base_run_id FROM meta.run WHERE run_id = ?",
        [run],
    ).fetchall()
    return measured, Scope(measured, *bounds_of_ends(since, until)), base


def _span(
    con: duckdb.DuckDBPyConnection,
    window: Scope,
    moment: datetime | None,
    since: datetime | None,
    until: datetime | None,
) -> Scope:
    begin = max(filter(None, (window.since, since)), default=None)
    end = min(filter(None, (window.until, until)), default=None)
    scope = Scope(window.system, begin, end)
    condition = scope.condition()
    if moment is not None:
        condition += f" AND interval_end >= TIMESTAMP '{moment}'"
    first, last = "min(interval_end)", "min(interval_end)" if moment else "max(interval_end)"
    ((first_end, last_end),) = con.execute(
        f"SELECT {first}, {last} FROM meta.interval WHERE {condition}"
    ).fetchall()
    if first_end is None:
        ((low, high),) = con.execute(
            "SELECT min(interval_end), max(interval_end) FROM meta.interval"
            f" WHERE {window.condition()}"
        ).fetchall()
        raise CpmonError(
            "no interval is at that time",
            expected=f"a time between {low} and {high} UTC",
            found=f"{moment or begin} to {end or 'the end'}" if not moment else f"{moment}",
        )
    ((before, length),) = con.execute(
        "SELECT (SELECT max(interval_end) FROM meta.interval WHERE system = $1"
        " AND interval_end < $2), (SELECT median(seconds) FROM meta.interval WHERE system = $1)",
        [window.system, first_end],
    ).fetchall()
    usual = timedelta(seconds=float(length or 60))
    starts = before if before and (moment or first_end - before < 2 * usual) else first_end - usual
    return Scope(window.system, max(starts, begin) if begin and not moment else starts, last_end)


@dataclass(frozen=True, slots=True)
class _Sides:
    """A subject: its departures by metric, and its changes of each object."""

    subject: Subject
    objects: tuple[str, ...]
    departures: Mapping[str, Departures]
    changes: Mapping[str, Array]


def _judged(
    con: duckdb.DuckDBPyConnection, span: Scope, baseline: Baseline
) -> tuple[list[Line], int, list[str]]:
    """Lines of metrics, number of series that were judged, and notes on what could not be."""
    sides, empty = [], []
    for base, seen in _read(con, span, baseline):
        if base.times.size and seen.times.size:
            sides.append(_sides(base, seen, trend=baseline.trend))
        else:
            empty.append(base.subject.view)
    lines, tested = list[Line](), 0
    for is_of_objects in (False, True):
        family = [side for side in sides if bool(side.subject.noun) is is_of_objects]
        found, count = _family_lines(family, sides, unproven=not baseline.by_time)
        lines += found
        tested += count
    shown, hidden = _shown(lines)
    return shown, tested, [*hidden, *_unseen(sides, empty)]


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


def _sides(base: Series, seen: Series, *, trend: bool) -> _Sides:
    objects = tuple(sorted({*base.objects, *seen.objects}))
    found, changes, times = {}, {}, (base.times, seen.times)
    for metric in base.subject.metrics:
        before, after = (side.of_objects(metric.name, objects) for side in (base, seen))
        found[metric.name] = judged = departures(before, after, times, trend=trend)
        # An object without rows used nothing; what one with rows but no value used is not known.
        used, usual = (
            np.where(np.isin(objects, side.objects), amount, 0.0)
            for side, amount in ((seen, judged.value), (base, judged.usual))
        )
        changes[metric.name] = np.nan_to_num(used - usual)
    return _Sides(base.subject, objects, found, changes)


def _family_lines(
    family: Sequence[_Sides], sides: Sequence[_Sides], *, unproven: bool
) -> tuple[list[Line], int]:
    """The lines of a family of tests, and their number; large departures also if `unproven`."""
    places = [
        (side, metric, int(n))
        for side in family
        for metric in side.subject.metrics
        for n in np.flatnonzero(~np.isnan(side.departures[metric.name].value))
    ]
    p_values = np.array([side.departures[metric.name].p[n] for side, metric, n in places])
    is_tested = ~np.isnan(p_values)
    p_values[is_tested] = adjusted(list(p_values[is_tested]))
    is_proven = p_values <= FALSE_ALARM / 2
    lines = [
        _line(*places[n], float(p_values[n]), sides)
        for n in np.flatnonzero(is_proven | unproven)
        if _is_large(*places[n])
    ]
    return lines, int(is_tested.sum())


def _is_large(side: _Sides, metric: Metric, n: int) -> bool:
    """Whether a departure is outside of the range, and matters."""
    judged = side.departures[metric.name]
    gap = abs(float(judged.value[n] - judged.usual[n]))
    if not judged.outside[n] or gap < LARGE * abs(judged.usual[n]):
        return False
    is_sum = side.subject.noun and metric.unit != "ms"
    return not is_sum or gap >= PART * float(np.nansum(np.abs(judged.usual)))


def _line(side: _Sides, metric: Metric, n: int, p: float, sides: Sequence[_Sides]) -> Line:
    judged = side.departures[metric.name]
    usual, value, score = (float(a[n]) for a in (judged.usual, judged.value, judged.score))
    doublings = MOST_DOUBLINGS
    if usual > 0 and value > 0:
        doublings = min(abs(math.log2(value / usual)), MOST_DOUBLINGS)
    size = min(abs(score), MOST_SCORE)
    is_proven = p <= FALSE_ALARM / 2
    weight = 100 * size / (size + 5) if is_proven else 50.0
    noun = side.subject.noun
    return Line(
        kind="object" if noun else "metric",
        weight=weight * doublings / (doublings + 1),
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
        proven=is_proven,
        contributors=() if noun else tuple(_contributors(metric, value - usual, sides)),
        metric=metric,
    )


def _contributors(metric: Metric, change: float, sides: Sequence[_Sides]) -> Iterator[Contributor]:
    """The objects that changed most in the direction of a metric."""
    for side in sides:
        name = side.subject.explains.get(metric.name)
        if name is None:
            continue
        (own,) = (m for m in side.subject.metrics if m.name == name)
        along = np.maximum(side.changes[name] * np.sign(change), 0.0)
        total = float(along.sum())
        for n in np.argsort(-along, kind="stable")[:MOST_OBJECTS]:
            if total and along[n] / total >= LARGE:
                change_of = float(side.changes[name][n])
                share = float(along[n]) / total
                yield Contributor(side.subject.noun, side.objects[n], change_of, own.unit, share)


def _shown(lines: Sequence[Line]) -> tuple[list[Line], list[str]]:
    """The heaviest line of each object, MOST_OBJECTS of a metric, and notes on those left out.

    An object that a heavier line names as a contributor has no line of its own.
    """
    named: dict[str, float] = {}
    for line in lines:
        for each in line.contributors:
            key = f"{each.noun} {each.object}"
            named[key] = max(named.get(key, 0.0), line.weight)
    best: dict[str, Line] = {}
    for line in sorted(lines, key=lambda line: -line.weight):
        if line.kind == "object" and named.get(line.object, -1.0) >= line.weight:
            continue
        best.setdefault(line.object if line.kind == "object" else line.name, line)
    by_metric: defaultdict[tuple[str, str], list[Line]] = defaultdict(list)
    for line in best.values():
        by_metric[line.object.split()[0], line.what].append(line)
    shown = [line for group in by_metric.values() for line in group[:MOST_OBJECTS]]
    return shown, [
        f"{what}: {counted(len(group) - MOST_OBJECTS, 'other ' + noun)} left the range, too."
        for (noun, what), group in by_metric.items()
        if len(group) > MOST_OBJECTS
    ]


def _unseen(sides: Sequence[_Sides], empty: Sequence[str]) -> Iterator[str]:
    if empty:
        yield f"Not looked at, for lack of records: {', '.join(empty)}."
    blank = [
        metric.title
        for side in sides
        for metric in side.subject.metrics
        if np.isnan(side.departures[metric.name].p).all()
    ]
    if blank:
        titles = ", ".join(dict.fromkeys(blank))
        yield f"Not looked at, without values in span or baseline: {titles}."
    for side in sides:
        p = np.array([side.departures[m.name].p for m in side.subject.metrics])
        absent = int(np.isnan(p).all(axis=0).sum())
        if side.subject.noun and absent:
            noun = counted(absent, side.subject.noun)
            yield f"{noun} without values in span or baseline: not compared."


def _exceptions(
    con: duckdb.DuckDBPyConnection,
    span: Scope,
    baseline: Baseline | None,
    settings: Settings | None,
) -> tuple[list[Line], list[str]]:
    """Episodes that last into the span, and rules that could not be judged."""
    found = exceptions(
        con, system=span.system, since=span.since, until=span.until, settings=settings
    )
    before = baseline.scope.since if baseline and baseline.trend else None
    lines = []
    for row in found.table.to_pylist():
        is_old = before is not None and row["first_interval"] < before
        # That the system was not measured between two runs is no news.
        is_old |= row["rule"] == "monitor-gap" and not (baseline is None or baseline.by_time)
        weight = SEVERE[row["severity"]] * (0.25 if is_old else 1.0)
        lines.append(
            Line(
                kind="exception",
                weight=weight,
                object=row["object"],
                what=row["title"],
                name=row["rule"],
                unit=row["unit"] or "",
                value=row["value"],
                first=row["first_interval"],
                last=row["last_interval"],
            )
        )
    names = [rule.id for rule, _ in found.unseen]
    return lines, [
        f"Exceptions not judged, for lack of records: {', '.join(names)}."
    ] if names else []


def _events(con: duckdb.DuckDBPyConnection, span: Scope, baseline: Baseline | None) -> list[Line]:
    """Events in the span or shortly before it; those of a kind make one line."""
    assert span.since
    near = Scope(span.system, span.since - NEAR, span.until)
    # That the system was loaded and not measured between two runs is no news.
    grave = GRAVE if baseline is None or baseline.by_time else {}
    point(con, near)
    rows = con.execute(
        "SELECT kind, count(*), min(event_at), max(event_at), arg_min(object, event_at),"
        " arg_min(event_text, event_at) FROM events"
        f" WHERE {near.condition('event_at')} GROUP BY kind ORDER BY kind"
    ).fetchall()
    lines = []
    for kind, count, first, last, where, text in rows:
        more = f"; {count - 1} more of {kind}" if count > 1 else ""
        weight = grave.get(kind, ORDINARY)
        lines.append(
            Line("event", weight, where, f"{kind}: {text}{more}", kind, first=first, last=last)
        )
    return lines


def _span_notes(
    con: duckdb.DuckDBPyConnection, span: Scope, counts: tuple[int, int], baseline: Baseline | None
) -> Iterator[str]:
    if baseline is None:
        yield "Metrics were not compared: there is no time to compare with; name a run with --base."
    elif counts[1] < FEWEST:
        yield (
            f"The baseline has {counted(counts[1], 'interval')}: too few to see whether successive"
            " ones resemble each other; they count as independent."
        )
    for what, scope, condition in (
        ("span", span, "true"),
        *((("baseline", baseline.scope, baseline.condition),) if baseline else ()),
    ):
        ((doubtful,),) = con.execute(
            f"SELECT count(*) FROM meta.interval WHERE {scope.condition()} AND {condition}"
            " AND previous_end IS NULL AND (gap OR restart OR clock_set)"
        ).fetchall()
        if doubtful:
            yield (
                f"{counted(doubtful, 'interval')} of the {what} left out, behind a gap, an IPL or a"
                " clock that was set."
            )
