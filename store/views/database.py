"""Databases that can read the files of a store, wherever that is."""

from __future__ import annotations

import itertools
import os
import resource

import duckdb

from ...schemas.errors import StoreError
from ..dumps.store import Store
from ..files.disk import read_error
from ..files.objects import ObjectFiles

QUIET = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings of every connection: DuckDB installs and loads nothing by itself."""
FILES_OF_THREAD = 16
"""Files that may be open for each thread: a third of it are, where a question reads four tables."""


def database(store: Store) -> duckdb.DuckDBPyConnection:
    """A database in memory."""
    files = store.files
    connection = duckdb.connect(
        ":memory:", config={**QUIET, **(_few_files() if files.is_local else {})}
    )
    if isinstance(files, ObjectFiles):
        from ..files.duckdb_files import ObjectFileSystem

        filesystem = ObjectFileSystem(files)
        if not connection.filesystem_is_registered(filesystem.protocol):
            connection.register_filesystem(filesystem)
    return connection


def _few_files() -> dict[str, str]:
    """Settings with which few files are open at once, however many a question reads.

    A thread has three or so open of each table that it reads, and each of those that read ahead 30
    more. From local disks these gain nothing: 2,000 files take as long without them.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    threads = max(1, most // FILES_OF_THREAD)
    if most == resource.RLIM_INFINITY or threads >= (os.cpu_count() or 1):
        return {"async_threads": "0"}
    return {"async_threads": "0", "threads": str(threads)}


def storage_error(error: Exception) -> StoreError | None:
    """What kept DuckDB from reading a store; None for an error of the question.

    DuckDB hands on what a file system raises as the text of a traceback.
    """
    if refused := read_error(error):
        return refused
    head, *lines = str(error).splitlines()
    if not head.startswith("Traceback "):
        return None
    raised = "\n".join(itertools.dropwhile(lambda line: line.startswith(" "), lines))
    return StoreError(
        "a file of the store cannot be read",
        found=raised.partition(": ")[2] or raised,
        effect="there is no answer",
        remedy="ask again; if a file is missing, put it back from a backup, or move the folder of "
        "its dump out of the store and land it again",
    )
