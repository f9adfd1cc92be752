"""The records of a span: all that some questions need, however many more are in a store.

Each question to a table opens its files, of all days that are kept and of all systems: exceptions
of four hours took 14 s of processor time in a store of 10,000 dumps, and take 1.6.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator
from datetime import datetime, timedelta

import duckdb

from ...schemas.layout import Kind
from ...schemas.registry import record_of, tables
from ..dumps.landed_dump import LandedDump
from ..dumps.store import Store
from ..results.lineage import dependencies
from ..views.sources import Landed, files_of, shown, shown_by_all

_DUMPS = """
WITH before AS (
  SELECT system, max(interval_end) AS last_end FROM meta.interval
  WHERE interval_end <= $2 GROUP BY system)
SELECT dump FROM meta.interval LEFT JOIN before USING (system)
WHERE coalesce(system = $1, true) AND interval_end <= $3
  AND (interval_end > $2 OR interval_end = last_end)
UNION
SELECT dump FROM meta.dump
WHERE coalesce(system = $1, true)
  AND greatest(first_tod, last_tod) >= $2 AND least(first_tod, last_tod) <= $3"""
"""Dumps with intervals of a span, with the last interval before it, or with records of its time."""


class SpanRecords:
    """What a connection shows of records, while its owner asks about spans.

    Intervals, findings and kept results are seen as before.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, store: Store) -> None:
        """Nothing changes yet.

        Args:
            connection: to a catalogue in memory, as `in_memory` makes it.
        """
        self._connection, self._store = connection, store
        self._narrow: set[str] = set()

    def __enter__(self) -> SpanRecords:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Show all records again."""
        self.all()

    def near(
        self, system: str | None, since: datetime, until: datetime, table_names: Collection[str]
    ) -> None:
        """Show the samples of a span and the interval before it, and the configuration and events.

        Others may be shown as well.

        Args:
            system: None for all.
            since, until: of the span, UTC without zone.
            table_names: of records; other names are left out.
        """
        layouts = tables()
        records = {t for t in table_names if t in layouts}
        self.all(self._narrow - records)
        names = self._dumps(system, since, until)
        near = [dump for dump in self._store.dumps() if dump.dump in names]
        before = [*self._settled(system, since, until)]
        is_sample = {t: record_of(layouts[t]).kind is Kind.SAMPLE for t in records}
        self._show({t: files_of(self._store, t, near if is_sample[t] else before) for t in records})
        self._narrow |= records

    def all(self, some: Collection[str] | None = None) -> None:
        """Show all records again, of some tables or of all."""
        chosen = self._narrow if some is None else self._narrow & set(some)
        for create in shown_by_all(self._store, sorted(chosen)):
            self._connection.execute(create)
        self._narrow = self._narrow - chosen

    def _settled(
        self, system: str | None, since: datetime, until: datetime
    ) -> Iterator[LandedDump]:
        """The dumps with the configuration and the events of a span, of the interval before too."""
        for name, of_system in itertools.groupby(self._store.dumps(), key=lambda dump: dump.system):
            if system in (None, name):
                first = (since - timedelta(days=1)).date()
                yield from dependencies([*of_system], first, until.date())

    def _show(self, files: Landed) -> None:
        for create in shown(self._store, files):
            self._connection.execute(create)

    def _dumps(self, system: str | None, since: datetime, until: datetime) -> set[str]:
        rows = self._connection.execute(_DUMPS, [system, since, until]).fetchall()
        return {str(dump) for (dump,) in rows}
