"""Functions that tests have done by engines: other processes import them."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

from cpmon.core.errors import CpmonError


def double(number: int) -> int:
    return 2 * number


def fail_once(file: str) -> str:
    """Fails at the first call only."""
    mark = Path(file)
    if not mark.exists():
        mark.touch()
        raise OSError("not served")
    return "served"


def refuse(file: str) -> str:
    """Counts its calls in a file, and refuses each."""
    with Path(file).open("a") as calls:
        calls.write("x")
    raise CpmonError("refused", remedy="none")


def interrupted(*_: object) -> None:
    """Ctrl-C comes before a lock is taken: its release is what fails."""
    try:
        raise KeyboardInterrupt
    finally:
        threading.Lock().release()


def die(number: int) -> int:
    """Ends the process as the system does when memory is short, for odd numbers."""
    if number % 2:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(0.05)
    return number


def die_once(file: str) -> str:
    mark = Path(file)
    if not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def wait_long(file: str) -> None:
    """Says by a file which process it runs in, and waits."""
    Path(file).write_text(str(os.getpid()))
    time.sleep(600)
