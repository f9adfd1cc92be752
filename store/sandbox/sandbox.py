"""The sandbox of SQL: resource limits of a connection, and the files that it can access.

Locked settings of DuckDB restrict reads to the dumps and results of the store. In addition, Linux
Landlock prevents the thread that runs SQL, and threads that it starts, from changing any file. The
restriction is irrevocable and independent of the SQL. It needs a kernel from 5.13 on with Landlock
enabled; elsewhere `restrict` does nothing and returns False.
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
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb

from ...core.derived import cache_folder
from ...core.errors import CpmonError
from ...core.sql import text
from ..files.plain_paths import path_text, plain_path
from ..format.store import Store

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
"""Landlock ABI version -> the access right that it adds."""
_SCRATCH = _WRITE | _REMOVE_FOLDER | _REMOVE_FILE | _MAKE_FOLDER | _MAKE_FILE | _TRUNCATE
_NETWORK_SINCE, _NETWORK = 4, 0b11
"""Binding and connecting TCP sockets."""


def landlock_version() -> int:
    """ABI version of the kernel's Landlock; 0 if there is none."""
    if sys.platform != "linux":
        return 0
    return max(0, _call(_CREATE_RULESET, None, 0, _VERSION))


def restrict(writable: Iterable[Path] = ()) -> bool:
    """Irrevocably denies this thread to write, create, delete or execute files, and to use TCP.

    Args:
        writable: folders in which it can still create, write and delete files.

    Returns:
        Whether it is in effect; False if the kernel has no Landlock.

    Raises:
        OSError: a folder cannot be opened, or a system call failed.
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
    """Result of a system call; -1 on error."""
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *passed))


def _checked(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), "Landlock")
    return result


SPILL = "spill-"
_READ = ("records", "months", "runs", "reduced")
"""Folders of a store that views read."""

MEMORY = "50%"
"""Memory of queries without a limit: other programs, and other readers, need the other half."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Limits:
    """Resource limits of queries.

    Attributes:
        memory: in DuckDB's syntax, 2GB or 50%; empty for MEMORY.
        threads: number of threads; None for all processors.
    """

    memory: str = ""
    threads: int | None = None

    def share(self, jobs: int) -> Limits:
        """An equal share of memory and threads for one of several jobs.

        Without a memory limit each job keeps the default: a day that fits into it may not fit into
        a share of it.
        """
        if jobs == 1:
            return self
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z%]+)\s*", self.memory)
        memory = f"{float(match[1]) / jobs:.3f}{match[2]}" if match else self.memory
        return Limits(memory, max(1, (self.threads or os.cpu_count() or 1) // jobs))


def seal(
    connection: duckdb.DuckDBPyConnection,
    store: Store,
    limits: Limits,
    scratch: Path | None = None,
) -> None:
    """Irrevocably restricts a connection to reading the dumps and results of a store.

    Its threads are restarted by a sandboxed thread, so that they inherit Landlock's restrictions.

    Args:
        scratch: a folder in which it may also read and write files, and to which it spills; its
            statements then run in `RestrictedThreads` of that folder.

    Raises:
        CpmonError: DuckDB rejects a limit.
    """
    spill = scratch or spill_folder()
    if spill is not None:
        connection.execute(f"SET temp_directory = {path_text(spill)}")
    local = [plain_path(store.root / name) for name in _READ]
    places = local if store.files.is_local else [*local, *map(store.files.engine_path, _READ)]
    places += [plain_path(scratch)] if scratch else []
    folders = ", ".join(text(f"{place}/") for place in places)
    connection.execute(f"SET allowed_directories = list_value({folders})")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET enable_progress_bar = false")  # it would be mixed with the output
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET TimeZone = 'UTC'")
    limit(connection, limits)
    threads = RestrictedThreads([scratch], most=1) if scratch else _threads(os.getpid())
    threads.run(connection, lambda: restart_threads(connection))
    connection.execute("SET lock_configuration = true")


def restart_threads(connection: duckdb.DuckDBPyConnection) -> None:
    """Restarts the threads of a database: they inherit the restrictions of the calling thread."""
    for setting in ("threads", "async_threads"):
        number = f"SELECT current_setting('{setting}')"
        ((count,),) = connection.execute(number).fetchall()
        if count > 1:
            connection.execute(f"SET {setting} = 1; SET {setting} = {count:d}")


def run(connection: duckdb.DuckDBPyConnection, work: Callable[[], Result]) -> Result:
    """Runs some work of a connection in a sandboxed thread, and returns its result.

    A separate thread also lets Python handle Ctrl-C while DuckDB works. Work of several
    connections runs at the same time; work within such work runs in its thread.

    Raises:
        KeyboardInterrupt: the user interrupted it; the work has ended.
        OSError: the kernel has Landlock, but it cannot be enabled.
    """
    return _threads(os.getpid()).run(connection, work)


MOST_THREADS = 32
"""Maximum number of sandboxed threads; a thread starts only when the others are busy."""
_thread = threading.local()


class RestrictedThreads:
    """Threads that can change no file outside of some folders, see `restrict`."""

    def __init__(self, writable: Sequence[Path], most: int = MOST_THREADS) -> None:
        """None starts yet. `most`: how many there are at most."""
        self._writable = writable
        self._pool = ThreadPoolExecutor(max_workers=most, thread_name_prefix="cpmon-sql")

    def run(self, connection: duckdb.DuckDBPyConnection, work: Callable[[], Result]) -> Result:
        """As `sandbox.run`, in one of these threads; in a restricted thread right there."""
        if hasattr(_thread, "is_restricted"):
            return work()
        answer = self._pool.submit(self._restricted, work)
        try:
            return answer.result()
        except KeyboardInterrupt:
            while not answer.done():  # work that has not started yet ignores an interrupt
                with suppress(KeyboardInterrupt):
                    connection.interrupt()
                    wait([answer], timeout=0.05)
            raise

    def _restricted(self, work: Callable[[], Result]) -> Result:
        """Runs some work in this thread, which is sandboxed first."""
        if not hasattr(_thread, "is_restricted"):
            restrict(self._writable)
            _thread.is_restricted = True
        return work()


@functools.lru_cache(maxsize=1)
def _threads(_process: int) -> RestrictedThreads:
    """The sandboxed threads of this process, which can write to the spill alone."""
    spill = spill_folder()
    if spill is None:
        return RestrictedThreads([])
    spill.mkdir(mode=0o700, parents=True, exist_ok=True)
    atexit.register(shutil.rmtree, spill, ignore_errors=True)
    return RestrictedThreads([spill])


def spill_folder() -> Path | None:
    """Folder to which DuckDB spills data of this process; None without a cache folder.

    It is never in the store. The folders of killed processes are deleted here.
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
    """Applies resource limits to a connection.

    Raises:
        CpmonError: DuckDB rejects a limit.
    """
    try:
        connection.execute(f"SET memory_limit = {text(limits.memory or MEMORY)}")
        if limits.threads:
            connection.execute(f"SET threads = {limits.threads:d}")
    except duckdb.Error as error:
        raise CpmonError(
            "a resource limit of queries is invalid",
            expected="memory such as 2GB, threads as a number",
            found=str(error).split("\n", maxsplit=1)[0],
        ) from None
