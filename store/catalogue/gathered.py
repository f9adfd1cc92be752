"""A store as it is now, for one who asks it many questions, however old it is.

Each dump has a small file of its intervals and one of what it is, which stay for ever; nearly every
question would open all of them. Here only those of new dumps are opened: what the others said is
remembered in `gathered/`, a file for each of the two, which may be deleted at any time.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...schemas.atomic import replacing
from ..dumps.store import Store
from ..sandbox.sandbox import Limits, seal
from ..views.meta import DUMP, INTERVAL, meta_views
from ..views.sources import json_rows, parquet_rows, shown_by_all
from ..views.view import View
from ..views.views import LANDED, PLACE, landed_rows, name
from .catalogue import readers_catalogue

FOLDER = "gathered"
_DUMPS = b"dumps"
"""Under this key of a file stands which dumps it has read; some have no rows."""

Read = Callable[[Sequence[Path]], pa.Table]
"""The rows of the dumps in some folders."""


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
    folders = {dump.rpartition("=")[2]: dump for dump in store.folders.dumps()}

    def intervals(some: Sequence[Path]) -> pa.Table:
        rows = parquet_rows(store, "interval", some)
        columns = ", ".join([*PLACE, *INTERVAL.names])
        return connection.sql(f"SELECT {columns} FROM {rows}").to_arrow_table()

    def abouts(some: Sequence[Path]) -> pa.Table:
        with tempfile.TemporaryDirectory() as scratch:  # DuckDB takes a millisecond for each file
            file = Path(scratch) / "dumps.json"
            said = [json.loads((folder / "dump.json").read_bytes()) for folder in some]
            file.write_text("".join(f"{json.dumps(about)}\n" for about in said), encoding="utf-8")
            rows = json_rows([str(file)] if said else [], DUMP)
            return connection.sql(f"SELECT * FROM {rows}").to_arrow_table()

    _hold(connection, "interval", _rows(store, "interval", folders, intervals))
    _hold(connection, "dump.json", _rows(store, "dump", folders, abouts))
    for create in shown_by_all(store, ["finding"]):  # few have any; it is asked for often
        connection.execute(create)
    known = next(view for view in meta_views() if view.name == "meta.interval")
    connection.execute(f"DROP VIEW {known.name}; CREATE TABLE {known.name} AS {known.select}")
    seal(connection, store, limits or Limits())
    return connection


def _rows(store: Store, kind: str, folders: Mapping[str, str], read: Read) -> pa.Table:
    """What all dumps say: those that are remembered, and the others, which are read.

    Args:
        folders: of all dumps, by name.
    """
    file = store.root / FOLDER / f"{kind}.parquet"
    before, known = _remembered(file)
    rows = read([Path(folders[dump]) for dump in sorted(folders.keys() - known)])
    if before is not None and before.schema.equals(rows.schema):
        there = pc.is_in(before.column("dump"), pa.array(sorted(folders), pa.string()))
        rows = pa.concat_tables([before.filter(there), rows])
    elif known & folders.keys():  # remembered by another version
        rows = read([Path(folders[dump]) for dump in sorted(folders)])
    if known != folders.keys():
        with suppress(OSError):  # a disk that cannot be written serves readers all the same
            _remember(file, rows, sorted(folders))
    return rows


def _remembered(file: Path) -> tuple[pa.Table | None, set[str]]:
    """Rows, and of which dumps; nothing where the file is missing or damaged."""
    try:
        table = pq.ParquetFile(file).read()
        dumps = json.loads((table.schema.metadata or {})[_DUMPS])
    except (OSError, pa.ArrowException, KeyError, ValueError):
        return None, set()
    return table.replace_schema_metadata(), set(dumps)


def _remember(file: Path, rows: pa.Table, dumps: Sequence[str]) -> None:
    """Write it so that a reader sees the old or the new one."""
    file.parent.mkdir(exist_ok=True)
    said = rows.replace_schema_metadata({_DUMPS: json.dumps(dumps).encode()})
    with replacing(file) as part:
        pq.write_table(said, part, compression="zstd")


def _hold(connection: duckdb.DuckDBPyConnection, table: str, rows: pa.Table) -> None:
    """Let a table in memory stand for the files of a landed one."""
    held = f"{LANDED}.{name(f'held_{table}')}"
    connection.register("_rows", rows)
    connection.execute(f"CREATE TABLE {held} AS SELECT * FROM _rows")
    connection.unregister("_rows")
    macro = landed_rows(table)
    connection.execute(f"CREATE OR REPLACE MACRO {macro} AS TABLE SELECT * FROM {held}")
