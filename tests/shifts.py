"""Shifts as a site writes them, for tests of what is narrowed by them."""

from __future__ import annotations

from datetime import time

from cpmon.config.moments import Shift


def daily(name: str, begins: str, ends: str) -> dict[str, Shift]:
    """The shifts of a site with a single one: hours of every day, UTC."""
    hours = time.fromisoformat(begins), time.fromisoformat(ends)
    return {name: Shift(name, tuple(range(1, 8)), *hours)}
