"""A reduction: a documented view over landed records."""

from __future__ import annotations

from dataclasses import dataclass

from ...core.errors import unknown


@dataclass(frozen=True, slots=True)
class ReducedColumn:
    """A column of a reduction. `doc` states unit, range and the meaning of NULL."""

    name: str
    doc: str

    @property
    def absence(self) -> str:
        """When it is NULL, as documented ("without SYTPRP deltas"); empty if never."""
        _, separator, rest = self.doc.partition("NULL ")
        return rest.strip().rstrip(".") if separator else ""

    @property
    def is_complete(self) -> bool:
        """Whether it has a value in every row, as the doc says it."""
        return "NULL" not in self.doc


@dataclass(frozen=True, slots=True)
class Reduction:
    """A view: its SQL and its documentation.

    `sql` creates the view in the current schema; `select` is its query alone, whose output names
    are those of `columns`. `reads` are the relations that it reads: `interval.sytprp`, `_interval`.
    `rollup` is the SQL of its roll-ups; empty if it has none.
    """

    name: str
    doc: str
    columns: tuple[ReducedColumn, ...]
    sql: str
    select: str
    reads: tuple[str, ...]
    rollup: str = ""

    @property
    def is_private(self) -> bool:
        """Whether it is meant for other reductions only."""
        return self.name.startswith("_")

    def column(self, name: str) -> ReducedColumn:
        """Find a column.

        Raises:
            CpmonError: no such column.
        """
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown("column", name, [c.name for c in self.columns], place=self.name)
