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

from ...config.shifts import Shift
from ..metrics.report_shape import Elapsed, Latest, Level, Lines, ReportColumn, Sums, Total
from .report_set import REPORTS
from .report_sql import TIME, bucket, count_of, sum_of, time_of

LEVELS = {"15m": timedelta(minutes=15), "hour": timedelta(hours=1), "day": timedelta(days=1)}
"""The levels of roll-ups and what a row of each covers, from the finest."""

EVER = ""
"""The shift of rows that cover all of their time."""
HIGH = 0.95
"""The percentile, by nearest rank."""
FEW = 20
"""Of fewer intervals than this the 95th percentile by nearest rank is the greatest value."""


@dataclass(frozen=True, slots=True)
class Rollup:
    """How the rows of a reduction are rolled up.

    Attributes:
        keys: tell the objects apart.
        shown: the columns of reports that come to something over several intervals.
    """

    reduction: str
    keys: tuple[str, ...]
    shown: tuple[ReportColumn, ...]

    @property
    def definition(self) -> str:
        """Changes with the SQL of any of its levels."""
        return ";\n".join(
            self.select(level, self.reduction, "shift_interval", few=few)
            for level in LEVELS
            for few in (False, True)
        )

    def select(self, level: str, rows: str, shifts: str, *, few: bool) -> str:
        """The query of one level, as SQL.

        Args:
            rows: the relation of the reduction's rows; those without `seconds` do not count.
            shifts: a relation with `shift`, `hours` and each `interval_end` in them.
            few: no span has `FEW` rows of an object.
        """
        end = bucket(LEVELS[level])
        begin = f"{TIME} - to_microseconds(CAST(seconds * 1e6 AS BIGINT))"
        columns = {
            "shift": "shift",
            "hours": "hours",
            "system": "system",
            TIME: end,
            **{key: key for key in self.keys},
            "intervals": "count(*)",
            "begins": f"min({begin})",
            "ends": f"max({TIME})",
            "seconds": "sum(seconds)",
        }
        for column in self.shown:
            columns |= dict(_columns(column, few=few))
        listed = ",\n  ".join(f"{sql} AS {name}" for name, sql in columns.items())
        groups = ", ".join(["shift", "hours", "system", end, *self.keys])
        return (
            f"SELECT {listed}\nFROM {rows} JOIN {shifts} USING ({TIME})\n"
            f"WHERE seconds IS NOT NULL\nGROUP BY {groups}"
        )

    def most(self, level: str, rows: str) -> str:
        """The query of the greatest number of rows of an object in a span, as SQL."""
        groups = ", ".join(["system", bucket(LEVELS[level]), *self.keys])
        counts = f"SELECT count(*) AS n FROM {rows} WHERE seconds IS NOT NULL GROUP BY {groups}"
        return f"SELECT coalesce(max(n), 0) FROM ({counts})"

    @property
    def order(self) -> str:
        """Its columns that tell rows apart."""
        return ", ".join(["shift", TIME, *self.keys])

    def docs(self, docs: Mapping[str, str]) -> dict[str, str]:
        """The documentation of each column.

        Args:
            docs: that of the reduction's columns.
        """
        found = {
            "shift": "Shift of the settings that it covers; empty: all of its time.",
            "hours": "Days and hours of the shift when it was rolled up; empty: all.",
            "system": "System.",
            TIME: "End of the span, UTC.",
            **{key: docs[key] for key in self.keys},
            "intervals": "Intervals that it covers.",
            "begins": "Begin of the first of them, UTC.",
            "ends": "End of the last of them, UTC.",
            "seconds": "Seconds of them in all.",
        }
        for column in self.shown:
            found |= dict(_docs(column, docs))
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
    shown = {
        column.name: column
        for report in reports
        for column in report.columns
        if column.mean is not None and not isinstance(column.mean, Elapsed)
    }
    return Rollup(reduction, reports[0].keys, tuple(shown.values()))


def hours(shift: Shift) -> str:
    """Days and hours of a shift: two that differ in them are not the same."""
    days = " ".join(map(str, shift.days))
    return f"days {days} from {shift.begins:%H:%M} to {shift.ends:%H:%M} {shift.zone}"


def hours_of(shifts: Iterable[Shift]) -> str:
    """The same of several, by name."""
    return "; ".join(sorted(f"{shift.name}: {hours(shift)}" for shift in shifts))


def _columns(column: ReportColumn, *, few: bool) -> Iterator[tuple[str, str]]:
    """The columns that stand for one of a report, as SQL: its value, and the sums behind it."""
    name = column.name
    match column.mean:
        case Sums(over, under, factor):
            value = f"{_scaled(over, factor)} / nullif({under}, 0)"
            above = f"CAST(sum({over}) AS DOUBLE)"
            below = f"CAST(sum({under}) FILTER (WHERE {over} IS NOT NULL) AS DOUBLE)"
            yield name, f"{_scaled(above, factor)} / nullif({below}, 0)"
            yield sum_of(over), above
            yield time_of(over, under), below
        case Total(of, factor):
            value = _scaled(of, factor)
            above = f"CAST(sum({of}) AS DOUBLE)"
            yield name, _scaled(above, factor)
            yield sum_of(of), above
        case Level():
            value = name
            above = f"CAST(sum({name}) AS DOUBLE)"
            yield name, f"{above} / nullif(count({name}), 0)"
            yield sum_of(name), above
            yield count_of(name), f"count({name})"
        case _:
            yield name, f"arg_max({name}, {TIME})"
            return
    yield f"{name}_max", f"CAST(max({value}) AS DOUBLE)"
    high = f"max({value})" if few else f"quantile_disc({value}, {HIGH})"
    yield f"{name}_p95", f"CAST({high} AS DOUBLE)"


def _scaled(sql: str, factor: float) -> str:
    return sql if factor == 1 else f"{sql} * CAST({factor!r} AS DOUBLE)"


def _docs(column: ReportColumn, docs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The documentation of these columns."""
    name = column.name
    match column.mean:
        case Sums(over, under):
            yield name, f"Mean, by sums. {docs[name]}"
            yield sum_of(over), f"Sum. {docs[over]}"
            yield time_of(over, under), f"Sum where {over} is known. {docs[under]}"
        case Total(of):
            yield name, f"Sum. {docs[name]}"
            yield sum_of(of), f"Sum. {docs[of]}"
        case Level():
            yield name, f"Mean of the samples. {docs[name]}"
            yield sum_of(name), f"Sum of the samples. {docs[name]}"
            yield count_of(name), f"Samples that {name} is known of."
        case Latest():
            yield name, f"As of the last interval. {docs[name]}"
            return
    yield f"{name}_max", f"The greatest of the intervals. {docs[name]}"
    yield f"{name}_p95", f"95th percentile of the intervals, by nearest rank. {docs[name]}"
