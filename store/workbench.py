"""A database in memory with all reductions live, over just the dumps that some days rest on.

`cpmon reduce` computes in it, so that a new dump costs no more than itself, however much is in the
store already.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path

import duckdb

from ..schemas.arrow import schemas
from ..schemas.layout import Kind
from ..schemas.registry import record_of, tables
from .catalogue import View, live_catalogue
from .days import Held
from .entries import Entry
from .entries import view as entry_of
from .meta import meta_views
from .sources import sources
from .stamps import Basis, basis_of
from .store import Store
from .views import interval_view, landed_rows, name, text

_SAME = (
    ("PARTITION BY r.system ORDER", "ORDER"),
    ("PARTITION BY r.system, ", "PARTITION BY "),
    ("ORDER BY r.interval_end, r.dump)", "ORDER BY r.interval_end)"),
    ("USING (system, dump, interval_end)", "USING (interval_end)"),
)
"""How the growth of counters is told among rows of one system that are in one dump only."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some days of a system, one behind the other without a day of intervals between.

    Attributes:
        before: the day of intervals before them, if there is one.
        basis: the dumps that they rest on.
    """

    system: str
    days: tuple[date, ...]
    before: date | None
    basis: tuple[Held, ...]

    @property
    def first(self) -> datetime:
        """Intervals of it end later than this."""
        return datetime.combine(self.days[0], time.min)

    @property
    def last(self) -> datetime:
        """Intervals of it end up to this."""
        return datetime.combine(self.days[-1], time.min) + timedelta(days=1)

    @property
    def dumps(self) -> list[Held]:
        """Those with samples of the days, or of the last interval before them."""
        days = {*self.days, self.before}
        return [one for one in self.basis if days & set(one.days)]

    def where(self) -> str:
        """The condition on the rows of a reduction."""
        return (
            f"system = {text(self.system)} AND interval_end > TIMESTAMP '{self.first}'"
            f" AND interval_end <= TIMESTAMP '{self.last}'"
        )


class Workbench:
    """The reductions over a store, narrowed to one batch of days after another."""

    def __init__(self, store: Store, views: Sequence[View], scratch: Path) -> None:
        """Build it.

        Args:
            scratch: a folder for what does not fit into memory.

        Raises:
            StoreError: the catalogue cannot be built.
        """
        self.connection: duckdb.DuckDBPyConnection = live_catalogue(store, views)
        self.connection.execute(f"SET temp_directory = {text(str(scratch))}; SET TimeZone = 'UTC'")
        self._macros = {entry.name: entry for entry in sources(store, store.tables())}
        self._views = {view.name: view for view in views}
        self._replaced: list[tuple[str, str, str]] = []

    def narrow(self, batch: Batch, wanted: Sequence[Basis]) -> None:
        """Let the reductions see a batch and what it rests on."""
        basis = _of_dumps(batch.system, [one.dump for one in batch.basis])
        self._open("interval", basis)
        ((previous,),) = self.connection.execute(
            f"SELECT max(interval_end) FROM {landed_rows('interval')} WHERE interval_end <= ?",
            [batch.first],
        ).fetchall()
        samples = _of_dumps(batch.system, [one.dump for one in batch.dumps])
        samples += f" AND {_between(previous or batch.first, batch.last)}"
        self._see(wanted, basis, samples)

    def narrow_to_runs(self, wanted: Sequence[Basis]) -> None:
        """Let the reductions see the samples of runs, and all that is no sample."""
        self._open("interval", "true")
        spans = self.connection.execute(
            "SELECT r.system, coalesce(max(i.interval_end), r.since), r.until FROM meta.run AS r"
            f" LEFT JOIN {landed_rows('interval')} AS i"
            " ON i.system = r.system AND i.interval_end <= r.since"
            " GROUP BY r.system, r.since, r.until"
        ).fetchall()
        seen = [f"(system = {text(s)} AND {_between(*span)})" for s, *span in sorted(set(spans))]
        self._see(wanted, "true", f"({' OR '.join(seen) or 'false'})")

    def widen(self, wanted: Sequence[Basis]) -> None:
        """Let the reductions see all dumps."""
        self._open("interval", "true")
        self._see(wanted, "true", "true")

    def _see(self, wanted: Sequence[Basis], basis: str, samples: str) -> None:
        """Conditions on what is landed; what several reductions read is kept at hand."""
        self._restore()
        layouts = tables()
        for table in schemas():
            is_sample = table in layouts and record_of(layouts[table]).kind is Kind.SAMPLE
            self._open(table, samples if is_sample else basis)
        self._hasten(wanted)
        self._share(wanted)

    def _hasten(self, wanted: Sequence[Basis]) -> None:
        """Leave out of the growth of counters what is the same for all rows that are seen.

        Of one system, and where no two dumps hold the same interval, objects alone tell rows
        apart: ordering by texts that are all the same takes a third of the time.
        """
        ((systems, ends, dumps),) = self.connection.execute(
            "SELECT count(DISTINCT system), count(DISTINCT (system, interval_end)), count(*)"
            " FROM meta.interval"
        ).fetchall()
        interval = next(v for v in meta_views() if v.name == "meta.interval")
        self._make_table(interval.name, entry_of(interval).create)
        read = {table for one in wanted for table in one.tables()}
        for layout in tables().values() if systems <= 1 and ends == dumps else ():
            if f"interval.{layout.name}" in read:
                made = interval_view(layout)
                select = functools.reduce(lambda sql, pair: sql.replace(*pair), _SAME, made.select)
                self.connection.execute(f"CREATE OR REPLACE VIEW {made.name} AS {select}")
                self._replaced.append(("VIEW", made.name, entry_of(made).create))

    def _open(self, table: str, condition: str) -> None:
        """Let the rows of a landed table be seen that meet a condition."""
        entry: Entry = self._macros[landed_rows(table).removesuffix("()")]
        create = entry.create.replace("CREATE MACRO", "CREATE OR REPLACE MACRO", 1)
        self.connection.execute(f"{create} WHERE {condition}")

    def _share(self, wanted: Sequence[Basis]) -> None:
        """Compute once what several reductions read: private views become tables."""
        texts = {sql for one in wanted for sql in one.sql}
        for known, view in self._views.items():
            if view.sql not in texts or not known.startswith("_"):
                continue
            readers = sum(known in one.names and known != one.name for one in wanted)
            if readers > 1:
                self._make_table(name(known), view.sql)

    def _make_table(self, relation: str, create: str) -> None:
        """A table in the place of a view, which `create` makes again."""
        self.connection.execute(f"CREATE TABLE _made AS SELECT * FROM {relation}")
        self.connection.execute(f"DROP VIEW {relation}")
        self.connection.execute(f"CREATE TABLE {relation} AS SELECT * FROM _made; DROP TABLE _made")
        self._replaced.append(("TABLE", relation, create))

    def _restore(self) -> None:
        for kind, relation, create in self._replaced:
            self.connection.execute(f"DROP {kind} {relation}; {create}")
        self._replaced.clear()


def batches(
    of_system: Sequence[Held], days: Sequence[date], wanted: Sequence[date], most: int
) -> list[Batch]:
    """The wanted days of a system, as many at once as stand together, up to `most`.

    Args:
        of_system: its dumps. days: all of its days, in order.
    """
    found: list[list[int]] = []
    for place in sorted(days.index(day) for day in wanted):
        if found and found[-1][-1] == place - 1 and len(found[-1]) < most:
            found[-1].append(place)
        else:
            found.append([place])
    return [
        Batch(
            of_system[0].system,
            tuple(days[place] for place in places),
            days[places[0] - 1] if places[0] else None,
            tuple(basis_of(of_system, days[places[-1]])),
        )
        for places in found
    ]


def _between(begin: datetime, end: datetime) -> str:
    return f"interval_end >= TIMESTAMP '{begin}' AND interval_end <= TIMESTAMP '{end}'"


def _of_dumps(system: str, dumps: Sequence[str]) -> str:
    listed = ", ".join(map(text, dumps)) or "NULL"
    return f"system = {text(system)} AND dump IN ({listed})"
