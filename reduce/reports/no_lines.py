"""The errors for a report without lines: no such object, or nothing was measured."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import duckdb

from ...core.errors import CpmonError, NothingToReportError, nearest, unknown_of_many
from ...core.sql import name as quoted
from ...core.text import counted
from ..metrics.metric import TIME
from ..metrics.report_set import Lines, Report, reports
from .cells import cell_text
from .narrowing import NOUNS
from .report_sql import Span


def object_names(definition: Report, span: Span) -> list[str]:
    """The selected objects as their columns print them: device numbers in hexadecimal."""
    columns = {column.name: column for column in definition.columns}
    return [objects.text(columns) for objects in span.objects]


def _unknown_object(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span
) -> CpmonError | None:
    """The error for an object that the system never had, with the nearest existing names."""
    columns = {column.name: column for column in definition.columns}
    for each in span.objects:
        if not each.is_one:
            continue
        option, name, value, lists = each.option, each.column, each.value, [definition]
        if definition.lines is Lines.ROW:  # logs may have no rows of an existing object
            able = [r for r in reports().values() if option in r.follows]
            lists = sorted(able, key=lambda r: r.lines is Lines.ROW)
        of_view: dict[str, set[Any]] = {}
        for view, column in {r.reduction: r.follows[option] for r in lists}.items():
            rows = con.execute(
                f"SELECT DISTINCT {quoted(column)} FROM {view} WHERE system = ?", [span.system]
            ).fetchall()
            of_view[view] = {each for (each,) in rows if each is not None}
        objects = set[Any]().union(*of_view.values())
        if objects and value not in objects:
            asked, *others = (
                cell_text(columns[name], each) if name in columns else str(each)
                for each in (value, *sorted(objects))
            )
            longest = max(lists, key=lambda r: len(of_view[r.reduction]))
            look = f"cpmon report {longest.name} lists what there is"
            like = nearest(asked, others)
            return unknown_of_many(NOUNS[option], asked, like, look, NothingToReportError)
    return None


def coverage_without_rows(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span
) -> dict[str, Any]:
    """Coverage of a span without rows, in the form of `Source.coverage`."""
    where, values = replace(span, objects=()).where()
    length = "coalesce(to_microseconds(CAST(seconds * 1e6 AS BIGINT)), INTERVAL 0 SECONDS)"
    ((starts, ends, intervals),) = con.execute(
        f"SELECT min({TIME} - {length}), max({TIME}), count(DISTINCT {TIME})"
        f" FROM meta.interval WHERE {where}",
        values,
    ).fetchall()
    error = _unknown_object(con, definition, span)
    if error or not intervals:
        raise error or nothing(con, definition, span, ())
    return {"starts": starts, "ends": ends, "intervals": intervals, "unmeasured": 0}


def nothing(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span, source_notes: tuple[str, ...]
) -> CpmonError:
    """The error for a report without lines: unknown object, or no interval in the span."""
    whose = " ".join(object_names(definition, span))
    where, values = replace(span, since=None, until=None, shift=None).where()
    measured = " AND seconds IS NOT NULL" if definition.lines is not Lines.ROW else ""
    ((count, first, last),) = con.execute(
        f"SELECT count(DISTINCT {TIME}), min({TIME}), max({TIME})"
        f" FROM {definition.reduction} WHERE {where}{measured}",
        values,
    ).fetchall()
    if not count and (error := _unknown_object(con, definition, span)):
        return error
    of_system, values = replace(span, since=None, until=None, shift=None, objects=()).where()
    ((has_intervals,),) = con.execute(
        f"SELECT count(previous_end) > 0 FROM meta.interval WHERE {of_system}", values
    ).fetchall()
    first_sample = "" if has_intervals else "; a first sample alone has no rates"
    return NothingToReportError(
        f"no measured interval of {whose or f'system {span.system}'} is in that span",
        expected=f"intervals that end from {first} to {last} UTC" if count else None,
        found=f"{counted(count, 'measured interval')} of it in all",
        effect=" ".join((f"there is nothing to report{first_sample}", *source_notes)),
    )
