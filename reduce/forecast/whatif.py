"""What the hours of a week were like with more, fewer or busier guests.

The hours that were measured are taken again, each with what a guest or a class used in the same
hour added or taken away. Nothing is modelled: what comes out is what would have been asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from ...config import Settings
from ...config.moments import find_zone
from ...core.errors import CpmonError, NothingToReportError, nearest, unknown, unknown_of_many
from ...core.text import counted
from ...render.printing import Format, Style
from ...store.connection import Connection, point
from ...store.sql.scope import Scope
from ..metrics.metric import TIME, ReportColumn
from ..metrics.report_set import Lines, Report
from ..reports.cells import utc
from ..reports.narrowing import objects_of
from ..reports.report import ReportResult, whole_span
from ..reports.report_names import find_report
from ..reports.report_sql import Span
from .forecast import BAND, WEEKDAYS, Threshold, day_met, threshold_of
from .hours import MetricHours, is_total, kept_hours, not_reduced
from .trend import DAY_HOURS, FEWEST_OF_AN_HOUR, MONDAY, WEEK_HOURS, Floats, Ints

USERS = "USER_RESOURCE_UTIL"
AHEAD = timedelta(days=365)
"""How far the trend is followed."""
QUEUES = 0.8
"""Busy share from which on waiting grows much faster than the load."""
SAME_S = 1.0
"""Seconds by which the records of a user may cover less of an hour than those of the system."""
ROUNDING = 0.01
"""Part of the greatest value by which more may be taken away than there is: records of users and
processors are not of the same microsecond."""
ENOUGH_WEEKS = 20
"""Fewest weeks of which the 5 % quantile is not next to the least value."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is added: `factor` times what a user or the users of a class use.

    Attributes:
        option: `user` or `class`. name: of it. text: what it is, for people.
    """

    factor: float
    option: str
    name: str
    text: str

    @classmethod
    def guests(cls, count: int, like: str) -> Change:
        """So many guests more, or fewer if negative, each like a user."""
        more = "more" if count > 0 else "fewer"
        return cls(count, "user", like, f"{counted(abs(count), 'guest')} {more} like {like}")

    @classmethod
    def scaled(cls, name: str, factor: float) -> Change:
        """A class that uses `factor` times as much."""
        return cls(factor - 1, "class", name, f"class {name} times {factor:g}")


@dataclass(frozen=True, slots=True)
class Need:
    """A metric of a system, and that of users which it is the sum of.

    Attributes:
        metric, report: of the system. use, use_report: of users; the same as those by default.
        per: column of the system that a use is divided by.
    """

    metric: str
    report: str = USERS
    use: str = ""
    use_report: str = USERS
    per: str = ""


NEEDS = (
    Need("total_util", "PROCESSORS_BY_TIME", "system_util"),
    Need("dasd_page_rate", "SYSTEM_SUMMARY_BY_TIME", "page_rate"),
    Need("page_used_share", "AUX_STORAGE_BY_TIME", "dasd_pages", "USER_PAGING", "page_slots"),
    Need("overcommit", "STORAGE_BY_TIME", "storage_mib", per="real_mib"),
    Need("working_set_pages"),
    Need("resident_pages"),
    Need("dasd_io_rate"),
)
"""Processors, paging, page space, storage and I/Os, in the order of lines."""
RESIDENT = ("working_set_pages", "resident_pages")
SHARES = ("total_util", "page_used_share")
"""Metrics of which there is no more than all."""


@dataclass(frozen=True, slots=True)
class Week:
    """The hours of a system and a change in them; values in the scale of the views.

    Attributes:
        need, column, limit: what it is of. base: the hours of the system.
        then: (n,) values with the change, of the hours in which both are known.
        names: hours of the week with enough values, counted from Monday 00:00.
        now_by_hour, then_by_hour: (weeks, names) values of these; NaN: unknown.
        lost: hours of the system in which the use is not known.
        met_on: the day by which the trend alone has met the limit. why: why that is not known.
    """

    need: Need
    column: ReportColumn
    limit: Threshold | None
    base: MetricHours
    then: Floats
    names: Ints
    now_by_hour: Floats
    then_by_hour: Floats
    lost: int
    met_on: date | None
    why: str


def what_if(
    con: Connection,
    change: Change,
    *,
    system: str | None = None,
    since: datetime | None = None,
    zone: str | None = None,
    thresholds: Mapping[str, float] | None = None,
    settings: Settings | None = None,
) -> ReportResult:
    """Add a change to the hours of the week of a system.

    Args:
        con: a connection on which the reductions are views.
        system: required if the store has several.
        since: hours before are not used. UTC if without zone.
        zone: of days and hours of the week; default from the settings.
        thresholds: metric -> limit in its printed unit; by default those of rules of exceptions.

    Raises:
        NothingToReportError: no hours are kept, or too few of them are known of both.
        CpmonError: a name is unknown, or more would be taken away than there is.
    """
    site, given = settings or Settings(), thresholds or {}
    for name in given.keys() - {need.metric for need in NEEDS}:
        raise unknown("metric with a threshold", name, [need.metric for need in NEEDS])
    span = replace(whole_span(con, None, system), since=utc(since))
    local = find_zone(zone or site.zone(span.system))
    point(con, Scope(span.system, span.since, None))
    _check_name(con, change, span)
    weeks: list[Week] = []
    missing: list[tuple[str, NothingToReportError]] = []
    for need in NEEDS:
        try:
            weeks.append(_week(con, need, change, span, local, given.get(need.metric), site))
        except NothingToReportError as error:
            missing.append((need.metric, error))
    if not weeks:
        raise missing[0][1]
    tables = [week.base.table for week in weeks]
    return ReportResult(
        report=Report("WHATIF", change.text, "users_by_time", COLUMNS, keys=("metric",)),
        system=span.system,
        run_id=None,
        starts=min(table["begins"][0].as_py() for table in tables),
        ends=max(table["ends"][-1].as_py() for table in tables),
        intervals=max(int(np.sum(table["intervals"].to_numpy())) for table in tables),
        lines=Lines.OBJECT,
        table=pa.Table.from_pylist([_line(week) for week in weeks], SCHEMA),
        mean={},
        total={},
        notes=(*_notes(weeks, change), *_left_out(weeks, missing, change)),
        zone=local,
    )


def _check_name(con: Connection, change: Change, span: Span) -> None:
    """Check that hours of users are kept, and that there is such a user or class."""
    definition = find_report(USERS)
    not_reduced(con, definition, span)
    if change.option == "class":
        objects_of(con, definition, {"class": change.name})
        return
    rows = con.execute(
        f'SELECT DISTINCT userid FROM rollup."{definition.reduction}" WHERE system = ?',
        [span.system],
    ).fetchall()
    names = {str(name) for (name,) in rows}
    if change.name not in names:
        look = f"cpmon report {USERS} --system {span.system} lists them"
        raise unknown_of_many("user", change.name, nearest(change.name, names), look)


def _week(
    con: Connection,
    need: Need,
    change: Change,
    span: Span,
    zone: ZoneInfo,
    given: float | None,
    settings: Settings,
) -> Week:
    """The hours of a metric with the change in them."""
    base = _kept(con, need.report, need.metric, span, zone, per=need.per)
    of_users = find_report(need.use_report)
    whose = replace(span, objects=objects_of(con, of_users, {change.option: change.name}))
    use = _kept(con, need.use_report, need.use or need.metric, whose, zone, is_of_users=True)
    mine, theirs = base.table, use.table
    first, second = (table[TIME].cast(pa.int64()).to_numpy() for table in (mine, theirs))
    _, at, of = np.intersect1d(first, second, assume_unique=True, return_indices=True)
    added = change.factor * use.values[of]
    if need.per:
        added = added / mine["per"].to_numpy(zero_copy_only=False)[at]
    # Somebody was logged on all the time: what is per second is per second of the hour.
    there = theirs["seconds"].to_numpy()[of] >= mine["seconds"].to_numpy()[at] - SAME_S
    known = there & np.isfinite(added)
    at, added = at[known], added[known]
    hours, now = base.hours[at], base.values[at]
    then = now + added
    if beyond := int((then < -ROUNDING * now.max(initial=0.0)).sum()):
        raise CpmonError(
            f"more {need.metric} would be taken away than there is",
            code="whatif-more-than-all",
            expected=f"no more than all that {span.system} uses, in each hour",
            found=f"{change.text}: less than nothing in {counted(beyond, 'hour')}",
            effect="nothing is printed",
            remedy="take fewer away",
        )
    then = np.maximum(then, 0.0)
    names, (now_by_hour, then_by_hour) = _by_hour(hours, now, then)
    if not len(names):
        raise NothingToReportError(
            f"too few hours are known of both {span.system} and {change.name}",
            code="whatif-hours-too-few",
            expected=f"an hour of the week that both are known of in {FEWEST_OF_AN_HOUR} weeks",
            found=f"{counted(len(hours), 'hour')} that both are known of",
            effect="nothing is added: one week says little about the next",
            remedy="land and reduce the dumps of more weeks, or name what was there longer",
        )
    limit = threshold_of(given, base.definition, base.column, settings)
    met_on, why = None, ""
    if limit is not None:
        try:
            met_on = day_met(base, limit, AHEAD)
        except NothingToReportError as error:
            why = f"{error.problem} (found {error.found})"
    lost = len(base.hours) - len(hours)
    return Week(
        need, base.column, limit, base, then, names, now_by_hour, then_by_hour, lost, met_on, why
    )


def _kept(
    con: Connection,
    report: str,
    metric: str,
    span: Span,
    zone: ZoneInfo,
    *,
    per: str = "",
    is_of_users: bool = False,
) -> MetricHours:
    definition = find_report(report)
    (column,) = (each for each in definition.columns if each.name == metric)
    total = is_of_users or is_total(definition, column)
    return kept_hours(con, definition, column, span, zone, is_total=total, per=per)


def _by_hour(hours: Ints, *values: Floats) -> tuple[Ints, list[Floats]]:
    """The hours of the week with enough values, and their values by week; NaN: unknown."""
    group, week = (hours + MONDAY) % WEEK_HOURS, (hours + MONDAY) // WEEK_HOURS
    names = np.flatnonzero(np.bincount(group, minlength=WEEK_HOURS) >= FEWEST_OF_AN_HOUR)
    _, row = np.unique(week, return_inverse=True)
    blocks = []
    for each in values:
        block = np.full((row.max(initial=0) + 1, WEEK_HOURS), np.nan)
        block[row, group] = each
        blocks.append(block[:, names])
    return names, blocks


_FIGURE = Format(style=Style.KEPT)
COLUMNS = (
    ReportColumn("metric", "Metric", width=17),
    ReportColumn("unit", "Unit", width=5),
    ReportColumn("hours", "Hours|known", width=5),
    ReportColumn("mean", "Mean", width=6, form=_FIGURE),
    ReportColumn("mean_then", "Mean|then", width=6, form=_FIGURE),
    ReportColumn("peak", "Busiest", width=7, form=_FIGURE),
    ReportColumn("peak_then", "Busiest|then", width=7, form=_FIGURE),
    ReportColumn("peak_low", "Then|5 %", width=6, form=_FIGURE),
    ReportColumn("peak_high", "Then|95 %", width=6, form=_FIGURE),
    ReportColumn("peak_hour", "In the|hour from", width=9),
    ReportColumn("threshold", "Limit", width=5, form=_FIGURE),
    ReportColumn("met", "Hours|beyond", "%", 6, Format(1), 100),
    ReportColumn("trend_met", "Met by|trend alone", width=10),
)
_TEXTS = ("metric", "unit", "peak_hour", "trend_met")
_TYPES = {**dict.fromkeys(_TEXTS, pa.string()), "hours": pa.int64()}
SCHEMA = pa.schema([(each.name, _TYPES.get(each.name, pa.float64())) for each in COLUMNS])


def _line(week: Week) -> dict[str, object]:
    """A line, in the printed unit of its metric."""
    scale, limit = week.column.scale, week.limit
    busiest = _busiest(week)
    low, middle, high = np.nanquantile(week.then_by_hour[:, busiest], BAND) * scale
    name = int(week.names[busiest])
    now, then = (
        np.nanmean(each, axis=0).mean() * scale for each in (week.now_by_hour, week.then_by_hour)
    )
    return {
        "metric": week.need.metric,
        "unit": week.column.unit,
        "hours": len(week.then),
        "mean": now,
        "mean_then": then,
        "peak": np.nanmedian(week.now_by_hour, axis=0).max() * scale,
        "peak_then": middle,
        "peak_low": low,
        "peak_high": high,
        "peak_hour": f"{WEEKDAYS[name // DAY_HOURS][:3]} {name % DAY_HOURS:02d}:00",
        "threshold": limit and limit.value * scale,
        "met": limit and (week.then >= limit.value).mean(),
        "trend_met": week.met_on and str(week.met_on),
    }


def _busiest(week: Week) -> int:
    """The place in `names` of the hour of the week with the greatest median."""
    return int(np.argmax(np.nanmedian(week.then_by_hour, axis=0)))


def _notes(weeks: Sequence[Week], change: Change) -> Iterator[str]:
    """What the figures are, and what they cannot tell."""
    count = max(int(np.isfinite(week.then_by_hour).sum(axis=0).max()) for week in weeks)
    few = f"; of fewer than {ENOUGH_WEEKS} weeks these are near the least and the greatest value"
    yield (
        "Busiest: the hour of the week with the greatest median. 5 and 95 %: quantiles of its"
        f" values over up to {counted(count, 'week')}{few if count < ENOUGH_WEEKS else ''}."
    )
    yield (
        "All guests that are added are taken to be busy in the same hours. All weeks weigh alike,"
        " and growth is not added: where the load grew, leave the older ones out (--since)."
    )
    shown = {week.need.metric: week for week in weeks}
    busy = shown.get("total_util")
    if busy and float(np.nanquantile(busy.then_by_hour[:, _busiest(busy)], BAND[2])) >= QUEUES:
        yield (
            f"Processors get to {100 * QUEUES:.0f} % and more: from there on waiting is not linear,"
            " response times grow much faster than the load."
        )
    for name in (name for name in SHARES if name in shown):
        if beyond := int((shown[name].then > 1).sum()):
            yield (
                f"{name}: in {counted(beyond, 'hour')} more is asked for than there is; above 100 %"
                " is demand that would be met later or never."
            )
    if resident := [name for name in RESIDENT if name in shown]:
        yield (
            f"{' and '.join(resident)}: what {change.name} holds beside the others here, not what"
            " it would need; CP takes pages away where storage is short, which more paging shows."
        )
    if "dasd_io_rate" in shown:
        yield (
            "dasd_io_rate counts virtual I/Os of all users: how many of them reach a device, and"
            " which volumes, is not known of a user."
        )
    yield from _limits(weeks)


def _limits(weeks: Sequence[Week]) -> Iterator[str]:
    for week in weeks:
        if week.limit is None:
            continue
        text = f"{week.need.metric}: limit of {week.limit.name}"
        if week.why:
            yield f"{text}; trend not known: {week.why}."
        elif week.met_on is None:
            yield f"{text}; the trend alone does not meet it in {AHEAD.days} days."
        else:
            yield (
                f"{text}; by {week.met_on} the trend alone has met it in a busiest hour, with"
                f" probability 50 % (cpmon forecast {week.need.metric} --report"
                f" {week.need.report})."
            )
    if without := [week.need.metric for week in weeks if week.limit is None]:
        yield (
            f"No limit: no rule of exceptions limits {', '.join(without)}, and none was given"
            " (--threshold)."
        )


def _left_out(
    weeks: Sequence[Week], missing: Sequence[tuple[str, NothingToReportError]], change: Change
) -> Iterator[str]:
    """Which hours and metrics are not in the figures; the same of several metrics once."""
    reasons: dict[str, list[str]] = {}
    for week in weeks:
        parts = [week.base.left_out] if week.base.left_out else []
        if week.lost:
            parts.append(
                f"{counted(week.lost, 'hour')} in which {change.name} was not logged on or not"
                " known all the time"
            )
        if absent := WEEK_HOURS - len(week.names):
            parts.append(
                f"{counted(absent, 'hour')} of the week known fewer than {FEWEST_OF_AN_HOUR} times"
            )
        if parts:
            reasons.setdefault("; ".join(parts), []).append(week.need.metric)
    for text, names in reasons.items():
        whose = "" if len(names) == len(weeks) else f" ({', '.join(names)})"
        yield f"Left out{whose}: {text}."
    yield from dict.fromkeys(note for week in weeks for note in week.base.absent)
    problems: dict[str, list[str]] = {}
    for name, error in missing:
        found = f" ({error.found})" if error.found else ""
        problems.setdefault(f"{error.problem}{found}", []).append(name)
    for problem, names in problems.items():
        yield f"Not known: {', '.join(names)}: {problem}."
