"""What stands below a report: what is not known of its lines, gaps, clocks, levels and zone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

import duckdb
import pyarrow as pa

from ...config.moments import zone_name
from ...core.text import counted
from ..metrics.report_set import Report
from ..metrics.views import DOUBTS
from ..reductions.reductions import inferred_notes, reduction, tables_of
from .layout_notes import LONGER, dumps_of, layout_notes, levels_of, missing, notes_of
from .report_sql import Span

MOST_DOUBTS = 5
"""Maximum number of kinds of doubts that a note lists."""
CONTRADICTS = " contradicts "
"""In a doubt: two records know the same thing, and say other figures (`validation.toml`)."""


def notes_below(
    con: duckdb.DuckDBPyConnection,
    definition: Report,
    shown: Report,
    span: Span,
    table: pa.Table,
    coverage: Mapping[str, Any],
    doubts: Iterable[Mapping[str, Any]] | None,
) -> tuple[list[str], list[str]]:
    """The notes of a report, and those of them that are about layouts and columns.

    Args:
        shown: the report with the columns that are printed.
        table: its lines. coverage, doubts: of the query, see `report_sql`.
    """
    dumps = dumps_of(con, span.system, coverage["starts"], coverage["ends"])
    levels = levels_of(dumps.values())
    inferred = inferred_notes(tables_of(shown.reduction), dumps.values() if levels else ())
    of_layouts, meanings = layout_notes(con, dumps, shown), notes_of(shown, levels)
    always = {note.text for note in shown.notes if note.always}
    notes = [
        *known_notes(coverage, doubts),
        *_clock_notes(con, dumps),
        *_gap_notes(con, definition, span),
        *missing(shown, table, levels),
        *inferred,
        *of_layouts,
        *meanings,
    ]
    longer = [note for note in of_layouts if note.startswith(LONGER)]
    return notes, [*inferred, *longer, *(note for note in meanings if note not in always)]


def is_doubted(definition: Report) -> bool:
    """Whether the rows of a report say what is not known of them."""
    return DOUBTS in (column.name for column in reduction(definition.reduction).columns)


def known_notes(
    coverage: Mapping[str, Any], doubts: Iterable[Mapping[str, Any]] | None
) -> list[str]:
    """What is not known of lines, from `COVERAGE` and `DOUBTS` of their rows."""
    left_out = list[str]()
    if coverage["unmeasured"]:
        intervals = counted(coverage["unmeasured"], "interval")
        left_out = [f"{intervals} left out: a first sample, or behind a gap, has no rates."]
    return [*left_out, *doubts_note((d["doubt"], d["n"]) for d in doubts or ())]


def doubts_note(doubts: Iterable[tuple[str, int]]) -> list[str]:
    """Notes on unknown, incomplete and contradicted values, from kinds of doubts with counts.

    The greatest counts come first.
    """
    kinds: dict[bool, list[str]] = {False: [], True: []}
    for doubt, n in doubts:
        kinds[CONTRADICTS in doubt].append(f"{doubt} ({n:,})")
    notes = []
    for contradicted, named in kinds.items():
        if len(named) > MOST_DOUBTS:
            named[MOST_DOUBTS:] = [f"{len(named) - MOST_DOUBTS} more kinds"]
        listed = ", ".join(named)
        if contradicted and named:
            notes.append(f"{listed}: figures of one of them are wrong (cpmon validate).")
        elif named:
            notes.append(f"Blank, left out of sums, or a lower bound: {listed}.")
    return notes


def _clock_notes(con: duckdb.DuckDBPyConnection, dumps: Collection[str]) -> Iterator[str]:
    ((back, shifted),) = con.execute(
        "SELECT count(*) FILTER (map_contains(findings, 'TOD_BACK')),"
        " count(*) FILTER (map_contains(findings, 'CLOCK_SET'))"
        " FROM meta.dump WHERE list_contains(?, dump)",
        [list(dumps)],
    ).fetchall()
    if shifted:
        yield "The clock was set by seconds: that interval has no rates (CLOCK_SET)."
    if back:
        yield (
            "The clock was set back, or sets of data stand in the wrong order: there are no rates"
            " across it, nor where two stretches of time have the same times (TOD_BACK)."
        )


def _gap_notes(con: duckdb.DuckDBPyConnection, definition: Report, span: Span) -> Iterator[str]:
    """What the sums of a report of used processor time lack, if the span has gaps."""
    if "cpu_s" not in (column.name for column in definition.columns):
        return
    users_asked = tuple(each for each in span.objects if each.column == "userid")
    where, values = replace(span, objects=users_asked).where()
    ((users, cpu_s, ios),) = con.execute(
        "SELECT count(DISTINCT userid), sum(tod_seconds(cpu_tod)), CAST(sum(ios) AS BIGINT)"
        f" FROM _users_across_gaps WHERE {where}",
        values,
    ).fetchall()
    if cpu_s or ios:
        yield (
            f"Not included: {cpu_s:,.2f} s TCPU and {counted(ios, 'I/O')} of"
            f" {counted(users, 'user')}{'' if users_asked == span.objects else ', of any class,'}"
            " across gaps, by their counters on both sides."
        )


def zone_hint(
    con: duckdb.DuckDBPyConnection, system: str, starts: datetime, ends: datetime
) -> list[str]:
    """A hint to print times in the system's local time, if no zone was chosen."""
    ((zone_s,),) = con.execute(
        "SELECT arg_max(zone_s, last_tod) FROM meta.dump WHERE list_contains(?, dump)",
        [list(dumps_of(con, system, starts, ends))],
    ).fetchall()
    if not zone_s:
        return []
    return [f"Times are in UTC; local time of the system is {zone_name(zone_s)}: --tz system."]
