"""Generates the SQL of a report: its lines and its mean line, from the sums of a reduction.

The sums come from intervals, or from the finest roll-ups that cover the span of the report.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb

from ...config.moments import LineLength, Shift
from ...core.errors import CpmonError, unknown
from ...core.grace_period import DAY, GRACE, bounds_of_ends, inside
from ...core.sql import name as quoted
from ...render.printing import Style
from ...store.connection import levels_of
from ..metrics.metric import FIGURES, TIME, WEIGHT, MetricKind, ReportColumn, latest_sql, weighted
from ..metrics.report_set import Lines, Report
from ..metrics.rollups import (
    HOUR,
    LEVEL,
    amount_of,
    bucket,
    hours,
    known_of,
    rollup_of,
    statistic_sql,
    sum_of,
    time_of,
)
from .cells import UTC_ZONE
from .narrowing import LINES, Objects, Sort, is_of_objects

COVERED, TIMED = "covered", "_timed"
MEAN, TOTAL, COVERAGE, DOUBTS = "_mean", "_total", "_coverage", "_doubts"
_LINE, _CONSUMED = "_line", "_consumed"
"""Columns of the query that no report prints: the time of a line, and what an object consumed."""
BEGIN, END, MEASURED = "_begin", "_end", "_measured"
"""Columns for programs: when a line begins and ends, and the seconds measured in it."""
ELAPSED = ("seconds", "system_seconds")
"""Elapsed times that all objects of an interval share: counted once for several objects."""
TIMES = ("seconds", "samples")
"""Ends of the names of times: an amount over one of them is consumed in it."""
BEFORE = GRACE + timedelta(milliseconds=1)
"""How much earlier than the span its first roll-up may begin: the begin is computed, and the
previous interval may have ended late."""


@dataclass(frozen=True, slots=True)
class LineSource:
    """The relation of a report: a reduction, or its roll-ups of a level and of a shift's hours."""

    relation: str
    level: str = ""
    shift: str = ""
    hours: str = ""

    @property
    def is_rolled(self) -> bool:
        """Whether the rows are roll-ups."""
        return bool(self.level)

    def where(self, span: Span) -> tuple[str, list[Any]]:
        """The SQL condition on its rows, and the values of its parameters."""
        if not self.is_rolled:
            return span.where()
        text, values = replace(span, since=None, until=None, shift=None).where()
        conditions = {
            "level = ?": self.level,
            "shift = ?": self.shift,
            "hours = ?": self.hours,
            "begins > ?": span.since and span.since - BEFORE,
            "ends <= ?": span.until,
        }
        given = {text: value for text, value in conditions.items() if value is not None}
        return " AND ".join([text, *given]), [*values, *given.values()]

    def coverage(self, *, timed: bool) -> str:
        """SQL: begin, end and intervals covered, and those without rates, if rows are `timed`."""
        begins, ends, intervals, measured = TIME, TIME, "1", "true"
        if self.is_rolled:  # an object that appeared later covers fewer intervals of the span
            begins, ends, intervals = "min(begins)", "max(ends)", "max(intervals)"
        elif timed:  # one of several objects may begin later than the others
            length = "to_microseconds(CAST(round(min(seconds) * 1e6) AS BIGINT))"
            begins, measured = f"{TIME} - {length}", "count(seconds) > 0"
        return f"""
            SELECT min(begins) FILTER (WHERE measured) AS starts,
              max(ends) FILTER (WHERE measured) AS ends,
              CAST(sum(intervals) FILTER (WHERE measured) AS BIGINT) AS intervals,
              count(*) FILTER (WHERE NOT measured) AS unmeasured
            FROM (
              SELECT {begins} AS begins, {ends} AS ends, {intervals} AS intervals,
                {measured} AS measured
              FROM {COVERED} GROUP BY {TIME})"""


@dataclass(frozen=True, slots=True)
class Span:
    """The rows of a reduction to read; `since` is exclusive, `until` inclusive, UTC without zone.

    They may be limited to a run, to intervals that end in the hours of a shift, and to objects.
    """

    system: str
    run_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    shift: Shift | None = None
    objects: tuple[Objects, ...] = ()

    def where(self) -> tuple[str, list[Any]]:
        """The SQL condition, and the values of its parameters."""
        conditions = {
            "system = ?": self.system,
            f"{TIME} > ?": self.since,
            f"{TIME} <= ?": self.until,
        }
        given = {text: value for text, value in conditions.items() if value is not None}
        texts, values = list(given), list(given.values())
        for objects in self.objects:
            text, more = objects.where()
            texts.append(text)
            values += more
        if self.shift is not None:
            text, more = shift_condition(self.shift, TIME)
            texts.append(text)
            values += more
        return " AND ".join(texts), values


@dataclass(frozen=True, slots=True)
class Asked:
    """The requested lines of a report and their order.

    Attributes:
        over_time: lines are times (for each object, if there are several), else objects.
        by: length of a line: the intervals that end within it, or within a month, are aggregated.
        zone: time zone that hours, days, weeks and months are aligned to.
        sort: the order; by default by time, or by the sort column of the report.
        top: maximum number of objects, over the whole span or in each line of time.
        each: `top` applies to each line of time.
        of_times: `top` is a number of lines of time, as there is one object, or none.
        where: SQL query over `LINES` with the lines that meet a condition on printed values.
    """

    over_time: bool
    by: LineLength | None = None
    zone: str = "UTC"
    sort: Sort | None = None
    top: int | None = None
    each: bool = False
    of_times: bool = False
    where: str = ""

    def order(self, report: Report) -> list[str]:
        """ORDER BY expressions over the lines."""
        keys = [quoted(key) for key in report.keys]
        greatest = [self.ranking(report).sql] if self.sort or report.sort else []
        if self.top and self.of_times:
            return [self.ranking(report).sql, _LINE, *keys]
        if self.over_time and (self.top or (is_of_objects(report) and not self.sort)):
            return [_LINE, *greatest, *keys]
        if self.sort or not (self.over_time or report.lines is Lines.ROW):
            return [*greatest, _LINE, *keys]
        return [_LINE, *keys]

    def ranking(self, report: Report) -> Sort:
        """The order that puts the top objects first.

        Unless another one is asked for, that is by what they consumed in the span, not by the share
        of the time in which they existed: who was there for a minute alone is no top user.
        """
        return self.sort or Sort(_CONSUMED if _consumed(report) else report.sort)


def lines_sql(
    report: Report, span: Span, source: LineSource, asked: Asked, of_all: Sequence[str] = ()
) -> tuple[str, list[Any]]:
    """SELECT of lines, with further expressions last, and the values of parameters."""
    where, values = source.where(span)
    shown, line, limit = [column.name for column in report.columns], TIME, ""
    if report.lines is not Lines.ROW:
        end = bucket(asked.by, asked.zone)
        shown = [_shown(column, report, end, source) for column in report.columns]
        line = end if asked.over_time else "NULL"
        groups = [*([end] if asked.over_time else []), *report.keys]
        where += " AND seconds IS NOT NULL"
        if asked.top and asked.over_time and not (asked.each or asked.of_times):
            where += f" AND {_among_greatest(report, source, asked, where)}"
            values = [*values, *values]
        where += f" GROUP BY {', '.join(groups)}"
    listed = {column.name for column in report.columns}
    hidden = [key for key in report.keys if key not in listed]
    shown = [*shown, *of_all, f"{line} AS {_LINE}", *hidden]
    if consumed := _consumed(report):
        shown.append(f"{_consumed_sql(consumed, source)} AS {_CONSUMED}")
        hidden.append(_CONSUMED)
    lines = f"SELECT {', '.join(shown)} FROM {source.relation} WHERE {where}"
    if asked.where:
        printed = ", ".join(filter(None, map(_printed, report.columns)))
        values_of = f"* REPLACE ({printed})" if printed else "*"
        rows = f"SELECT {values_of}, line AS _whole FROM ({lines}) AS line"
        lines = f"SELECT unnest(_whole) FROM (WITH {LINES} AS ({rows}) {asked.where})"
    order = asked.order(report)
    if asked.top and asked.each:
        ranking = ", ".join([asked.ranking(report).sql, *map(quoted, report.keys)])
        number = f"row_number() OVER (PARTITION BY {_LINE} ORDER BY {ranking})"
        limit = f" QUALIFY {number} <= {asked.top}"
    elif asked.top and (report.lines is Lines.ROW or not asked.over_time or asked.of_times):
        order[-1] += f" LIMIT {asked.top}"
    without = ", ".join([_LINE, *map(quoted, hidden)])
    return f"SELECT * EXCLUDE ({without}) FROM ({lines}){limit} ORDER BY {', '.join(order)}", values


def _printed(column: ReportColumn) -> str:
    """The value of a column as it is printed, in SQL; empty if it is printed as it is."""
    is_known_number = column.kind in FIGURES
    name, is_fixed = column.name, column.form.style is Style.FIXED and is_known_number
    if column.scale == 1 and not is_fixed:
        return ""
    value = f"{name} * {column.scale}"
    return f"{f'round({value}, {column.form.digits})' if is_fixed else value} AS {name}"


def _consumed(report: Report) -> ReportColumn | None:
    """The column that objects are ordered by, if it is an amount over a time."""
    for column in report.columns:
        if column.name == report.sort and column.kind is MetricKind.RATIO:
            return column if column.denominator.endswith(TIMES) else None
    return None


def _consumed_sql(column: ReportColumn, source: LineSource) -> str:
    """The sum of such a column, over the rows in which it is known."""
    amount, _ = _terms(column, rolled=source.is_rolled)
    return f"sum({amount})"


def _among_greatest(report: Report, source: LineSource, asked: Asked, where: str) -> str:
    """SQL condition: the row belongs to one of the top objects of the whole span."""
    keys, sort = ", ".join(map(quoted, report.keys)), asked.ranking(report)
    amounts = [  # none if it sorts by a key that it does not show
        f", {possible_sql(column, report, source)} AS {quoted(column.name)}"
        for column in report.columns
        if column.name == sort.column
    ]
    if (consumed := _consumed(report)) and sort.column == _CONSUMED:
        amounts = [f", {_consumed_sql(consumed, source)} AS {_CONSUMED}"]
    order = ", ".join([sort.sql, keys])
    greatest = (
        f"SELECT {keys}{''.join(amounts)} FROM {source.relation} WHERE {where} GROUP BY {keys}"
        f" ORDER BY {order} LIMIT {asked.top}"
    )
    same = f"struct_pack({', '.join(f'{quoted(key)} := {quoted(key)}' for key in report.keys)})"
    return f"{same} IN (SELECT {same} FROM ({greatest}))"  # NULL equals NULL within structs


def report_sql(
    report: Report, span: Span, source: LineSource, asked: Asked, *, doubted: bool
) -> tuple[str, list[Any]]:
    """The query of a report, and the values of its parameters.

    Each row is a line: the columns of the report, then values about all lines: the structs `MEAN`
    and `TOTAL` with the values of these lines, the struct `COVERAGE`, and the list of structs
    `DOUBTS` if rows are `doubted`. So the rows of a reduction, which may have to be computed, are
    queried once. Lines of time or objects have `BEGIN` and `MEASURED`, too.
    """
    where, values = source.where(span)
    of_rows = covered_sql(report, source, doubted=doubted)
    means = {
        c.name: possible_sql(c, report, source)
        for c in report.columns
        if c.kind not in (MetricKind.KEY, MetricKind.ELAPSED) and report.lines is not Lines.ROW
    }
    of_total = [column for column in report.columns if column.name in report.total]
    times = list(dict.fromkeys(filter(None, (_time_of_total(c, source) for c in of_total))))
    totals = {column.name: _total_sql(column, source, times) for column in of_total}
    of_all = [
        f"{_struct(means)} AS {MEAN}",
        f"{_struct(totals)} AS {TOTAL}",
        *of_rows,
    ]
    if report.lines is not Lines.ROW:
        begin = bucket(asked.by, asked.zone, begin=True)
        if source.is_rolled and asked.by is None:
            begin = "begins"
        of_all += [f"min({begin}) AS {BEGIN}", f"sum(seconds) AS {MEASURED}"]
    covered = replace(source, relation=COVERED)
    lines, shown = lines_sql(report, span, covered, asked, of_all)
    rows = f"SELECT * FROM {source.relation} WHERE {where}"
    steps = f"{COVERED} AS ({rows}){f', {TIMED} AS ({_times_sql(times)})' if times else ''}"
    return f"WITH {steps} {lines}", [*values, *shown]


def covered_sql(report: Report, source: LineSource, *, doubted: bool) -> list[str]:
    """The expressions `COVERAGE` and `DOUBTS` over the rows `COVERED` of a report."""
    if source.is_rolled:
        rollup = rollup_of(report.reduction)
        doubted = doubted and rollup is not None and rollup.has_doubts
    doubts = doubts_sql(COVERED, "sum(doubted)" if source.is_rolled else "count(*)")
    coverage = source.coverage(timed=report.lines is not Lines.ROW)
    return [
        f"(SELECT c FROM ({coverage}) AS c) AS {COVERAGE}",
        f"{f'(SELECT list(d) FROM ({doubts}) AS d)' if doubted else 'NULL'} AS {DOUBTS}",
    ]


def doubts_sql(rows: str, count: str = "count(*)", key: str = "") -> str:
    """SELECT of the kinds of doubts about rows, most frequent first, by a key if there is one.

    `rows` and `count`, the aggregate that counts them, are SQL.
    """
    columns = f"{key}, doubt" if key else "doubt"
    return f"""
        SELECT {columns}, CAST({count} AS BIGINT) AS n
        FROM (
          SELECT *, unnest(list_distinct(string_split(doubts, ', '))) AS doubt FROM {rows}
          WHERE doubts IS NOT NULL)
        GROUP BY {columns} ORDER BY n DESC, doubt"""


def _struct(values: Mapping[str, str]) -> str:
    """A struct of expressions over all rows, as SQL; NULL without any."""
    if not values:
        return "NULL"
    fields = ", ".join(f"{name} := {value}" for name, value in values.items())
    return f"(SELECT struct_pack({fields}) FROM {COVERED} WHERE seconds IS NOT NULL)"


def _time_of_total(column: ReportColumn, source: LineSource) -> str:
    """SQL: the time of a row that a total counts once an interval; empty if it counts none."""
    if column.kind is MetricKind.LEVEL:
        return _known_time(column, rolled=source.is_rolled)
    return _terms(column, rolled=source.is_rolled)[1] if column.denominator in ELAPSED else ""


def _times_sql(times: Sequence[str]) -> str:
    """SELECT of the sums of such times over all intervals, in one row."""
    longest = ", ".join(f"max({time}) AS time_{n}" for n, time in enumerate(times))
    sums = ", ".join(f"sum(time_{n}) AS time_{n}" for n, _ in enumerate(times))
    each = f"SELECT {longest} FROM {COVERED} WHERE seconds IS NOT NULL GROUP BY {TIME}"
    return f"SELECT {sums} FROM ({each})"


def _total_sql(column: ReportColumn, source: LineSource, times: Sequence[str]) -> str:
    """The expression of a column over the rows of all objects. `times`: those of the totals."""
    rolled, factor = source.is_rolled, column.factor
    if (time := _time_of_total(column, source)) not in times:
        return line_sql(column, rolled=rolled)
    if column.kind is MetricKind.LEVEL:
        amount, factor = sum_of(column.name) if rolled else weighted(column.name), 1.0
    else:
        amount, _ = _terms(column, rolled=rolled)
    elapsed = f"(SELECT time_{times.index(time)} FROM {TIMED})"
    return f"sum({amount}) * {factor!r} / nullif({elapsed}, 0)"


def _terms(column: ReportColumn, *, rolled: bool) -> tuple[str, str]:
    """Dividend and divisor of a ratio where both are known, in rows or in sums of roll-ups."""
    numerator, denominator = column.numerator, column.denominator
    if rolled:
        return amount_of(numerator, denominator), time_of(numerator, denominator)
    # Skip rows in which either is unknown, as in records of an older release.
    # For many columns DuckDB sums a CASE in less than half the time of a FILTER.
    summed, divided = column.terms
    known, measured = (
        f"{denominator} IS NOT NULL THEN {summed}",
        f"{numerator} IS NOT NULL THEN {divided}",
    )
    return f"CASE WHEN {known} END", f"CASE WHEN {measured} END"


def line_sql(column: ReportColumn, *, rolled: bool = False) -> str:
    """The expression of a column over the rows of one line, or over the sums of roll-ups."""
    name, numerator, factor = column.name, column.numerator, column.factor
    if column.of is not None:
        return statistic_sql(column, rolled=rolled)
    match column.kind:
        case MetricKind.RATIO | MetricKind.LEVEL_RATIO:
            amount, divisor = _terms(column, rolled=rolled)
            return f"sum({amount}) * {factor!r} / nullif(sum({divisor}), 0)"
        case MetricKind.TOTAL:
            return f"sum({sum_of(numerator) if rolled else numerator}) * {factor!r}"
        case MetricKind.LEVEL:
            amount = sum_of(name) if rolled else weighted(name)
            return f"sum({amount}) / nullif({_population(column, rolled=rolled)}, 0)"
        case MetricKind.ELAPSED:
            return f"sum({name})"
        case MetricKind.LATEST:
            return latest_sql(name, numerator)
    return name


def possible_sql(column: ReportColumn, report: Report, source: LineSource) -> str:
    """The expression of a column, NULL if it contradicts another one of the line.

    It exceeds the column that it is part of, or is below a part of it, or is of other intervals
    than these: then the figures of one line would be of two populations.
    """
    value = line_sql(column, rolled=source.is_rolled)
    conditions = []
    for other in report.columns:
        if other.name and other.name in (column.whole, column.part):
            bound = line_sql(other, rolled=source.is_rolled)
            low, high = ("NULL", bound) if other.name == column.whole else (bound, "NULL")
            conditions.append(f"is_outside({value}, {low}, {high})")
            if (other.kind, other.denominator) == (column.kind, column.denominator):
                of_both = [_population(c, rolled=source.is_rolled) for c in (column, other)]
                conditions.append(f"coalesce(abs({of_both[0]} - {of_both[1]}) > 1e-3, false)")
    if not conditions:
        return value
    return f"CASE WHEN NOT ({' OR '.join(conditions)}) THEN {value} END"


def _population(column: ReportColumn, *, rolled: bool) -> str:
    """SQL: the divisor of a ratio, or the seconds of a level, summed where it is known."""
    if column.kind is MetricKind.LEVEL:
        return f"sum({_known_time(column, rolled=rolled)})"
    return f"sum({_terms(column, rolled=rolled)[1]})"


def _known_time(column: ReportColumn, *, rolled: bool) -> str:
    """SQL: the seconds of a row for which a level is known."""
    if rolled:
        return known_of(column.name)
    return f"CASE WHEN {column.name} IS NOT NULL THEN {WEIGHT} END"


def _shown(column: ReportColumn, report: Report, end: str, source: LineSource) -> str:
    if column.name == TIME:
        return f"{end} AS {TIME}"
    if column.name in report.keys:
        return column.name
    consumed = _consumed(report)
    if column.kind is MetricKind.ELAPSED and consumed and consumed.denominator == column.name:
        return f"{_population(consumed, rolled=source.is_rolled)} AS {column.name}"
    return f"{possible_sql(column, report, source)} AS {column.name}"


def run_window(
    con: duckdb.DuckDBPyConnection, run: str, system: str | None
) -> tuple[str, datetime | None, datetime | None]:
    """System of a run, and the bounds of its interval ends, UTC without zone.

    Raises:
        CpmonError: no such run, or the run belongs to another system than the given one.
    """
    rows = con.execute("SELECT run_id, system, since, until FROM meta.run").fetchall()
    windows = {str(run_id): (measured, *bounds_of_ends(*span)) for run_id, measured, *span in rows}
    if run not in windows:
        raise unknown("run", run, windows)
    measured = windows[run][0]
    if system not in (None, measured):
        raise CpmonError(
            f"run {run} was not measured on that system",
            code="run-of-another-system",
            expected=measured,
            found=system,
            remedy="leave --system out: a run names its system",
        )
    return windows[run]


def shift_condition(shift: Shift, column: str) -> tuple[str, list[Any]]:
    """The SQL condition on a column of UTC times, and the values of its parameters."""
    local = inside(f"timezone(?, timezone('UTC', {column}))")
    day, clock = f"isodow({local})", f"CAST({local} AS TIME)"
    listed = ", ".join(map(str, shift.days))
    if shift.begins < shift.ends:
        text = f"({day} IN ({listed}) AND {clock} >= ? AND {clock} < ?)"
        return text, [shift.zone, shift.zone, shift.begins, shift.zone, shift.ends]
    after = ", ".join(str(day % 7 + 1) for day in shift.days)
    text = f"(({day} IN ({listed}) AND {clock} >= ?) OR ({day} IN ({after}) AND {clock} < ?))"
    return text, [shift.zone, shift.zone, shift.begins, shift.zone, shift.zone, shift.ends]


def source_of(
    con: duckdb.DuckDBPyConnection,
    definition: Report,
    span: Span,
    by: LineLength | None = None,
    zone: ZoneInfo = UTC_ZONE,
) -> tuple[LineSource, tuple[str, ...]]:
    """Choose the relation of a report by lines of a length in a zone, with notes on the choice.

    Raises:
        CpmonError: the intervals are pruned and no roll-up can replace them.
    """
    fine = LineSource(definition.reduction)
    if definition.lines is Lines.ROW or rollup_of(definition.reduction) is None:
        return fine, ()
    kept = levels_of(con, definition.reduction, span.system)
    if all("interval" in names for names in kept.values()):
        return fine, ()
    where, values = replace(span, shift=None, objects=()).where()
    rows = con.execute(f"SELECT DISTINCT {DAY} FROM meta.interval WHERE {where}", values).fetchall()
    levels = {day: kept.get(day, set()) for (day,) in sorted(rows)}
    coarse = [day for day, names in levels.items() if names and "interval" not in names]
    if not coarse:
        return fine, ()
    _check_shift(con, definition, span)
    if by is not None:
        _check_zone(coarse, zone)
    relation, shift = f'rollup."{definition.reduction}"', span.shift
    source = LineSource(relation, LEVEL)
    if shift is not None:
        source = LineSource(relation, LEVEL, shift.name, hours(shift))
    notes = [
        f"The intervals of {_days(coarse)} are no longer kept: this rests on roll-ups, each of"
        " an hour."
    ]
    absent = [day for day, names in levels.items() if LEVEL not in names]
    if absent:
        notes.append(f"{_days(absent)} left out: not rolled up yet (cpmon reduce does it).")
    return source, tuple(notes)


def _check_shift(con: duckdb.DuckDBPyConnection, definition: Report, span: Span) -> None:
    """Check that the roll-ups were computed for the current hours of the shift."""
    if span.shift is None:
        return
    rows: list[Any] = con.execute(
        f'SELECT DISTINCT shift, hours FROM rollup."{definition.reduction}"'
        " WHERE system = ? AND level = ? AND shift <> '' ORDER BY ALL",
        [span.system, LEVEL],
    ).fetchall()
    if (span.shift.name, hours(span.shift)) not in rows:
        raise CpmonError(
            f"the intervals are no longer kept, and not rolled up by shift {span.shift.name}",
            code="shift-not-rolled-up",
            expected=hours(span.shift),
            found="; ".join(f"{name}: {text}" for name, text in rows) or "no shift",
            remedy="leave --shift out, or ask for days whose intervals are kept",
        )


def _check_zone(days: list[date], zone: ZoneInfo) -> None:
    """Check that lines of the zone align with roll-ups, which start on UTC hours."""
    offsets = (datetime.combine(day, time(), UTC).astimezone(zone).utcoffset() for day in days)
    if any((offset or timedelta()) % HOUR for offset in offsets):
        raise CpmonError(
            f"days and hours of {zone.key} cannot be told from roll-ups of an hour",
            code="time-zone-not-rolled-up",
            expected=f"intervals, or a zone that is whole hours from UTC: {_days(days)}",
            effect="nothing is shown, rather than lines that begin at other times",
            remedy="leave --by out, or name another zone with --tz",
        )


def _days(days: list[date]) -> str:
    if len(days) == 1:
        return f"{days[0]}"
    return f"{len(days)} days from {days[0]} to {days[-1]}"
