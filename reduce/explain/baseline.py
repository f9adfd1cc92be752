"""What a time is compared with to explain it: a run, the time before, the same hours of days."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta
from zoneinfo import ZoneInfo

import duckdb

from ...core.grace_period import bounds_of_ends
from ...core.text import counted
from ...store.sql.scope import Scope
from ..reports.report_sql import run_window
from ..statistics import FEWEST
from .departure import LEAST

BEFORE = timedelta(hours=3)
"""Baseline before the span; at least four times the span."""
APART = {
    timedelta(hours=1): "the time up to an hour before it",
    timedelta(minutes=15): "the time up to a quarter of an hour before it",
    timedelta(minutes=5): "the time up to five minutes before it",
    timedelta(0): "the time before it",
}
"""Time between this baseline and the span: what began within it is not usual yet."""
LONG = timedelta(hours=23)
"""A longer span is compared with the same time a week before."""
WEEK = timedelta(days=7)
DAYS = 14
"""Days before the span whose same hours are a baseline."""
FEWEST_DAYS = 5
AROUND = timedelta(minutes=30)
"""Of the same hours of other days, a short span takes these minutes before and behind it too."""


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a span is compared with.

    Attributes:
        scope: its stretch of time. text: how it is named.
        condition: further condition on its intervals, as SQL.
        trend: whether the span follows it directly. by_time: whether it is no named run.
        shift: seconds from a time in it to that of the span that it is paired with; None if they
            do not have the same course.
    """

    scope: Scope
    text: str
    condition: str = "true"
    trend: bool = False
    by_time: bool = True
    shift: float | None = None


def find_baseline(
    con: duckdb.DuckDBPyConnection, span: Scope, base: str | None, against: str, zone: ZoneInfo
) -> Baseline | None:
    """The baseline of a span, None if there is none; other arguments are those of `explain`."""
    assert span.since and span.until
    if base is not None:
        system, _, _ = run_window(con, base, None)
        ((since, until),) = con.execute(
            "SELECT steady_since, steady_until FROM meta.run WHERE run_id = ?", [base]
        ).fetchall()
        scope = Scope(system, *bounds_of_ends(since, until))
        assert scope.since
        shift = (span.since - scope.since).total_seconds()
        return Baseline(scope, f"run {base}", by_time=False, shift=shift)
    if against != "before":
        is_long = span.until - span.since > LONG
        found = _weeks_before(con, span) if is_long else _other_days(con, span, zone, against)
        if found:
            return found
    if against == "days":
        return None
    length = max(BEFORE, 4 * (span.until - span.since))
    for apart, text in APART.items():
        scope = Scope(span.system, span.since - apart - length, span.since - apart)
        # A course is not prolonged by more than half of what is known of it.
        old = Scope(span.system, scope.since, span.since - 3 * apart)
        if count_intervals(con, scope) >= FEWEST and count_intervals(con, old):
            return Baseline(scope, text, trend=True)
    return Baseline(scope, text, trend=True) if count_intervals(con, scope) >= LEAST else None


def _weeks_before(con: duckdb.DuckDBPyConnection, span: Scope) -> Baseline | None:
    """The same time a week before, or as many weeks as the span needs, if it was measured."""
    assert span.since and span.until
    weeks = -(-(span.until - span.since) // WEEK)
    shift = weeks * WEEK
    scope = Scope(span.system, *bounds_of_ends(span.since - shift, span.until - shift))
    if count_intervals(con, scope) < FEWEST:
        return None
    text = f"the same time {'a week' if weeks == 1 else counted(weeks, 'week')} before"
    return Baseline(scope, text, shift=shift.total_seconds())


def _other_days(
    con: duckdb.DuckDBPyConnection, span: Scope, zone: ZoneInfo, against: str
) -> Baseline | None:
    """The same hours of the days before, if there are enough of them."""
    assert span.since and span.until
    length = span.until - span.since
    around = AROUND if length < 2 * AROUND else timedelta(0)
    begin, width = span.since - around, length + 2 * around
    local = begin.replace(tzinfo=UTC).astimezone(zone)  # the same time of the day of the zone
    before = (local - timedelta(days=days) for days in range(DAYS, 0, -1))
    begins = [moment.astimezone(UTC).replace(tzinfo=None) for moment in before]
    scope = Scope(span.system, begins[0], begins[-1] + width)
    hours = [Scope(None, each, each + width).condition() for each in begins]
    # Which of the hours an interval lies in: a day of the zone may have two dates.
    number = " ".join(f"WHEN {condition} THEN {n}" for n, condition in enumerate(hours))
    ((days,),) = con.execute(
        f"SELECT count(DISTINCT CASE {number} END) FROM meta.interval WHERE {scope.condition()}"
    ).fetchall()
    if days < (1 if against == "days" else FEWEST_DAYS):
        return None
    condition = f"({' OR '.join(hours)})"
    return Baseline(scope, f"the same hours of {counted(days, 'day')} before", condition)


def count_intervals(con: duckdb.DuckDBPyConnection, scope: Scope, condition: str = "true") -> int:
    """Number of intervals of a stretch of time, as far as a condition holds."""
    ((count,),) = con.execute(
        "SELECT count(DISTINCT interval_end) FROM meta.interval"
        f" WHERE {scope.condition()} AND {condition}"
    ).fetchall()
    return int(count)
