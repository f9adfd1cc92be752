"""Limits the memory of a process, so that a query beyond it ends with an error.

`memory_limit` of DuckDB applies to its buffered blocks, but neither to single values nor to memory
for the answer. Linux counts all data of the process (RLIMIT_DATA).
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
"""Bytes besides `memory_limit`: libraries that are loaded later, parts of an answer, and free
memory in DuckDB's allocator. A query of 200 MB that spills was measured to take 170 MB more."""
OF_THREAD = 16 * 1024**2
"""Bytes for each thread: its stack, and free memory in its allocator."""
_UNITS = {"bytes": 1, "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_REFUSED = re.compile(
    "Out of Memory Error|bad_?alloc|Cannot allocate memory|can't start new thread"
    "|Failed to launch worker thread"
)
"""Messages of libraries about memory, also for the stack of a thread, that they did not get."""


def hold_memory(connection: duckdb.DuckDBPyConnection) -> Callable[[], None]:
    """Limit this process to its current data and what a connection may use in addition.

    It has no effect where Linux does not count the data.

    Returns:
        A function that removes the limit.
    """
    before, most = resource.getrlimit(resource.RLIMIT_DATA)
    if sys.platform != "linux":
        return lambda: None
    ((memory, threads),) = connection.execute(
        "SELECT system.main.current_setting('memory_limit'), system.main.current_setting('threads')"
    ).fetchall()
    amount, unit = memory.split()  # as DuckDB prints it: 1.8 GiB
    status = re.search(r"VmData:\s*(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    data = int(status[1]) * 1024 if status else 0
    limit = data + int(float(amount) * _UNITS[unit.lower()]) + START + threads * OF_THREAD
    if before == resource.RLIM_INFINITY or limit < before:
        resource.setrlimit(resource.RLIMIT_DATA, (limit, most))
    return lambda: resource.setrlimit(resource.RLIMIT_DATA, (before, most))


def need_memory(size: int) -> None:
    """Check that bytes can be allocated, since some libraries end the process if they cannot.

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
    """The error for a user if memory could not be allocated, else None."""
    head = str(error).partition("\n")[0]
    is_of_library = not isinstance(error, CpmonError) and _REFUSED.search(head)
    if not isinstance(error, MemoryError) and not is_of_library:
        return None
    return CpmonError(
        "the answer needs more memory than there may be",
        code="memory-limit-exceeded",
        found=head.removeprefix("Out of Memory Error: ") or None,
        effect="the command ended here",
        remedy="ask for less at once, or raise --memory-limit (memory_limit in the settings)",
    )
