"""Waiting for what comes sooner or later, however busy the machine is."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 180


def wait_until(holds: Callable[[], object], pause_s: float = 0.05) -> None:
    """Ask again and again until the answer is true; fails when that takes too long."""
    until = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until, f"waited {PATIENCE_S} s in vain"
        time.sleep(pause_s)
