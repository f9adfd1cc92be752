"""Growth of counters as tables in the place of `interval` views, while reductions read it."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import duckdb
import pyarrow as pa

from ..schemas.layout import Kind, Layout
from ..schemas.registry import record_of, tables
from .entries import view as entry_of
from .growth import INTERVALS, growth, growth_select
from .stamps import code_of
from .views import interval_view

MOST_CELLS = 100_000_000
"""Cells of a table whose growth is held in memory; larger ones stay views, which need none."""
AHEAD = 2
"""Tables that are computed before they are asked for, while others are being read."""


class GrowthAtHand:
    """The tables that some readers have in common, made for the first and gone with the last.

    Only for rows of one system, of which no two dumps hold the same interval.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, readers: Sequence[Sequence[str]]
    ) -> None:
        """Plan it.

        Args:
            readers: the SQL that each of them rests on; each reads once, best in this order.
        """
        self._connection = connection
        self._shown: set[str] = set()
        self._waiting = Counter(table for texts in readers for table in _tables(texts))
        self._words: dict[str, set[str]] = {}
        for texts in readers:
            words = {word for sql in texts for word in re.findall(r"\w+", code_of(sql))}
            for table in sorted(_tables(texts)):
                self._words.setdefault(table, set()).update(words)
        self._pool = ThreadPoolExecutor(max_workers=1)
        self._rest = list(self._words)
        self._ahead: dict[str, Future[pa.Table | None]] = {}
        self._look_ahead()

    @contextlib.contextmanager
    def reading(self, texts: Sequence[str]) -> Iterator[None]:
        """While one of the readers computes."""
        read = _tables(texts)
        for table in [known for known in self._words if known in read]:
            self._show(table)
        self._look_ahead()
        try:
            yield
        finally:
            self._waiting.subtract(read)
            self._hide({table for table in self._shown if not self._waiting[table]})

    def close(self) -> None:
        """Put all views back; nothing is computed any more."""
        self._pool.shutdown(cancel_futures=True)
        self._hide(self._shown.copy())

    def _look_ahead(self) -> None:
        """Let the next tables be computed, in the order in which they are asked for."""
        while self._rest and len(self._ahead) < AHEAD:
            self._begin(self._rest[0])

    def _begin(self, table: str) -> None:
        self._rest.remove(table)
        self._ahead[table] = self._pool.submit(self._computed, tables()[table])

    def _computed(self, layout: Layout) -> pa.Table | None:
        """The growth of a table; None if it is too large."""
        select = growth_select(layout, self._words[layout.name])
        with self._connection.cursor() as own:  # other threads use the connection
            ((rows,),) = own.sql(f"SELECT count(*) FROM ({select})").fetchall()
            if rows * len(own.sql(select).columns) > MOST_CELLS:
                return None
            found = own.sql(select).to_arrow_table()
            return growth(layout, found, own.sql(INTERVALS).to_arrow_table())

    def _show(self, table: str) -> None:
        """Let a table be read in the place of its view, unless that was done before."""
        if table in self._rest:
            self._begin(table)
        found = self._ahead.pop(table).result() if table in self._ahead else None
        if found is None:
            return
        self._connection.register(_name(table), found)
        self._connection.execute(f"DROP VIEW interval.{table}")
        self._connection.execute(f"CREATE VIEW interval.{table} AS SELECT * FROM {_name(table)}")
        self._shown.add(table)

    def _hide(self, some: set[str]) -> None:
        """Put the views of some tables back."""
        for table in some:
            self._connection.execute(f"DROP VIEW interval.{table}")
            self._connection.unregister(_name(table))
            self._connection.execute(entry_of(interval_view(tables()[table])).create)
            self._shown.remove(table)


def _name(table: str) -> str:
    return f"_growth_of_{table}"


def _tables(texts: Sequence[str]) -> set[str]:
    """The sample tables whose growth they read.

    One of which only an entry is wanted is left to its view: that window is over few rows.
    """
    code = [code_of(sql) for sql in texts]
    named = {t for sql in code for t in re.findall(r"\binterval\.(\w+)", sql)}
    named -= {t for sql in code for t in re.findall(r"\binterval\.(\w+)[^;()]*?\bentry = \d", sql)}
    known = tables()
    return {t for t in named if t in known and record_of(known[t]).kind is Kind.SAMPLE}
