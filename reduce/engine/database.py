"""An in-memory DuckDB database that computes reductions over the dumps of one unit of work.

Every reduction is plain SQL over `interval`, `monitor` and `meta`. A relation that several of the
reductions read is materialized once, as a temporary table, and dropped after its last reader.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ...core.grace_period import GRACE
from ...core.sql import name, text
from ...store.format.store import Store
from ...store.results.entries import Entry
from ...store.results.lineage import code_of
from ...store.results.result_files import QueryWriter
from ...store.sandbox.sandbox import Limits, RestrictedThreads, seal
from ...store.sql.database import COSTLY, database
from ...store.sql.landed_views import INTERVALS, landed_view, views_below
from ...store.sql.relations import Relations
from ...store.sql.scope import ALL
from ...store.sql.views import View
from .planning import Unit

MEMORY = "700MB"
"""Default memory limit of DuckDB; the process needs another 200 MB."""
DISABLED = f"{COSTLY},common_subexpressions,statistics_propagation"
"""Optimizers to disable. Common subexpressions cost a twelfth of the processor time of a small day,
and gain nothing in a large one. The last makes columns required in Parquet where no row of a day
has a NULL."""


@dataclass(frozen=True, slots=True)
class Result:
    """Rows to compute: the rows of a reduction that meet an SQL condition."""

    relation: str
    where: str = "true"


Reader = Result | str
"""A reader of relations: a result, or the name of a materialized relation."""


class ReductionDatabase(QueryWriter):
    """Computes reductions over the dumps of one unit after another, in the sandbox.

    Attributes:
        writer: another connection with the same memory, threads and scratch folder.
    """

    def __init__(
        self, store: Store, views: Sequence[View], scratch: Path, limits: Limits | None = None
    ) -> None:
        """Create the database.

        Args:
            views: all reductions, each after those that it reads.
            scratch: a folder for spilled data and results; it can write to no other.
            limits: memory and threads of DuckDB.

        Raises:
            CpmonError: DuckDB rejects a limit.
        """
        threads = RestrictedThreads([scratch], most=2)
        super().__init__(database(store), threads)
        self.writer = QueryWriter(self.connection.cursor(), threads)
        self.connection.execute(
            f"SET preserve_insertion_order = false; SET disabled_optimizers = {text(DISABLED)}"
        )
        limits = limits or Limits()
        seal(self.connection, store, Limits(limits.memory or MEMORY, limits.threads), scratch)
        self._store, self._landed = store, Relations(self.execute, store)
        self._views = {view.name: view for view in views}
        self._readers: dict[str, set[Reader]] = {}
        self._materialized: set[str] = set()

    def restrict_to_unit(self, unit: Unit, results: Iterable[Result]) -> None:
        """Restrict reductions to the dumps and the scope of a unit, and plan these results."""
        self._drop_all()
        self._landed.point(unit.scope, unit.basis)
        self._landed.make(INTERVALS)
        self._plan(results)

    def substitute(self, relation: str, query: str) -> None:
        """Replace the rows of a reduction by those of a query, until the next restriction."""
        columns = ", ".join(name(column.name) for column in self._views[relation].columns)
        self.execute(f"CREATE TEMP TABLE {name(relation)} AS SELECT {columns} FROM ({query})")
        self._materialized.add(relation)

    def restrict_to_runs(self, results: Iterable[Result]) -> None:
        """Restrict samples to those of runs; other records are not restricted.

        Only dumps with such samples are read.
        """
        self._drop_all()
        self._landed.point(ALL)
        for relation in (INTERVALS, "meta.run"):
            self._landed.make(relation)
        spans = self.execute(
            "SELECT r.system, coalesce(max(i.interval_end), r.since), r.until FROM meta.run AS r"
            f" LEFT JOIN {INTERVALS} AS i"
            " ON i.system = r.system AND i.interval_end <= r.since"
            " GROUP BY r.system, r.since, r.until"
        ).fetchall()
        each = [
            f"(system = {text(s)} AND {_between(begin, until + GRACE)})"
            for s, begin, until in sorted(set(spans))
        ]
        samples = f"({' OR '.join(each) or 'false'})"
        rows = self.execute(f"SELECT DISTINCT dump FROM {INTERVALS} WHERE {samples}").fetchall()
        dumps = {dump for (dump,) in rows}
        of_runs = [dump for dump in self._store.dumps() if dump.whole in dumps]
        self._landed.restrict(of_runs, samples)
        self._plan(results)

    def unrestrict(self, results: Iterable[Result]) -> None:
        """Lift the restriction: reductions read all dumps."""
        self._drop_all()
        self._landed.point(ALL)
        self._plan(results)

    def shared_inputs(self, result: Result) -> int:
        """The number of dependencies of a result that other readers share."""
        return len(self._needed(result.relation) & self._readers.keys())

    def write(self, result: Result, path: Path, entry: Entry | None = None) -> int:
        """Compute a planned result and write its rows, by system, interval and object.

        Args:
            entry: that of the file, for its metadata.

        Returns:
            the number of rows.

        Raises:
            CpmonError: the memory limit is too small.
        """
        self._prepare(result.relation)
        view = self._views[result.relation]
        query = f"{self._with(view.name)} FROM {name(view.name)} WHERE {result.where}"
        count = self.write_query(f"{query} ORDER BY {_order(view)}", path, entry)
        self._release(result)
        return count

    def _drop_all(self) -> None:
        for relation in sorted(self._materialized):
            self._drop(relation)

    def _plan(self, results: Iterable[Result]) -> None:
        self._readers = shared(self._views, results)

    def _prepare(self, relation: str) -> None:
        """Create the views that a relation reads, and materialize those that are shared."""
        if relation in self._materialized:
            return
        view = self._views.get(relation)
        for below in view.reads if view else ():
            self._prepare(below)
        if relation in self._readers:
            self._materialize(relation)
        elif view is None:
            self._landed.make(relation)

    def _materialize(self, relation: str) -> None:
        if relation in self._views:
            query = f"{self._with(relation)} FROM {name(relation)}"
            self.execute(f"CREATE TEMP TABLE {name(relation)} AS {query}")
        else:
            self._landed.drop(relation)
            for below in views_below(relation):
                self._landed.make(below)
            columns = ", ".join(map(name, self._columns(relation)))
            select = landed_view(relation).select
            self.execute(f"CREATE TABLE {relation} AS SELECT {columns} FROM ({select})")
        self._materialized.add(relation)
        self._release(relation)

    def _release(self, reader: Reader) -> None:
        """Remove a finished reader; drop relations that it was the last to read."""
        for relation, readers in self._readers.items():
            readers.discard(reader)
            if not readers and relation in self._materialized:
                self._drop(relation)

    def _drop(self, relation: str) -> None:
        self._materialized.remove(relation)
        quoted = name(relation) if relation in self._views else relation
        self.execute(f"DROP TABLE {quoted}")

    def _columns(self, relation: str) -> list[str]:
        """The columns of a landed view that at least one reader names."""
        texts = [code_of(view.select) for view in self._views.values() if relation in view.reads]
        words = {word for code in texts for word in re.findall(r"\w+", code)}
        return [column for column in landed_view(relation).columns if column in words]

    def _with(self, relation: str) -> str:
        """The WITH clause of a reduction and its dependencies that are not materialized.

        DuckDB would bind views when they are created, and again for each view that reads them.
        """
        needed = self._needed(relation, self._materialized)
        defined = [f"{name(n)} AS ({v.select})" for n, v in self._views.items() if n in needed]
        return f"WITH {', '.join(defined)}" if defined else ""

    def _needed(self, relation: str, ready: Collection[str] = ()) -> set[str]:
        """A relation and its dependencies, not descending into those that are ready."""
        needed: set[str] = set()
        rest = [relation]
        while rest:
            reader = rest.pop()
            if reader not in needed and reader not in ready:
                needed.add(reader)
                rest += self._views[reader].reads if reader in self._views else ()
        return needed


def shared(views: Mapping[str, View], results: Iterable[Result]) -> dict[str, set[Reader]]:
    """The relations to materialize: deltas and reductions with several readers -> the readers.

    Args:
        views: all reductions by name, each after those that it reads.
    """
    readers: defaultdict[str, set[Reader]] = defaultdict(set)
    for result in results:
        readers[result.relation].add(result)
    for relation, view in reversed([*views.items()]):
        if readers[relation]:
            reader = {relation} if len(readers[relation]) > 1 else readers[relation]
            for below in view.reads:
                readers[below] |= reader
    return {
        relation: computations
        for relation, computations in readers.items()
        if len(computations) > 1 and (relation in views or relation.startswith("interval."))
    }


def _order(view: View) -> str:
    """ORDER BY: the key columns, which precede `seconds`; all columns without it."""
    columns = [column.name for column in view.columns]
    keys = columns[: columns.index("seconds")] if "seconds" in columns else []
    return ", ".join(map(name, keys)) or "ALL"


def _between(begin: datetime, end: datetime) -> str:
    return f"interval_end >= TIMESTAMP '{begin}' AND interval_end <= TIMESTAMP '{end}'"
