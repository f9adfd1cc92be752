"""SQL as text: quoted names and literals, unions, sums exact in any order; and SQL of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NewType, NoReturn, Self

CheckedSql = NewType("CheckedSql", str)
"""SQL that DuckDB wrote from a checked tree: one query or expression, wherever it stands."""


class UserSql:
    """SQL that people wrote. It is no text, so that it cannot become a part of a statement.

    `store.sandbox.guard` makes `CheckedSql` of it. `tools/check_user_sql.py` lists who else may
    look at `unchecked`, to show it or to find the names in it.
    """

    __slots__ = ("unchecked",)
    EXPECTED: ClassVar[str] = "a text"

    def __init__(self, unchecked: str) -> None:
        """Takes the text as it was written."""
        self.unchecked = unchecked

    @classmethod
    def parse(cls, value: Any) -> Self:
        """A value of a TOML file; raises ValueError if it is no text, or holds NUL."""
        if not isinstance(value, str) or "\0" in value or not value.strip():
            raise ValueError(cls.EXPECTED)
        return cls(value.strip())

    def __eq__(self, other: object) -> bool:
        """Whether it is the same text."""
        return isinstance(other, UserSql) and other.unchecked == self.unchecked

    def __hash__(self) -> int:
        """That of the text."""
        return hash(self.unchecked)

    def __bool__(self) -> bool:
        """Whether there is any."""
        return bool(self.unchecked)

    def __str__(self) -> NoReturn:
        """Raises TypeError."""
        raise TypeError("SQL that people wrote is checked before it becomes text")

    def __format__(self, spec: str) -> NoReturn:
        """Raises TypeError."""
        raise TypeError(f"SQL that people wrote is checked before it becomes text, also as {spec}")


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
