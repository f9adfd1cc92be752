"""The objects of a system that have pages, for the search of the index."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

import duckdb

from ..core.sql import name as quoted
from ..reduce.metrics.report_set import reports
from ..reduce.page.content import windows
from ..reduce.page.object_page import MAIN, can_be_followed, object_title
from ..store.connection import Connection, point
from ..store.sql.scope import Scope
from .addresses import ObjectAddresses

DAY, REACH = timedelta(days=1), timedelta(days=31)
ROLLUPS = "rollup."
"""Schema of the hours that are kept."""


def objects_of_system(con: Connection, chosen: Mapping[str, str]) -> list[tuple[str, str]]:
    """Title and address of each object of a system: also of its runs, and of all kept hours.

    Samples are read of the last `REACH` alone, which is long enough for what is not reduced yet.
    The address is of the newest of them: of a run, or of the day that ends with the object.

    Raises:
        CpmonError: no such system.
    """
    found = dict[str, str]()
    for window in windows(con, None, chosen.get("system", ""), systems=True):
        since = max(window.first, window.last - REACH)
        scopes = {"": Scope(window.system, since, window.last)}
        if not window.run_id and window.first < since:  # what is newer replaces it
            scopes = {ROLLUPS: Scope(window.system), **scopes}
        for schema, scope in scopes.items():
            point(con, scope)
            for kind, value, last in _objects(con, schema, scope):
                bounds = {"since": (last - DAY).isoformat(), "until": last.isoformat()}
                links = ObjectAddresses(window, {} if window.run_id else bounds)
                found[object_title(kind, value)] = links[kind, value]
    return [*found.items()]


def _objects(con: Connection, schema: str, scope: Scope) -> Iterator[tuple[str, Any, datetime]]:
    """Kind and value of each object in a scope, and when it was there last.

    Args:
        schema: `ROLLUPS` for the hours that are kept, empty for intervals.
    """
    for kind, name in MAIN.items():
        main = reports()[name]
        # No dump has the records of the report, or no hour of it is kept.
        with suppress(duckdb.CatalogException):
            rows = con.execute(
                f"SELECT {quoted(main.follows[kind])}, max(interval_end)"
                f" FROM {schema}{quoted(main.reduction)} WHERE {scope.condition()}"
                " GROUP BY 1 ORDER BY 1"
            ).fetchall()
            yield from ((kind, v, last) for v, last in rows if can_be_followed(kind, v))
