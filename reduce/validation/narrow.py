"""A catalogue over just the dumps that a scope rests on, so that the age of a store does not count.

Its macros name the files of these dumps one by one; the views over them are those of any store.
Reductions are in it as far as somebody asks for them, since making one takes 30 ms.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

import duckdb

from ...store import Store, connect
from ...store.catalogue.catalogue import live_catalogue
from ...store.dumps.landed_dump import ABOUT, LandedDump
from ...store.results.lineage import code_of, lineages
from ...store.sandbox.sandbox import Limits, seal
from ...store.views.sources import files_of, shown
from ..reductions.reductions import reductions
from .rule import Scope

CONFIGURATION = "mtrsys"
"""The file of a dump that begins with the configuration of its system."""


class Narrow(ExitStack):
    """A catalogue that shows the dumps of one scope after another; it is closed at the exit."""

    def __init__(self, store: Store, limits: Limits | None = None) -> None:
        """Args: limits: what queries may use; those of DuckDB by default."""
        super().__init__()
        self._store, self._limits = store, limits or Limits()
        self._connection: duckdb.DuckDBPyConnection | None = None
        self._shown: set[str] = set()

    @contextmanager
    def to(self, scope: Scope) -> Iterator[tuple[duckdb.DuckDBPyConnection, set[str]]]:
        """A read-only connection to the dumps of a scope, and the tables they landed in.

        Raises:
            StoreError: the catalogue cannot be built.
        """
        every = self._store.dumps()
        dumps = basis(every, scope)
        if len(dumps) in (0, len(every)):  # none: messages tell what there is instead
            with connect(self._store, reductions(), self._limits) as connection:
                yield connection, self._store.tables()
            return
        if self._connection is None:
            self._connection = live_catalogue(self._store, shut=True)
            self.callback(self._connection.close)
            seal(self._connection, self._store, self._limits)
        names = {ABOUT}.union(*(dump.tables for dump in dumps))
        files = {name: files_of(self._store, name, dumps) for name in names}
        for create in shown(self._store, {**dict.fromkeys(self._shown, ()), **files}):
            self._connection.execute(create)
        self._shown = set(files)
        yield self._connection, self._shown - {ABOUT}


@contextmanager
def narrowed(
    store: Store, scope: Scope, limits: Limits | None = None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, set[str]]]:
    """A read-only connection to the dumps that a scope rests on, and the tables they landed in.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    with Narrow(store, limits) as narrow, narrow.to(scope) as connection:
        yield connection


def define(connection: duckdb.DuckDBPyConnection, texts: Iterable[str]) -> None:
    """Create the reductions that some SQL reads as views, as far as they are not there."""
    words = {word for text in texts for word in re.findall(r"\w+", code_of(text))}
    names = {
        n for lineage in lineages(reductions()) if lineage.name in words for n in lineage.names
    }
    views = connection.execute("SELECT view_name FROM duckdb_views() WHERE schema_name = 'main'")
    names -= {name for (name,) in views.fetchall()}
    for view in reductions():  # each behind those that it reads
        if view.name in names:
            connection.execute(view.sql)


def basis(every: Sequence[LandedDump], scope: Scope) -> list[LandedDump]:
    """The dumps of a scope; before them those with the interval before, and the configuration."""
    selected: list[LandedDump] = []
    for system in dict.fromkeys(dump.system for dump in every):
        if scope.system not in (None, system):
            continue
        dumps = [dump for dump in every if dump.system == system]
        of_scope = [n for n, dump in enumerate(dumps) if _overlaps(dump, scope)]
        if of_scope:
            selected += dumps[_first(dumps, of_scope[0]) : of_scope[-1] + 1]
    return selected


def _overlaps(dump: LandedDump, scope: Scope) -> bool:
    """Whether a dump may have records of a scope, by their days."""
    early = scope.until is not None and dump.begins > scope.until.date()
    late = scope.since is not None and max(dump.begins, *dump.days[-1:]) < scope.since.date()
    return not early and not late


def _first(dumps: Sequence[LandedDump], at: int) -> int:
    """The place of the first dump that those from `at` on rest on."""
    for place in range(max(at - 1, 0), -1, -1):
        if CONFIGURATION in dumps[place].tables:
            return place
    return 0
