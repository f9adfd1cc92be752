"""The last catalogue that was made, kept in the user's cache: most of the next one is the same.

It is a help and no more. Nothing fails if it cannot be read or written, and whatever it holds is
compared with what a catalogue should hold.
"""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

import duckdb

from .views import name, text


def template() -> Path | None:
    """Where the last catalogue is kept, as other programs keep caches; None without a home."""
    said = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not said.is_absolute():
        try:
            said = Path.home() / ".cache"
        except RuntimeError:
            return None
    return said / "cpmon" / f"catalog-{duckdb.__version__}.duckdb"


def start_from(connection: duckdb.DuckDBPyConnection, base: Path) -> bool:
    """Fill an empty database with all that another holds; False if that cannot be read."""
    if not base.exists():
        return False
    try:
        connection.execute(f"ATTACH {text(str(base))} AS _base (READ_ONLY)")
        connection.execute(f"COPY FROM DATABASE _base TO {_current(connection)}")
    except duckdb.Error:
        return False
    finally:
        connection.execute("DETACH DATABASE IF EXISTS _base")
    return True


def keep_as_template(connection: duckdb.DuckDBPyConnection) -> None:
    """Keep a copy of a finished catalogue for the next one, whichever store that is of."""
    kept = template()
    if kept is None:
        return
    with suppress(OSError, duckdb.Error):
        kept.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=kept.parent, prefix=".catalog.") as folder:
            copy = Path(folder) / kept.name
            connection.execute(f"ATTACH {text(str(copy))} AS _kept")
            try:
                connection.execute(f"COPY FROM DATABASE {_current(connection)} TO _kept")
            finally:
                connection.execute("DETACH DATABASE _kept")
            copy.replace(kept)


def _current(connection: duckdb.DuckDBPyConnection) -> str:
    row = connection.execute("SELECT current_database()").fetchone()
    return name(row[0] if row else "")
