"""Waiting for what comes sooner or later, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Answer = TypeVar("Answer")
PATIENCE_S = 180


def wait_until(ask: Callable[[], Answer], pause_s: float = 0.05) -> Answer:
    """Ask again and again until the answer is true, and return it; fails if that takes too long."""
    until = time.monotonic() + PATIENCE_S
    while not (answer := ask()):
        assert time.monotonic() < until, f"waited {PATIENCE_S} s in vain"
        time.sleep(pause_s)
    return answer
