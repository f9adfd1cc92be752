"""Databases that can read the files of a store, wherever that is."""

from __future__ import annotations

import itertools
import os
import re
import resource

import duckdb

from ...core.errors import CpmonError, StoreError, UnreadableError
from ..dumps.store import Store
from ..files.disk import read_error
from ..files.objects import ObjectFiles

QUIET = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
"""Settings of every connection: DuckDB installs and loads nothing by itself."""
FILES_OF_THREAD = 16
"""Files that may be open for each thread: a third of it are, where a question reads four tables."""
_OF_FILES = re.compile(
    "No files found that match|Cannot open file|No such file|Malformed JSON|Invalid unicode"
    "|magic bytes|to be a Parquet file|[Pp]arquet file|Thrift|TProtocol|decompress|schema mismatch"
)
"""What DuckDB says of a file that is missing or damaged."""
_OF_TYPES = re.compile(r"\w\[\]|STRUCT\(|MAP\(|Could not convert|Unimplemented type for cast")
"""What it says of a column that has another type than it should."""


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
    head, *lines = str(error).splitlines() or [""]
    if head.startswith("Traceback "):
        head = "\n".join(itertools.dropwhile(lambda line: line.startswith(" "), lines))
    elif not (isinstance(error, duckdb.Error) and _OF_FILES.search(head)):
        return None
    return UnreadableError(
        "a file of the store cannot be read",
        code="store-file-unreadable",
        found=head.partition(": ")[2] or head,
        effect="there is no answer",
        remedy="ask again; if a file is missing, put it back from a backup, or run cpmon store"
        " repair, which says what is to land again",
    )


def is_about_files(error: Exception) -> bool:
    """Whether an error, or one that it was raised from, may come of a missing or damaged file."""
    raised: BaseException | None = error
    while isinstance(raised, Exception):
        if isinstance(raised, UnreadableError | FileNotFoundError):
            return True
        if isinstance(storage_error(raised), UnreadableError) or _OF_TYPES.search(str(raised)):
            return True
        raised = raised.__cause__ or raised.__context__
    return not isinstance(error, CpmonError)  # nobody took it up: it comes of odd rows, or is ours
