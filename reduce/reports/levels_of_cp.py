"""What a report says by the CP levels of its dumps: why columns are empty, and which notes hold."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

import duckdb
import pyarrow as pa

from ...core.text import counted
from ...schemas.release import release_key
from ..metrics.metric import Metric
from ..metrics.registry import metric_of
from ..metrics.report_shape import Report, ReportColumn
from ..reductions.reductions import reduction

RELEASE = re.compile(r"\d+(\.\d+)*")

Levels = list[tuple[int, ...]]
"""CP levels of dumps, the lowest first; empty where one of the dumps does not name its own."""


def dumps_of(
    con: duckdb.DuckDBPyConnection, system: str, first: datetime, last: datetime
) -> dict[str, str]:
    """The dumps of a span and the CP level of each, empty where it names none; times are UTC."""
    rows = con.execute(
        "SELECT dump, release FROM meta.dump WHERE system = ?"
        " AND least(first_tod, last_tod) <= ? AND greatest(first_tod, last_tod) >= ?",
        [system, last, first],
    ).fetchall()
    return {dump: release or "" for dump, release in rows}


def levels_of(releases: Iterable[str]) -> Levels:
    """The levels of dumps."""
    named = set(releases)
    return sorted(map(release_key, named)) if all(map(RELEASE.fullmatch, named)) else []


def notes_of(definition: Report, levels: Levels) -> list[str]:
    """The notes of a report that hold for some of its dumps, or may do."""
    return [
        note.text
        for note in definition.notes
        if not levels
        or (
            (not note.since or levels[-1] >= release_key(note.since))
            and (not note.before or levels[0] < release_key(note.before))
        )
    ]


def missing(definition: Report, table: pa.Table, levels: Levels) -> list[str]:
    """One note for every reason why columns are empty, naming the columns."""
    notes: dict[str, list[str]] = {}
    for column in definition.columns:
        nulls = table.column(column.name).null_count
        share = (
            "" if nulls == table.num_rows else f" in {nulls} of {counted(table.num_rows, 'line')}"
        )
        reason = _reason(definition, column, levels)
        if nulls and reason:
            notes.setdefault(f"not known{share} {reason}", []).append(column.heading)
    return [f"{', '.join(headings)}: {reason}." for reason, headings in notes.items()]


def unrecorded(definition: Report, levels: Levels) -> list[str]:
    """One note for every reason why no dump of these levels can fill some columns."""
    notes: dict[str, list[str]] = {}
    for column in (c for c in definition.columns if not c.is_optional):
        if reason := _level_reason(metric_of(definition.reduction, column.name), levels):
            notes.setdefault(f"not known {reason}", []).append(column.heading)
    return [f"{', '.join(headings)}: {reason}." for reason, headings in notes.items()]


def _level_reason(metric: Metric, levels: Levels) -> str:
    """Why no dump of these levels has a metric; empty if one may have it."""
    if metric.until and levels and levels[0] > release_key(metric.until):
        return f"after CP {metric.until}, the last level that records it"
    if metric.since and levels and levels[-1] < release_key(metric.since):
        return f"before CP {metric.since}, the first level that records it"
    return ""


def _reason(definition: Report, column: ReportColumn, levels: Levels) -> str:
    """Why values are missing: because of the CP level, or as the documentation says."""
    metric = metric_of(definition.reduction, column.name)
    if reason := _level_reason(metric, levels):
        return reason
    absence = reduction(definition.reduction).column(column.name).absence
    since, until = (release_key(r) if r else () for r in (metric.since, metric.until))
    if since and not (levels and levels[0] >= since):
        absence += f"{', or ' if absence else ''}before CP {metric.since}"
    if until and not levels:
        absence += (
            f"{', or ' if absence else ''}after CP {metric.until}, which a dump that names no "
        )
        absence += "level may be of (cpmon ingest --release names it)"
    elif until and levels[-1] > until:
        absence += f"{', or ' if absence else ''}after CP {metric.until}"
    return absence
