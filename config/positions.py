"""In which line of a TOML file a key stands: the parser does not tell, a message should."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any

_HEADER = re.compile(r"\s*(\[\[?)(.+?)\]\]?\s*(#.*)?$")
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_BARE = re.compile(r"[A-Za-z0-9_-]+")
_QUOTES = ('"""', "'''")


def key_lines(text: str) -> dict[str, int]:
    """Lines, counted from 1, by key as messages name it: `shifts.prime.from`, `inbox[0].folder`.

    Keys of inline tables and of lists over several lines are not looked for: the line of what
    holds them is that of `find_line`.
    """
    lines: dict[str, int] = {}
    tables: Counter[str] = Counter()
    top = quote = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if quote:
            quote = "" if quote in line else quote
            continue
        header, key = _HEADER.match(line), _KEY.match(line)
        if header:
            *above, top = _names(f"[{header[2]}]", tables)
            if header[1] == "[[":
                tables[top] += 1
                top = f"{top}[{tables[top] - 1}]"
            for name in (*above, top):
                lines.setdefault(name, number)
        elif key:
            *_, inner = _names(f"{key[1]} = 0", Counter())
            lines.setdefault(f"{top}.{inner}" if top else inner, number)
            quote = next((q for q in _QUOTES if line.count(q) == 1), "")
    return lines


def dotted(above: str, key: str) -> str:
    """A key below another one, as TOML and messages write it; quoted where it has to be."""
    written = key if _BARE.fullmatch(key) else json.dumps(key, ensure_ascii=False)
    return f"{above}.{written}" if above else written


def find_line(lines: Mapping[str, int], key: str) -> int | None:
    """The line of a key, or of the nearest table around it; None where nothing is known of it."""
    while key:
        if key in lines:
            return lines[key]
        shorter = re.sub(r"""(\.?"(?:[^"\\]|\\.)*"|\.[^.\[\]"]*|\[\d+\])$""", "", key)
        key = shorter if shorter != key else ""
    return None


def _names(piece: str, tables: Counter[str]) -> list[str]:
    """A header or key as messages name it, behind what it is part of; empty where it is no TOML."""
    try:
        value: Any = tomllib.loads(piece)
    except tomllib.TOMLDecodeError:
        return [""]
    names = [""]
    while isinstance(value, dict) and value:
        above = names[-1]
        if tables[above]:
            above = names[-1] = f"{above}[{tables[above] - 1}]"
        ((key, value),) = value.items()
        names.append(dotted(above, key))
    return names[1:]
