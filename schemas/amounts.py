"""Amounts in words: a number with its noun, a size, a length of time."""

from __future__ import annotations

from datetime import timedelta

_LENGTHS = {"day": 86400, "hour": 3600, "minute": 60, "second": 1}
_SMALLEST_MB = 50_000
"""Bytes from which on a size has a digit in megabytes."""


def counted(number: float, noun: str, plural: str = "") -> str:
    """A number and what it counts: 1 row, 2 rows, 0.5 minutes; `plural` where no s makes it."""
    shown = f"{number:,g}" if number % 1 else f"{int(number):,}"
    return f"{shown} {noun if number == 1 else plural or f'{noun}s'}"


def megabytes(size: int) -> str:
    """A size in bytes as a person reads it: 3.2 MB, 14.5 kB, 820 bytes."""
    if size >= _SMALLEST_MB:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e3:.1f} kB" if size >= 1000 else counted(size, "byte")


def length_of_time(length: timedelta) -> str:
    """A length of time in the largest unit that has a whole number of it: 1 hour, 90 minutes."""
    seconds = length.total_seconds()
    for noun, size in _LENGTHS.items():
        if seconds >= size and seconds % size == 0:
            return counted(int(seconds // size), noun)
    return counted(seconds, "second")
