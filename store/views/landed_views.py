"""Creates the views over landed tables that reductions read, in a database in memory.

A whole catalogue has a view and comments for every table that there could be, which takes a second
to make; `cpmon reduce` reads some forty of them, of some dumps, and none of the comments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ...schemas.arrow import schemas
from ...schemas.layout import Kind
from ...schemas.registry import record_of, tables
from ..dumps.landed_dump import LandedDump
from ..dumps.store import Store
from .database import database
from .entries import replacing
from .relations import INTERVALS, landed_view, macros, views_below
from .snapshot import snapshot
from .sources import landed_files, source_of, sources
from .views import LANDED, landed_rows

_MACRO = re.compile(rf'\b{LANDED}\."([^"]+)"')


class LandedViews:
    """`monitor`, `interval` and `meta` in a database of their own, over chosen dumps.

    Attributes:
        connection: to that database; `create` makes views in it.
    """

    def __init__(self, store: Store) -> None:
        """Create the database; it has no views yet."""
        self.connection = database(store)
        for schema in ("monitor", "interval", "meta", LANDED):
            self.connection.execute(f"CREATE SCHEMA {schema}")
        self.connection.execute(macros())
        self._store = store
        self._sources = {
            entry.name: entry.create
            for entry in sources(store, landed_files(store), snapshot=snapshot(store))
        }
        self._restricted: set[str] = set()
        self._created: set[str] = set()
        self._samples = "true"
        self._dumps: Sequence[LandedDump] | None = None
        self._others: Sequence[LandedDump] | None = None

    def restrict(
        self,
        samples: str,
        dumps: Sequence[LandedDump] | None,
        others: Sequence[LandedDump] | None,
    ) -> None:
        """Choose the rows that the views show from now on.

        Args:
            samples: a condition on samples, as SQL.
            dumps: those whose samples are shown; None for all.
            others: those whose other records are shown; None for all.
        """
        self._samples, self._dumps, self._others = samples, dumps, others
        for table in self._restricted:
            self._open(table)

    def materialize_intervals(self, dumps: Sequence[LandedDump] | None) -> None:
        """Compute `meta.interval` of some dumps, or of all, as a table: every delta joins it."""
        self._others = dumps
        self._open("interval")
        select = landed_view(INTERVALS).select
        self.connection.execute(f"CREATE OR REPLACE TABLE {INTERVALS} AS {select}")
        self._created.add(INTERVALS)

    def create(self, relations: Iterable[str]) -> None:
        """Create the views of some names, and those that they read, as far as they do not exist."""
        for relation in relations:
            if relation in self._created:
                continue
            self._created.add(relation)
            view = landed_view(relation)
            self.create(views_below(relation))
            for table in _MACRO.findall(view.select):
                self._open(table)
            self.connection.execute(f"CREATE VIEW {view.name} AS {view.select}")

    def drop(self, relation: str) -> None:
        """Drop a view, where it exists."""
        if relation in self._created:
            self.connection.execute(f"DROP VIEW {relation}")
            self._created.remove(relation)

    def _open(self, table: str) -> None:
        """Replace the macro that reads the files of a table, or of what lies beside tables."""
        is_sample = table in tables() and record_of(tables()[table]).kind is Kind.SAMPLE
        dumps = self._dumps if is_sample else self._others
        where = self._samples if is_sample else "true"
        if dumps is not None and (table in schemas() or table == "interval"):
            create = source_of(self._store, table, dumps, where)
        else:
            create = self._sources[landed_rows(table).removesuffix("()")]
            create = f"{replacing(create)} WHERE {where}" if is_sample else replacing(create)
        self.connection.execute(create)
        self._restricted.add(table)
