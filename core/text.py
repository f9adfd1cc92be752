"""Text for people: without control characters, and amounts in words."""

from __future__ import annotations

import re
from datetime import timedelta

_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters except the line feed, marks that change the direction of text, and single
surrogates (bytes of a file name that are no UTF-8)."""

COLOURS = {
    name: code
    for code, name in enumerate(("red", "green", "yellow", "blue", "magenta", "cyan"), start=31)
} | {"bright_black": 90}
"""Colours of a terminal -> their numbers (ECMA-48, SGR)."""
_MARKS = {name: chr(0xFDD1 + number) for number, name in enumerate(COLOURS)}
_PLAIN = "\ufdd0"
_ESCAPES = {ord(mark): f"\x1b[{COLOURS[name]}m" for name, mark in _MARKS.items()}
_ESCAPES[ord(_PLAIN)] = "\x1b[0m"


def printable(text: str) -> str:
    """A text with control characters escaped, except line feeds."""

    def escaped(match: re.Match[str]) -> str:
        code = ord(match[0])
        number = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
        return {9: "\\t", 13: "\\r"}.get(code, number)

    return _CONTROL.sub(escaped, text)


def one_line(text: str) -> str:
    """A text with all control characters escaped, on one line."""
    return printable(text).replace("\n", "\\n")


def painted(text: str, colour: str) -> str:
    """A text in a colour, for `for_screen`: its marks are no control characters."""
    return f"{_MARKS[colour]}{text}{_PLAIN}"


def for_screen(text: str) -> str:
    """A printable text for a terminal, with the escape sequences of what is painted."""
    return text.translate(_ESCAPES)


def for_page(text: str) -> str:
    """A page or its data with U+FFFD for control characters except tabs.

    An escape with a backslash would have a meaning in scripts and data.
    """
    return _CONTROL.sub(lambda match: "\t" if match[0] == "\t" else "\ufffd", text)


def counted(number: float, noun: str, plural: str = "") -> str:
    """A number with its noun: 1 row, 2 rows, 0.5 minutes; `plural` for irregular nouns."""
    shown = f"{number:,g}" if number % 1 else f"{int(number):,}"
    return f"{shown} {noun if number == 1 else plural or f'{noun}s'}"


def megabytes(size: int) -> str:
    """A size in bytes as text: 3.2 MB, 14.5 kB, 820 bytes."""
    if size >= 50_000:
        return f"{size / 1e6:,.1f} MB"
    return f"{size / 1e3:.1f} kB" if size >= 1000 else counted(size, "byte")


def length_of_time(length: timedelta) -> str:
    """A length of time in the largest unit with a whole number: 1 hour, 90 minutes."""
    seconds = length.total_seconds()
    for noun, size in (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1)):
        if seconds >= size and seconds % size == 0:
            return counted(int(seconds // size), noun)
    return counted(seconds, "second")


WILD = ("*", "?")
"""Wildcards of a pattern: any text, any character."""


def is_pattern(name: str | None) -> bool:
    """Whether a name is a pattern of names."""
    return any(sign in (name or "") for sign in WILD)
