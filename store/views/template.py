"""The last catalogue that was made, kept in the user's cache: most of the next one is the same.

It is a help and no more. Nothing fails if it cannot be read or written, and whatever it holds is
compared with what a catalogue should hold.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb

from ...schemas.atomic import remove_abandoned_scratch, scratch_folder
from ...schemas.derived import cache_folder
from ..dumps.elsewhere import local_folder
from ..dumps.store import Store
from .views import path_text

FILE = "catalog.duckdb"
"""The catalogue of a store."""
QUIET = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings of every connection: DuckDB installs and loads nothing by itself."""
_NO_LOG = "RECOVERY_MODE no_wal_writes"
"""A file that nobody knows before it is complete needs no write-ahead log."""


def catalogue_file(store: Store) -> Path:
    """Where the catalogue of a store is: in its folder, or in the cache.

    DuckDB follows the links of a database's path, and then takes a question mark in it for the
    beginning of options, and a backslash for a slash.
    """
    if cache_folder() and {"?", "\\"} & set(str(store.root.resolve())):
        return local_folder(store.location) / FILE
    return store.root / FILE


def template() -> Path | None:
    """Where the last catalogue is kept, as other programs keep caches; None without a home."""
    folder = cache_folder()
    return None if folder is None else folder / f"catalog-{duckdb.__version__}.duckdb"


def load(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Fill an empty database in memory with all that a file holds.

    Raises:
        duckdb.Error: it cannot be read.
    """
    connection.execute(f"ATTACH {path_text(file)} AS _file (READ_ONLY)")
    connection.execute("COPY FROM DATABASE _file TO memory")
    connection.execute("DETACH _file")


def save(connection: duckdb.DuckDBPyConnection, file: Path, scratch: Path) -> None:
    """Write all that a database in memory holds to a file, by a rename.

    Args:
        scratch: folder on the same disk for what is not finished.

    Raises:
        OSError: it cannot be written.
    """
    with scratch_folder(scratch) as folder:
        made = folder / file.name
        try:
            _copy(connection, made)
        except duckdb.IOException as error:
            raise OSError(str(error)) from error
        made.replace(file)


def _copy(connection: duckdb.DuckDBPyConnection, made: Path) -> None:
    """On a full disk the copy fails, or the end of it, when the file is detached."""
    try:
        connection.execute(f"ATTACH {path_text(made)} AS _file ({_NO_LOG})")
        connection.execute("COPY FROM DATABASE memory TO _file")
    finally:
        connection.execute("DETACH DATABASE IF EXISTS _file")


def keep_as_template(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a finished catalogue for the next one, whichever store that is of."""
    kept = template()
    if kept is None:
        return
    with suppress(OSError):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        remove_abandoned_scratch(kept.parent)
        save(connection, kept, kept.parent)
