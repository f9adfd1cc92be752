"""A store as it is now, for one who asks it many questions, however old it is."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from ..dumps.store import Store
from ..sandbox.sandbox import Limits, run, seal
from ..views.meta import meta_views
from ..views.sources import shown_by_all
from ..views.view import View
from .catalogue import readers_catalogue


def in_memory(
    store: Store, views: Sequence[View] = (), limits: Limits | None = None
) -> duckdb.DuckDBPyConnection:
    """A read-only connection, as `connect` makes it; what lands later is not all seen.

    Args:
        views: reductions, in the order in which they build on each other.
        limits: what queries may use; those of DuckDB by default.

    Raises:
        StoreError: the catalogue cannot be built.
        CpmonError: a limit means nothing.
    """
    connection = readers_catalogue(store, views)
    seal(connection, store, limits or Limits())
    intervals = next(view for view in meta_views() if view.name == "meta.interval")
    statements = [
        *shown_by_all(store, ["finding"]),  # few have any; it is asked for often
        f"DROP VIEW {intervals.name}; CREATE TABLE {intervals.name} AS {intervals.select}",
    ]
    run(connection, lambda: connection.execute(";".join(statements)))
    return connection
