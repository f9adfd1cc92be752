"""Checks the deltas of a dump by the rule of reports: the views `interval.X` over its rows.

A delta needs two samples, and the rule is SQL. So the rows that it needs wait on disk until the
dump has been read, and memory stays bounded.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from pathlib import Path

import duckdb
import pyarrow as pa

from ...core.errors import CpmonError
from ...core.sql import name, text
from ...schemas.arrow import INTERVAL, ROW, owner_keys, schemas, syncs
from ...schemas.layout import Kind, Layout
from ...schemas.owners import owner_of
from ...schemas.registry import fingerprint, record_of, tables
from ...store.dumps.parquet import TableWriter
from ...store.views.database import QUIET
from ...store.views.interval import (
    WRAPPED,
    counter_names,
    doubts_of,
    relations_of,
)
from ...store.views.relations import INTERVALS, landed_view, macros
from ...store.views.views import LANDED, landed_rows, sql_type
from ..findings import Code, Findings

INTERVAL_ENDS = "interval"
"""The table of the intervals that a dump closes."""
GROUP_BYTES = 1024 * 1024
"""Rows of a table that wait for their row group: there are some sixty tables."""
MEMORY = "256MB"
"""What DuckDB may use; it puts on disk what does not fit."""
CODES = {
    "appeared": Code.SAMPLE_MISSING,
    "missing": Code.SAMPLE_MISSING,
    "new": Code.OWNER_RESTARTED,
    "restart": Code.OWNER_RESTARTED,
    "stale": Code.BLOCK_STALE,
}
"""Why a row has no deltas -> the finding. Of a row that has some, a counter is in doubt."""
EFFECTS = {
    Code.SAMPLE_MISSING: "no delta; sums over all objects of this kind are blank",
    Code.OWNER_RESTARTED: "no delta across the restart",
    Code.BLOCK_STALE: "no delta",
    Code.COUNTER_FELL: "no delta of this counter",
    Code.WRAPPED_TWICE: "the delta is a lower bound",
}
FROM_ZERO = "the delta is what the new one has used since it began"
"""The effect of a restart where counters begin at 0."""


class DeltaChecks(ExitStack):
    """The rows of a dump that deltas need, on disk; they are gone at the exit."""

    def __init__(self) -> None:
        """No file is made before there are rows."""
        super().__init__()
        self._folder: Path | None = None
        self._writers: dict[str, TableWriter] = {}

    def take(self, table: str, rows: pa.Table) -> None:
        """Keep what deltas need of rows of a table, which come in the order of the dump.

        Raises:
            CpmonError: the disk refuses them.
        """
        columns = _columns(fingerprint()).get(table)
        if columns is None or not len(rows):
            return
        with _scratch():
            if self._folder is None:
                self._folder = Path(
                    self.enter_context(tempfile.TemporaryDirectory(prefix="cpmon-check-"))
                )
            if table not in self._writers:
                schema = pa.schema([rows.schema.field(column) for column in columns])
                file = self._folder / f"{table}.parquet"
                self._writers[table] = TableWriter(file, schema, GROUP_BYTES)
                self.callback(self._writers[table].abandon)
            self._writers[table].write(rows.select(columns))

    def finish(self, findings: Findings) -> None:
        """Judge all deltas, and report what is missing, began anew, or cannot be.

        Raises:
            CpmonError: the disk refuses what does not fit into memory.
        """
        if self._folder is None or INTERVAL_ENDS not in self._writers:
            return
        with _scratch():
            for writer in self._writers.values():
                writer.close(durable=False)
            with _database(self._folder, self._writers) as connection:
                for layout in _judged():
                    if layout.name in self._writers:
                        _report(connection, layout, findings)


def _judged() -> list[Layout]:
    """The tables of samples, without those of the monitor itself, which it writes as it likes."""
    return [
        layout
        for layout in tables().values()
        if record_of(layout).kind is Kind.SAMPLE and record_of(layout).domain != 1
    ]


@functools.lru_cache(maxsize=2)
def _columns(_fingerprint: str) -> dict[str, list[str]]:
    """Each table that deltas are made of -> the columns that are needed of it."""
    needed = {INTERVAL_ENDS: set(INTERVAL.names)}
    for layout in _judged():
        owner = owner_of(layout)
        own = needed.setdefault(layout.name, set())
        own.update(owner_keys(layout), owner.identity, syncs(layout))
        own.update(counter_names(layout))
        for event in owner.events:
            needed.setdefault(event.table, set()).update(owner_keys(layout))
        if owner.clock:
            table, column = owner.clock
            needed.setdefault(table, set()).add(column)
    row = {column.name for column in ROW}
    present = {**schemas(), INTERVAL_ENDS: INTERVAL}
    return {
        table: [c for c in present[table].names if c in columns or c in row]
        for table, columns in needed.items()
    }


@contextmanager
def _database(folder: Path, tables_with_rows: Iterable[str]) -> Iterator[duckdb.DuckDBPyConnection]:
    """What the views of some tables read: their files, and no rows of tables that have none."""
    with duckdb.connect(":memory:", config={**QUIET, "memory_limit": MEMORY}) as connection:
        connection.execute(f"SET temp_directory = {text(str(folder))}")
        connection.execute("SET preserve_insertion_order = false")
        for schema in ("monitor", "meta", LANDED):
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute(macros())
        present = set(tables_with_rows)
        for table in _read(present):
            source = f"read_parquet({text(f'{folder}/{table}.parquet')})"
            rows = _rows(table, source if table in present else "")
            connection.execute(f"CREATE MACRO {landed_rows(table)} AS TABLE {rows}")
        intervals = landed_view(INTERVALS).select
        connection.execute(f"CREATE TABLE {INTERVALS} AS {intervals}")
        yield connection


def _read(present: Collection[str]) -> dict[str, None]:
    """The tables that the deltas of some tables are made of; those of others are not asked for."""
    views = [
        view for layout in _judged() if layout.name in present for view in relations_of(layout)
    ]
    return dict.fromkeys([INTERVAL_ENDS, *(view.partition(".")[2] for view in views)])


def _rows(table: str, source: str) -> str:
    """The SELECT of a table as it would have landed; what was not kept is NULL."""
    kept = set(_columns(fingerprint())[table]) if source else set()
    columns = [
        name(f.name) if f.name in kept else f"CAST(NULL AS {sql_type(f.type)}) AS {name(f.name)}"
        for f in (INTERVAL if table == INTERVAL_ENDS else schemas()[table])
    ]
    select = f"SELECT '' AS system, '' AS dump, {', '.join(columns)}"
    return f"{select} FROM {source}" if source else f"{select} WHERE false"


def _report(connection: duckdb.DuckDBPyConnection, layout: Layout, findings: Findings) -> None:
    """Report what is in doubt of the deltas of a table, each kind once at its first place."""
    for relation in relations_of(layout):
        view = landed_view(relation)
        connection.execute(f"CREATE VIEW IF NOT EXISTS {view.name} AS {view.select}")
    keys = [f"{text(f'{key}=')} || {name(key)}" for key in owner_keys(layout)]
    owner = f"concat_ws(', ', {', '.join(keys)})" if keys else "''"
    rows = connection.execute(f"""
      WITH doubted AS (
        SELECT cause, record_offset, interval_end, {owner} AS owner,
          unnest(string_split(doubts, ', ')) AS doubt
        FROM ({doubts_of(layout, _still(connection, layout))}) WHERE doubts IS NOT NULL)
      SELECT cause, doubt, count(*), min((interval_end, record_offset, owner)) FROM doubted
      GROUP BY cause, doubt ORDER BY cause, doubt""").fetchall()
    for cause, doubt, count, (end, offset, whose) in rows:
        wrapped = Code.WRAPPED_TWICE if doubt.endswith(WRAPPED) else Code.COUNTER_FELL
        code = CODES[cause] if cause else wrapped
        effect = EFFECTS[code]
        if code is Code.OWNER_RESTARTED and owner_of(layout).from_zero:
            effect = FROM_ZERO
        detail = f"{doubt}: {whose}" if whose else doubt
        place = _place_before(connection, layout, end) if offset is None else offset
        findings.add(code, place, detail, effect, count=count)


def _still(connection: duckdb.DuckDBPyConnection, layout: Layout) -> set[str]:
    """The counters of a table that have but one value."""
    counters = counter_names(layout)
    moves = [f"min({name(counter)}) < max({name(counter)})" for counter in counters]
    select = f"SELECT {', '.join(['count(*)', *moves])} FROM {landed_rows(layout.name)}"
    ((_, *moved),) = connection.execute(select).fetchall()
    return {counter for counter, did in zip(counters, moved, strict=True) if not did}


def _place_before(
    connection: duckdb.DuckDBPyConnection, layout: Layout, interval_end: datetime
) -> int:
    """Where the last record of a table stands before those of an interval: one is missing after."""
    sql = f"SELECT max(record_offset) FROM {landed_rows(layout.name)} WHERE interval_end < ?"
    ((offset,),) = connection.execute(sql, [interval_end]).fetchall()
    return int(offset)


@contextmanager
def _scratch() -> Iterator[None]:
    """Turn what a disk refuses into an error with a remedy."""
    try:
        yield
    except (OSError, duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise CpmonError(
            "the check has no room for the rows that it compares",
            expected="half the size of the dump, free on the disk",
            found=str(error).split("\n", maxsplit=1)[0],
            effect="nothing was checked",
            remedy="make room, or name a folder on another disk in TMPDIR",
        ) from error
