"""The last catalogue that was made, kept in the user's cache: most of the next one is the same.

It is a help and no more. Nothing fails if it cannot be read or written, and whatever it holds is
compared with what a catalogue should hold.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import duckdb

from .views import text

_NO_LOG = "RECOVERY_MODE no_wal_writes"
"""A file that nobody knows before it is complete needs no write-ahead log."""


def template() -> Path | None:
    """Where the last catalogue is kept, as other programs keep caches; None without a home."""
    said = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not said.is_absolute():
        try:
            said = Path.home() / ".cache"
        except RuntimeError:
            return None
    return said / "cpmon" / f"catalog-{duckdb.__version__}.duckdb"


def load(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Fill an empty database in memory with all that a file holds.

    Raises:
        duckdb.Error: it cannot be read.
    """
    connection.execute(f"ATTACH {text(str(file))} AS _file (READ_ONLY)")
    connection.execute("COPY FROM DATABASE _file TO memory")
    connection.execute("DETACH _file")


class Draft:
    """A catalogue in the making: a copy of the template, in a file of its own.

    What is made in a file need not be copied into one at the end.

    Attributes:
        connection: in which its views are found without the name of a database.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, copied: Path, made: Path) -> None:
        """Copy a catalogue.

        Args:
            connection: to an empty database in memory.
            made: where it is made.

        Raises:
            OSError: it cannot be copied.
            duckdb.Error: it is none.
        """
        self.connection, self._made = connection, made
        shutil.copyfile(copied, made)
        connection.execute(f"ATTACH {text(str(made))} AS _file ({_NO_LOG}); USE _file")

    def publish(self, file: Path) -> None:
        """Make it the catalogue in a file, by a rename.

        Raises:
            OSError, duckdb.Error: it cannot be written.
        """
        self.connection.execute("USE memory; DETACH _file")
        self._made.replace(file)


def save(connection: duckdb.DuckDBPyConnection, file: Path) -> None:
    """Write all that a database in memory holds to a file, by a rename.

    Raises:
        OSError: it cannot be written.
    """
    with tempfile.TemporaryDirectory(dir=file.parent, prefix=f".{file.stem}.") as folder:
        made = Path(folder) / file.name
        try:
            _copy(connection, made)
        except duckdb.IOException as error:
            raise OSError(str(error)) from error
        made.replace(file)


def _copy(connection: duckdb.DuckDBPyConnection, made: Path) -> None:
    """On a full disk the copy fails, or the end of it, when the file is let go."""
    try:
        connection.execute(f"ATTACH {text(str(made))} AS _file ({_NO_LOG})")
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
        save(connection, kept)
