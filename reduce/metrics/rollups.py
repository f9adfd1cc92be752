"""Roll-ups: a reduction aggregated to an hour, kept longer than its intervals.

A roll-up has a row for each object and hour, over the whole hour and over each shift's part of it.
It holds the sums that a report needs, so that a line is computed from sums as for intervals. For
each metric that a report shows it also has the mean (by sums), the maximum and the 95th percentile
of the intervals.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import NamedTuple

from ...config.definitions import of_definitions
from ...config.moments import LineLength, Shift
from ...core.grace_period import inside
from ...core.sql import exact
from .metric import RATIOS, TIME, WEIGHT, MetricKind, ReportColumn, latest_sql, weighted
from .report_set import Lines, reports

LEVEL, HOUR = "hour", timedelta(hours=1)
"""The level of roll-ups, and the length of the span of a row."""

EVER = ""
"""Name of the shift for rows that cover the whole span."""
SHIFTS, SHIFT_ENDS = "_shifts", "_shift_ends"
"""Input relations of a roll-up: the shifts, and the interval ends that belong to them."""
_SPAN = {
    "intervals": "count(*)",
    "begins": f"min({TIME} - to_microseconds(CAST(seconds * 1e6 AS BIGINT)))",
    "ends": f"max({TIME})",
    "seconds": f"sum({exact('seconds')})",
}
"""Aggregates about the span."""
NEARLY_ALL = 20
"""Fewest values of which the 95th percentile by nearest rank is below the maximum."""


@dataclass(frozen=True)
class Rollup:
    """How the rows of a reduction are rolled up: keys of objects, and columns to aggregate."""

    reduction: str
    keys: tuple[str, ...]
    shown: tuple[ReportColumn, ...]

    @functools.cached_property
    def definition(self) -> str:
        """The SQL from which the version of roll-ups is computed."""
        return ";\n".join(self.select("rows", "system", depth) for depth in (1, 2))

    def select(self, rows: str, system: str, depth: int) -> str:
        """The query of the roll-ups of some rows, as SQL.

        Args:
            rows: the intervals, all of one system: a relation, as SQL.
            system: their system, as SQL.
            depth: how many of the greatest values the percentile needs at most (`DEPTH`).
        """
        columns, shown = dict(_SPAN), dict.fromkeys([*_SPAN, *self._doubts], "")
        for column in self.shown:
            for part in _parts(column):
                shown[part.name] = part.computed
                columns |= {part.name: part.over_rows} if part.over_rows else {}
            if value := _value(column):
                high = f"{column.name}_p95"
                shown[high] = f"{column.name}_max" if depth == 1 else ""
                if depth > 1:  # rank in descending order from 1: of 20 values the second
                    place = f"1 + count({value}) // {NEARLY_ALL}"
                    columns[high] = f"CAST(list_extract(max({value}, {depth}), {place}) AS DOUBLE)"
        of_shifts = f"{rows} JOIN {SHIFT_ENDS} USING ({TIME})"
        measured = f"{of_shifts}\n  WHERE seconds IS NOT NULL"
        tables = [f"summed AS (\n{self._grouped(columns, measured)})"]
        joined = f"summed AS s JOIN {SHIFTS} USING (shift_id)"
        if self._doubts:
            tables.append(f"doubt AS (\n{self._grouped(self._doubts, of_shifts)})")
            keys = ("shift_id", TIME, *self.keys)
            same = " AND ".join(f"d.{key} IS NOT DISTINCT FROM s.{key}" for key in keys)
            joined += f" LEFT JOIN doubt AS d ON {same}"
        places = [f"s.{name}" for name in (TIME, *self.keys)]
        listed = [f"{sql} AS {name}" if sql else name for name, sql in shown.items()]
        return (
            f"WITH {', '.join(tables)}\n"
            f"SELECT shift, hours, {', '.join([f'{system} AS system', *places, *listed])}\n"
            f"FROM {joined}"
        )

    @property
    def order(self) -> str:
        """The columns that rows are ordered by, as SQL."""
        return ", ".join(["shift", TIME, *self.keys])

    @property
    def has_doubts(self) -> bool:
        """Whether it has the columns `doubted` and `doubts`, about unknown values of metrics."""
        return any(_value(column) for column in self.shown)

    @property
    def _doubts(self) -> Mapping[str, str]:
        """Columns about unknown values in the span, aggregated over all of its rows."""
        kinds = "string_agg(DISTINCT doubts, ', ' ORDER BY doubts)"
        doubts = {"doubted": "count(doubts)", "doubts": kinds}
        return doubts if self.has_doubts else {}

    def _grouped(self, columns: Mapping[str, str], relation: str) -> str:
        end = bucket(HOUR)
        groups = ["shift_id", end, *self.keys]
        listed = ["shift_id", f"{end} AS {TIME}", *self.keys]
        listed += [f"{sql} AS {name}" for name, sql in columns.items()]
        separated = ",\n    ".join(listed)
        return f"  SELECT {separated}\n  FROM {relation}\n  GROUP BY {', '.join(groups)}"

    def docs(self, docs: Mapping[str, str]) -> dict[str, str]:
        """The documentation of each column, from that of the reduction's columns."""
        meanings = {
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
        if self._doubts:
            meanings["doubted"] = "Intervals of which something is not known, or is a lower bound."
            meanings["doubts"] = "What that is in them. NULL: nothing."
        for column in self.shown:
            for part in _parts(column):
                meanings[part.name] = f"{part.doc} {docs[part.about]}" if part.about else part.doc
            if _value(column):
                rank = "95th percentile of the intervals, by nearest rank."
                meanings[f"{column.name}_p95"] = f"{rank} {docs[column.name]}"
        return meanings


@of_definitions
def rollup_of(reduction: str) -> Rollup | None:
    """How a reduction is rolled up; None if no report defines how its rows aggregate."""
    of_it = [
        report
        for report in reports().values()
        if report.reduction == reduction and report.lines is not Lines.ROW
    ]
    if not of_it or len({report.keys for report in of_it}) > 1:
        return None
    shown = {
        column.name: column
        for report in of_it
        for column in report.columns
        if column.kind not in (MetricKind.KEY, MetricKind.ELAPSED)
    }
    return Rollup(reduction, of_it[0].keys, tuple(shown.values()))


def hours(shift: Shift) -> str:
    """Days and hours of a shift as text; shifts with different hours are different shifts."""
    days = " ".join(map(str, shift.days))
    return f"days {days} from {shift.begins:%H:%M} to {shift.ends:%H:%M} {shift.zone}"


def hours_of(shifts: Iterable[Shift]) -> str:
    """The hours of several shifts as text, by name."""
    return "; ".join(sorted(f"{shift.name}: {hours(shift)}" for shift in shifts))


class _Part(NamedTuple):
    """A roll-up column for a report column, documented by `doc` and the text of column `about`.

    As SQL, either an aggregate over rows, or what it is computed from.
    """

    name: str
    doc: str
    about: str = ""
    over_rows: str = ""
    computed: str = ""


def _parts(column: ReportColumn) -> Iterator[_Part]:
    name, numerator, denominator, of_sums = (
        column.name,
        column.numerator,
        column.denominator,
        sum_of(column.numerator),
    )
    match column.kind:
        case MetricKind.RATIO | MetricKind.LEVEL_RATIO:
            amount, elapsed = amount_of(numerator, denominator), time_of(numerator, denominator)
            summed, divided = column.terms
            time = exact(denominator) if denominator.endswith("seconds") else divided
            known = f"CAST(sum(CASE WHEN {denominator} IS NOT NULL THEN {summed} END) AS DOUBLE)"
            measured = f"CAST(sum(CASE WHEN {numerator} IS NOT NULL THEN {time} END) AS DOUBLE)"
            yield _Part(name, "Mean, by sums.", name, computed=_quotient(amount, column, elapsed))
            yield _Part(amount, f"Sum where {denominator} is known.", numerator, known)
            yield _Part(elapsed, f"Sum where {numerator} is known.", denominator, measured)
        case MetricKind.TOTAL:
            yield _Part(name, "Sum.", name, computed=_quotient(of_sums, column, ""))
            yield _Part(of_sums, "Sum.", numerator, f"CAST(sum({numerator}) AS DOUBLE)")
        case MetricKind.LEVEL:
            amount, known = sum_of(name), known_of(name)
            total = f"CAST(sum({weighted(name)}) AS DOUBLE)"
            weights = f"sum(CASE WHEN {name} IS NOT NULL THEN {WEIGHT} END)"
            yield _Part(name, "Mean over time.", name, computed=f"{amount} / nullif({known}, 0)")
            yield _Part(amount, "Sum over time, times seconds.", name, total)
            yield _Part(known, f"Seconds that {name} is known of.", "", weights)
        case _:
            yield _Part(name, "As of the last interval.", name, latest_sql(name, numerator))
            return
    greatest = f"CAST(max({_value(column)}) AS DOUBLE)"
    yield _Part(f"{name}_max", "The greatest of the intervals.", name, greatest)


def statistic_sql(column: ReportColumn, *, rolled: bool) -> str:
    """SQL of a statistic of intervals over the rows of a line, or over roll-ups of them.

    Of several roll-ups no percentile is known, and of the time of the maximum only the hour.
    """
    assert column.of is not None
    if rolled:
        value = f"{column.of.name}_max"
        if column.statistic == "p95":
            return f"CASE WHEN count(*) = 1 THEN max({column.of.name}_p95) END"
    else:
        value = _value(column.of)
    match column.statistic:
        case "max":
            return f"CAST(max({value}) AS DOUBLE)"
        case "at":  # the first, if it is reached again
            pair = f"struct_pack(v := {value}, t := -epoch_us({TIME}))"
            return f"make_timestamp(-max(CASE WHEN {value} IS NOT NULL THEN {pair} END).t)"
    descending = f"list({value} ORDER BY {value} DESC) FILTER ({value} IS NOT NULL)"
    rank = f"CAST(1 + count({value}) // {NEARLY_ALL} AS BIGINT)"
    return f"CAST(list_extract({descending}, {rank}) AS DOUBLE)"


def _value(column: ReportColumn) -> str:
    """SQL of the value of an interval; empty if the column is not numeric."""
    match column.kind:
        case MetricKind.LEVEL:
            return column.name
        case MetricKind.RATIO | MetricKind.LEVEL_RATIO | MetricKind.TOTAL:
            return _quotient(column.numerator, column, column.denominator)
    return ""


def _quotient(amount: str, column: ReportColumn, divisor: str) -> str:
    factor = "" if column.factor == 1 else f" * CAST({column.factor!r} AS DOUBLE)"
    scaled = f"{amount}{factor}"
    return f"{scaled} / nullif({divisor}, 0)" if column.kind in RATIOS else scaled


def sum_of(column: str) -> str:
    """Name of the roll-up column with the sum of a column."""
    return f"{column}_sum"


def amount_of(numerator: str, denominator: str) -> str:
    """Name of the roll-up column with the sum of `numerator` where `denominator` is not NULL."""
    return f"{numerator}_by_{denominator}"


def known_of(column: str) -> str:
    """Name of the roll-up column with the seconds of intervals in which a column is not NULL."""
    return f"{column}_s"


def time_of(numerator: str, denominator: str) -> str:
    """Name of the roll-up column with the sum of `denominator` where `numerator` is not NULL."""
    return f"{denominator}_of_{numerator}"


def bucket(by: LineLength | None, zone: str = "UTC", *, begin: bool = False) -> str:
    """SQL of the end, or the begin, of the line that an interval belongs to, from midnight on.

    Days, weeks from Monday and months are aligned to the zone, also across clock changes.
    """
    if by is None:
        return f"{TIME} - to_microseconds(CAST(round(seconds * 1e6) AS BIGINT))" if begin else TIME
    span = "to_months(1)" if isinstance(by, str) else f"to_seconds({int(by.total_seconds())})"
    utc, length = f"({inside(TIME)})", "" if begin else f" + {span}"
    if zone == "UTC":
        return f"time_bucket({span}, {utc}){length}"
    local = f"timezone('{zone}', timezone('UTC', {utc}))"
    end = f"(time_bucket({span}, {local}){length})"
    if not isinstance(by, str) and by <= HOUR:  # an hour that occurs twice has two lines
        return f"{end} - ({local} - {utc})"
    return f"timezone('UTC', timezone('{zone}', {end}))"


DEPTH = f"""
SELECT CAST(1 + coalesce(max(n), 0) // {NEARLY_ALL} AS BIGINT) FROM (
  SELECT count(*) AS n FROM {SHIFT_ENDS} WHERE shift_id = 0 GROUP BY {bucket(HOUR)})"""
"""The query of how many of the greatest values the percentile of an hour needs at most."""
