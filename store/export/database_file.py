"""A DuckDB file with tables of a store as data, for clients from DuckDB 1.1 on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import duckdb

from ...core.atomic import replacing
from ...core.errors import StoreError
from ...core.sql import name, relation_name
from ..connection import FOR_OLD_CLIENTS, comments
from ..files.plain_paths import path_text
from ..sandbox.sandbox import spill_folder
from ..sql.database import QUIET

if TYPE_CHECKING:
    import pyarrow as pa

    from ..sql.views import Documented

Content = tuple["Documented", Iterable["pa.Table"]]
"""A relation, and its rows in parts, at least one."""


def write_database(file: Path, contents: Iterable[Content]) -> Iterator[tuple[Documented, int]]:
    """Writes relations as tables with comments, and replaces the file atomically at the end.

    Yields:
        Each relation when it has been written, with its number of rows.

    Raises:
        CpmonError: a part cannot be computed.
    """
    spill = spill_folder()
    config: dict[str, Any] = {**QUIET, **({} if spill is None else {"temp_directory": str(spill)})}
    with replacing(file.absolute()) as part, duckdb.connect(config=config) as connection:
        with _writing(file):
            _begin(connection, part)
            connection.execute(f"ATTACH {path_text(part)} AS _file; USE _file")
        for documented, parts in contents:
            yield documented, _write(connection, file, documented, parts)
        with _writing(file):
            connection.execute("USE memory; DETACH _file")  # writes the log into the file


def _begin(connection: duckdb.DuckDBPyConnection, part: Path) -> None:
    """Makes an empty database of `part`, the locked file; DuckDB opens no empty one."""
    with TemporaryDirectory() as folder:
        empty = Path(folder, "empty.duckdb")
        connection.execute(f"ATTACH {path_text(empty)} AS _empty {FOR_OLD_CLIENTS}")
        connection.execute("DETACH _empty")
        copyfile(empty, part)


def _write(
    connection: duckdb.DuckDBPyConnection,
    file: Path,
    documented: Documented,
    parts: Iterable[pa.Table],
) -> int:
    """Writes a table; returns its number of rows."""
    table, rows = relation_name(documented.name), 0
    schema = documented.name.rpartition(".")[0] or "main"
    with _writing(file):
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {name(schema)}")
    verb, into = "CREATE TABLE", " AS"
    for part in parts:  # computed outside of `_writing`: its errors are not of the file
        with _writing(file):
            connection.register("_part", part)
            connection.execute(f"{verb} {table}{into} SELECT * FROM _part").fetchall()
            connection.unregister("_part")
        verb, into, rows = "INSERT INTO", "", rows + len(part)
    with _writing(file):
        connection.execute(comments(documented, "TABLE"))
    return rows


@contextmanager
def _writing(file: Path) -> Iterator[None]:
    """Maps errors of DuckDB and of the disk to StoreError."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            "a DuckDB file cannot be written",
            code="export-unwritable",
            place=str(file),
            found=str(error).partition("\n")[0],
            effect="nothing was replaced",
            remedy="make room on the disk, or name a file on another one; then export again",
        ) from error
