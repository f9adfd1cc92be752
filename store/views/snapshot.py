"""What the dumps of an old store say, in two files: their intervals, and what they are.

Each dump has a small file of either, which nearly every question would open: 0.6 ms a dump, 0.6 s
of processor time with 1,000 dumps. The snapshot is brought up to date, by the dumps that are new,
when a catalogue is opened; it may be deleted at any time.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from ...schemas.atomic import replacing
from ..dumps.landed_dump import ABOUT, LandedDump, line
from ..dumps.store import Store
from .database import database
from .meta import DUMP, INTERVAL
from .sources import files_of, json_rows, parquet
from .views import PLACE, text

FOLDER = "snapshot"
MANY = 100
"""With fewer dumps their own files are read: that takes 0.06 s at most."""
_ABOUT = b"cpmon"
"""Under this key of a file stands which dumps it has, some without rows, and its columns."""


def snapshot(store: Store) -> dict[str, Path]:
    """Table -> the file that has what all dumps say, brought up to date; empty where none is."""
    dumps = store.dumps()
    if len(dumps) < MANY and (store.files.is_local or not dumps):
        return {}
    by_name = {dump.dump: dump for dump in dumps}
    try:
        return {table: _refresh(store, table, by_name) for table in ("interval", ABOUT)}
    except OSError:  # a disk that cannot be written serves readers all the same
        return {}


def _refresh(store: Store, table: str, dumps: Mapping[str, LandedDump]) -> Path:
    """Bring a file up to date.

    Args:
        dumps: all, by name.

    Raises:
        OSError: the disk refuses it.
    """
    file = store.root.absolute() / FOLDER / f"{table.removesuffix('.json')}.parquet"
    columns = str(INTERVAL if table == "interval" else DUMP)
    covered = _known(file, columns)
    if covered == dumps.keys():
        return file
    with database(store) as connection:
        new = [dumps[dump] for dump in sorted(dumps.keys() - covered)]
        rows = (_intervals if table == "interval" else _dumps)(connection, store, new)
        if kept := covered & dumps.keys():
            connection.register("kept", pa.table({"dump": sorted(kept)}))
            old = (
                f"SELECT o.* FROM read_parquet({text(str(file))}) AS o SEMI JOIN kept USING (dump)"
            )
            rows = pa.concat_tables([connection.sql(old).to_arrow_table().cast(rows.schema), rows])
    about = {"dumps": sorted(dumps), "columns": columns}
    file.parent.mkdir(exist_ok=True)
    with replacing(file) as part:
        described = rows.replace_schema_metadata({_ABOUT: json.dumps(about).encode()})
        pq.write_table(described, part, compression="zstd")
    return file


def _known(file: Path, columns: str) -> set[str]:
    """Which dumps a file has; none where it is missing, damaged or has other columns."""
    try:
        about = json.loads((pq.read_schema(file).metadata or {})[_ABOUT])
        return set(about["dumps"]) if about["columns"] == columns else set()
    except (OSError, pa.ArrowException, KeyError, TypeError, ValueError):
        return set()


def _intervals(
    connection: duckdb.DuckDBPyConnection, store: Store, dumps: Sequence[LandedDump]
) -> pa.Table:
    columns = ", ".join([*PLACE, *INTERVAL.names])
    rows = parquet(store, "interval", files_of(store, "interval", dumps), drifted=False)
    return connection.sql(f"SELECT {columns} FROM {rows}").to_arrow_table()


def _dumps(
    connection: duckdb.DuckDBPyConnection, store: Store, dumps: Sequence[LandedDump]
) -> pa.Table:
    with tempfile.TemporaryDirectory() as scratch:  # DuckDB takes a millisecond for each file
        file = Path(scratch) / "dumps.json"
        file.write_text("".join(map(line, store.abouts(dumps))), encoding="utf-8")
        rows = json_rows([str(file)] if dumps else [], DUMP)
        return connection.sql(f"SELECT * FROM {rows}").to_arrow_table()
