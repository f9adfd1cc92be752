"""A scope of exceptions or validation, from what a user named."""

from __future__ import annotations

from datetime import UTC, datetime

import duckdb

from ...schemas import CpmonError
from ...schemas.lookup import unknown
from .rule_sql import Scope


def scope_of(
    con: duckdb.DuckDBPyConnection,
    run: str | None = None,
    system: str | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> Scope:
    """A scope from what a user named.

    Raises:
        CpmonError: there is no such run or system, or the run is one of another system.
    """
    since, until = _utc(since), _utc(until)
    if run is None:
        if system is not None and not _has_intervals(con, system):
            of_dumps = con.execute("SELECT DISTINCT system FROM meta.dump").fetchall()
            systems = [str(name) for (name,) in of_dumps]
            if system not in systems:
                raise unknown("system", system, systems)
        return Scope(system, since, until)
    rows = con.execute("SELECT run_id, system, since, until FROM meta.run")
    runs = {str(run_id): tuple(rest) for run_id, *rest in rows.fetchall()}
    if run not in runs:
        raise unknown("run", run, runs)
    measured, begins, ends = runs[run]
    if system not in (None, measured):
        raise CpmonError(
            f"run {run} was not measured on that system", expected=measured, found=system
        )
    latest = max(filter(None, (begins, since)), default=None)
    return Scope(measured, latest, min(filter(None, (ends, until)), default=None))


def _has_intervals(con: duckdb.DuckDBPyConnection, system: str) -> bool:
    """Whether a system has any; the dumps of an old store take long to look through."""
    sql = "SELECT 1 FROM meta.interval WHERE system = ? LIMIT 1"
    return bool(con.execute(sql, [system]).fetchall())


def _utc(time: datetime | None) -> datetime | None:
    """A time as the catalogue has it: UTC without zone."""
    if time is None or time.tzinfo is None:
        return time
    return time.astimezone(UTC).replace(tzinfo=None)
