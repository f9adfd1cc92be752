"""What the dumps of an old store say, in two files: their intervals, and what they are.

Each dump has a small file of either, which nearly every question would open: 0.6 ms a dump, 0.6 s
of processor time with 1,000 dumps. The snapshot is updated, by the dumps that are new,
when a catalogue is opened; it may be deleted at any time.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from ...schemas.arrow import INTERVAL
from ...schemas.atomic import replacing
from ..columns import COLUMNS
from ..dumps.landed_dump import ABOUT, LandedDump, line
from ..dumps.store import Store
from .database import database
from .sources import files_of, is_drifted, json_rows, parquet
from .views import PLACE

FOLDER = "snapshot"
MANY = 100
"""With fewer dumps their own files are read: that takes 0.06 s at most."""
_VERSION, _DEFINITION = b"cpmon.version", b"cpmon.columns"
"""Keys of a file: digests of its columns and of the manifest, and of its columns alone."""
_TAIL = 8
"""Behind the footer of a Parquet file: its length, and PAR1."""
_COLUMNS = {"interval": str(INTERVAL), ABOUT: str(COLUMNS["dump"])}


def snapshot(store: Store) -> dict[str, Path]:
    """Table -> the file that has what all dumps say, updated first; empty where none is.

    One behind a link may be another store's: it is neither written nor read.
    """
    folder = store.root.absolute() / FOLDER
    if folder.is_symlink():
        return {}
    files = {table: folder / f"{table.removesuffix('.json')}.parquet" for table in _COLUMNS}
    manifest = store.manifest.version  # before its dumps: with one that lands now it is stale
    versions = {table: _digest(columns, manifest) for table, columns in _COLUMNS.items()}
    stale = [table for table in files if not _is_of(files[table], versions[table])]
    if not stale:
        return files
    dumps = store.dumps()
    if len(dumps) < MANY and (store.files.is_local or not dumps):
        return {}
    try:
        folder.mkdir(exist_ok=True)
        by_name = {dump.dump: dump for dump in dumps}
        with database(store) as connection:
            for table in stale:
                rows = _rows(connection, store, table, files[table], by_name)
                _write(files[table], rows, versions[table], _COLUMNS[table])
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
    old = _read(file, _COLUMNS[table])
    covered = set() if old is None else set(old.column("dump").to_pylist())
    new = [dumps[dump] for dump in sorted(dumps.keys() - covered)]
    rows = (_intervals if table == "interval" else _dumps)(connection, store, new)
    if old is None:
        return rows
    if gone := covered - dumps.keys():
        connection.register("old", old)
        connection.register("gone", pa.table({"dump": sorted(gone)}))
        old = connection.sql("SELECT * FROM old ANTI JOIN gone USING (dump)").to_arrow_table()
    return pa.concat_tables([old.cast(rows.schema), rows])


def _write(file: Path, rows: pa.Table, version: bytes, columns: str) -> None:
    import pyarrow.parquet as pq

    about = {_VERSION: version, _DEFINITION: _digest(columns)}
    with replacing(file) as part:
        pq.write_table(rows.replace_schema_metadata(about), part, compression="zstd")


def _is_of(file: Path, version: bytes) -> bool:
    """Whether a file is whole and was written for a version, which its footer holds.

    To import what parses the footer takes longer than all else here.
    """
    try:
        with file.open("rb") as stream:
            stream.seek(-_TAIL, os.SEEK_END)
            length = int.from_bytes(stream.read(4), "little")
            stream.seek(-_TAIL - length, os.SEEK_END)
            footer = stream.read()
    except OSError:  # none, or shorter than it says
        return False
    return version in footer and footer.endswith(b"PAR1")


def _read(file: Path, columns: str) -> pa.Table | None:
    """The rows of a file; None if it is missing, damaged or has other columns."""
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as before:
            about = before.schema_arrow.metadata or {}
            return before.read() if about.get(_DEFINITION) == _digest(columns) else None
    except (OSError, pa.ArrowException):
        return None


def _digest(*parts: str) -> bytes:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=8).hexdigest().encode()


def _intervals(
    connection: duckdb.DuckDBPyConnection, store: Store, dumps: Sequence[LandedDump]
) -> pa.Table:
    columns = ", ".join([*PLACE, *INTERVAL.names])
    rows = parquet(store, "interval", files_of(store, "interval", dumps), is_drifted(dumps))
    return connection.sql(f"SELECT {columns} FROM {rows}").to_arrow_table()


def _dumps(
    connection: duckdb.DuckDBPyConnection, store: Store, dumps: Sequence[LandedDump]
) -> pa.Table:
    with tempfile.TemporaryDirectory() as scratch:  # DuckDB takes a millisecond for each file
        file = Path(scratch) / "dumps.json"
        file.write_text("".join(map(line, store.abouts(dumps))), encoding="utf-8")
        rows = json_rows([str(file)] if dumps else [], COLUMNS["dump"])
        return connection.sql(f"SELECT * FROM {rows}").to_arrow_table()
