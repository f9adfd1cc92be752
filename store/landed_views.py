"""The views over landed tables in a database in memory, made as far as some SQL names them.

A whole catalogue has a view and comments for every table that there could be, which takes half a
second to make; `cpmon reduce` reads some forty of them, and nobody reads what they say.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa

from ..schemas.arrow import schemas
from ..schemas.layout import Kind
from ..schemas.registry import record_of, tables
from .entries import replacing, view
from .meta import meta_views
from .sources import source_of, sources
from .stamps import code_of
from .store import Store
from .views import LANDED, Documented, interval_view, landed_rows, monitor_view

_VIEW = re.compile(r'\b(monitor|interval|meta)\."?(\w+)"?')
_SOURCE = re.compile(rf'\b{LANDED}\."[^"]+"')


class LandedViews:
    """`monitor`, `interval` and `meta` of a store, in a database of their own."""

    def __init__(self, store: Store) -> None:
        """Make the database; it has no views yet."""
        self.connection = duckdb.connect(":memory:")
        for schema in ("monitor", "interval", "meta", LANDED):
            self.connection.execute(f"CREATE SCHEMA {schema}")
        macros = files(__package__) / "sql" / "deltas.sql"
        self.connection.execute(macros.read_text(encoding="utf-8"))
        self._store, self._landed = store, store.tables()
        self._sources = {entry.name: entry for entry in sources(store, self._landed)}
        self._meta = {known.name: known for known in meta_views()}
        self._made: set[str] = set()

    def show(self, texts: Iterable[str], at_hand: Collection[str] = ()) -> None:
        """Let all rows be read of what some SQL names, unless it was shown before.

        Args:
            at_hand: tables whose growth somebody else will show.
        """
        for sql in texts:
            code = code_of(sql)
            for source in set(_SOURCE.findall(code)) & self._sources.keys() - self._made:
                self._made.add(source)
                self.connection.execute(self._sources[source].create)
            for schema, table in set(_VIEW.findall(code)):
                if schema == "interval" and table in at_hand:
                    self._show_view(self._view("monitor", table))
                else:
                    self._show_view(self._view(schema, table))

    def stand_in(self, table: str, growth: pa.Table) -> None:
        """Let `interval.<table>` be read from rows in memory."""
        self._made.add(f"interval.{table}")
        self.connection.register(_rows(table), growth)
        self.connection.execute(f"CREATE OR REPLACE VIEW interval.{table} AS FROM {_rows(table)}")

    def hide_growth(self, table: str) -> None:
        """Let `interval.<table>` be read no longer, until it is shown again."""
        self._made.remove(f"interval.{table}")
        self.connection.execute(f"DROP VIEW interval.{table}")
        self.connection.unregister(_rows(table))

    def narrow(
        self, where: str, dumps: Sequence[Path] | None, basis: Sequence[Path] | None
    ) -> None:
        """Let only some rows be read of all that is shown.

        Args:
            where: a condition on samples.
            dumps, basis: folders of the dumps whose samples are read, and whose other records;
                None for all of them.
        """
        known = tables()
        for table in self._landed & schemas().keys():
            if landed_rows(table).removesuffix("()") in self._made:
                is_sample = table in known and record_of(known[table]).kind is Kind.SAMPLE
                self.open(table, where if is_sample else "true", dumps if is_sample else basis)

    def open(self, table: str, where: str, dumps: Sequence[Path] | None) -> None:
        """Let the rows of a table be read that meet a condition, of all or some dumps."""
        if dumps is not None:
            self.connection.execute(source_of(self._store, table, dumps, where))
            return
        create = self._sources[landed_rows(table).removesuffix("()")].create
        self.connection.execute(f"{replacing(create)} WHERE {where}")

    def _show_view(self, found: Documented | None) -> None:
        if found is not None and found.name not in self._made:
            self._made.add(found.name)
            self.show([found.select])
            self.connection.execute(view(found).create)

    def _view(self, schema: str, table: str) -> Documented | None:
        """The view of that name; None if it is none: an alias may be called as a schema is."""
        match schema:
            case "meta":
                return self._meta.get(f"meta.{table}")
            case "interval" if table in tables():
                return interval_view(tables()[table])
            case "monitor" if table in schemas():
                return monitor_view(table, schemas()[table], landed_rows(table))
        return None


def _rows(table: str) -> str:
    return f"_growth_of_{table}"
