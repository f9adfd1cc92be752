"""Reports of several systems, and metrics of several reports in one table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial, reduce
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ...config import Settings
from ...core.errors import CpmonError, NothingToReportError, fold, unknown
from ...core.text import counted, is_pattern
from ...store.connection import systems_of
from ..metrics.metric import FIGURES, TIME, MetricKind, ReportColumn
from ..metrics.report_set import Lines, Report, reports
from .narrowing import Sort
from .report import ReportResult, only, report
from .report_names import find_report
from .report_sql import BEGIN, END, MEASURED

SYSTEM = ReportColumn("system", "System", width=8)


class _Asked(Protocol):
    """A report of one system; the other options are bound."""

    def __call__(self, *, system: str | None, zone: str | None) -> ReportResult: ...


def combined_reports(
    con: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    system: str | None = None,
    sort: str | None = None,
    top: int | None = None,
    zone: str | None = None,
    columns: Sequence[str] = (),
    settings: Settings | None = None,
    **options: Any,
) -> list[ReportResult]:
    """The reports of some names, or one table of metrics if the names are columns of reports.

    Args:
        system: one, or a pattern ("PROD*"): lines have their system then, and no mean line.
        sort, top, zone, columns, options: see `report`. Of several systems, `top` counts the lines
            of all if they are no lines by time of several objects.

    Raises:
        CpmonError: a name is unknown, or a report does not support an option.
    """
    options |= {"settings": settings}
    columns = [column.lower() for column in columns]
    asked: list[_Asked]
    if are_metrics(names):
        options |= {"sort": sort, "top": top, "columns": columns}
        sort, columns = sort and f"{sort.partition(':')[0].lower()}:{_way(sort)}", ()
        asked = [partial(metric_report, con, names, **options)]
    else:
        kept = columns and [*columns, *([sort.partition(":")[0]] if sort else [])]
        options |= {"sort": sort, "top": top, "columns": kept}
        asked = [partial(report, con, name, **options) for name in names]
    if not system or not is_pattern(system):
        results = [one(system=system, zone=zone) for one in asked]
    else:
        results = [
            _of_systems(con, one, system, zone, sort, top, settings or Settings()) for one in asked
        ]
    return [only(result, columns) if columns else result for result in results]


def are_metrics(names: Sequence[str]) -> bool:
    """Whether names are those of columns of reports, and of no report.

    Raises:
        CpmonError: some are reports, and others columns.
    """
    known = {column.name for definition in reports().values() for column in definition.columns}
    metrics = [name for name in names if fold(name) in known and not _is_report(name)]
    others = [name for name in names if name not in metrics]
    if metrics and others:
        if not _is_report(others[0]):
            raise unknown("metric", others[0], known)
        raise CpmonError(
            "reports and metrics are named together",
            code="report-metric-mixed",
            found=", ".join(names),
            remedy=f"name reports alone, or metrics alone: {' '.join(metrics)}",
        )
    return bool(metrics)


def check_names(names: Sequence[str]) -> None:
    """Check that names are those of reports, or of columns of reports.

    Raises:
        CpmonError: they are not.
    """
    if not are_metrics(names):
        for name in names:
            find_report(name)


def _is_report(name: str) -> bool:
    try:
        find_report(name)
    except CpmonError:
        return False
    return True


def _way(sort: str) -> str:
    return sort.partition(":")[2] or ("asc" if sort.lower() == TIME else "desc")


def metric_report(
    con: duckdb.DuckDBPyConnection,
    names: Sequence[str],
    *,
    sort: str | None = None,
    top: int | None = None,
    columns: Sequence[str] = (),
    where: str | None = None,
    objects: Mapping[str, Any] | None = None,
    **options: Any,
) -> ReportResult:
    """Metrics of several reports side by side, a line a time: of the system, or of one object.

    Args:
        names: columns of reports.
        options: see `report`; of the others only `objects`, `sort` and `top` are supported.

    Raises:
        CpmonError: no report by time has a column, or an option is not supported.
    """
    if where or columns or options.get("each"):
        raise CpmonError(
            "a table of metrics has all that is named, and no condition",
            code="metric-option-unsupported",
            remedy="leave --where, --columns and --top-of out, or ask for one report",
        )
    if top and not sort:
        raise CpmonError(
            "a table of metrics has no order of its own",
            code="report-order-missing",
            remedy="say by --sort COLUMN which lines are the greatest",
        )
    wanted = [fold(name) for name in dict.fromkeys(names)]
    parts = [
        report(con, definition.name, columns=of_it, objects=objects, **options)
        for definition, of_it in _chosen(wanted, objects or {})
    ]
    _check_lines(parts)
    result = _side_by_side(parts, wanted)
    return _ordered(result, Sort.parse(sort, result.report), top) if sort else result


def _check_lines(parts: Iterable[ReportResult]) -> None:
    """Raise if a part has no line, or several for a time."""
    for part in parts:
        if not part.table.num_rows:
            raise NothingToReportError("a metric has no line in that span")
        if part.lines is not Lines.TIME or _has_several(part.table):
            raise CpmonError(
                f"{part.report.name} has several lines for a time",
                code="metric-objects-several",
                expected="one object",
                remedy="name one object, or ask for the report",
            )


def _side_by_side(parts: Sequence[ReportResult], wanted: Sequence[str]) -> ReportResult:
    """The wanted columns of reports as one report, a line for each time that a part has."""
    first = parts[0]
    table = reduce(_joined, map(_with_cover, parts)).sort_by(TIME)
    shown = {column.name: column for part in parts for column in part.report.columns}
    of = [c for name in wanted for c in shown.values() if name in (c.name, c.of and c.of.name)]
    definition = Report(
        "METRICS",
        f"Metrics of {', '.join(part.report.name for part in parts)}",
        first.report.reduction,
        (first.report.columns[0], *dict.fromkeys(of)),
    )
    absent = [
        f"{part.report.name} has {part.table.num_rows} of {counted(table.num_rows, 'line')}."
        for part in parts
        if part.table.num_rows < table.num_rows
    ]
    return replace(
        first,
        report=definition,
        lines=Lines.TIME,
        starts=min(part.starts for part in parts),
        ends=max(part.ends for part in parts),
        intervals=max(part.intervals for part in parts),
        table=table.select([column.name for column in definition.columns]),
        mean={name: value for part in parts for name, value in part.mean.items()},
        total={name: value for part in parts for name, value in part.total.items()},
        notes=(*absent, *_notes({part.report.name: part.notes for part in parts})),
        background=_notes({part.report.name: part.background for part in parts}),
        covered=table.select([BEGIN, END, MEASURED]),
    )


def _chosen(names: Sequence[str], objects: Mapping[str, Any]) -> Iterator[tuple[Report, list[str]]]:
    """The reports that have some columns, as few as possible, each with those that it gives."""
    able = [
        definition
        for definition in reports().values()
        if definition.lines is not Lines.ROW
        and (objects.keys() <= definition.follows.keys() if objects else not definition.keys)
    ]
    has = {
        definition.name: {c.name for c in definition.columns if c.kind in FIGURES}
        for definition in able
    }
    left = list(names)
    while left:
        best = max(able, key=lambda each: len(has[each.name] & {*left}), default=None)
        found = has[best.name] & {*left} if best else set[str]()
        if best is None or not found:
            whose = "of such an object" if objects else "of a system by time"
            raise unknown(f"metric {whose}", left[0], {n for each in has.values() for n in each})
        yield best, [name for name in left if name in found]
        left = [name for name in left if name not in found]


def _has_several(table: pa.Table) -> bool:
    """Whether a time has several lines."""
    return bool(pc.count_distinct(table.column(TIME)).as_py() < table.num_rows)


def _with_cover(result: ReportResult) -> pa.Table:
    """The lines of a report without keys, with what they cover."""
    table = result.table.drop_columns(
        [c for c in result.report.keys if c in result.table.schema.names]
    )
    assert result.covered is not None
    for name in (BEGIN, END, MEASURED):
        table = table.append_column(name, result.covered.column(name))
    return table


def _joined(left: pa.Table, right: pa.Table) -> pa.Table:
    """Lines of two reports by time; what they measured is unknown where they differ in it."""
    both = left.join(right, keys=TIME, join_type="full outer", right_suffix="_right")
    for name in (BEGIN, END, MEASURED):
        one, other = both.column(name), both.column(f"{name}_right")
        is_said_twice = pc.fill_null(pc.not_equal(one, other), False)
        known = pc.if_else(is_said_twice, None, pc.coalesce(one, other))
        both = both.set_column(both.column_names.index(name), name, known)
    return both.drop_columns([name for name in both.column_names if name.endswith("_right")])


def _ordered(result: ReportResult, sort: Sort, top: int | None) -> ReportResult:
    """The lines in an order, and the first of them."""
    way = "descending" if sort.is_descending else "ascending"
    keys = [(sort.column, way), *([(TIME, "ascending")] if sort.column != TIME else [])]
    keys = [key for key in keys if key[0] in result.table.column_names]
    order = pc.sort_indices(result.table, keys)[:top]
    covered = result.covered and result.covered.take(order)
    result = replace(result, table=result.table.take(order), covered=covered)
    if not top:
        return result
    first = (f"the first {top}",) if result.table.num_rows >= top else ()
    own = tuple(each for each in result.restrictions if not each.startswith("the first"))
    return replace(result, mean={}, restrictions=(*own, *first))


def _of_systems(
    con: duckdb.DuckDBPyConnection,
    asked: _Asked,
    pattern: str,
    zone: str | None,
    sort: str | None,
    top: int | None,
    site: Settings,
) -> ReportResult:
    """A report of the systems of a pattern, with the system in front of each line."""
    every = systems_of(con, with_intervals=True)
    systems = sorted(name for name in every if fnmatchcase(name, pattern.upper()))
    if not systems:
        raise unknown("system", pattern, every)
    zone = zone or site.zone(None)
    parts: dict[str, ReportResult] = {}
    without: dict[str, NothingToReportError] = {}
    for name in systems:
        try:
            parts[name] = asked(system=name, zone=zone)
        except NothingToReportError as error:
            without[name] = error
    if not parts:
        raise next(iter(without.values()))
    result = _merged(parts)
    notes = [f"{name} has no line: {error.problem}." for name, error in without.items()]
    result = replace(result, notes=(*notes, *result.notes))
    definition = result.report
    if sort is None and result.lines is Lines.TIME:
        return _ordered(result, Sort(TIME, is_descending=False), None)
    if sort is None and definition.sort not in result.table.column_names:
        return result
    order = Sort.parse(sort, definition) if sort else Sort(definition.sort)
    is_of_times = result.lines is Lines.TIME and {*definition.keys} == {SYSTEM.name}
    of_all = result.lines is not Lines.TIME or is_of_times
    return _ordered(result, order, top if of_all else None)


def _merged(parts: Mapping[str, ReportResult]) -> ReportResult:
    """The lines of systems one below the other; totals are of sums alone, which can be added."""
    results = list(parts.values())
    widest = sorted(results, key=lambda each: -len(each.report.columns))
    columns = list({c.name: c for each in widest for c in each.report.columns}.values())
    tables = [
        each.table.add_column(0, SYSTEM.name, pa.repeat(name, each.table.num_rows))
        for name, each in parts.items()
    ]
    table = pa.concat_tables(tables, promote_options="default")
    definition = replace(
        results[0].report,
        columns=(SYSTEM, *columns),
        keys=(SYSTEM.name, *results[0].report.keys),
    )
    covered = [each.covered for each in results if each.covered is not None]
    sums = [c.name for c in columns if c.kind is MetricKind.TOTAL and not c.of]
    totals = {
        name: values
        for name in sums
        if None not in (values := [each.total.get(name) for each in results])
    }
    absent = [
        f"{name} has no {', '.join(column.heading for column in lacking)}."
        for name, each in parts.items()
        if (lacking := [c for c in columns if c.name not in each.table.column_names])
    ]
    names = ", ".join(parts) if len(parts) <= 4 else counted(len(parts), "system")
    return replace(
        results[0],
        report=definition,
        system=names,
        starts=min(each.starts for each in results),
        ends=max(each.ends for each in results),
        intervals=max(each.intervals for each in results),
        table=table.select([column.name for column in definition.columns]),
        mean={},
        total={name: sum(filter(None, values)) for name, values in totals.items()},
        notes=(*absent, *_notes({name: each.notes for name, each in parts.items()})),
        background=_notes({name: each.background for name, each in parts.items()}),
        restrictions=max((each.restrictions for each in results), key=len),
        covered=pa.concat_tables(covered) if len(covered) == len(results) else None,
    )


def _notes(notes: Mapping[str, Collection[str]]) -> tuple[str, ...]:
    """Notes of several results, each once; those that not all have name whose they are."""
    whose: dict[str, list[str]] = {}
    for name, each in notes.items():
        for note in each:
            whose.setdefault(note, []).append(name)
    return tuple(
        note if len(names) == len(notes) else f"{', '.join(names)}: {note}"
        for note, names in whose.items()
    )
