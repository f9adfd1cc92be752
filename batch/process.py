"""The process of a batch that stays for months: signals that stop it, and its memory."""

from __future__ import annotations

import ctypes
import gc
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

ARENAS = 2
"""As many as threads that work at the same time; more arenas saved no time."""
_M_ARENA_MAX = -8


@contextmanager
def stop_signal() -> Iterator[threading.Event]:
    """An event that SIGTERM or SIGINT sets within the block; a second signal interrupts at once."""
    event = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if event.is_set():
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # a third one ends the process
            raise KeyboardInterrupt
        event.set()

    numbers = (signal.SIGTERM, signal.SIGINT)
    previous = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield event
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def limit_arenas() -> None:
    """Make threads share malloc arenas; only for a process that does nothing but batches.

    The window of a dump takes 20 MB for a moment, on a thread of its own. glibc gives threads
    separate arenas and keeps free pages at the end of each: with 72 small files a day, 20 to 30 MB
    more after a week, and far more with large ones.
    """
    with suppress(OSError, AttributeError):
        if sys.platform == "linux":
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def release_memory() -> None:
    """Collect cyclic garbage, and return free pages to the system where that is possible."""
    gc.collect()
    with suppress(OSError, AttributeError):  # C libraries other than glibc lack the function
        if sys.platform == "linux":
            ctypes.CDLL(None).malloc_trim(0)
