"""The scope of a run, system and times, and the intervals in it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from zoneinfo import ZoneInfo

import duckdb

from ...core.errors import CpmonError, unknown
from ...core.text import counted
from ...store.connection import systems_of
from ...store.sql.scope import Scope
from ..reports.cells import UTC_ZONE, clock, utc
from ..reports.report_sql import run_window


@dataclass(frozen=True, slots=True)
class Coverage:
    """The intervals in a scope, that of a run if there is one; UTC, None without intervals."""

    scope: Scope
    run_id: str | None
    first: datetime | None
    last: datetime | None
    intervals: int

    def line(self, zone: ZoneInfo = UTC_ZONE) -> str:
        """The coverage in a line."""
        system = f"System {self.scope.system}" if self.scope.system else "All systems"
        run = f", run {self.run_id}" if self.run_id else ""
        if self.first is None or self.last is None:
            return f"{system}{run}, no interval"
        first, last = clock(self.first, zone), clock(self.last, zone)
        span = f"{first} to {last} {zone.key}"
        return f"{system}{run}, {span}, {counted(self.intervals, 'interval')}"


def coverage(con: duckdb.DuckDBPyConnection, scope: Scope, run: str | None = None) -> Coverage:
    """The intervals in a scope.

    Raises:
        CpmonError: there are none, though the store has some, or no dump.
    """
    counted = "SELECT min(interval_end), max(interval_end), count(DISTINCT (system, interval_end))"
    sql = f"{counted} FROM meta.interval"
    ((first, last, intervals),) = con.execute(f"{sql} WHERE {scope.condition()}").fetchall()
    if intervals:
        return Coverage(scope, run, first, last, intervals)
    ((first, last, dumps),) = con.execute(sql).fetchall()
    # A dump without any interval may have findings, configuration and events all the same.
    if not dumps and con.execute("SELECT 1 FROM meta.dump").fetchone():
        return Coverage(scope, run, None, None, 0)
    raise CpmonError(
        "no interval is in that span" if dumps else "no dump is in the store",
        code="span-without-intervals" if dumps else "store-empty",
        expected=f"intervals that end from {first} to {last} UTC" if dumps else None,
        effect="there is nothing to check",
        remedy=None if dumps else "ingest a dump first",
    )


def scope_of(
    con: duckdb.DuckDBPyConnection,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Scope:
    """The scope of a run, system and times.

    Raises:
        CpmonError: there is no such run or system, or the run is one of another system.
    """
    since, until = utc(since), utc(until)
    if run is None:
        if system is not None:
            systems = systems_of(con)
            if system not in systems:
                raise unknown("system", system, systems)
        return Scope(system, since, until)
    measured, begins, ends = run_window(con, run, system)
    latest = max(filter(None, (begins, since)), default=None)
    return Scope(measured, latest, min(filter(None, (ends, until)), default=None))
