"""Text from dumps and from users, made safe to show: no control character reaches a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters but the line feed, marks that turn the direction of text, halves of
surrogate pairs (bytes of a file name that are no UTF-8)."""

_SHORT = {9: "\\t", 13: "\\r"}


def printable(text: str) -> str:
    """A text with every control character written as its number; lines stay."""
    return _CONTROL.sub(_escaped, text)


def one_line(text: str) -> str:
    """The same on one line: a name that cannot look like more than one."""
    return printable(text).replace("\n", "\\n")


def for_page(text: str) -> str:
    """A page or its data with every control character but tabs as the sign for what is no text.

    It stands in markup, scripts and data alike, where a backslash would mean something.
    """
    return _CONTROL.sub(lambda match: "\t" if match[0] == "\t" else "\ufffd", text)


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    number = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return _SHORT.get(code, number)
