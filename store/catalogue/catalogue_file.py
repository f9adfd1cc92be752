"""A DuckDB file with the views of a store, for programs that know nothing of cpmon."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ...core.atomic import scratch_folder
from ...core.errors import StoreError
from ..dumps.store import Store
from ..files.plain_paths import path_text
from ..views.view import View
from .connection import Connection


def write_catalogue(store: Store, views: Sequence[View], file: Path) -> int:
    """Write every view of a store as it is now, with its comments; returns their number.

    The views name the files of the store by their absolute paths. The file is replaced as a whole.

    Args:
        views: reductions, in the order in which they build on each other.

    Raises:
        StoreError: the disk refuses it, or a file of the store cannot be read.
    """
    with (
        Connection(store, views, views_only=True) as connection,
        scratch_folder(file.absolute().parent) as folder,
    ):
        try:
            connection.make_all()
            connection.execute(f"ATTACH {path_text(folder / file.name)} AS _file")
            connection.execute("COPY FROM DATABASE memory TO _file")
            connection.execute("DETACH _file")
            counted = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"
            ((views_made,),) = connection.execute(counted).fetchall()
        except duckdb.Error as error:
            raise StoreError(
                "the catalogue cannot be made", place=str(file), found=str(error)
            ) from error
        (folder / file.name).replace(file)
    return int(views_made)
