"""The sandbox of SQL: what a reader's connection may use and reach, whatever its SQL says.

DuckDB itself reads the dumps and results of the store and nothing else, with settings that are
locked. Besides, Linux keeps the threads that run SQL from changing any file (`landlock`).
"""

from __future__ import annotations

import atexit
import functools
import os
import re
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb

from ...core.derived import cache_folder
from ...core.errors import CpmonError
from ...core.sql import text
from ..dumps.store import Store
from ..files.plain_paths import path_text, plain_path
from .landlock import restrict

SPILL = "spill-"
_READ = ("records", "months", "runs", "reduced")
"""Folders of a store with what views show."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """What queries may use.

    Attributes:
        memory: as DuckDB has it, 2GB or 50%; empty for its default, 80 % of the machine's.
        threads: None for all processors.
    """

    memory: str = ""
    threads: int | None = None

    def share(self, jobs: int) -> Limits:
        """An equal share of memory and processors, for one of several jobs.

        Without a limit of memory each job has the default of one: a day that fits into it does not
        fit into a part of it.
        """
        if jobs == 1:
            return self
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z%]+)\s*", self.memory)
        memory = f"{float(match[1]) / jobs:.3f}{match[2]}" if match else self.memory
        return Limits(memory, max(1, (self.threads or os.cpu_count() or 1) // jobs))


def seal(connection: duckdb.DuckDBPyConnection, store: Store, limits: Limits) -> None:
    """Keep a connection from everything but reading the dumps and results of a store, for good.

    Its threads are started anew by the thread that Landlock restricts, so that it holds for them.

    Raises:
        CpmonError: a limit means nothing to DuckDB.
    """
    spill = spill_folder()
    if spill is not None:
        connection.execute(f"SET temp_directory = {path_text(spill)}")
    local = [plain_path(store.root / name) for name in _READ]
    places = local if store.files.is_local else [*local, *map(store.files.engine_path, _READ)]
    folders = ", ".join(text(f"{place}/") for place in places)
    connection.execute(f"SET allowed_directories = list_value({folders})")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET enable_progress_bar = false")  # it would stand among the data
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET TimeZone = 'UTC'")
    limit(connection, limits)
    run(connection, lambda: restart_threads(connection))
    connection.execute("SET lock_configuration = true")


def restart_threads(connection: duckdb.DuckDBPyConnection) -> None:
    """Start the threads of a database anew: a thread has the restrictions of who started it."""
    for setting in ("threads", "async_threads"):
        number = f"SELECT current_setting('{setting}')"
        ((count,),) = connection.execute(number).fetchall()
        if count > 1:
            connection.execute(f"SET {setting} = 1; SET {setting} = {count:d}")


def run(connection: duckdb.DuckDBPyConnection, work: Callable[[], Result]) -> Result:
    """The result of some work of a connection, by the thread that can change no file.

    It is also a thread of its own, so that Ctrl-C reaches Python while DuckDB works.

    Raises:
        KeyboardInterrupt: the user stopped it; the work has ended.
        OSError: the kernel has Landlock and refuses it.
    """
    answer = _restricted_thread(os.getpid()).submit(work)
    try:
        return answer.result()
    except KeyboardInterrupt:
        while not answer.done():  # work that is only about to begin does not hear an interrupt
            with suppress(KeyboardInterrupt):
                connection.interrupt()
                wait([answer], timeout=0.05)
        raise


@functools.lru_cache(maxsize=1)
def _restricted_thread(_process: int) -> ThreadPoolExecutor:
    """The thread of this process that can change no file, but for what DuckDB spills."""
    spill = spill_folder()
    if spill is not None:
        spill.mkdir(mode=0o700, parents=True, exist_ok=True)
        atexit.register(shutil.rmtree, spill, ignore_errors=True)
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="cpmon-sql")
    try:
        thread.submit(restrict, [spill] if spill is not None else []).result()
    except BaseException:
        thread.shutdown()
        raise
    return thread


def spill_folder() -> Path | None:
    """Where this process puts what does not fit into memory: never into the store.

    Those of killed processes are removed here.
    """
    cache = cache_folder()
    if cache is None:
        return None
    for folder in cache.glob(f"{SPILL}*"):
        number = folder.name.removeprefix(SPILL)
        if number.isdigit() and not Path(f"/proc/{number}").exists() and Path("/proc").exists():
            shutil.rmtree(folder, ignore_errors=True)
    return cache / f"{SPILL}{os.getpid()}"


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
