"""Reports: a reduction, the columns a reader sees of it, and a mean line that is no mean of means.

A report is data (`report_set.py`); this module narrows its reduction to a run or a span and
computes the mean line from the sums behind the printed columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa

from ..schemas import CpmonError
from ..schemas.lookup import fold, unknown
from .reductions import reduction
from .report_set import REPORTS
from .report_shape import Report, ReportColumn, Sums

__all__ = ["ReportResult", "find_report", "report", "report_names"]


@dataclass(frozen=True, slots=True)
class ReportResult:
    """A report over one system and span.

    Attributes:
        report: what was asked for, with the columns as printed.
        system: the system it is about; `run_id` the run, if one was named.
        starts, ends: begin of the first and end of the last interval, UTC.
        intervals: how many intervals are shown.
        table: one row a line, columns of the reduction, unrounded and unscaled.
        mean: column -> value over the whole span, by sums or as a mean level; None if not known.
        notes: what is missing, and what rests on an inference.
    """

    report: Report
    system: str
    run_id: str | None
    starts: datetime
    ends: datetime
    intervals: int
    table: pa.Table
    mean: dict[str, float | None]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Span:
    """Which rows of a reduction are meant; `until` is inside, `since` is not."""

    system: str
    run_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    cpu: int | None = None

    def where(self) -> tuple[str, list[Any]]:
        """The condition as SQL, and the values of its marks."""
        wanted = {
            "system = ?": self.system,
            "interval_end > ?": self.since,
            "interval_end <= ?": self.until,
            "cpu = ?": self.cpu,
        }
        given = {text: value for text, value in wanted.items() if value is not None}
        return " AND ".join(given), list(given.values())


def report_names() -> list[str]:
    """Names of all reports."""
    return sorted(REPORTS)


def find_report(name: str) -> Report:
    """The report of that name, in any case, with dashes or underscores.

    Raises:
        CpmonError: there is none; the nearest is suggested.
    """
    found = {fold(known): r for known, r in REPORTS.items()}.get(fold(name))
    if found is None:
        raise unknown("report", name, REPORTS)
    return found


def report(
    con: duckdb.DuckDBPyConnection,
    name: str,
    *,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    cpu: int | None = None,
) -> ReportResult:
    """A report over one system.

    Args:
        con: a connection on which the reductions are views.
        name: one of `report_names()`.
        run: limits to the system and window of a run.
        system: needed when the store holds several and no run is named.
        since, until: limits to intervals that end behind `since` and not behind `until`;
            times without zone are UTC.
        cpu: limits to one processor, where the report has a line for each.

    Raises:
        CpmonError: an unknown name, or nothing to report.
    """
    wanted = find_report(name)
    if cpu is not None and not wanted.by_cpu:
        raise CpmonError(
            f"{wanted.name} has no line per processor",
            remedy="leave the processor out, or ask for PROCESSORS_BY_TIME",
        )
    span = _span(con, run, system)
    narrowed = replace(
        span,
        since=max(filter(None, (span.since, _utc(since))), default=None),
        until=min(filter(None, (span.until, _utc(until))), default=None),
        cpu=cpu,
    )
    return _read(con, wanted, narrowed)


def _utc(time: datetime | None) -> datetime | None:
    """A time as the catalogue has it: UTC without zone."""
    if time is None or time.tzinfo is None:
        return time
    return time.astimezone(UTC).replace(tzinfo=None)


def _span(con: duckdb.DuckDBPyConnection, run: str | None, system: str | None) -> _Span:
    if run is not None:
        rows = con.execute("SELECT run_id, system, since, until FROM meta.run").fetchall()
        known = {str(run_id): (measured, since, until) for run_id, measured, since, until in rows}
        if run not in known:
            raise unknown("run", run, known)
        measured, since, until = known[run]
        if system not in (None, measured):
            raise CpmonError(
                f"run {run} was not measured on that system",
                expected=measured,
                found=system,
                remedy="leave --system out: a run names its system",
            )
        return _Span(measured, run, since, until)
    found = con.execute("SELECT DISTINCT system FROM meta.interval ORDER BY system").fetchall()
    systems = [str(name) for (name,) in found]
    if system is None:
        if len(systems) != 1:
            raise CpmonError(
                "the store holds several systems" if systems else "no interval is in the store",
                expected="one system",
                found=", ".join(systems) or "none",
                remedy="name one with --system" if systems else "ingest a dump first",
            )
        return _Span(systems[0])
    if system not in systems:
        raise unknown("system", system, systems)
    return _Span(system)


def _read(con: duckdb.DuckDBPyConnection, wanted: Report, span: _Span) -> ReportResult:
    where, values = span.where()
    view = wanted.reduction
    order = "interval_end, cpu" if wanted.by_cpu else "interval_end"
    names = ", ".join(column.name for column in wanted.columns)
    table = con.sql(
        f"SELECT {names} FROM {view} WHERE {where} AND seconds IS NOT NULL ORDER BY {order}",
        params=values,
    ).to_arrow_table()
    if not table.num_rows:
        raise _nothing(con, span, view)
    expressions = ", ".join(_mean_sql(c) for c in wanted.columns if c.mean is not None)
    ((first, last, intervals, *means),) = con.execute(
        f"SELECT min(interval_end), max(interval_end), count(DISTINCT interval_end), {expressions}"
        f" FROM {view} WHERE {where} AND seconds IS NOT NULL",
        values,
    ).fetchall()
    averaged = [column.name for column in wanted.columns if column.mean is not None]
    return ReportResult(
        report=wanted,
        system=span.system,
        run_id=span.run_id,
        starts=first - timedelta(seconds=table.column("seconds")[0].as_py()),
        ends=last,
        intervals=intervals,
        table=table,
        mean=dict(zip(averaged, means, strict=True)),
        notes=(*_unmeasured(con, wanted, span), *_missing(wanted, table), *wanted.notes),
    )


def _mean_sql(column: ReportColumn) -> str:
    match column.mean:
        case Sums(over, under, factor):
            # Records of an older release may lack the counter: their time is not its time.
            divisor = f"sum({under}) FILTER (WHERE {over} IS NOT NULL)"
            return f"sum({over}) * {factor!r} / nullif({divisor}, 0)"
        case _:
            return f"avg({column.name})"


def _nothing(con: duckdb.DuckDBPyConnection, span: _Span, view: str) -> CpmonError:
    whose = f"system {span.system}" if span.cpu is None else f"processor {span.cpu}"
    where, values = replace(span, since=None, until=None).where()
    ((count, first, last),) = con.execute(
        f"SELECT count(DISTINCT interval_end), min(interval_end), max(interval_end)"
        f" FROM {view} WHERE {where} AND seconds IS NOT NULL",
        values,
    ).fetchall()
    return CpmonError(
        f"no measured interval of {whose} is in that span",
        expected=f"intervals that end from {first} to {last} UTC" if count else None,
        found=f"{count} measured intervals of it in all",
        effect="there is nothing to report; a first sample alone has no rates",
    )


def _unmeasured(con: duckdb.DuckDBPyConnection, wanted: Report, span: _Span) -> list[str]:
    where, values = span.where()
    ((count,),) = con.execute(
        f"SELECT count(DISTINCT interval_end) FROM {wanted.reduction}"
        f" WHERE {where} AND seconds IS NULL",
        values,
    ).fetchall()
    if not count:
        return []
    noun = "interval" if count == 1 else "intervals"
    return [f"{count} {noun} left out: a first sample, or behind a gap, has no rates."]


def _missing(wanted: Report, table: pa.Table) -> list[str]:
    """One note for every reason why columns are empty, naming the columns."""
    notes: dict[str, list[str]] = {}
    for column in wanted.columns:
        nulls = table.column(column.name).null_count
        if nulls:
            absence = reduction(wanted.reduction).column(column.name).absence or "in these records"
            share = "" if nulls == table.num_rows else f" in {nulls} of {table.num_rows} lines"
            notes.setdefault(f"not known{share} {absence}", []).append(column.heading)
    return [f"{', '.join(headings)}: {reason}." for reason, headings in notes.items()]
