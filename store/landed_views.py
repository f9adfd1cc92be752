"""The views over landed tables in a database in memory, made as far as some SQL names them.

A whole catalogue has a view and comments for every table that there could be, which takes half a
second to make; `cpmon reduce` reads some forty of them, of some dumps, and none of the comments.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence
from importlib.resources import files
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from ..schemas.arrow import schemas
from ..schemas.layout import Kind
from ..schemas.registry import record_of, tables
from .catalogue import QUIET
from .entries import replacing, view
from .growth import INTERVALS
from .meta import meta_views
from .sources import source_of, sources
from .stamps import code_of
from .store import Store
from .stored_rows import StoredRows, as_in_views, readable, ticks
from .views import LANDED, Documented, interval_view, landed_rows, monitor_view

_VIEW = re.compile(r'\b(monitor|interval|meta)\."?(\w+)"?')
_SOURCE = re.compile(rf'\b{LANDED}\."[^"]+"')


class LandedViews:
    """`monitor`, `interval` and `meta` of a store, in a database of their own."""

    def __init__(self, store: Store) -> None:
        """Make the database; it has no views yet."""
        self.connection = duckdb.connect(":memory:", config=dict(QUIET))
        for schema in ("monitor", "interval", "meta", LANDED):
            self.connection.execute(f"CREATE SCHEMA {schema}")
        macros = files(__package__) / "sql" / "deltas.sql"
        self.connection.execute(macros.read_text(encoding="utf-8"))
        self._store, self._landed = store, store.folders.tables()
        self._sources = {entry.name: entry for entry in sources(store, {*self._landed})}
        self._meta = {known.name: known for known in meta_views()}
        self._views: dict[tuple[str, str], Documented | None] = {}
        self._made: set[str] = set()
        self.narrow()

    def narrow(
        self,
        samples: str = "true",
        dumps: Sequence[Path] | None = None,
        basis: Sequence[Path] | None = None,
    ) -> None:
        """Say what is seen of tables that are shown from now on.

        Args:
            samples: a condition on samples.
            dumps, basis: folders of the dumps whose samples are seen, and whose other records; all
                of them by default.
        """
        self._samples, self._dumps, self._basis = samples, dumps, basis
        self._open: set[str] = set()
        self._intervals: pa.Table | None = None

    def show(self, texts: Iterable[str], at_hand: Collection[str] = ()) -> None:
        """Let be read what some SQL names; of anything else nothing is said.

        Args:
            at_hand: tables whose growth somebody else will show.
        """
        views: dict[str, Documented] = {}
        named: set[str] = set()
        for sql in texts:
            self._reach(sql, at_hand, views, named)
        landed = self._landed.keys() & schemas().keys()
        for source in named:
            table = source.removeprefix(f'{LANDED}."').removesuffix('"')
            if table in landed:
                if table not in self._open:
                    of_others = "true", self._basis
                    seen = (self._samples, self._dumps) if _is_sample(table) else of_others
                    self.open(table, *seen)
                    self._open.add(table)
            elif source not in self._made:
                self.connection.execute(self._sources[source].create)
        for name, found in views.items():
            if name not in self._made:
                self.connection.execute(view(found).create)
        self._made.update(named, views)

    def stand_in(self, table: str, growth: pa.Table) -> None:
        """Let `interval.<table>` be read from rows in memory."""
        self._made.add(f"interval.{table}")
        self.connection.register(_rows(table), growth)
        self.connection.execute(
            f"CREATE OR REPLACE VIEW interval.{table} AS"
            f" SELECT {as_in_views(growth)} FROM {_rows(table)}"
        )

    def hide_growth(self, table: str) -> None:
        """Let `interval.<table>` be read no longer, until it is shown again."""
        self._made.remove(f"interval.{table}")
        self.connection.execute(f"DROP VIEW interval.{table}")
        self.connection.unregister(_rows(table))

    def open(self, table: str, where: str, dumps: Sequence[Path] | None) -> None:
        """Let the rows of a table be read that meet a condition, of all or some dumps."""
        macro = landed_rows(table).removesuffix("()")
        self._made.add(macro)
        if dumps is not None:
            self.connection.execute(source_of(self._store, table, dumps, where))
        else:
            create = replacing(self._sources[macro].create)
            self.connection.execute(f"{create} WHERE {where}")

    def samples(self, table: str) -> tuple[StoredRows, pa.Table]:
        """The rows of a table of samples, and of `INTERVALS` those that may be read."""
        dumps = map(Path, self._landed.get(table, ())) if self._dumps is None else self._dumps
        intervals = self._intervals
        if intervals is None:
            with self.connection.cursor() as own:  # another thread uses the connection
                seen = own.sql(INTERVALS).filter(self._samples)
                intervals = seen.order("interval_end").to_arrow_table()
            self._intervals = intervals
        ends = ticks(intervals.column("interval_end"))
        return StoredRows(table, dumps, ends), intervals

    def rows(self, table: str, words: Collection[str]) -> pa.Table | None:
        """What `monitor.<table>` shows of samples, of those columns that are among some words.

        Whole numbers are as wide as they landed; `as_in_views` widens them. None of other records,
        or if the files have not all of the columns.
        """
        if not _is_sample(table):
            return None
        wanted = [c for c in monitor_view(table, schemas()[table], "").columns if c in words]
        stored, intervals = self.samples(table)
        if not stored.has(wanted):
            return None
        rows = stored.read(dict.fromkeys([*wanted, "interval_end"]))
        seen = pc.is_in(rows.column("interval_end"), intervals.column("interval_end"))
        if self._samples != "true" and not pc.all(seen).as_py():
            rows = rows.filter(seen)
        return pa.table({column: readable(rows.column(column)) for column in wanted})

    def columns(self, relation: str) -> list[str]:
        """The columns of a view, which is there."""
        schema, _, table = relation.partition(".")
        found = self._view(schema, table)
        return [] if found is None else [*found.columns]

    def _reach(
        self, sql: str, at_hand: Collection[str], views: dict[str, Documented], named: set[str]
    ) -> None:
        """Add the views that some SQL reads, each behind those that it reads, and their macros."""
        sources, pairs = _named(sql)
        named |= sources & self._sources.keys()
        for schema, table in pairs:
            stands_in = schema == "interval" and table in at_hand
            found = None if stands_in else self._view(schema, table)
            if found is not None and found.name not in views:
                self._reach(found.select, at_hand, views, named)
                views[found.name] = found

    def _view(self, schema: str, table: str) -> Documented | None:
        """The view of that name; None if it is none: an alias may be called as a schema is."""
        if (schema, table) not in self._views:
            self._views[schema, table] = self._made_up(schema, table)
        return self._views[schema, table]

    def _made_up(self, schema: str, table: str) -> Documented | None:
        match schema:
            case "meta":
                return self._meta.get(f"meta.{table}")
            case "interval" if table in tables():
                return interval_view(tables()[table])
            case "monitor" if table in schemas():
                return monitor_view(table, schemas()[table], landed_rows(table))
        return None


def _is_sample(table: str) -> bool:
    known = tables()
    return table in known and record_of(known[table]).kind is Kind.SAMPLE


@functools.lru_cache(maxsize=512)
def _named(sql: str) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """The macros of files that some SQL names, and what it names in schemas of views."""
    code = code_of(sql)
    return frozenset(_SOURCE.findall(code)), tuple(dict.fromkeys(_VIEW.findall(code)))


def _rows(table: str) -> str:
    return f"_growth_of_{table}"
