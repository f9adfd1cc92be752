"""A store as it is now, for one who asks it many questions, however old it is.

Each dump has a small file of its intervals and one of what it is, which stay for ever; nearly every
question would open all of them. Here they are read once.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

import duckdb

from .catalogue import View, readers_catalogue
from .meta import DUMP
from .sealing import Limits, seal
from .sources import json_rows
from .store import Store
from .views import LANDED, landed_rows, name


def gathered(
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
    _hold(connection, "interval", landed_rows("interval"))
    with tempfile.TemporaryDirectory() as scratch:  # DuckDB takes a millisecond for each file
        file = Path(scratch) / "dumps.json"
        with file.open("w", encoding="utf-8") as stream:
            stream.writelines(f"{json.dumps(about)}\n" for about in store.dumps())
        _hold(connection, "dump.json", json_rows(file, DUMP, present=file.stat().st_size > 0))
    seal(connection, store, limits or Limits())
    return connection


def _hold(connection: duckdb.DuckDBPyConnection, table: str, rows: str) -> None:
    """Let a table in memory stand for the files of a landed one."""
    macro, held = landed_rows(table), f"{LANDED}.{name(f'held_{table}')}"
    connection.execute(f"CREATE TABLE {held} AS SELECT * FROM {rows}")
    connection.execute(f"CREATE OR REPLACE MACRO {macro} AS TABLE SELECT * FROM {held}")
