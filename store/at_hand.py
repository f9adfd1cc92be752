"""Growth of counters as tables in the place of `interval` views, while reductions read it."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

import duckdb

from ..schemas.layout import Kind, Layout
from ..schemas.registry import record_of, tables
from .entries import view as entry_of
from .growth import growth, growth_select
from .stamps import code_of
from .views import interval_view

MOST_CELLS = 100_000_000
"""Cells of a table whose growth is held in memory; larger ones stay views, which need none."""


class GrowthAtHand:
    """The tables that some readers have in common, made for the first and gone with the last.

    Only for rows of one system, of which no two dumps hold the same interval.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, readers: Sequence[Sequence[str]]
    ) -> None:
        """Plan it.

        Args:
            readers: the SQL that each of them rests on; each reads once.
        """
        self._connection = connection
        self._made: set[str] = set()
        self._waiting = Counter(table for texts in readers for table in _tables(texts))
        self._words: dict[str, set[str]] = {}
        for texts in readers:
            words = {word for sql in texts for word in re.findall(r"\w+", code_of(sql))}
            for table in _tables(texts):
                self._words.setdefault(table, set()).update(words)

    @contextlib.contextmanager
    def reading(self, texts: Sequence[str]) -> Iterator[None]:
        """While one of the readers computes."""
        read = _tables(texts)
        for table in sorted(read - self._made):
            self._make(tables()[table])
        try:
            yield
        finally:
            self._waiting.subtract(read)
            self.forget({table for table in self._made if not self._waiting[table]})

    def forget(self, some: Collection[str] | None = None) -> None:
        """Put the views back, all of them or some."""
        for table in self._made.copy() if some is None else some:
            self._connection.execute(f"DROP VIEW interval.{table}")
            self._connection.unregister(_name(table))
            self._connection.execute(entry_of(interval_view(tables()[table])).create)
            self._made.remove(table)

    def _make(self, layout: Layout) -> None:
        select = growth_select(layout, self._words[layout.name])
        columns = len(self._connection.sql(f"{select} LIMIT 0").columns)
        ((rows,),) = self._connection.sql(f"SELECT count(*) FROM ({select})").fetchall()
        if rows * columns > MOST_CELLS:
            return
        found = growth(layout, self._connection.sql(select).to_arrow_table())
        self._connection.register(_name(layout.name), found)
        self._connection.execute(f"DROP VIEW interval.{layout.name}")
        self._connection.execute(
            f"CREATE VIEW interval.{layout.name} AS SELECT * FROM {_name(layout.name)}"
        )
        self._made.add(layout.name)


def _name(table: str) -> str:
    return f"_growth_of_{table}"


def _tables(texts: Sequence[str]) -> set[str]:
    """The sample tables whose growth they read."""
    named = {t for sql in texts for t in re.findall(r"\binterval\.(\w+)", code_of(sql))}
    known = tables()
    return {t for t in named if t in known and record_of(known[t]).kind is Kind.SAMPLE}
