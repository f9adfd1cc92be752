"""The sandbox of SQL: what a reader's connection may use and reach, whatever its SQL says.

DuckDB itself reads the dumps and results of the store and nothing else, with settings that are
locked. Besides, Landlock of Linux keeps the thread that runs SQL, and the threads it starts, from
changing any file. It cannot be taken back, and holds whatever the thread runs. Kernels from 5.13 on
may have it; elsewhere `restrict` does nothing and says so.
"""

from __future__ import annotations

import atexit
import ctypes
import functools
import os
import re
import shutil
import struct
import sys
from collections.abc import Callable, Iterable
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

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
"""Numbers of system calls, the same on all architectures but alpha."""
_VERSION = 1
_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES = 38

_EXECUTE, _WRITE = 1 << 0, 1 << 1
_REMOVE_FOLDER, _REMOVE_FILE = 1 << 4, 1 << 5
_MAKE = sum(1 << bit for bit in range(6, 13))
_MAKE_FOLDER, _MAKE_FILE = 1 << 7, 1 << 8
_REFER, _TRUNCATE, _DEVICE_CONTROL = 1 << 13, 1 << 14, 1 << 15
_CHANGING = _EXECUTE | _WRITE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE
_SINCE = {2: _REFER, 3: _TRUNCATE, 5: _DEVICE_CONTROL}
"""Version of Landlock -> what it handles besides."""
_SCRATCH = _WRITE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _TRUNCATE
_NETWORK_SINCE, _NETWORK = 4, 0b11
"""Binding and connecting TCP sockets."""


def landlock_version() -> int:
    """Version of the kernel's Landlock; 0 where there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(writable: Iterable[Path] = ()) -> bool:
    """Keep this thread from writing, making, removing, executing files, and from TCP, for good.

    Args:
        writable: folders in which it may still make, write and remove files.

    Returns:
        Whether it holds; False where the kernel has no Landlock.

    Raises:
        OSError: a folder cannot be opened, or the kernel refuses.
    """
    abi = landlock_version()
    if not abi:
        return False
    handled = _CHANGING | sum(bit for since, bit in _SINCE.items() if abi >= since)
    attributes = struct.pack("=Q", handled)
    if abi >= _NETWORK_SINCE:
        attributes += struct.pack("=Q", _NETWORK)
    rules = _checked(_call(_CREATE_RULESET, attributes, len(attributes), 0))
    try:
        for folder in writable:
            _allow(rules, folder, _SCRATCH & handled)
        _checked(_libc().prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0))
        _checked(_call(_RESTRICT_SELF, rules, 0))
    finally:
        os.close(rules)
    return True


def _allow(rules: int, folder: Path, access: int) -> None:
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        beneath = struct.pack("=Qi", access, handle)
        _checked(_call(_ADD_RULE, rules, _PATH_BENEATH, beneath, 0))
    finally:
        os.close(handle)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _call(number: int, *arguments: int | bytes | None) -> int:
    """The result of a system call."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *passed))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "Landlock")
    return result


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
