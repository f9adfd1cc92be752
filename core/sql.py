"""SQL as text: quoted names and literals, unions, sums that no order changes."""

from __future__ import annotations

from collections.abc import Sequence

PARTS, FINE_PARTS = "67108864e0", "4294967296e0"
"""2**26 and 2**32: sums of whole parts of one are exact below 2**27 and 2**21, in any order."""


def name(identifier: str) -> str:
    """An identifier, quoted: some of IBM's names are words of SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def union_all(relations: Sequence[str]) -> str:
    """One relation with the rows of several, as SQL; columns that one of them lacks are NULL."""
    if len(relations) == 1:
        return relations[0]
    return f"({' UNION ALL BY NAME '.join(f'SELECT * FROM {each}' for each in relations)})"


def exact(number: str, parts: str = PARTS) -> str:
    """A number in whole parts, which add up to the same sum in any order; both as SQL.

    Sums of 1e-6 would differ in their last bit with the order of rows, and so with threads and
    memory. Of seconds a part is 15 ns, so that microseconds stay apart.
    """
    return f"floor(({number}) * {parts} + 5e-1) / {parts}"
