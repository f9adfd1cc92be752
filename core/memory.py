"""The limit of a process's memory: what a query makes beyond it ends as an error.

DuckDB counts the blocks that it buffers against its own `memory_limit`, but no single value, and
nothing that an answer takes afterwards. Linux counts all data of the process (RLIMIT_DATA).
"""

from __future__ import annotations

import mmap
import re
import resource
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import CpmonError

if TYPE_CHECKING:
    import duckdb

START = 384 * 1024**2
"""Bytes beside DuckDB's: libraries that are loaded later, parts of an answer, and what DuckDB's
allocator holds back. A query of 200 MB that spills was seen to take 170 MB more."""
OF_THREAD = 16 * 1024**2
"""The same, for each thread: its stack and what its allocator holds back."""
_UNITS = {"bytes": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}


def hold_memory(connection: duckdb.DuckDBPyConnection) -> Callable[[], None]:
    """Keep this process from more data than a connection may use, above what it has now.

    Where Linux does not count the data, nothing is held.

    Returns:
        A function that takes the limit back.
    """
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    if sys.platform != "linux":
        return lambda: None
    ((memory, threads),) = connection.execute(
        "SELECT system.main.current_setting('memory_limit'), system.main.current_setting('threads')"
    ).fetchall()
    limit = _data() + _bytes(memory) + START + threads * OF_THREAD
    if before == resource.RLIM_INFINITY or limit < before:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def need_memory(size: int) -> None:
    """Make sure that so many bytes can be had: some libraries end the process where they cannot.

    Raises:
        MemoryError: they cannot.
    """
    if not size:
        return
    try:
        mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS).close()
    except OSError:
        raise MemoryError(f"{size:,} bytes, to print a part of the answer") from None


def memory_error(error: Exception) -> CpmonError | None:
    """The error of a user for memory that cannot be had; None for any other."""
    head = str(error).partition("\n")[0]
    if not isinstance(error, MemoryError) and "Out of Memory Error" not in head:
        return None
    return CpmonError(
        "the answer needs more memory than there may be",
        code="memory-limit-exceeded",
        found=head.removeprefix("Out of Memory Error: ") or None,
        effect="the command ended here",
        remedy="ask for less at once, or raise --memory-limit (memory_limit in the settings)",
    )


def _data() -> int:
    """Bytes of data that the process has."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmData:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def _bytes(memory: str) -> int:
    """An amount as DuckDB prints it, 1.8 GiB, in bytes."""
    amount, unit = memory.split()
    return int(float(amount) * _UNITS[unit.lower()])
