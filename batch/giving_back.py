"""Memory that is free, but still with the process: given back, so that one that stays stays small.

A window of a dump takes 20 MB for a moment. Once such a block was freed, glibc keeps others like
it in its arenas instead of returning them, touched pages included: some megabytes more after each
of the first dozens of runs.
"""

from __future__ import annotations

import ctypes
import gc
import sys
from contextlib import suppress


def give_back() -> None:
    """Collect what only cycles hold, and return free pages to the system where that is possible."""
    gc.collect()
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # another C library has no such function
            ctypes.CDLL(None).malloc_trim(0)
