"""Where a statement ends: at a semicolon that is not within a text, a name or a comment."""

from __future__ import annotations

import re

_PART = re.compile(
    r"""\b[eE]'(?:[^'\\]|\\.|'')*(?:'|\Z)"""
    r"""|'[^']*(?:'|\Z)|"[^"]*(?:"|\Z)"""
    r"""|--[^\n]*|/\*.*?(?:\*/|\Z)"""
    r"""|(\$\w*\$).*?(?:\1|\Z)"""
    r"""|;|\w+|.""",
    re.DOTALL,
)
"""A text, a quoted name, a comment, a text between dollars, a semicolon, a word, anything else. A
doubled quote within a text is two texts, which makes no difference here."""


def split(text: str) -> tuple[list[str], str]:
    """The complete statements of a text, without their semicolons, and what is left behind them."""
    statements, begin = [], 0
    for match in _PART.finditer(text):
        if match[0] == ";":
            statements.append(text[begin : match.start()].strip())
            begin = match.end()
    return [statement for statement in statements if statement], text[begin:]


def is_blank(text: str) -> bool:
    """Whether there is nothing but blanks and comments."""
    return all(
        part[0].startswith(("--", "/*")) or not part[0].strip() for part in _PART.finditer(text)
    )
