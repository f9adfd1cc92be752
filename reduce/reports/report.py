"""Reports: a reduction, the columns a reader sees of it, and a mean line that is no mean of means.

A report is data (`reports.toml`); this module narrows its reduction to a run, a span, a shift or an
object, and tells what it covers and what is missing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...config import Settings
from ...config.moments import LineLength
from ...config.shifts import find_zone, zone_name
from ...core.errors import CpmonError, NothingToReportError
from ...core.names import fold, nearest, unknown, unknown_of_many
from ...core.sql import name as quoted
from ...core.text import counted, length_of_time
from ...store.catalogue.connection import point, systems_of
from ...store.results.lineage import lineages
from ...store.scope import Scope
from ..metrics.report_set import END, REPORTS
from ..metrics.report_shape import TIME, Kind, Lines, Report
from ..metrics.views import DOUBTS
from ..reductions.reductions import inferred_notes, reduction, reductions, tables_of
from .cells import cell_text, utc
from .layout_notes import dumps_of, layout_notes, levels_of, missing, notes_of
from .report_sql import COVERAGE, MEAN, TOTAL, Span, report_sql, run_window, source_of
from .report_sql import DOUBTS as ALL_DOUBTS

__all__ = ["ReportResult", "find_report", "report", "report_names"]

DAY = timedelta(days=1)
FEWEST_SECONDS = 60
"""The shortest span that --by can ask for."""
OF_ALL = (MEAN, TOTAL, COVERAGE, ALL_DOUBTS)
"""What the query of a report says of all lines: the same in each."""


@dataclass(frozen=True, slots=True)
class ReportResult:
    """A report over one system and span.

    Attributes:
        report: what was asked for, with the columns as printed.
        system: the system it is about; `run_id` the run, if one was named.
        starts, ends: begin of the first and end of the last interval, UTC.
        intervals: how many intervals are covered.
        lines: what the lines are.
        table: one row a line, columns of the reduction, unrounded and unscaled.
        mean: column -> value over the whole span, by sums or as a mean level; None if not known.
        total: column -> sum over the whole span; of objects, value of all of them together.
        notes: what is missing, and what rests on an inference.
        zone: in which times are printed.
        restrictions: how the report was narrowed, in words.
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

    @property
    def summaries(self) -> list[tuple[str, dict[str, float | None]]]:
        """The lines below the others, as far as there are any: name, and column -> value."""
        lines = [("Mean", self.mean if self.lines is Lines.TIME else {}), ("Total", self.total)]
        return [(name, values) for name, values in lines if values]


def report_names() -> list[str]:
    """Names of all reports."""
    return sorted(REPORTS)


def find_report(name: str) -> Report:
    """The report of that name, in any case, with dashes or underscores.

    Raises:
        CpmonError: there is none; the nearest is suggested.
    """
    definition = {fold(key): report for key, report in REPORTS.items()}.get(fold(name))
    if definition is None:
        raise unknown("report", name, REPORTS)
    return definition


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
    shift: str | None = None,
    zone: str | None = None,
    settings: Settings | None = None,
) -> ReportResult:
    """A report over one system.

    Args:
        con: a connection on which the reductions are views.
        name: one of `report_names()`.
        run: limits to the system and window of a run.
        system: needed when the store holds several and no run is named.
        since, until: limits to intervals that end behind `since` and not behind `until`;
            times without zone are UTC.
        objects: follows one: {"device": 0x1234}, {"user": "LINUX001"}, {"cpu": 0},
            {"partition": "LPAR1"}.
        by: a line covers the intervals of such a span of `zone`, which begins on the hour, at
            midnight, on Monday, or with the month; lines of a report of objects are then times,
            and one object must be followed.
        top: only so many objects.
        shift: limits to intervals in the hours of a shift of the settings.
        zone: time zone of the printed times; the settings' by default.

    Raises:
        NothingToReportError: the report has no line in that span.
        CpmonError: an unknown name, or something that the report cannot do.
    """
    definition, site = find_report(name), settings or Settings()
    span = _span(con, run, system)
    narrowed = replace(
        span,
        since=max(filter(None, (span.since, utc(since))), default=None),
        until=min(filter(None, (span.until, utc(until))), default=None),
        shift=site.shift(shift) if shift else None,
        objects=_followed(definition, objects or {}),
    )
    _check_lines(definition, narrowed, by, top)
    point(con, _scope(definition, narrowed))
    result = _read(con, definition, narrowed, by, top, find_zone(zone or site.zone(span.system)))
    if zone is None and not site.has_zone(span.system):
        return replace(result, notes=(*result.notes, *_zone_hint(con, result)))
    return result


def _scope(definition: Report, span: Span) -> Scope:
    """What the rows of a report rest on; those that tell since when, on all that was before."""
    since_when = {each.name for each in lineages(reductions()) if each.tells_since_when}
    since = None if definition.reduction in since_when else span.since
    return Scope(span.system, since, span.until)


def _followed(definition: Report, objects: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The only value of each column that tells objects apart."""
    for option in objects:
        if option not in definition.follows:
            able = [r.name for r in REPORTS.values() if option in r.follows]
            raise CpmonError(
                f"{definition.name} has no line per {_NOUNS[option]}",
                code="report-filter-unsupported",
                remedy=f"leave the {_NOUNS[option]} out, or ask for one of {', '.join(able)}",
            )
    return tuple((definition.follows[option], value) for option, value in objects.items())


_NOUNS = {"cpu": "processor", "user": "user", "device": "device", "partition": "partition"}


def _check_lines(definition: Report, span: Span, by: LineLength | None, top: int | None) -> None:
    if isinstance(by, timedelta) and by.total_seconds() < FEWEST_SECONDS:
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
    if by is not None and definition.lines is Lines.OBJECT and not _is_one(definition, span):
        options = " or ".join(f"--{option}" for option in definition.follows)
        raise CpmonError(
            f"{definition.name} has a line per object; over time it can follow one",
            code="report-object-required" if options else "report-by-unsupported",
            expected=f"{options} beside --by" if options else "no --by",
            remedy=f"name it with {options}" if options else "leave --by out",
        )
    if top is not None and (definition.lines is Lines.TIME or _is_one(definition, span)):
        raise CpmonError(
            f"{definition.name} has lines by time",
            code="report-top-unsupported",
            remedy="leave --top out",
        )


def _is_one(definition: Report, span: Span) -> bool:
    """Whether one object is followed."""
    return bool(span.objects) and {column for column, _ in span.objects} <= set(definition.keys)


def _span(con: duckdb.DuckDBPyConnection, run: str | None, system: str | None) -> Span:
    if run is not None:
        measured, since, until = run_window(con, run, system)
        return Span(measured, run, since, until)
    systems = systems_of(con, with_intervals=True)
    if system is None:
        if len(systems) != 1:
            raise CpmonError(
                "the store holds several systems" if systems else "no interval is in the store",
                code="system-ambiguous" if systems else "store-empty",
                expected="one system",
                found=", ".join(systems) or "none",
                remedy="name one with --system" if systems else "ingest a dump first",
            )
        return Span(systems[0])
    if system not in systems:
        raise unknown("system", system, systems)
    return Span(system)


def _read(
    con: duckdb.DuckDBPyConnection,
    definition: Report,
    span: Span,
    by: LineLength | None,
    top: int | None,
    zone: ZoneInfo,
) -> ReportResult:
    over_time = definition.lines is Lines.TIME or _is_one(definition, span) or definition.keys == ()
    shown = _shown(definition, over_time)
    source, source_notes = source_of(con, definition, span, by, zone)
    doubted = DOUBTS in (column.name for column in reduction(definition.reduction).columns)
    sql, values = report_sql(
        shown, span, source, by=by, over_time=over_time, doubted=doubted, top=top, zone=zone.key
    )
    table = con.sql(sql, params=values).to_arrow_table()
    if table.num_rows:
        means, totals, coverage, doubts = (table.column(o)[0].as_py() for o in OF_ALL)
    elif definition.lines is Lines.ROW:
        means, totals, doubts = {}, {}, []
        coverage = _coverage_without_rows(con, definition, span)
    else:
        raise _nothing(con, definition, span, source_notes)
    starts, ends = coverage["starts"], coverage["ends"]
    shown, table = _known(shown, table.drop_columns(list(OF_ALL)))
    mean, total = {}, {} if over_time else _numbers(shown, totals)
    if over_time and (definition.lines is not Lines.OBJECT or _objects(shown, table) == 1):
        sums = {column.name for column in shown.columns if column.kind is Kind.TOTAL}
        mean = _numbers(shown, means)
        total = {column: mean.pop(column) for column in sums & mean.keys()}
        mean |= _mean_lengths(shown, table)
    dumps = dumps_of(con, span.system, starts, ends)
    levels = levels_of(dumps.values())
    return ReportResult(
        report=shown,
        system=span.system,
        run_id=span.run_id,
        starts=starts,
        ends=ends,
        intervals=coverage["intervals"],
        lines=Lines.TIME if over_time and definition.lines is not Lines.ROW else definition.lines,
        table=table,
        mean=mean,
        total=total,
        notes=(
            *source_notes,
            *_left_out(coverage["unmeasured"]),
            *doubts_note((d["doubt"], d["n"]) for d in doubts or ()),
            *_clock_notes(con, dumps),
            *missing(shown, table, levels),
            *inferred_notes(tables_of(definition.reduction), dumps.values() if levels else ()),
            *layout_notes(con, dumps, shown),
            *notes_of(definition, levels),
        ),
        zone=zone,
        restrictions=_restrictions(definition, span, by, top, table),
    )


def _objects(shown: Report, table: pa.Table) -> int:
    """How many objects the lines are of: one that is followed may have parts of several kinds."""
    return table.group_by(list(shown.keys)).aggregate([]).num_rows if shown.keys else 1


def _shown(definition: Report, over_time: bool) -> Report:
    """The report with or without the column of times, as its lines are times or objects."""
    if definition.lines is Lines.ROW:
        return definition
    columns = tuple(c for c in definition.columns if c.name != TIME or over_time)
    if over_time and columns[0].name != TIME:
        columns = (END, *columns)
    return replace(definition, columns=columns)


def _known(shown: Report, table: pa.Table) -> tuple[Report, pa.Table]:
    """Without the optional columns that no line has."""
    absent = {c.name for c in shown.columns if c.is_optional}
    absent = {name for name in absent if table.column(name).null_count == table.num_rows}
    columns = tuple(c for c in shown.columns if c.name not in absent)
    return replace(shown, columns=columns), table.drop_columns(sorted(absent))


def _numbers(
    shown: Report, values: Mapping[str, float | str | None] | None
) -> dict[str, float | None]:
    """What a line below the others has of the columns that are shown, without names."""
    columns = {column.name for column in shown.columns}
    return {
        name: value
        for name, value in (values or {}).items()
        if name in columns and not isinstance(value, str)
    }


def _mean_lengths(shown: Report, table: pa.Table) -> dict[str, float | None]:
    """The mean length of the lines, however many intervals each covers."""
    lengths = [column.name for column in shown.columns if column.kind is Kind.ELAPSED]
    return {name: pc.mean(table.column(name)).as_py() for name in lengths}


def _restrictions(
    definition: Report, span: Span, by: LineLength | None, top: int | None, table: pa.Table
) -> tuple[str, ...]:
    """How the report was narrowed, in words."""
    restrictions = _object_names(definition, span)
    if span.shift is not None:
        restrictions.append(f"shift {span.shift.name}")
    if by is not None:
        restrictions.append(f"by {by if isinstance(by, str) else length_of_time(by)}")
    if top is not None and table.num_rows == top:
        restrictions.append(f"the first {top}")
    return tuple(restrictions)


def _unknown_object(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span
) -> CpmonError | None:
    """The error for an object that the system never had, with the nearest that it had."""
    columns = {column.name: column for column in definition.columns}
    options = {column: option for option, column in definition.follows.items()}
    for name, value in span.objects:
        option, lists = options[name], [definition]
        if definition.lines is Lines.ROW:  # not all objects have rows in it
            reports = [r for r in REPORTS.values() if option in r.follows]
            lists = sorted(reports, key=lambda r: r.lines is Lines.ROW)
        objects: set[Any] = set()
        for view, column in {r.reduction: r.follows[option] for r in lists}.items():
            rows = con.execute(
                f"SELECT DISTINCT {quoted(column)} FROM {view} WHERE system = ?", [span.system]
            ).fetchall()
            objects |= {each for (each,) in rows if each is not None}
        if objects and value not in objects:
            asked, *others = (
                cell_text(columns[name], each) if name in columns else str(each)
                for each in (value, *sorted(objects))
            )
            look = f"cpmon report {lists[0].name} lists what there is"
            like = nearest(asked, others)
            return unknown_of_many(_NOUNS[option], asked, like, look, NothingToReportError)
    return None


def _object_names(definition: Report, span: Span) -> list[str]:
    """What the report follows, printed as its columns print it: a device number in hexadecimal."""
    columns = {column.name: column for column in definition.columns}
    return [
        f"{name} {cell_text(columns[name], value) if name in columns else value}"
        for name, value in span.objects
    ]


def _coverage_without_rows(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span
) -> dict[str, Any]:
    """The intervals in which nothing happened, as `Source.coverage` has those of rows.

    Raises:
        CpmonError: there are none, or there is no such object.
    """
    where, values = replace(span, objects=()).where()
    length = "coalesce(to_microseconds(CAST(seconds * 1e6 AS BIGINT)), INTERVAL 0 SECONDS)"
    ((starts, ends, intervals),) = con.execute(
        f"SELECT min({TIME} - {length}), max({TIME}), count(DISTINCT {TIME})"
        f" FROM meta.interval WHERE {where}",
        values,
    ).fetchall()
    error = _unknown_object(con, definition, span)
    if error or not intervals:
        raise error or _nothing(con, definition, span, ())
    return {"starts": starts, "ends": ends, "intervals": intervals, "unmeasured": 0}


def _nothing(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span, source_notes: tuple[str, ...]
) -> CpmonError:
    """The error for a report without lines: of an object that there is not, or in its span."""
    whose = " ".join(_object_names(definition, span))
    where, values = replace(span, since=None, until=None, shift=None).where()
    measured = " AND seconds IS NOT NULL" if definition.lines is not Lines.ROW else ""
    ((count, first, last),) = con.execute(
        f"SELECT count(DISTINCT {TIME}), min({TIME}), max({TIME})"
        f" FROM {definition.reduction} WHERE {where}{measured}",
        values,
    ).fetchall()
    if not count and (error := _unknown_object(con, definition, span)):
        return error
    return NothingToReportError(
        f"no measured interval of {whose or f'system {span.system}'} is in that span",
        expected=f"intervals that end from {first} to {last} UTC" if count else None,
        found=f"{counted(count, 'measured interval')} of it in all",
        effect=" ".join(
            ("there is nothing to report; a first sample alone has no rates", *source_notes)
        ),
    )


MOST_DOUBTS = 5
"""Kinds of doubts that a note tells apart."""


def doubts_note(doubts: Iterable[tuple[str, int]]) -> list[str]:
    """A note on what is not known of some rows, or only in part, with how many of each kind.

    Args:
        doubts: their kinds, most frequent first, and how many rows have each.
    """
    kinds = [f"{doubt} ({n:,})" for doubt, n in doubts]
    if not kinds:
        return []
    named = kinds[:MOST_DOUBTS]
    if len(kinds) > MOST_DOUBTS:
        named.append(f"{len(kinds) - MOST_DOUBTS} more kinds")
    return [f"Blank, left out of sums, or a lower bound: {', '.join(named)}."]


def _clock_notes(con: duckdb.DuckDBPyConnection, dumps: Collection[str]) -> list[str]:
    """Whether the clock was set while some dumps were written."""
    ((back, shifted),) = con.execute(
        "SELECT count(*) FILTER (map_contains(findings, 'TOD_BACK')),"
        " count(*) FILTER (map_contains(findings, 'CLOCK_SET'))"
        " FROM meta.dump WHERE list_contains(?, dump)",
        [list(dumps)],
    ).fetchall()
    notes = []
    if shifted:
        notes.append("The clock was set by seconds: that interval has no rates (CLOCK_SET).")
    if back:
        notes.append(
            "The clock was set back, or sets of data stand in the wrong order: there are no rates"
            " across it, nor where two stretches of time have the same times (TOD_BACK)."
        )
    return notes


def _zone_hint(con: duckdb.DuckDBPyConnection, result: ReportResult) -> list[str]:
    """How times are printed as the clocks of the system show them, where nobody chose a zone."""
    ((zone_s,),) = con.execute(
        "SELECT arg_max(zone_s, last_tod) FROM meta.dump WHERE list_contains(?, dump)",
        [list(dumps_of(con, result.system, result.starts, result.ends))],
    ).fetchall()
    if not zone_s:
        return []
    return [f"Times are in UTC; local time of the system is {zone_name(zone_s)}: --tz system."]


def _left_out(unmeasured: int) -> list[str]:
    if not unmeasured:
        return []
    intervals = counted(unmeasured, "interval")
    return [f"{intervals} left out: a first sample, or behind a gap, has no rates."]
