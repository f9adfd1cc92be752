"""Explains a time: what was different from a baseline, who contributed, and what stood near."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import duckdb

from ...config import Settings
from ...core.errors import CpmonError
from ...core.grace_period import bounds_of_ends
from ...core.text import counted
from ...store.connection import point
from ...store.sql.scope import ALL, Scope
from ..reports.cells import UTC_ZONE, utc
from ..reports.report import whole_span
from ..reports.report_sql import run_window
from ..statistics import FEWEST
from .baseline import Baseline, count_intervals, find_baseline
from .judging import Worst, judge
from .line import Line
from .near import with_events, with_exceptions


@dataclass(frozen=True, slots=True)
class Explanation:
    """What was different in a span.

    Attributes:
        span: begin and end, UTC. intervals: number of intervals in span and baseline.
        worst: the interval with the greatest total utilization; None if none is known.
        lines: by weight, all of them. looked_at: number of series that were judged.
        notes: what could not be looked at, and how to read the lines.
    """

    system: str
    run_id: str | None
    span: Scope
    intervals: tuple[int, int]
    baseline: Baseline | None
    worst: Worst | None
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
    judged = judge(con, span, baseline)
    point(con, ALL)
    lines, remarks = with_exceptions(con, judged.lines, span, baseline, settings)
    lines = with_events(con, lines, span, baseline)
    point(con, ALL)
    counts = (
        count_intervals(con, span),
        count_intervals(con, baseline.scope, baseline.condition) if baseline else 0,
    )
    notes = (*_span_notes(con, span, counts, baseline), *judged.notes, *remarks)
    lines.sort(key=lambda line: (-line.weight, line.kind, line.what, line.object))
    return Explanation(
        system, run, span, counts, baseline, judged.worst, tuple(lines), judged.looked_at, notes
    )


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


def _span_notes(
    con: duckdb.DuckDBPyConnection, span: Scope, counts: tuple[int, int], baseline: Baseline | None
) -> Iterator[str]:
    if baseline is None:
        yield "Metrics were not compared: there is no time to compare with; name a run with --base."
    elif counts[1] < FEWEST:
        yield (
            f"The baseline has {counted(counts[1], 'interval')}: with fewer than {FEWEST} nothing"
            " is proven."
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
