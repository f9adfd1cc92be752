"""Growth of counters at hand as `interval` views, while reductions read it."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pyarrow as pa

from ..schemas.layout import Kind, Layout
from ..schemas.registry import record_of, tables
from .growth import growth_columns, growth_of_parts
from .landed_views import LandedViews
from .stamps import code_of

MOST_CELLS = 100_000_000
"""Cells of a table whose growth is held in memory; larger ones stay views, which need none. With so
many at hand in all, no further table is computed before it is asked for."""
AT_ONCE = 2
"""Tables that are computed while others are being read."""
_NAMED = re.compile(r"\binterval\.(\w+)")
_OF_AN_ENTRY = re.compile(r"\binterval\.(\w+)[^;()]*?\bentry = \d")


class GrowthAtHand:
    """The tables that some readers have in common, made for the first and gone with the last.

    Only for rows of one system, of which no two dumps hold the same interval.
    """

    def __init__(self, records: LandedViews, readers: Sequence[Sequence[str]]) -> None:
        """Plan it.

        Args:
            readers: the SQL that each of them rests on; each reads once, best in this order.
        """
        self._records = records
        self.tables: frozenset[str] = frozenset(t for texts in readers for t in _grown(texts))
        self._shown: dict[str, pa.Table | None] = {}
        self._waiting = Counter(table for texts in readers for table in self._read(texts))
        self._words: dict[str, set[str]] = {}
        for texts in readers:
            words = {word for sql in texts for word in re.findall(r"\w+", code_of(sql))}
            for table in sorted(self._read(texts)):
                self._words.setdefault(table, set()).update(words)
        self._pool = ThreadPoolExecutor(max_workers=AT_ONCE)
        self._lock = threading.RLock()  # around what follows
        self._rest = list(self._words)
        self._ahead: dict[str, Future[pa.Table | None]] = {}

    @contextlib.contextmanager
    def reading(self, texts: Sequence[str]) -> Iterator[None]:
        """While one of the readers computes."""
        read = self._read(texts)
        for table in [known for known in self._words if known in read]:
            self._show(table)
        self.look_ahead()
        try:
            yield
        finally:
            self._waiting.subtract(read)
            self._hide({table for table in self._shown if not self._waiting[table]})

    def rows(self, relation: str) -> pa.Table | None:
        """What is at hand of a relation, while one of its readers computes."""
        schema, _, table = relation.rpartition(".")
        return self._shown.get(table) if schema == "interval" else None

    def close(self) -> None:
        """Let all tables go; nothing is computed any more."""
        with self._lock:
            self._rest.clear()
        self._pool.shutdown(cancel_futures=True)
        self._hide(set(self._shown))

    def _read(self, texts: Sequence[str]) -> set[str]:
        return {t for sql in texts for t in _NAMED.findall(code_of(sql)) if t in self.tables}

    def look_ahead(self, _done: Future[pa.Table | None] | None = None) -> None:
        """Let the next tables be computed, in the order in which they are asked for."""
        # The pool may be shut while Python ends, after an error of somebody else.
        with self._lock, contextlib.suppress(RuntimeError):
            while self._rest and self._is_idle():
                self._begin(self._rest[0])

    def _is_idle(self) -> bool:
        """Whether another table may be computed before it is asked for."""
        done = [future for future in self._ahead.values() if future.done()]
        there = [one.result() for one in done if not one.cancelled() and one.exception() is None]
        cells = sum(len(rows) * rows.num_columns for rows in there if rows is not None)
        return len(self._ahead) - len(done) < AT_ONCE and cells < MOST_CELLS

    def _begin(self, table: str) -> None:
        self._rest.remove(table)
        future = self._pool.submit(self._computed, tables()[table])
        self._ahead[table] = future
        future.add_done_callback(self.look_ahead)

    def _computed(self, layout: Layout) -> pa.Table | None:
        """The growth of a table; None if it is too large.

        None as well where somebody wants a named bit, or other layouts landed other types.
        """
        words = self._words[layout.name]
        columns = growth_columns(layout, words)
        rows, intervals = self._records.samples(layout.name)
        if len(rows) * len(columns) > MOST_CELLS or not rows.has(columns):
            return None
        return growth_of_parts(layout, rows.parts(columns), intervals)

    def _show(self, table: str) -> None:
        """Let a table be read in the place of its view, unless that was done before."""
        if table in self._shown:
            return
        with self._lock:
            if table in self._rest:
                self._begin(table)
            computed = self._ahead.pop(table)
        found = computed.result()
        if found is None:
            self._records.show([f"interval.{table}"])
        else:
            self._records.stand_in(table, found)
        self._shown[table] = found

    def _hide(self, some: set[str]) -> None:
        for table in some:
            self._records.hide_growth(table)
            del self._shown[table]


def _grown(texts: Sequence[str]) -> set[str]:
    """The sample tables of which they read the growth of every row.

    One of which only an entry is wanted is left to its view: that window is over few rows.
    """
    code = [code_of(sql) for sql in texts]
    named = {table for sql in code for table in _NAMED.findall(sql)}
    named -= {table for sql in code for table in _OF_AN_ENTRY.findall(sql)}
    known = tables()
    return {t for t in named if t in known and record_of(known[t]).kind is Kind.SAMPLE}
