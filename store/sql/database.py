"""DuckDB databases that can read the files of a store, on disk or in object storage."""

from __future__ import annotations

import itertools
import os
import re
import resource

import duckdb

from ...core.errors import StoreError, UnreadableError
from ..files.disk import read_error
from ..files.objects import ObjectFiles
from ..format.store import Store

QUIET = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings of every connection: DuckDB must not install or load extensions on its own."""
COSTLY = "projection_placement"
"""Optimizer that is disabled: it rewrites the whole plan for each expression that it may move.
That is a sixth of what a statement with deltas of counters costs, and none here gains by it."""
FILES_OF_THREAD = 16
"""Limit of open files per thread; a query over four tables has a third of it open."""
_OF_FILES = re.compile(
    "No files found that match|Cannot open file|No such file|Malformed JSON|Invalid unicode"
    "|magic bytes|to be a Parquet file|[Pp]arquet file|Thrift|TProtocol|decompress|schema mismatch"
)
"""Messages of DuckDB about a missing or damaged file."""


def database(store: Store) -> duckdb.DuckDBPyConnection:
    """A connection to an in-memory database that can read the files of a store."""
    files = store.files
    few = _few_files() if files.is_local else {}
    connection = duckdb.connect(":memory:", config={**QUIET, "disabled_optimizers": COSTLY, **few})
    if isinstance(files, ObjectFiles):
        from ..files.duckdb_files import ObjectFileSystem

        filesystem = ObjectFileSystem(files)
        if not connection.filesystem_is_registered(filesystem.protocol):
            connection.register_filesystem(filesystem)
    return connection


def _few_files() -> dict[str, str]:
    """Settings that limit the number of open files, however many a query reads.

    A thread has about three open per table that it reads, and each asynchronous prefetch thread 30
    more. On local disks prefetching gains nothing: 2,000 files take as long without it.
    """
    most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    threads = max(1, most // FILES_OF_THREAD)
    if most == resource.RLIM_INFINITY or threads >= (os.cpu_count() or 1):
        return {"async_threads": "0"}
    return {"async_threads": "0", "threads": str(threads)}


def storage_error(error: Exception) -> StoreError | None:
    """StoreError for an error of DuckDB while reading a store; None for an error of the query.

    DuckDB reports exceptions of a Python file system as the text of a traceback.
    """
    if store_error := read_error(error):
        return store_error
    head, *lines = str(error).splitlines() or [""]
    if head.startswith("Traceback "):
        head = "\n".join(itertools.dropwhile(lambda line: line.startswith(" "), lines))
    elif not (isinstance(error, duckdb.Error) and _OF_FILES.search(head)):
        return None
    return UnreadableError(
        "a file of the store cannot be read",
        code="store-file-unreadable",
        found=head.partition(": ")[2] or head,
        effect="the query was not answered",
        remedy="run the query again; if a file is missing, restore it from a backup, or see with"
        " cpmon store check what to do",
    )
