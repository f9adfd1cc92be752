"""The files of a store that Spark reads for a span of time and some systems."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase

from ..schemas.layout import Kind
from ..schemas.registry import record_of, tables
from ..store.dumps.landed_dump import LandedDump
from ..store.dumps.manifest import TableFile, table_files
from ..store.dumps.store import Store
from ..store.scope import Scope, basis_of


@dataclass(frozen=True, slots=True)
class Span:
    """Times and systems of a query.

    Attributes:
        since, until: intervals that end later than the one and up to the other, UTC without zone.
        systems: names or patterns of them (`PROD*`); none for all.
    """

    since: datetime | None = None
    until: datetime | None = None
    systems: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it includes all times."""
        return self.since is None and self.until is None

    def has(self, system: str) -> bool:
        """Whether it includes a system."""
        return not self.systems or any(fnmatchcase(system, each) for each in self.systems)

    def within(self, column: str) -> list[str]:
        """SQL conditions that a time is in the span."""
        since = [f"{column} > TIMESTAMP_NTZ '{self.since}'"] if self.since else []
        return since + self.before_end(column)

    def before_end(self, column: str) -> list[str]:
        """SQL conditions that a time is in the span or before it."""
        return [f"{column} <= TIMESTAMP_NTZ '{self.until}'"] if self.until else []


def kind_of(table: str) -> Kind | None:
    """The kind of a landed table's records; None if it is no table of records."""
    layout = tables().get(table)
    return record_of(layout).kind if layout else None


class LandedFiles:
    """The files of each landed table that a span needs by `scope.basis_of`.

    Attributes:
        systems: names of the systems of the span that have dumps.
    """

    def __init__(self, store: Store, span: Span) -> None:
        """Read the dumps from the manifest, and no other file."""
        samples: list[LandedDump] = []
        others: list[LandedDump] = []
        self.systems: list[str] = []
        for system, dumps in itertools.groupby(store.dumps(), key=lambda dump: dump.system):
            if span.has(system):
                self.systems.append(system)
                needed = basis_of(list(dumps), Scope(system, span.since, span.until))
                samples += needed.samples
                others += needed.others
        self._samples, self._others, self._manifest = samples, others, store.manifest

    def of(self, table: str) -> list[TableFile]:
        """The files of a table."""
        dumps = self._samples if kind_of(table) is Kind.SAMPLE else self._others
        return table_files(self._manifest, f"{table}.parquet", dumps)
