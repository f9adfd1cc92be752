"""Roll-ups: what 15 minutes, an hour or a day of a reduction come to, so that trends outlive it.

A roll-up has a row for each object and span, over all of its time and over the hours of each
shift. It holds the sums that a report needs, so that a line of it is a sum over sums as ever, and
of each metric that a report shows the mean (by sums), and the greatest value and the 95th
percentile of the intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from .reductions import reduction as find_reduction
from .report_set import REPORTS
from .report_shape import Latest, Level, Lines, ReportColumn, Sums, Total
from .report_sql import TIME, bucket, count_of, line_sql, sum_of, time_of
from .shifts import Shift

LEVELS = {"15m": timedelta(minutes=15), "hour": timedelta(hours=1), "day": timedelta(days=1)}
"""The levels of roll-ups and what a row of each covers, from the finest."""

EVER = ""
"""The shift of rows that cover all of their time."""

FEW = 19
"""Of so many values the 95th percentile, by nearest rank, is the greatest."""


@dataclass(frozen=True, slots=True)
class Rollup:
    """How the rows of a reduction are rolled up.

    Attributes:
        keys: tell the objects apart.
        columns: name -> expression over the rows of a span, and what it says.
        metrics: of which the greatest value and the 95th percentile are kept as well.
    """

    reduction: str
    keys: tuple[str, ...]
    columns: Mapping[str, tuple[str, str]]
    metrics: Mapping[str, str]

    def sql(
        self, source: str, level: str, shift: Shift | None = None, *, few: bool = False
    ) -> tuple[str, list[Any]]:
        """The roll-up of some rows, and the values of its marks.

        Args:
            source: relation with the columns of the reduction.
            shift: only its hours; all of them without one.
            few: no row covers more than `FEW` intervals.
        """
        text, values = shift.where(TIME) if shift else ("true", [])
        end = bucket(LEVELS[level])
        made = {"system": "system", TIME: end, **{key: _quoted(key) for key in self.keys}}
        made |= {name: expression for name, (expression, _) in self.columns.items()}
        for name in self.metrics:
            made[f"{name}_max"] = f"max({_quoted(name)})"
            rank = f"quantile_disc({_quoted(name)}, 0.95)"
            made[f"{name}_p95"] = made[f"{name}_max"] if few else rank
        shown = ", ".join(f"{expression} AS {_quoted(name)}" for name, expression in made.items())
        groups = ", ".join(("system", end, *map(_quoted, self.keys)))
        return (
            f"SELECT CAST(? AS VARCHAR) AS shift, CAST(? AS VARCHAR) AS hours, {shown}"
            f" FROM {source} WHERE seconds IS NOT NULL AND {text} GROUP BY {groups}"
            f" ORDER BY {', '.join((_quoted(TIME), *map(_quoted, self.keys)))}",
            [shift.name if shift else EVER, hours(shift) if shift else "", *values],
        )

    def docs(self) -> dict[str, str]:
        """What each column says."""
        found = {
            "shift": "Shift of the settings that it covers; empty: all of its time.",
            "hours": "Days and hours of the shift when it was rolled up; empty: all.",
            "system": "System.",
            TIME: "End of the span, UTC.",
        }
        found |= {key: find_reduction(self.reduction).column(key).doc for key in self.keys}
        found |= {name: doc for name, (_, doc) in self.columns.items()}
        for name, doc in self.metrics.items():
            found[f"{name}_max"] = f"The greatest of the intervals. {doc}"
            found[f"{name}_p95"] = f"95th percentile of the intervals, by nearest rank. {doc}"
        return found


def rollup_of(reduction: str) -> Rollup | None:
    """How a reduction is rolled up; None if no report says what its rows come to."""
    reports = [
        report
        for report in REPORTS.values()
        if report.reduction == reduction and report.lines is not Lines.ROW
    ]
    if not reports or len({report.keys for report in reports}) > 1:
        return None
    shown = {c.name: c for report in reports for c in report.columns if c.mean is not None}
    docs = {column.name: column.doc for column in find_reduction(reduction).columns}
    columns = {
        "intervals": ("count(*)", "Intervals that it covers."),
        "begins": (f"min({TIME} - {_SECONDS})", "Begin of the first of them, UTC."),
        "ends": (f"max({TIME})", "End of the last of them, UTC."),
        "seconds": ("sum(seconds)", "Seconds of them in all."),
    }
    for column in shown.values():
        columns |= dict(_columns(column, docs))
    metrics = {name: docs[name] for name, c in shown.items() if isinstance(c.mean, _METRICS)}
    return Rollup(reduction, reports[0].keys, columns, metrics)


_METRICS = (Sums, Total, Level)
_SECONDS = "to_microseconds(CAST(seconds * 1e6 AS BIGINT))"


def hours(shift: Shift) -> str:
    """Days and hours of a shift: two that differ in them are not the same."""
    days = " ".join(map(str, shift.days))
    return f"days {days} from {shift.begins:%H:%M} to {shift.ends:%H:%M} {shift.zone}"


def hours_of(shifts: Iterable[Shift]) -> str:
    """The same of several, by name."""
    return "; ".join(sorted(f"{shift.name}: {hours(shift)}" for shift in shifts))


def _columns(
    column: ReportColumn, docs: Mapping[str, str]
) -> Iterator[tuple[str, tuple[str, str]]]:
    """What is kept of one column of a report: its value, and the sums behind it."""
    name = column.name
    match column.mean:
        case Sums(over, under):
            yield name, (line_sql(column), f"Mean, by sums. {docs[name]}")
            yield sum_of(over), (_sum(over), f"Sum. {docs[over]}")
            divisor = f"sum({_double(under)}) FILTER (WHERE {_quoted(over)} IS NOT NULL)"
            yield time_of(over, under), (divisor, f"Sum where {over} is known. {docs[under]}")
        case Total(of):
            yield name, (line_sql(column), f"Sum. {docs[name]}")
            yield sum_of(of), (_sum(of), f"Sum. {docs[of]}")
        case Level():
            yield name, (line_sql(column), f"Mean of the samples. {docs[name]}")
            yield sum_of(name), (_sum(name), f"Sum of the samples. {docs[name]}")
            yield count_of(name), (f"count({_quoted(name)})", f"Samples that {name} is known of.")
        case Latest():
            yield name, (line_sql(column), f"As of the last interval. {docs[name]}")


def _sum(name: str) -> str:
    return f"sum({_double(name)})"


def _double(name: str) -> str:
    return f"CAST({_quoted(name)} AS DOUBLE)"


def _quoted(name: str) -> str:
    return f'"{name}"'
