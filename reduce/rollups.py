"""Roll-ups: what 15 minutes, an hour or a day of a reduction come to, so that trends outlive it.

A roll-up has a row for each object and span, over all of its time and over the hours of each
shift. It holds the sums that a report needs, so that a line of it is a sum over sums as ever, and
of each metric that a report shows the mean (by sums), and the greatest value and the 95th
percentile of the intervals.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import pyarrow as pa

from .ordered import Floats, Ordered
from .reductions import reduction as find_reduction
from .report_set import REPORTS
from .report_shape import Elapsed, Latest, Level, Lines, ReportColumn, Sums, Total
from .report_sql import TIME, count_of, sum_of, time_of
from .shifts import Shift
from .spans import Spans, levels_of

LEVELS = {"15m": timedelta(minutes=15), "hour": timedelta(hours=1), "day": timedelta(days=1)}
"""The levels of roll-ups and what a row of each covers, from the finest."""

EVER = ""
"""The shift of rows that cover all of their time."""


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

    def tables(
        self, rows: pa.Table, shifts: Mapping[Shift, pa.Array] | None = None
    ) -> dict[str, pa.Table]:
        """Level -> the roll-up of some rows of one system.

        Args:
            rows: with `read_columns`, in any order; those without `seconds` do not count.
            shifts: the ends of the intervals in the hours of each, which are rolled up as well.
        """
        ordered = Ordered(rows, TIME, self.keys, "seconds")
        parts: dict[Shift | None, dict[str, Spans]] = {None: levels_of(ordered, LEVELS)}
        for of, ends in (shifts or {}).items():
            parts[of] = levels_of(ordered.within(ends), LEVELS, parts[None])
        found = {
            (shift, level): self._frame(spans, shift)
            for shift, levels in parts.items()
            for level, spans in levels.items()
        }
        for place, column in enumerate(self.shown):
            _see_values(column, ordered)
            later = {name for other in self.shown[place + 1 :] for name in _sums(other)}
            for shift, levels in reversed(parts.items()):  # all rows last: the others read them
                for level, spans in levels.items():
                    found[shift, level] |= dict(_columns(column, spans))
                for spans in levels.values():
                    spans.forget(later)
        return {
            level: pa.concat_tables([pa.table(found[shift, level]) for shift in parts])
            for level in LEVELS
        }

    def _frame(self, spans: Spans, shift: Shift | None) -> dict[str, pa.Array]:
        """What every roll-up has."""
        return {
            "shift": pa.repeat(shift.name if shift else EVER, len(spans)),
            "hours": pa.repeat(hours(shift) if shift else "", len(spans)),
            "system": spans.first("system"),
            TIME: spans.ends,
            **{key: spans.first(key) for key in self.keys},
            "intervals": pa.array(spans.sizes),
            "begins": spans.begins("seconds"),
            "ends": spans.last(TIME),
            "seconds": _column(spans.sum("seconds")),
        }

    def docs(self) -> dict[str, str]:
        """What each column says."""
        docs = {column.name: column.doc for column in find_reduction(self.reduction).columns}
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


def read_columns(rollup: Rollup) -> Sequence[str]:
    """The columns of a reduction that its roll-up is made of.

    What an interval comes to is computed as what a span of one does, from sums.
    """
    found = ["system", TIME, "seconds", *rollup.keys]
    for column in rollup.shown:
        found += _sums(column)
    return list(dict.fromkeys(found))


def _sums(column: ReportColumn) -> tuple[str, ...]:
    """The columns behind one of a report."""
    match column.mean:
        case Sums(over, under):
            return over, under
        case Total(of):
            return (of,)
    return (column.name,)


def _see_values(column: ReportColumn, rows: Ordered) -> None:
    """What each interval comes to, where it is not in the rows."""
    match column.mean:
        case Sums(over, under, factor):
            rows.put(column.name, _quotient(rows.values(over), rows.values(under), factor))
        case Total(of, factor):
            rows.put(column.name, rows.values(of) * factor)


def _quotient(above: Floats, below: Floats, factor: float) -> Floats:
    """A column by sums; nothing by zero is not known."""
    found: Floats = above * factor
    nothing = below == 0
    with np.errstate(divide="ignore", invalid="ignore"):
        found /= below
    if nothing.any():
        found[nothing] = np.nan
    return found


def _columns(column: ReportColumn, spans: Spans) -> Iterator[tuple[str, pa.Array]]:
    """What is kept of one column of a report: its value, and the sums behind it."""
    name = column.name
    match column.mean:
        case Sums(over, under, factor):
            above, below = spans.sum(over), spans.sum(under, where=over)
            yield name, _column(_quotient(above, below, factor))
            yield sum_of(over), _column(above)
            yield time_of(over, under), _column(below)
        case Total(of, factor):
            yield name, _column(spans.sum(of) * factor)
            yield sum_of(of), _column(spans.sum(of))
        case Level():
            known = spans.count(name)
            with np.errstate(invalid="ignore"):
                yield name, _column(spans.sum(name) / known)
            yield sum_of(name), _column(spans.sum(name))
            yield count_of(name), pa.array(known)
        case Latest():
            yield name, spans.last(name)
            return
    greatest, high = spans.high(name)
    yield f"{name}_max", _column(greatest)
    yield f"{name}_p95", _column(high)


def _docs(column: ReportColumn, docs: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """What these columns say."""
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


def _column(values: Floats) -> pa.Array:
    """Numbers with NaN for what is not known as a column with NULL for it."""
    return pa.array(values, from_pandas=bool(np.isnan(values).any()))
