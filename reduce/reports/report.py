"""Runs reports: lines of a reduction, a mean line computed from sums, and notes on gaps.

A report is data (`reports.toml`); this module filters its reduction by run, span, shift or object
and states what it covers and what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...config import Settings
from ...config.definitions import definitions, of_definitions
from ...config.moments import LineLength, find_zone
from ...core.errors import CpmonError, unknown
from ...core.sql import UserSql
from ...core.sql import name as quoted
from ...core.text import length_of_time
from ...store.connection import point, systems_of, table_of
from ...store.results.lineage import lineages
from ...store.sql.scope import Scope
from ..metrics.metric import STATISTICS, TIME, MetricKind
from ..metrics.report_set import Lines, Report, end_column
from ..reductions.reductions import reductions
from .cells import utc
from .narrowing import Sort, condition_sql, is_of_objects, known_column, objects_of
from .no_lines import coverage_without_rows, nothing, object_names
from .report_names import find_report
from .report_notes import is_doubted, notes_below, zone_hint
from .report_sql import (
    BEGIN,
    COVERAGE,
    END,
    MEAN,
    MEASURED,
    TOTAL,
    Asked,
    LineSource,
    Span,
    report_sql,
    run_window,
    source_of,
)
from .report_sql import DOUBTS as ALL_DOUBTS

DAY = timedelta(days=1)
US = pa.timestamp("us")
BETWEEN_RECORDS = timedelta(milliseconds=10)
"""Time in which the records of a sample are written."""
OF_ALL = (MEAN, TOTAL, COVERAGE, ALL_DOUBTS)
"""Columns of the report query about all lines: the same value in each line."""


@dataclass(frozen=True, slots=True)
class ReportResult:
    """A report over one system and span.

    Attributes:
        report: what was asked for, with the columns as printed.
        starts, ends: begin of the first and end of the last interval, UTC.
        table: a row for each line, with the reduction's columns, unrounded and unscaled.
        mean: column -> value over the whole span, from sums or as a mean of samples; or None.
        total: column -> sum over the whole span, or over all objects.
        notes: what is missing, and what depends on inferred layouts.
        background: those of them that are about layouts and columns, not about figures shown.
        restrictions: the filters of the report, as text.
        covered: begin and end of each line and the seconds measured in it; none for a log.
    """

    report: Report
    system: str
    run_id: str | None
    starts: datetime
    ends: datetime
    intervals: int
    lines: Lines
    table: pa.Table
    mean: dict[str, float | None]
    total: dict[str, float | None]
    notes: tuple[str, ...]
    zone: ZoneInfo
    restrictions: tuple[str, ...] = ()
    covered: pa.Table | None = None
    background: tuple[str, ...] = ()

    @property
    def for_programs(self) -> pa.Table:
        """The table, and behind it the system, and begin, end and measured seconds of each line.

        Begin and end of a line by object are those of the report.
        """
        table, rows = self.table, self.table.num_rows
        added = {"system": pa.repeat(self.system, rows)}
        if self.covered is not None:
            columns = {"begin": BEGIN, "end": END, "measured_s": MEASURED}
            added |= {name: self.covered.column(column) for name, column in columns.items()}
        for name, values in added.items():
            if name not in table.column_names:
                table = table.append_column(name, values)
        return table

    @property
    def marks(self) -> list[str]:
        """The notes that are about figures shown."""
        return [note for note in self.notes if note not in self.background]

    @property
    def summaries(self) -> list[tuple[str, dict[str, float | None]]]:
        """The mean and total lines that the report has: name, and column -> value."""
        lines = [("Mean", self.mean if self.lines is Lines.TIME else {}), ("Total", self.total)]
        return [(name, values) for name, values in lines if values]


def report(  # noqa: PLR0913 - each is an option of the command
    con: duckdb.DuckDBPyConnection,
    name: str,
    *,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    objects: Mapping[str, Any] | None = None,
    by: LineLength | None = None,
    top: int | None = None,
    each: bool = False,
    sort: str | None = None,
    where: str | None = None,
    columns: Sequence[str] = (),
    statistics: Sequence[str] = (),
    shift: str | None = None,
    zone: str | None = None,
    settings: Settings | None = None,
) -> ReportResult:
    """Run a report over one system.

    Args:
        con: a connection on which the reductions are views.
        name: one that `find_report` knows.
        run: limits to the system and window of a run.
        system: required if the store has several systems and no run is given.
        since, until: limits to intervals that end after `since` and not after `until`;
            times without zone are UTC.
        objects: selects objects: {"device": 0x1234} or a range {"device": (0xA00, 0xAFF)},
            {"user": "LINUX001"} or a pattern {"user": "LNX*"}, {"class": "WEB"} for the users of
            a class, {"cpu": 0}, {"partition": "LPAR1"}. A single object has lines over time.
        by: aggregates intervals into lines of this length, aligned in `zone` to the hour,
            midnight, Monday or the month; reports of objects have a line for each object.
        top: limits the number of objects, by the order of the report; of lines by time where there
            is one object or none, and `sort` says by what. each: applies the limit to
            each line of time instead of the whole span.
        sort: column to order lines by, as `Sort.parse` reads it.
        where: filters lines: an expression over the columns of the report as it prints them.
        columns: shows only these columns, after times and keys, in their order.
        statistics: of the intervals of each line, beside each figure: "max", with its time, and
            "p95".
        shift: limits to intervals in the hours of a shift of the settings.
        zone: time zone of the printed times; default from the settings.

    Raises:
        NothingToReportError: the report has no line in that span.
        CpmonError: a name is unknown, or the report does not support an option.
    """
    if top is not None and top < 1:
        raise CpmonError("that is no number of objects", expected="top=1 or more", found=str(top))
    definition, site = find_report(name), settings or Settings()
    whole = whole_span(con, run, system)
    span = replace(
        whole,
        since=max(filter(None, (whole.since, utc(since))), default=None),
        until=min(filter(None, (whole.until, utc(until))), default=None),
        shift=site.shift(shift) if shift else None,
        objects=objects_of(con, definition, objects or {}),
    )
    lines_zone = find_zone(zone or site.zone(span.system))
    is_of_time = definition.lines is Lines.TIME or not definition.keys
    over_time = is_of_time or by is not None or _is_one(definition, span)
    of_times = over_time and (not definition.keys or _is_one(definition, span))
    asked = Asked(over_time, by, lines_zone.key, top=top, each=each, of_times=of_times)
    shown = _shown(definition, over_time, by, statistics)
    if sort:
        asked = replace(asked, sort=Sort.parse(sort, shown))
    if where:
        asked = replace(asked, where=condition_sql(con, UserSql(where), shown))
    chosen = [known_column(column, shown) for column in columns]
    _check_lines(definition, asked)
    _check_statistics(definition, asked, statistics)
    begin = None if definition.reduction in _since_when() else span.since
    point(con, Scope(span.system, begin, span.until))
    result = _read(con, definition, shown, span, asked, lines_zone, chosen)
    result = replace(result, restrictions=_restrictions(definition, result, span, asked, where))
    result = only(result, chosen) if chosen else result
    if zone is None and not site.has_zone(span.system):
        return replace(
            result,
            notes=(*result.notes, *zone_hint(con, result.system, result.starts, result.ends)),
        )
    return result


@of_definitions
def _since_when() -> frozenset[str]:
    """The reductions with `valid_from`, which read from the beginning."""
    return frozenset(each.name for each in lineages(reductions()) if each.tells_since_when)


def _check_statistics(definition: Report, asked: Asked, statistics: Sequence[str]) -> None:
    """Check that statistics are known, and that lines have several intervals."""
    for name in statistics:
        if name not in STATISTICS:
            raise unknown("statistic", name, STATISTICS)
    is_single = definition.lines is Lines.ROW or (asked.over_time and asked.by is None)
    if statistics and is_single:
        raise CpmonError(
            f"a line of {definition.name} has no maximum: it is of one interval",
            code="report-statistics-unsupported",
            remedy="add --by, as --by 1h, or leave --with out",
        )


def _check_lines(definition: Report, asked: Asked) -> None:
    """Check that the report supports the requested lines."""
    by, top = asked.by, asked.top
    if isinstance(by, timedelta) and by < timedelta(minutes=1):
        raise CpmonError(
            "a line cannot cover less than a minute", expected="1m or more", found=str(by)
        )
    if isinstance(by, timedelta) and DAY % by and by % DAY:
        raise CpmonError(
            "lines of that length do not begin at midnight",
            expected="a length that divides a day, as 15m, 1h, 6h; or whole days",
            found=f"{by}",
        )
    if by is not None and definition.lines is Lines.ROW:
        raise CpmonError(
            f"{definition.name} has no lines by time",
            code="report-by-unsupported",
            remedy="leave --by out",
        )
    is_ranked = definition.sort or asked.sort or definition.lines is Lines.ROW
    if top is not None and not is_ranked:
        raise CpmonError(
            f"{definition.name} has no order of its own",
            code="report-order-missing",
            remedy="say by --sort COLUMN which lines are the greatest",
        )
    if asked.each and (top is None or not asked.over_time or asked.of_times):
        raise CpmonError(
            "--top-of line is about --top of lines by time",
            code="report-top-of-unsupported",
            remedy="add --top and --by",
        )


def _is_one(definition: Report, span: Span) -> bool:
    """Whether the report follows a single object over time."""
    followed = {objects.column for objects in span.objects if objects.is_one}
    return bool(followed) and followed <= set(definition.keys)


def whole_span(
    con: duckdb.DuckDBPyConnection, run: str | None = None, system: str | None = None
) -> Span:
    """The span of a run, or of all intervals of a system.

    Raises:
        CpmonError: no such run or system, or the system is ambiguous.
    """
    if run is not None:
        measured, since, until = run_window(con, run, system)
        return Span(measured, run, since, until)
    systems = systems_of(con, with_intervals=True)
    if system is None and len(systems) != 1:
        raise CpmonError(
            "the store holds several systems" if systems else "no interval is in the store",
            code="system-ambiguous" if systems else "store-empty",
            expected="one system",
            found=", ".join(systems) or "none",
            remedy="name one with --system" if systems else "ingest a dump first",
        )
    if system is not None and system not in systems:
        raise unknown("system", system, systems)
    return Span(system or systems[0])


def _read(
    con: duckdb.DuckDBPyConnection,
    definition: Report,
    shown: Report,
    span: Span,
    asked: Asked,
    zone: ZoneInfo,
    chosen: Collection[str],
) -> ReportResult:
    if definitions().has_view(definition.reduction) and definition.lines is not Lines.ROW:
        _check_keys(con, definition, span)
    over_time, is_rows = asked.over_time, definition.lines is Lines.ROW
    source, source_notes = source_of(con, definition, span, asked.by, zone)
    if source.is_rolled and any(column.of for column in shown.columns):
        source_notes = (
            *source_notes,
            "Of roll-ups the time of a maximum is the end of its hour, and a line of several hours"
            " has no 95th percentile.",
        )
    table, of_all = _lines_and_all(con, shown, span, source, asked)
    if of_all is None:
        if not is_rows:
            raise nothing(con, definition, span, source_notes)
        of_all = {}, {}, coverage_without_rows(con, definition, span), []
    means, totals, coverage, doubts = of_all
    starts, ends = coverage["starts"], coverage["ends"]
    covered = None
    if not is_rows:
        covered, table = _covered(table, over_time, starts, ends)
        if over_time and asked.by is None:
            covered = _from_ends(con, covered, span)
    shown, table = _known(shown, table)
    if asked.where or (asked.top and (asked.of_times or not is_of_objects(definition))):
        means, totals = {}, {}  # they would include lines that are not shown
    of_one = not is_of_objects(definition) or (
        _is_one(definition, span) and _objects(shown, table) == 1
    )
    if over_time and of_one:
        mean, total = _mean_and_sums(shown, table, means)
    else:
        mean, total = {}, _numbers(shown, totals)
    columns = {c.name for c in shown.columns if not c.of} & {*(chosen or table.column_names)}
    plain = replace(shown, columns=tuple(c for c in shown.columns if c.name in columns))
    notes, background = notes_below(con, definition, plain, span, table, coverage, doubts)
    return ReportResult(
        report=shown,
        system=span.system,
        run_id=span.run_id,
        starts=starts,
        ends=ends,
        intervals=coverage["intervals"],
        lines=Lines.TIME if over_time and not is_rows else definition.lines,
        table=table,
        mean=mean,
        total=total,
        notes=(*source_notes, *notes),
        zone=zone,
        covered=covered,
        background=tuple(background),
    )


def _lines_and_all(
    con: duckdb.DuckDBPyConnection, shown: Report, span: Span, source: LineSource, asked: Asked
) -> tuple[pa.Table, tuple[Any, ...] | None]:
    """The lines, and the values about all of them, as OF_ALL has them; None without any line.

    What is said of all lines stands in each of them: where none meets the condition, it is read
    from the lines without it.
    """
    table = _lines(con, shown, span, source, asked)
    shown_lines = table.num_rows
    if asked.where and not shown_lines:
        table = _lines(con, shown, span, source, replace(asked, where=""))
    of_all = tuple(table.column(o)[0].as_py() for o in OF_ALL) if table.num_rows else None
    return table.drop_columns(list(OF_ALL)).slice(0, shown_lines), of_all


def _covered(
    table: pa.Table, over_time: bool, starts: datetime, ends: datetime
) -> tuple[pa.Table, pa.Table]:
    """What each line covers, and the lines without it; by object they cover all of the span."""
    begins, end = table.column(BEGIN), pa.repeat(ends, table.num_rows)
    if over_time:
        end = table.column(TIME)
    else:
        begins = pa.repeat(starts, table.num_rows)
    covered = {BEGIN: begins.cast(end.type), END: end, MEASURED: table.column(MEASURED)}
    return pa.table(covered), table.drop_columns([BEGIN, MEASURED])


def _from_ends(con: duckdb.DuckDBPyConnection, covered: pa.Table, span: Span) -> pa.Table:
    """The lines with begins that are ends of intervals, where they differ by clocks alone.

    The records of a sample are not written at the same time. Which lines are shown changes nothing.
    """
    where, values = replace(span, objects=(), shift=None).where()
    rows = con.execute(
        f"SELECT DISTINCT previous_end FROM meta.interval WHERE {where}"
        " AND previous_end IS NOT NULL ORDER BY previous_end",
        values,
    ).fetchnumpy()
    known = rows["previous_end"].astype("datetime64[us]")
    if not known.size:
        return covered
    old = covered.column(BEGIN).cast(US).to_numpy()
    met = known[np.minimum(np.searchsorted(known, old), len(known) - 1)]
    is_met = (met >= old) & (met - old <= np.timedelta64(BETWEEN_RECORDS))
    begins = pa.array(np.where(is_met, met, old), US)
    return covered.set_column(0, BEGIN, begins.cast(covered.schema.field(BEGIN).type))


def _lines(
    con: duckdb.DuckDBPyConnection, shown: Report, span: Span, source: LineSource, asked: Asked
) -> pa.Table:
    """Query the lines, each with the values about all of them."""
    sql, values = report_sql(shown, span, source, asked, doubted=is_doubted(shown))
    try:
        return table_of(con, sql, values)
    except (duckdb.BinderException, duckdb.ConversionException, duckdb.CatalogException) as error:
        if not asked.where:
            raise
        raise CpmonError(
            "the condition of --where cannot be computed",
            place=asked.where.partition(" WHERE ")[2],
            found=str(error).partition("\n")[0],
            effect="nothing is shown",
        ) from None


def _check_keys(con: duckdb.DuckDBPyConnection, definition: Report, span: Span) -> None:
    """Check that a reduction of the site has one row for each object and interval.

    Otherwise rates would be too low while counts and sums are right, so nobody would notice.
    """
    where, values = replace(span, objects=()).where()
    keys = ", ".join(map(quoted, (TIME, *definition.keys)))
    (row,) = con.execute(
        f"SELECT {keys}, count(*) FROM {quoted(definition.reduction)} WHERE {where}"
        " GROUP BY ALL ORDER BY count(*) DESC LIMIT 1",
        values,
    ).fetchall() or [(0,)]
    if row[-1] > 1:
        raise CpmonError(
            f"{definition.reduction} has several rows for one line of {definition.name}",
            expected=f"one row for each {', '.join(('system', TIME, *definition.keys))}",
            found=f"{row[-1]} rows of {', '.join(map(str, row[:-1]))}",
            code="report-rows-several",
            effect="its rates would be too low",
            remedy="group by these columns, with complete_sum(...) of what is added up and"
            " max(seconds); or name the columns that tell the rows apart in keys",
        )


def _objects(shown: Report, table: pa.Table) -> int:
    """Number of objects in the lines; an object that is followed may have several parts."""
    if not shown.keys:
        return 1
    listed = set(table.column_names)  # lines differ in a key that is not shown
    if not listed.issuperset(shown.keys):
        return int(table.num_rows)
    return int(table.group_by(list(shown.keys)).aggregate([]).num_rows)


def _shown(
    definition: Report, over_time: bool, by: LineLength | None, statistics: Collection[str]
) -> Report:
    """The report with the column of times if lines are times, without it if they are objects."""
    if definition.lines is Lines.ROW:
        return definition
    listed_columns = (c for c in definition.columns if c.name != TIME)
    columns = tuple(each for c in listed_columns for each in c.with_statistics(statistics))
    if over_time:
        listed = next((c for c in definition.columns if c.name == TIME), end_column())
        end = end_column(by)
        columns = (end if end.calendar else listed, *columns)
    return replace(definition, columns=columns)


def _known(shown: Report, table: pa.Table) -> tuple[Report, pa.Table]:
    """Drops the optional columns that are NULL in all lines."""
    absent = {c.name for c in shown.columns if c.is_optional}
    absent = {name for name in absent if table.column(name).null_count == table.num_rows}
    columns = tuple(c for c in shown.columns if c.name not in absent)
    return replace(shown, columns=columns), table.drop_columns(sorted(absent))


def _numbers(
    shown: Report, values: Mapping[str, float | str | None] | None
) -> dict[str, float | None]:
    """The numeric values of a mean or total line, for the columns shown."""
    columns = {column.name for column in shown.columns}
    return {
        name: value
        for name, value in (values or {}).items()
        if name in columns and not isinstance(value, str)
    }


def _mean_and_sums(
    shown: Report, table: pa.Table, means: Mapping[str, float | str | None] | None
) -> tuple[dict[str, float | None], dict[str, float | None]]:
    """The mean line of lines by time, and its values that are sums."""
    mean = _numbers(shown, means)
    sums = {column.name for column in shown.columns if column.kind is MetricKind.TOTAL}
    total = {column: mean.pop(column) for column in sums & mean.keys()}
    if means:  # the mean length of the lines, whatever the number of intervals in each
        lengths = [column.name for column in shown.columns if column.kind is MetricKind.ELAPSED]
        mean |= {name: pc.mean(table.column(name)).as_py() for name in lengths}
    return mean, total


def _restrictions(
    definition: Report, result: ReportResult, span: Span, asked: Asked, where: str | None
) -> tuple[str, ...]:
    restrictions, by = object_names(definition, span), asked.by
    if span.shift is not None:
        restrictions.append(f"shift {span.shift.name}")
    if by is not None:
        restrictions.append(f"by {by if isinstance(by, str) else length_of_time(by)}")
    lines = result.table.num_rows if asked.of_times else _objects(definition, result.table)
    if asked.top and lines >= asked.top:
        restrictions.append(f"the first {asked.top}{' of each line' if asked.each else ''}")
    if asked.sort is not None:
        restrictions.append(f"by {asked.sort.column}")
    if where:
        restrictions.append(f"where {' '.join(where.split())}")
    return tuple(restrictions)


def only(result: ReportResult, chosen: Collection[str]) -> ReportResult:
    """The result with times, keys and the selected columns, in their order."""
    shown = result.report
    always = [c.name for c in shown.columns if c.name in (TIME, *shown.keys)]
    by_name = {column.name: column for column in shown.columns}  # without columns that are all NULL
    wanted = dict.fromkeys([*always, *chosen])
    names = [
        each
        for name in wanted
        for each, column in by_name.items()
        if each == name or (column.of and column.of.name == name and each not in wanted)
    ]
    return replace(
        result,
        report=replace(shown, columns=tuple(by_name[name] for name in names)),
        table=result.table.select(names),
        mean={name: value for name, value in result.mean.items() if name in names},
        total={name: value for name, value in result.total.items() if name in names},
    )
