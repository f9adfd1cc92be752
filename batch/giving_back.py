"""Memory that is free, but still with the process: a batch that stays for months must stay small.

The window of a dump takes 20 MB for a moment, on a thread of its own. glibc lets each thread
allocate in one of many arenas, and keeps what was touched at the end of each: of 72 small files a
day, 20 to 30 MB more after a week, and far more of large ones.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress

ARENAS = 2
"""As many as threads that work at the same time; more gained no time."""
_M_ARENA_MAX = -8


def few_arenas() -> None:
    """From now on, let threads share arenas. Only for a process that is no one else's."""
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Collect what only cycles hold, and return free pages to the system where that is possible."""
    gc.collect()
    with suppress(OSError, AttributeError):  # another C library has no such function
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
