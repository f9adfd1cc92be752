"""A database in memory with all reductions live, over just the dumps that some days rest on.

`cpmon reduce` computes in it, so that a new dump costs no more than itself, however much is in the
store already.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from .at_hand import GrowthAtHand
from .batch import Batch
from .catalogue import View
from .fusion import selected
from .landed_views import LandedViews
from .meta import meta_views
from .stamps import BY_TIME, Basis, code_of
from .store import Store
from .views import landed_rows, name, text

MANY_ROWS = 100_000
"""At hand, from which on what reads them is computed by the other engine."""
AT_ONCE = 300_000
"""Of them, that the other engine reads at once where it can."""
OTHERS = 2
"""Threads that DuckDB leaves to those who compute growth and keep results."""
_WINDOW = re.compile(r"\bover\b")


@dataclass(frozen=True, slots=True)
class Promised:
    """Rows of a reduction; perhaps the last step is still to be done, on whichever thread.

    Attributes:
        cells: that are held until then: of the rows, or of all that they are computed from.
    """

    rows: Callable[[], pa.Table]
    cells: int


class _Once:
    """Something computed once: what it is computed from is let go then, whoever holds this."""

    def __init__(self, compute: Callable[[], pa.Table]) -> None:
        self._left = [compute]

    def __call__(self) -> pa.Table:
        return self._left.pop()()


class Workbench:
    """The reductions over a store, narrowed to one batch of days after another."""

    def __init__(self, store: Store, views: Sequence[View], scratch: Path) -> None:
        """Build it.

        Args:
            scratch: a folder for what does not fit into memory.

        """
        self._records = LandedViews(store)
        self.connection: duckdb.DuckDBPyConnection = self._records.connection
        self.connection.execute(f"SET temp_directory = {text(str(scratch))}; SET TimeZone = 'UTC'")
        self._views = {view.name: view for view in views}
        self._known: set[str] = set()
        self._intervals = "VIEW"
        self._shared: frozenset[str] = frozenset()
        self._growth: GrowthAtHand | None = None
        self._wide: dict[str, pa.Table] = {}

    def narrow(self, batch: Batch, wanted: Sequence[Basis]) -> None:
        """Let the reductions see a batch and what it rests on."""
        basis = [one.folder for one in batch.basis]
        self._records.open("interval", "true", basis)
        self._show_meta("interval")
        ((previous,),) = self.connection.execute(
            f"SELECT max(interval_end) FROM {landed_rows('interval')} WHERE interval_end <= ?",
            [batch.first],
        ).fetchall()
        between = _between(previous or batch.first, batch.last)
        self._see(wanted, between, basis, [one.folder for one in batch.dumps])

    def narrow_to_runs(self, wanted: Sequence[Basis]) -> None:
        """Let the reductions see the samples of runs, and all that is no sample."""
        self._records.open("interval", "true", None)
        self._show_meta("interval", "run")
        spans = self.connection.execute(
            "SELECT r.system, coalesce(max(i.interval_end), r.since), r.until FROM meta.run AS r"
            f" LEFT JOIN {landed_rows('interval')} AS i"
            " ON i.system = r.system AND i.interval_end <= r.since"
            " GROUP BY r.system, r.since, r.until"
        ).fetchall()
        seen = [f"(system = {text(s)} AND {_between(*span)})" for s, *span in sorted(set(spans))]
        self._see(wanted, f"({' OR '.join(seen) or 'false'})")

    def widen(self, wanted: Sequence[Basis]) -> None:
        """Let the reductions see all dumps."""
        self._records.open("interval", "true", None)
        self._show_meta("interval")
        self._see(wanted, "true")

    def rows(self, basis: Basis, where: str = "true") -> pa.Table:
        """The rows that are kept of a reduction, one of those that were wanted; computed once.

        Args:
            where: a condition on them; of rows at hand the others are not taken away, for that
                would be a copy.
        """
        return self.promised(basis, where).rows()

    def promised(self, basis: Basis, where: str = "true") -> Promised:
        """The same rows; what the other engine has to do for them need not be waited for."""
        for known in self._shared_below(basis.name):
            if known not in self._known:
                with self._at_hand(known):
                    self._keep_at_hand(known)
        with self._at_hand(basis.name):
            self._widen_below(basis.kept)
            found = self._wide.get(basis.kept)
            if found is None and self._is_wide(basis.kept):
                return self._fused(basis.kept)
            if found is None:
                query = f"{self._with(basis.kept)} FROM {name(basis.kept)} WHERE {where}"
                found = self._answer(query)
            return Promised(lambda: found, _cells(found))

    def _see(
        self,
        wanted: Sequence[Basis],
        where: str,
        basis: Sequence[Path] | None = None,
        dumps: Sequence[Path] | None = None,
    ) -> None:
        """Narrow what is landed; what several reductions read is kept at hand.

        Args:
            where: a condition on samples.
            basis, dumps: folders of the dumps whose records are seen, and whose samples are; all
                by default.
        """
        self._restore()
        self._shared = frozenset(self._read_twice(wanted))
        order: dict[str, None] = {}
        for one in wanted:
            order |= dict.fromkeys([*self._shared_below(one.name), one.name])
        self._keep_intervals()
        self._records.narrow(where, dumps, basis)
        is_plain = self._is_plain()
        threads = max(1, self._threads - OTHERS) if is_plain else self._threads
        self.connection.execute(f"SET threads = {threads}")
        if is_plain:
            self._growth = GrowthAtHand(self._records, [self._texts(reader) for reader in order])
            self._growth.look_ahead()

    @functools.cached_property
    def _threads(self) -> int:
        """How many DuckDB has when it computes all by itself."""
        ((found,),) = self.connection.execute("SELECT current_setting('threads')").fetchall()
        return int(found)

    def _shared_below(self, reader: str) -> list[str]:
        """The shared reductions that one rests on, each behind those that it reads."""
        below = [n for n in self._views if n in self._views[reader].reads]
        return [n for b in below for n in (*self._shared_below(b), *({b} & self._shared))]

    def _widen_below(self, reader: str) -> None:
        """Let the other engine compute those private reductions below that it is better at."""
        for below in self._views[reader].reads:
            if below.startswith("_") and below not in self._known:
                self._widen_below(below)
                if self._is_wide(below):
                    self._keep_at_hand(below)

    def _keep_at_hand(self, known: str) -> None:
        """The rows of a private reduction, for all that read it."""
        self._widen_below(known)
        if self._is_wide(known):
            self._wide[known] = self._fused(known).rows()
            self.connection.register(known, self._wide[known])
        else:
            query = f"{self._with(known)} FROM {name(known)}"
            self.connection.execute(f"CREATE TABLE {name(known)} AS {query}")
        self._known.add(known)

    def _is_wide(self, reader: str) -> bool:
        """Whether DuckDB would take long: it reads many rows that are at hand, and no more others.

        Growth that is not at hand is too much, or only an entry of it is wanted; DuckDB finds that
        without a look at the rest.
        """
        found = {source: self._found(source) for source in self._views[reader].reads}
        most = max((len(rows) for rows in found.values() if rows is not None), default=0)
        others = [source for source, rows in found.items() if rows is None]
        if most < MANY_ROWS or any(source.startswith("interval.") for source in others):
            return False
        return all(self._count(s) <= most for s in others if s.startswith("monitor."))

    def _count(self, relation: str) -> int:
        ((rows,),) = self.connection.execute(f"SELECT count(*) FROM {relation}").fetchall()
        return int(rows)

    def _fused(self, reader: str) -> Promised:
        """The rows of a reduction by the other engine, from those of all that it names."""
        sources = self._read(reader)
        at_once = AT_ONCE if self._is_of_intervals(reader) else None
        compute = functools.partial(selected, self._views[reader].select, sources, at_once)
        return Promised(_Once(compute), sum(map(_cells, sources.values())))

    def _is_of_intervals(self, reader: str) -> bool:
        """Whether each row rests on rows of its own interval alone, and what is of no interval."""
        below = self._views[reader]
        of_interval = {c.name for c in below.columns} >= BY_TIME - {"seconds"}
        return of_interval and not _WINDOW.search(code_of(below.select))

    def _read(self, reader: str) -> dict[str, pa.Table]:
        """The rows of all that a reduction names, in the columns that it names."""
        words = set(re.findall(r"\w+", code_of(self._views[reader].select)))
        sources = {}
        for source in self._views[reader].reads:
            rows = self._found(source)
            if rows is None and source.startswith("monitor."):
                rows = self._records.rows(source.removeprefix("monitor."), words)
            if rows is None:
                wanted = ", ".join(name(c) for c in self._columns(source) if c in words)
                rows = self._answer(f"{self._with(source)} SELECT {wanted or '*'} FROM {source}")
            sources[source] = rows
        return sources

    def _columns(self, relation: str) -> list[str]:
        """The columns of a relation that somebody reads."""
        if relation in self._views:
            return [column.name for column in self._views[relation].columns]
        return self._records.columns(relation)

    def _answer(self, query: str) -> pa.Table:
        """The rows of a query, by way of a table: a relation would be bound, then bound again.

        To bind views over views takes longer than to compute most of them.
        """
        self.connection.execute(f"CREATE TEMP TABLE _answer AS {query}")
        try:
            return self.connection.sql("FROM _answer").to_arrow_table()
        finally:
            self.connection.execute("DROP TABLE _answer")

    def _found(self, relation: str) -> pa.Table | None:
        """The rows of a relation, if they are at hand."""
        if relation in self._wide:
            return self._wide[relation]
        return self._growth.rows(relation) if self._growth else None

    def _read_twice(self, wanted: Sequence[Basis]) -> list[str]:
        """The private reductions that would be computed several times, but for those in others."""
        times = Counter(one.name for one in wanted)
        for reader in reversed(self._views):  # behind all that it reads
            once = reader.startswith("_") and times[reader] > 1
            for below in self._views[reader].reads:
                times[below] += 1 if once else times[reader]
        return [known for known in self._views if known.startswith("_") and times[known] > 1]

    def _with(self, relation: str) -> str:
        """The clause that says what a reduction is, and those below it, as far as none is at hand.

        Views would be bound when they are made, and once more with each that reads them.
        """
        below = self._down(relation, self._known)
        said = [f"{name(n)} AS ({self._views[n].select})" for n in below]
        return f"WITH {', '.join(said)}" if said else ""

    def _down(self, relation: str, known: Collection[str]) -> list[str]:
        """A reduction and those below it, down to what is known; each behind those it reads."""
        below: set[str] = set()
        rest = [relation]
        while rest:
            reader = rest.pop()
            if reader in self._views and reader not in known and reader not in below:
                below.add(reader)
                rest += self._views[reader].reads
        return [reader for reader in self._views if reader in below]

    def _is_plain(self) -> bool:
        """Whether rows of objects and intervals are told apart without system and dump."""
        ((systems, ends, dumps),) = self.connection.execute(
            "SELECT count(DISTINCT system), count(DISTINCT interval_end), count(*)"
            " FROM meta.interval"
        ).fetchall()
        return bool(systems <= 1 and ends == dumps)

    @contextmanager
    def _at_hand(self, reader: str) -> Iterator[None]:
        """While a reduction is computed: all that it reads."""
        texts = self._texts(reader)
        self._records.show(texts, self._growth.tables if self._growth else ())
        with self._growth.reading(texts) if self._growth else nullcontext():
            yield

    def _texts(self, reader: str) -> list[str]:
        """The SQL of a reduction and of those below it, down to what is shared."""
        return [self._views[n].select for n in self._down(reader, self._shared - {reader})]

    def _show_meta(self, *views: str) -> None:
        self._records.show([f"meta.{view}" for view in views])

    def _keep_intervals(self) -> None:
        """`meta.interval` as a table: every growth looks into it."""
        view = next(v for v in meta_views() if v.name == "meta.interval")
        self.connection.execute(
            f"DROP {self._intervals} {view.name}; CREATE TABLE {view.name} AS {view.select}"
        )
        self._intervals = "TABLE"

    def _restore(self) -> None:
        if self._growth:
            self._growth.close()
            self._growth = None
        for relation in self._known:
            if relation in self._wide:
                self.connection.unregister(relation)
            else:
                self.connection.execute(f"DROP TABLE {name(relation)}")
        self._known.clear()
        self._wide.clear()


def _between(begin: datetime, end: datetime) -> str:
    return f"interval_end >= TIMESTAMP '{begin}' AND interval_end <= TIMESTAMP '{end}'"


def _cells(rows: pa.Table) -> int:
    return int(rows.num_rows * rows.num_columns)
