"""Ctrl-C: the first one ends a command in order, the second one ends its process at once."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType

_SHOW_CURSOR = "\x1b[?25h"


def hear_interrupts() -> None:
    """Let two Ctrl-C end this process, unless it is to ignore them, as in the background."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _first)


def restore_interrupts() -> None:
    """Let Ctrl-C reach Python again, and the next one be the first.

    polars, which writes csv, takes the signal for itself.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None:
        signal.signal(signal.SIGINT, _first if handler is signal.SIG_DFL else handler)


def _first(_number: int, _frame: FrameType | None) -> None:
    """Interrupt what runs. The system takes the next one, whatever code runs then."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stderr.isatty():
        sys.stderr.write(_SHOW_CURSOR)  # a bar of progress hides it
        sys.stderr.flush()
    raise KeyboardInterrupt
