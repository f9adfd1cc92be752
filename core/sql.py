"""SQL as text: quoted names and literals, unions, sums that are exact in any order."""

from __future__ import annotations

from collections.abc import Sequence

PARTS = "67108864e0"
"""2**26: sums of multiples of 1 / this are exact below 2**27, in any order."""


def name(identifier: str) -> str:
    """A quoted identifier, since some of IBM's names are reserved words of SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def relation_name(relation: str) -> str:
    """A relation with its schema, each part quoted: `interval.sytprp`."""
    return ".".join(map(name, relation.split(".")))


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def union_all(relations: Sequence[str]) -> str:
    """SQL for a relation with the rows of several; missing columns are NULL."""
    if len(relations) == 1:
        return relations[0]
    return f"({' UNION ALL BY NAME '.join(f'SELECT * FROM {each}' for each in relations)})"


def exact(number: str, parts: str = PARTS) -> str:
    """SQL for a number rounded to whole parts, whose sum does not depend on the order.

    The last bit of sums of 1e-6 would depend on the order of rows, and so on threads and memory. A
    part of a second is 15 ns, so that microseconds stay distinct.
    """
    return f"floor(({number}) * {parts} + 5e-1) / {parts}"
