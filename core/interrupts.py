"""Ctrl-C and SIGTERM: the first ends a command cleanly, the second kills its process."""

from __future__ import annotations

import signal
import sys
import threading
from types import FrameType


def hear_interrupts() -> None:
    """Handle Ctrl-C, unless it is ignored as in background processes, and SIGTERM.

    The command ends, and removes what it has not finished.
    """
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _on_interrupt)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _on_interrupt)


def restore_interrupts() -> None:
    """Reinstall the handler after a library has replaced it, as polars does, which writes CSV."""
    if threading.current_thread() is not threading.main_thread():
        return
    handler = signal.getsignal(signal.SIGINT)
    if handler is not None:
        signal.signal(signal.SIGINT, _on_interrupt if handler is signal.SIG_DFL else handler)


def _on_interrupt(number: int, _frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt; the system's default handles the next one, whatever code runs."""
    signal.signal(number, signal.SIG_DFL)
    if sys.stderr.isatty():
        sys.stderr.write("\x1b[?25h")  # shows the cursor, which a progress bar hides
        sys.stderr.flush()
    raise KeyboardInterrupt
