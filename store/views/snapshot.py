"""What the dumps of an old store say, in two files: their intervals, and what they are.

Each dump has a small file of either, which nearly every question would open: 0.6 ms a dump, 0.6 s
of processor time with 1,000 dumps. The snapshot is brought up to date, by the dumps that are new,
when a catalogue is opened; it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
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
from .views import PLACE

FOLDER = "snapshot"
MANY = 100
"""With fewer dumps their own files are read: that takes 0.06 s at most."""
_VERSION, _DUMPS = b"cpmon.version", b"cpmon.dumps"
"""Keys of a file: a digest of its columns and of the dumps that it has, and their names; some dumps
have no rows. Of 10,000 dumps the digest takes 3 ms, to read their names 20."""
_COLUMNS = {"interval": str(INTERVAL), ABOUT: str(DUMP)}


def snapshot(store: Store) -> dict[str, Path]:
    """Table -> the file that has what all dumps say, brought up to date; empty where none is."""
    dumps = store.dumps()
    if len(dumps) < MANY and (store.files.is_local or not dumps):
        return {}
    by_name = {dump.dump: dump for dump in dumps}
    folder = store.root.absolute() / FOLDER
    files = {table: folder / f"{table.removesuffix('.json')}.parquet" for table in _COLUMNS}
    versions = {table: _version(columns, by_name) for table, columns in _COLUMNS.items()}
    stale = [table for table in files if _about(files[table]).get(_VERSION) != versions[table]]
    try:
        if stale:
            folder.mkdir(exist_ok=True)
            with database(store) as connection:
                for table in stale:
                    rows = _rows(connection, store, table, files[table], by_name)
                    _write(files[table], rows, versions[table], by_name)
    except OSError:  # a disk that cannot be written serves readers all the same
        return {}
    return files


def _rows(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    table: str,
    file: Path,
    dumps: Mapping[str, LandedDump],
) -> pa.Table:
    """What all dumps say; from a file, as far as it has that.

    Args:
        dumps: all, by name.
    """
    covered = _covered(_about(file), _COLUMNS[table])
    new = [dumps[dump] for dump in sorted(dumps.keys() - covered)]
    rows = (_intervals if table == "interval" else _dumps)(connection, store, new)
    if not covered:
        return rows
    with pq.ParquetFile(file) as before:
        old = before.read()
    if gone := covered - dumps.keys():
        connection.register("old", old)
        connection.register("gone", pa.table({"dump": sorted(gone)}))
        old = connection.sql("SELECT * FROM old ANTI JOIN gone USING (dump)").to_arrow_table()
    return pa.concat_tables([old.cast(rows.schema), rows])


def _write(file: Path, rows: pa.Table, version: bytes, dumps: Iterable[str]) -> None:
    about = {_VERSION: version, _DUMPS: json.dumps(sorted(dumps)).encode()}
    with replacing(file) as part:
        pq.write_table(rows.replace_schema_metadata(about), part, compression="zstd")


def _about(file: Path) -> Mapping[bytes, bytes]:
    """What a file says of itself; nothing where it is missing or damaged."""
    try:
        return pq.read_schema(file).metadata or {}
    except (OSError, pa.ArrowException):
        return {}


def _covered(about: Mapping[bytes, bytes], columns: str) -> set[str]:
    """Which dumps a file has that says so of itself; none where it has other columns."""
    try:
        names = set(map(str, json.loads(about[_DUMPS])))
    except (KeyError, TypeError, ValueError):
        return set()
    return names if about.get(_VERSION) == _version(columns, names) else set()


def _version(columns: str, dumps: Iterable[str]) -> bytes:
    """Changes with the columns of a file, and with the dumps that it has."""
    parts = "\0".join([columns, *sorted(dumps)])
    return hashlib.blake2b(parts.encode(), digest_size=8).hexdigest().encode()


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
