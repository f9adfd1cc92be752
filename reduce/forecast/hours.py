"""Hours of a metric as they are kept: those that a forecast, or what is asked of them, can use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

from ...core.errors import CpmonError, NothingToReportError, nearest, unknown_of_many
from ...core.text import counted
from ...store.connection import Connection, levels_of, table_of
from ..explain.departure import Mask
from ..explain.series import subjects
from ..metrics.metric import FIGURES, TIME, MetricKind, ReportColumn
from ..metrics.report_set import Lines, Report, reports
from ..metrics.rollups import amount_of, known_of, rollup_of, sum_of, time_of
from ..reports.report_names import find_report
from ..reports.report_sql import ELAPSED, LineSource, Span, line_sql, possible_sql
from .trend import Floats, Ints

HOUR_US = 3_600_000_000
MEASURED_S = 2700
"""Fewest measured seconds of an hour that is used."""


@dataclass(frozen=True, slots=True)
class MetricHours:
    """The hours of a metric that can be used.

    Attributes:
        table: a row an hour: `interval_end`, `hour` (local, since 1970, by its begin), `value`,
            `seconds` measured, `per`, and what it covers.
        left_out: hours that are not in it, counted by reason; empty if there are none.
        absent: a note on days that were not reduced.
    """

    definition: Report
    column: ReportColumn
    span: Span
    zone: ZoneInfo
    table: pa.Table
    left_out: str
    absent: tuple[str, ...]

    @property
    def hours(self) -> Ints:
        """(n,) local hours since 1970."""
        hours: Ints = self.table["hour"].to_numpy()
        return hours

    @property
    def values(self) -> Floats:
        """(n,) values, in the scale of the views; never NaN."""
        values: Floats = self.table["value"].to_numpy()
        return values


def is_total(definition: Report, column: ReportColumn) -> bool:
    """Whether a report of objects prints the total of a column."""
    return definition.lines is Lines.OBJECT and column.name in definition.total


def find_metric(
    name: str, report: str | None, objects: Mapping[str, Any]
) -> tuple[Report, ReportColumn]:
    """The report that a metric is read from, and its column.

    Reports of the whole system come first, then means over several objects, then totals.
    """
    listed = [find_report(report)] if report else list(reports().values())
    able = [r for r in listed if r.lines is not Lines.ROW and rollup_of(r.reduction) is not None]
    found = [
        (r, c) for r in able for c in r.columns if c.kind in FIGURES and c.name == name.lower()
    ]
    if not found:
        figures = {c.name for r in able for c in r.columns if c.kind in FIGURES}
        look = "docs/reports.md lists the columns of reports"
        raise unknown_of_many("metric", name, nearest(name, figures), look)
    options = {"user" if option == "class" else option for option in objects}
    fitting = [(r, c) for r, c in found if options <= r.follows.keys()]
    return min(
        fitting or found,
        key=lambda each: (
            each[0].lines is Lines.OBJECT,
            bool(each[0].keys),
            each[1].name not in each[0].total,
            each[0].name,
        ),
    )


def kept_hours(
    con: Connection,
    definition: Report,
    column: ReportColumn,
    span: Span,
    zone: ZoneInfo,
    *,
    is_total: bool,
    per: str = "",
) -> MetricHours:
    """The hours of a metric that can be used, and which were left out.

    Args:
        is_total: sum over the objects of an hour. per: a column of the report that has one value
            in an hour, to be read as well.

    Raises:
        NothingToReportError: no hours are kept, or none can be used.
        CpmonError: the metric is one of several objects.
    """
    absent = not_reduced(con, definition, span)
    table = _hours(con, definition, column, span, zone, is_total=is_total, per=per)
    columns = {each.name: each for each in definition.columns}
    whose = " ".join(each.text(columns) for each in span.objects) or f"system {span.system}"
    if not len(table):
        raise NothingToReportError(
            f"no hour of {whose} is kept in that span",
            expected=f"hours of {definition.name}",
            effect="there is nothing to tell from",
        )
    if definition.lines is Lines.OBJECT and not is_total:
        _check_one_object(definition, column, span, table)
    is_left_out, texts = _left_out(table)
    if np.all(is_left_out):
        raise NothingToReportError(
            f"no hour of {whose} that is kept can be used",
            code="forecast-weeks-too-few",
            expected=f"hours of {definition.name} that are known for three quarters or more",
            found=texts,
            effect="there is nothing to tell from",
            remedy="land and reduce the dumps of more weeks",
        )
    used = table.filter(pa.array(~is_left_out))
    return MetricHours(definition, column, span, zone, used, texts, tuple(absent))


def _hours(
    con: Connection,
    definition: Report,
    column: ReportColumn,
    span: Span,
    zone: ZoneInfo,
    *,
    is_total: bool,
    per: str,
) -> pa.Table:
    """The kept hours of a metric, in order, with what tells whether they can be used."""
    source = LineSource(f'rollup."{definition.reduction}"', "hour")
    where, values = source.where(span)
    value = _over_objects(column) if is_total else possible_sql(column, definition, source)
    begin = f"timezone('{zone.key}', timezone('UTC', {TIME} - INTERVAL 1 HOUR))"
    subject = next((each for each in subjects() if each.name == definition.reduction), None)
    known = subject.is_known(column.name) if subject else "doubts IS NULL"
    return table_of(
        con,
        f"SELECT {TIME}, CAST({value} AS DOUBLE) AS value, max(seconds) AS seconds,"
        f" epoch_us({begin}) // {HOUR_US} AS hour, bool_and({known}) AS known,"
        f" count(*) AS objects, max(intervals) AS intervals, min(begins) AS begins,"
        f" max(ends) AS ends, CAST({f'max({per})' if per else 'NULL'} AS DOUBLE) AS per"
        f" FROM {source.relation} WHERE {where} GROUP BY {TIME} ORDER BY {TIME}",
        values,
    )


def _check_one_object(
    definition: Report, column: ReportColumn, span: Span, table: pa.Table
) -> None:
    """Raise if the hours are of several objects, whose sum is not asked for."""
    most = int(np.max(table["objects"].to_numpy()))
    if most <= 1:
        return
    named = {each.option for each in span.objects}
    options = " or ".join(f"--{each}" for each in definition.follows if each not in named)
    raise CpmonError(
        f"{column.name} of {definition.name} is one of each object",
        code="forecast-object-needed",
        found=f"up to {most} objects in an hour",
        effect="nothing is forecast: their sum or mean means nothing",
        remedy=f"name one{options and f' with {options}'}, or forecast another metric",
    )


def _left_out(table: pa.Table) -> tuple[Mask, str]:
    """Which hours cannot be used, and how many for each reason, with those that are absent."""
    part = table["seconds"].to_numpy() < MEASURED_S
    doubt = ~table["known"].to_numpy() & ~part
    blank = np.isnan(table["value"].to_numpy(zero_copy_only=False)) & ~part & ~doubt
    reasons = {
        "less than three quarters measured, as around restarts and gaps": part,
        "with values that are unknown or lower bounds": doubt,
        "without a value": blank,
    }
    ends = table[TIME].cast(pa.int64()).to_numpy()
    counts = {why: int(mask.sum()) for why, mask in reasons.items()}
    counts["not measured at all"] = int(ends[-1] - ends[0]) // HOUR_US + 1 - len(ends)
    return part | doubt | blank, "; ".join(
        f"{counted(n, 'hour')} {why}" for why, n in counts.items() if n
    )


def _over_objects(column: ReportColumn) -> str:
    """SQL of the total of a column over the objects of an hour, from the sums of roll-ups."""
    name, numerator, denominator = column.name, column.numerator, column.denominator
    if column.kind is MetricKind.LATEST:  # as long as each object is there
        weighed = f"sum({name} * seconds) / nullif(max(seconds), 0)"
        return f"CASE WHEN count({name}) = count(*) THEN {weighed} END"
    if column.kind is MetricKind.LEVEL:
        return f"sum({sum_of(name)}) / nullif(max({known_of(name)}), 0)"
    if denominator in ELAPSED:
        whole = f"nullif(max({time_of(numerator, denominator)}), 0)"
        return f"sum({amount_of(numerator, denominator)}) * {column.factor!r} / {whole}"
    return line_sql(column, rolled=True)


def not_reduced(con: Connection, definition: Report, span: Span) -> list[str]:
    """A note on days that have landed, but have no hours; raises if no day has."""
    levels = levels_of(con, definition.reduction, span.system)
    kept = {day for day, names in levels.items() if "hour" in names}
    if not kept:
        raise NothingToReportError(
            f"no hours are kept for {definition.name}",
            code="forecast-hours-missing",
            effect="there is nothing to tell from",
            remedy=f"cpmon reduce {definition.reduction}, and ask again",
        )
    landed = {d for dump in con.store.dumps() if dump.system == span.system for d in dump.days}
    first = span.since.date() if span.since else date.min
    absent = [day for day in landed - kept if day >= first]
    if not absent:
        return []
    return [f"{counted(len(absent), 'day')} left out: not rolled up yet (cpmon reduce does it)."]
