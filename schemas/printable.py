"""Text from dumps and from users, made safe to show: no control character reaches a terminal."""

from __future__ import annotations

import re

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
"""Control characters but tab and line feed, marks that turn the direction of text, halves of
surrogate pairs (bytes of a file name that are no UTF-8)."""


def printable(text: str) -> str:
    """A text with every control character written as its number; lines and tabs stay."""
    return _CONTROL.sub(_escaped, text)


def one_line(text: str) -> str:
    """The same, with lines and tabs written out: a name that cannot look like more than one."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _escaped(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
