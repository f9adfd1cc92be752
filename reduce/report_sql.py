"""The SQL of a report: its lines and its mean line, from the sums behind a reduction's columns."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .report_shape import Elapsed, Latest, Level, Lines, Report, ReportColumn, Sums, Total
from .shifts import Shift

TIME = "interval_end"
"""The column of every reduction that has the end of an interval, UTC."""


@dataclass(frozen=True, slots=True)
class Span:
    """Which rows of a reduction are meant; `until` is inside, `since` is not.

    Attributes:
        system: the only one; `run_id`: the run that names the span.
        since, until: UTC without zone.
        shift: only intervals that end in its hours.
        objects: column -> the only value.
    """

    system: str
    run_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    shift: Shift | None = None
    objects: tuple[tuple[str, Any], ...] = ()

    def where(self) -> tuple[str, list[Any]]:
        """The condition as SQL, and the values of its marks."""
        wanted = {
            "system = ?": self.system,
            f"{TIME} > ?": self.since,
            f"{TIME} <= ?": self.until,
            **{f"{column} = ?": value for column, value in self.objects},
        }
        given = {text: value for text, value in wanted.items() if value is not None}
        texts, values = list(given), list(given.values())
        if self.shift is not None:
            text, more = self.shift.where(TIME)
            texts.append(text)
            values += more
        return " AND ".join(texts), values


def lines_sql(
    report: Report, span: Span, *, by: timedelta | None, over_time: bool, top: int | None
) -> tuple[str, list[Any]]:
    """SELECT of a report's lines, and the values of its marks.

    Args:
        by: several intervals make one line: as many as end within this length.
        over_time: lines are times, else objects.
        top: only so many objects, the greatest.
    """
    where, values = span.where()
    if report.lines is Lines.ROW:
        names = ", ".join(column.name for column in report.columns)
        limit = f" LIMIT {top}" if top else ""
        by_time = ", ".join((TIME, *report.keys))
        return (
            f"SELECT {names} FROM {report.reduction} WHERE {where} ORDER BY {by_time}{limit}",
            values,
        )
    end = _bucket(by)
    groups = ([end] if over_time else []) + list(report.keys)
    shown = [_shown(column, report, end) for column in report.columns]
    order = [TIME, *report.keys] if over_time else [f"{report.sort} DESC NULLS LAST", *report.keys]
    limit = f" LIMIT {top}" if top else ""
    return (
        f"SELECT {', '.join(shown)} FROM {report.reduction} WHERE {where} AND seconds IS NOT NULL"
        f" GROUP BY {', '.join(groups)} ORDER BY {', '.join(order)}{limit}",
        values,
    )


def mean_sql(column: ReportColumn) -> str:
    """The expression of a column over all rows of a span."""
    match column.mean:
        case Elapsed():
            return f"avg({column.name})"
        case _:
            return line_sql(column)


def line_sql(column: ReportColumn) -> str:
    """The expression of a column over the rows of one line."""
    match column.mean:
        case Sums(over, under, factor):
            # Records of an older release may lack the counter: their time is not its time.
            divisor = f"sum({under}) FILTER (WHERE {over} IS NOT NULL)"
            return f"sum({over}) * {factor!r} / nullif({divisor}, 0)"
        case Total(of, factor):
            return f"sum({of}) * {factor!r}"
        case Level():
            return f"avg({column.name})"
        case Elapsed():
            return f"sum({column.name})"
        case Latest():
            return f"arg_max({column.name}, {TIME})"
    return column.name


def _shown(column: ReportColumn, report: Report, end: str) -> str:
    if column.name == TIME:
        return f"{end} AS {TIME}"
    if column.name in report.keys:
        return column.name
    return f"{line_sql(column)} AS {column.name}"


def _bucket(by: timedelta | None) -> str:
    """The end of the line that an interval belongs to: on the hour, counted from midnight UTC."""
    if by is None:
        return TIME
    span = f"to_seconds({int(by.total_seconds())})"
    # An interval that ends on the dot belongs to what ends there.
    return f"time_bucket({span}, {TIME} - to_microseconds(1)) + {span}"
