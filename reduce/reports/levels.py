"""Which level of kept results covers the span of a report: intervals, or the finest roll-ups."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from importlib.resources import files
from string import Template
from typing import Any
from zoneinfo import ZoneInfo

import duckdb

from ...config.moments import LineLength
from ...core.errors import CpmonError
from ...core.grace_period import DAY, GRACE, INSIDE
from ..metrics.report_shape import Lines, Report
from ..metrics.rollups import LEVELS, hours, rollup_of
from .report_sql import Source, Span

_COVERED = Template((files(__package__) / "covered.sql").read_text(encoding="utf-8"))
_COARSE = (files(__package__) / "coarse.sql").read_text(encoding="utf-8")
_UTC = ZoneInfo("UTC")
_NAMES = {"15m": "15 minutes", "hour": "an hour"}


def source_of(
    con: duckdb.DuckDBPyConnection,
    definition: Report,
    span: Span,
    by: LineLength | None = None,
    zone: ZoneInfo = _UTC,
) -> tuple[Source, tuple[str, ...]]:
    """Where a report reads, and the notes about it.

    Args:
        by, zone: lengths of its lines, and whose days, weeks and months these are.

    Raises:
        CpmonError: the intervals are no longer kept and no roll-up can stand for them.
    """
    fine = Source(definition.reduction)
    if definition.lines is Lines.ROW or rollup_of(definition.reduction) is None:
        return fine, ()
    if not _lacks_intervals(con, definition, span):
        return fine, ()
    where, values = replace(span, shift=None, objects=()).where()
    rows = con.execute(
        _COVERED.substitute(day=DAY, where=where), [*values, definition.reduction, span.system]
    ).fetchall()
    levels: dict[date, set[str]] = {day: set(names or ()) for day, names in rows}
    coarse = [day for day, names in levels.items() if names and "interval" not in names]
    if not coarse:
        return fine, ()
    level = next((name for name in LEVELS if all(name in levels[day] for day in coarse)), "")
    if not level:
        return fine, (f"{_days(coarse)} left out: no one level of roll-ups covers them.",)
    _check_shift(con, definition, span, level)
    if by is not None:
        _check_zone(level, coarse, zone)
    shift = span.shift
    source = Source(
        f'rollup."{definition.reduction}"',
        level,
        shift.name if shift else "",
        hours(shift) if shift else "",
    )
    notes = [
        f"The intervals of {_days(coarse)} are no longer kept: this rests on roll-ups, each of"
        f" {_NAMES[level]}."
    ]
    absent = [day for day, names in levels.items() if level not in names]
    if absent:
        notes.append(f"{_days(absent)} left out: not rolled up yet (cpmon reduce does it).")
    return source, tuple(notes)


def _lacks_intervals(con: duckdb.DuckDBPyConnection, definition: Report, span: Span) -> bool:
    """Whether days may be kept in roll-ups only; told by what is kept, however long the span is."""
    first = (span.since - GRACE).date() if span.since else date.min
    last = (span.until - INSIDE).date() if span.until else date.max
    names = {"reduction": definition.reduction, "system": span.system}
    return bool(con.execute(_COARSE, {**names, "first": first, "last": last}).fetchall())


def _check_shift(
    con: duckdb.DuckDBPyConnection, definition: Report, span: Span, level: str
) -> None:
    """Roll-ups know the shifts that were set when they were made."""
    if span.shift is None:
        return
    rows: list[Any] = con.execute(
        f'SELECT DISTINCT shift, hours FROM rollup."{definition.reduction}"'
        " WHERE system = ? AND level = ? AND shift <> '' ORDER BY ALL",
        [span.system, level],
    ).fetchall()
    if (span.shift.name, hours(span.shift)) not in rows:
        raise CpmonError(
            f"the intervals are no longer kept, and not rolled up by shift {span.shift.name}",
            expected=hours(span.shift),
            found="; ".join(f"{name}: {text}" for name, text in rows) or "no shift",
            remedy="leave --shift out, or ask for days whose intervals are kept",
        )


def _check_zone(level: str, days: list[date], zone: ZoneInfo) -> None:
    """Roll-ups begin with hours and quarters of UTC; lines are to begin with those of the zone."""
    offsets = (datetime.combine(day, time(), UTC).astimezone(zone).utcoffset() for day in days)
    if any((offset or timedelta()) % LEVELS[level] for offset in offsets):
        raise CpmonError(
            f"days and hours of {zone.key} cannot be told from roll-ups of {_NAMES[level]}",
            expected=f"intervals, or a zone that is whole hours from UTC: {_days(days)}",
            effect="nothing is shown, rather than lines that begin at other times",
            remedy="leave --by out, or name another zone with --tz",
        )


def _days(days: list[date]) -> str:
    if len(days) == 1:
        return f"{days[0]}"
    return f"{len(days)} days from {days[0]} to {days[-1]}"
