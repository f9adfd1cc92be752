"""What a reader's connection may use and reach: memory, threads, and the store's own files."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import duckdb

from ..schemas.errors import CpmonError
from .store import Store
from .template import template
from .views import text

SPILL = "spill-"


@dataclass(frozen=True, slots=True)
class Limits:
    """What queries may use.

    Attributes:
        memory: as DuckDB has it, 2GB or 50%; empty for its default, 80 % of the machine's.
        threads: None for all processors.
    """

    memory: str = ""
    threads: int | None = None


def seal(connection: duckdb.DuckDBPyConnection, store: Store, limits: Limits) -> None:
    """Let queries read the store's files and nothing else, for good.

    DuckDB has one instance for all connections of a process to a file, so it may be done already.

    Raises:
        CpmonError: a limit means nothing to DuckDB.
    """
    locked = connection.execute("SELECT current_setting('lock_configuration')").fetchall()
    if locked == [(True,)]:
        return
    limit(connection, limits)
    spill = spill_folder()
    if spill is not None:
        connection.execute(f"SET temp_directory = {text(str(spill))}")
    connection.execute(f"SET allowed_directories = [{text(str(store.root.absolute()) + os.sep)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET enable_progress_bar = false")  # it would stand among the data
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")


def spill_folder() -> Path | None:
    """Where this process puts what does not fit into memory: never into the store.

    DuckDB makes it when it is needed and removes it; those of killed processes are removed here.
    """
    cache = template()
    if cache is None:
        return None
    for folder in cache.parent.glob(f"{SPILL}*"):
        number = folder.name.removeprefix(SPILL)
        if number.isdigit() and not Path(f"/proc/{number}").exists() and Path("/proc").exists():
            shutil.rmtree(folder, ignore_errors=True)
    return cache.parent / f"{SPILL}{os.getpid()}"


def limit(connection: duckdb.DuckDBPyConnection, limits: Limits) -> None:
    """Let a connection use no more than the limits say.

    Raises:
        CpmonError: one of them means nothing to DuckDB.
    """
    try:
        if limits.memory:
            connection.execute(f"SET memory_limit = {text(limits.memory)}")
        if limits.threads:
            connection.execute(f"SET threads = {limits.threads:d}")
    except duckdb.Error as error:
        raise CpmonError(
            "a limit of queries means nothing",
            expected="memory as 2GB, threads as a number",
            found=str(error).split("\n", maxsplit=1)[0],
        ) from None
