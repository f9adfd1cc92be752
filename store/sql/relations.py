"""Relations over landed records, created in a database on demand and restricted to a scope.

Small relations are materialized as tables: planning a query over deltas takes longer than computing
them for some thousand rows, and most queries read them several times. Larger ones are views.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime

import duckdb

from ...core.sql import name, relation_name, text, union_all
from ...schemas.arrow import schema_of
from ...schemas.layout import Kind
from ...schemas.registry import fingerprint, record_of, tables
from ...schemas.unplaced import unplaced
from ..columns import COLUMNS, Columns
from ..format.landed_dump import ABOUT, LandedDump
from ..format.manifest import TableFile, alike, table_files
from ..format.parts import wholes
from ..format.store import Store
from ..measured.classes import FILE, class_rules
from ..measured.runs import run_names
from .interval import is_judged_by_next, rows_from, without_rows
from .landed_views import INTERVALS, landed_view, macros, run_columns, views_below
from .scope import ALL, BEFORE, Basis, Scope, basis_of, with_samples_before
from .views import LANDED, PLACE, sql_type

Execute = Callable[..., duckdb.DuckDBPyConnection]
COMMAND = "mtrscm"
"""The table of MONITOR SAMPLE commands."""
SCHEMAS = ("monitor", "interval", "meta", LANDED)
SMALL = 1_000_000
"""Total file size of a table, in bytes, up to which its deltas are materialized. In DuckDB's memory
they take some ten times as much, and a query reads a few tables."""
_ROWS = re.compile(rf'\b{LANDED}\."([^"]+)"\(\)')
_BEFORE = f"""
SELECT min(before) FROM (
  SELECT max(interval_end, {BEFORE})[-1] AS before FROM {INTERVALS}
  WHERE interval_end <= $since GROUP BY system)"""

_NEXT = f"""
SELECT interval_end, list(DISTINCT dump) FROM (
  SELECT *, min(interval_end) OVER (PARTITION BY system) AS next FROM {INTERVALS}
  WHERE interval_end > $until)
WHERE interval_end = next GROUP BY ALL"""
"""The first intervals behind a scope, and the dumps that they are in."""

_LEFT_OUT = """
SELECT system, interval_end FROM {rows}
WHERE interval_end <= $since AND calcmd ILIKE '% DIS%' GROUP BY ALL"""
"""The intervals before a scope in which MONITOR SAMPLE DISABLE was given."""
_LAST_SAMPLES = f"""
SELECT DISTINCT n.previous_end FROM {INTERVALS} AS n
JOIN (SELECT unnest($systems) AS system, unnest($ends) AS interval_end) AS c
  USING (system, interval_end)
WHERE n.previous_end IS NOT NULL"""


class Relations:
    """Schemas `monitor`, `interval` and `meta` of a store; relations are created on demand."""

    def __init__(self, execute: Execute, store: Store, *, views_only: bool = False) -> None:
        """Creates the schemas, without relations; the scope is the whole store.

        Args:
            execute: runs a statement in a database that can read the store (see `database`).
            views_only: materialize nothing.
        """
        self._execute, self._store, self._views_only = execute, store, views_only
        for schema in SCHEMAS:
            execute(f"CREATE SCHEMA {schema}")
        execute(macros())
        self._made: dict[str, str] = {}
        self._standing: dict[str, tuple[str, str, int]] = {}
        self._scope = ALL
        self._basis: Basis | None = None
        self._drifted: bool | None = None
        self._samples: tuple[Sequence[LandedDump], str] | None = None
        self._left_out: Sequence[tuple[str, datetime]] | None = None
        self.runs: Sequence[str] | None = None
        """JSON texts of the runs; those in the store if not given."""

    def point(self, scope: Scope, basis: Basis | None = None) -> None:
        """Restricts the relations to a scope; those of another one are created again.

        Args:
            basis: the dumps that it depends on, if already computed.
        """
        self.forget()
        self._scope, self._basis = scope, basis

    def forget(self) -> None:
        """Lets all relations be created again from the current content of the store.

        One that would have the same rows stays: files never change, so its SQL tells which it has.
        """
        self._made.clear()
        self._basis = self._samples = self._drifted = self._left_out = None

    def restrict(self, dumps: Sequence[LandedDump], where: str) -> None:
        """Restricts samples to some dumps and to rows that meet an SQL condition."""
        self._samples = dumps, where

    @property
    def basis(self) -> Basis:
        """The dumps that the scope depends on."""
        if self._basis is None:
            self._basis = basis_of(self._store.dumps(), self._scope)
        if self._left_out is None:
            self._left_out = left_out(self._execute, self._store, self._scope)
            self._basis = widened(self._basis, self._store, self._left_out)
        return self._basis

    def make(self, relation: str) -> None:
        """Creates a relation and its dependencies; existing ones are left as they are.

        Raises:
            KeyError: there is no relation of that name.
        """
        if relation in self._made:
            return
        schema, _, table = relation.partition(".")
        below: Sequence[str] = ()
        if schema == LANDED:
            select = f"SELECT * FROM {self._rows(table)}"
        else:
            is_empty = schema == "interval" and not any(map(self._has_files, rows_from(table)))
            below = [f"monitor.{table}"] if is_empty else views_below(relation)
            for dependency in below:
                self.make(dependency)
            select = without_rows(tables()[table]) if is_empty else landed_view(relation).select
            select = _ROWS.sub(lambda rows: self._rows(rows[1]), select)
            if schema == "interval" and self._scope.until and is_judged_by_next(table):
                select = (
                    f"SELECT * FROM ({select}) WHERE {Scope(until=self._scope.until).condition()}"
                )
        kind = "TABLE" if self._is_materialized(relation) else "VIEW"
        state = kind, select, hash(tuple(self._standing[dependency] for dependency in below))
        if self._standing.get(relation) != state:
            self.drop(relation)
            self._execute(f"CREATE {kind} {relation_name(relation)} AS {select}")
            self._standing[relation] = state
        self._made[relation] = kind

    def _has_files(self, table: str) -> bool:
        """Whether a table has files in the scope; a catalogue for other programs is not asked."""
        return self._views_only or bool(files_of(self._store, table, self._read(table)[0]))

    def kind_of(self, relation: str) -> str:
        """TABLE or VIEW, for a relation that was created."""
        return self._made[relation]

    def drop(self, relation: str) -> None:
        """Drops a relation if it exists."""
        self._made.pop(relation, None)
        if state := self._standing.pop(relation, None):
            self._execute(f"DROP {state[0]} {relation_name(relation)}")

    def _is_materialized(self, relation: str) -> bool:
        schema, _, table = relation.partition(".")
        if self._views_only or schema != "interval" or not self._store.files.is_local:
            return relation in (INTERVALS, "meta.dump") and not self._views_only
        size = 0
        with suppress(FileNotFoundError):  # the query reports the missing file
            for file in files_of(self._store, table, self._sampled[0]):
                size += self._store.files.size(file.name)
                if size > SMALL:
                    return False
        return True

    def _rows(self, table: str) -> str:
        """SQL relation over the files of a landed table, of runs, dumps or class rules."""
        match table:
            case _ if table == ABOUT:
                return _dumps(self._store, self.basis.others)
            case "run.json" if self.runs is not None:
                return json_texts(self.runs, run_columns())
            case "run.json":
                runs = [self._store.files.engine_path(run) for run in run_names(self._store)]
                return json_rows(runs, run_columns())
            case _ if table == FILE:
                rules = [
                    f"({rule.position}, {text(rule.name)}, {text(rule.pattern)}, {text(rule.like)})"
                    for rule in class_rules(self._store)
                ]
                return values(COLUMNS["class_rule"], rules)
        dumps, where = self._read(table)
        files = files_of(self._store, table, dumps)
        rows = parquet(self._store, table, files, self._is_drifted)
        return f"(SELECT * FROM {rows} WHERE {where})" if where else rows

    def _read(self, table: str) -> tuple[Sequence[LandedDump], str]:
        """The dumps of which a table is read, and the SQL condition on its rows."""
        if not _is_sample(table):
            return self.basis.others, ""
        return self._with_next() if is_judged_by_next(table) else self._sampled

    @property
    def _sampled(self) -> tuple[Sequence[LandedDump], str]:
        """The dumps with samples of the scope, and the SQL condition on their rows."""
        if self._samples is None:
            self._samples = self._find_samples()
        return self._samples

    def _with_next(self) -> tuple[Sequence[LandedDump], str]:
        """The same with the first sample behind the scope, if a dump of the scope's days has it."""
        dumps, where = self._sampled
        if not where or self._scope.until is None:
            return dumps, where
        found = self._execute(_NEXT, {"until": self._scope.until}).fetchall()
        ends = " OR ".join(f"interval_end = TIMESTAMP '{end}'" for end, _ in found)
        have = {dump for _, of_end in found for dump in of_end} | {dump.whole for dump in dumps}
        with_next = [dump for dump in self.basis.samples if dump.whole in have]
        return with_next, " OR ".join(filter(None, [where, ends]))

    def _find_samples(self) -> tuple[Sequence[LandedDump], str]:
        scope, dumps = self._scope, self.basis.samples
        if scope.since is None and scope.until is None:
            return dumps, ""
        self.make(INTERVALS)
        run = self._execute
        since = None
        if scope.since is not None:
            ((since,),) = run(_BEFORE, {"since": scope.since}).fetchall()
        where = Scope(None, None, scope.until).condition()
        if since is not None:
            where = f"interval_end >= TIMESTAMP '{since}' AND {where}"
            for end in self._last_samples():
                where = f"{where} OR interval_end = TIMESTAMP '{end}'"
        rows = run(f"SELECT DISTINCT dump FROM {INTERVALS} WHERE {where}").fetchall()
        names = {dump for (dump,) in rows}
        return [dump for dump in dumps if dump.whole in names], where

    def _last_samples(self) -> list[datetime]:
        """Ends of the intervals that have the last samples of owners that were left out."""
        if not self._left_out:
            return []
        systems, ends = ([*column] for column in zip(*self._left_out, strict=True))
        found = self._execute(_LAST_SAMPLES, {"systems": systems, "ends": ends}).fetchall()
        return sorted(end for (end,) in found)

    @property
    def _is_drifted(self) -> bool:
        """Whether files may lack columns; of all dumps, since the files of a month are shared."""
        if self._drifted is None:
            self._drifted = is_drifted(self._store.dumps())
        return self._drifted


def left_out(execute: Execute, store: Store, scope: Scope) -> Sequence[tuple[str, datetime]]:
    """System and end of the intervals before a scope whose commands left owners out.

    Args:
        execute: runs a statement in a database that can read the store.
    """
    since = scope.since
    if since is None:
        return []
    dumps = [
        dump
        for dump in store.dumps()
        if scope.has_system(dump.system)
        and COMMAND in dump.tables
        and dump.begins <= scope.first_day
    ]
    if not dumps:
        return []
    files = files_of(store, COMMAND, dumps)
    rows = parquet(store, COMMAND, files, is_drifted(store.dumps()))
    return sorted(execute(_LEFT_OUT.format(rows=rows), {"since": since}).fetchall())


def widened(basis: Basis, store: Store, left_out: Sequence[tuple[str, datetime]]) -> Basis:
    """A basis with the last samples of those that were left out before it, see `left_out`."""
    earliest = dict(reversed(left_out))
    return with_samples_before(basis, store.dumps(), earliest) if earliest else basis


def _is_sample(table: str) -> bool:
    return table in tables() and record_of(tables()[table]).kind is Kind.SAMPLE


def _dumps(store: Store, dumps: Sequence[LandedDump]) -> str:
    """SQL relation with the metadata of dumps: their manifest entries and `ABOUT` files."""
    columns = COLUMNS["dump"]
    if not dumps:
        return empty(columns)
    lines = [
        json.dumps({c: about.get(c) for c in columns}, default=str)
        for about in wholes(store.abouts(dumps))
    ]
    return json_texts(lines, columns)


def json_texts(texts: Iterable[str], columns: Columns) -> str:
    """SQL relation over JSON texts with one object each."""
    structure = json.dumps({column: kind for column, (kind, _) in columns.items()})
    listed = ", ".join(map(text, texts))
    row = f"json_transform(line, {text(structure)}) AS row"
    shown = ", ".join(f"row.{name(column)}" for column in columns)
    return f"(SELECT {shown} FROM (SELECT {row} FROM (SELECT unnest([{listed}]) AS line)))"


def files_of(store: Store, table: str, dumps: Iterable[LandedDump]) -> list[TableFile]:
    """The files of a table of some dumps, in order."""
    return table_files(store.manifest, f"{table}.parquet", dumps)


def is_drifted(dumps: Iterable[LandedDump]) -> bool:
    """Whether some dump landed with other layouts, so that its files may lack columns."""
    return bool({dump.layouts for dump in dumps} - {fingerprint()})


def _empty_table(table: str) -> str:
    """SQL relation with the columns of a table that lands as Parquet, and no rows."""
    place: Columns = {p: ("VARCHAR", doc) for p, doc in PLACE.items()}
    return empty(place | {f.name: (sql_type(f.type), "") for f in schema_of(table)})


def parquet(store: Store, table: str, files: Sequence[TableFile], drifted: bool) -> str:
    """SQL relation with the columns of a landed table, read from files; empty without files.

    Args:
        drifted: files may lack columns. If False, all have the columns of the first file, and
            DuckDB opens only that one to bind.
    """
    drifted = drifted and table != "finding"
    parts = [_empty_table(table)] if drifted or not files else []
    for is_merged, group in alike(files):
        hive = "true, hive_types = {'system': VARCHAR, 'date': DATE, 'dump': VARCHAR}"
        places = "false" if is_merged else hive
        names = ", ".join(text(store.files.engine_path(file.name)) for file in group)
        rows = f"read_parquet([{names}], union_by_name = {drifted}, hive_partitioning = {places})"
        if not drifted and table in tables():
            absent = (
                f", CAST(NULL AS BIGINT) AS {name(f.name)}" for f in unplaced(tables()[table])
            )
            rows = f"(SELECT *{''.join(absent)} FROM {rows})"
        parts.append(_of_dumps(rows, group))
    return union_all(parts)


def _of_dumps(rows: str, files: Sequence[TableFile]) -> str:
    """SQL relation with the rows of the dumps that the files list; all rows if they list none.

    Rows of parts have the name of their dump.
    """
    names = ", ".join(text(dump) for file in files for dump in file.dumps)
    rows = f"(SELECT * FROM {rows} WHERE dump IN ({names}))" if names else rows
    if any(file.has_parts for file in files):
        rows = f"(SELECT * REPLACE (split_part(dump, '.', 1) AS dump) FROM {rows})"
    return rows


def json_rows(files: Sequence[str], columns: Columns) -> str:
    """SQL relation over JSON files with one object each; empty without files.

    Args:
        files: paths in DuckDB's syntax (see `Files.engine_path`).
    """
    if not files:
        return empty(columns)
    types = ", ".join(f"{text(n)}: {text(kind)}" for n, (kind, _) in columns.items())
    listed = ", ".join(map(text, files))
    return f"read_json([{listed}], columns = {{{types}}}, format = 'unstructured')"


def values(columns: Columns, rows: Sequence[str]) -> str:
    """SQL relation of inline rows. `rows`: each as an SQL tuple."""
    if not rows:
        return empty(columns)
    typed = ", ".join(f"CAST({name(n)} AS {kind}) AS {name(n)}" for n, (kind, _) in columns.items())
    names = ", ".join(map(name, columns))
    return f"(SELECT {typed} FROM (VALUES {', '.join(rows)}) AS row({names}))"


def empty(columns: Columns) -> str:
    """SQL relation with the given columns and no rows."""
    typed = ", ".join(f"CAST(NULL AS {kind}) AS {name(n)}" for n, (kind, _) in columns.items())
    return f"(SELECT {typed} WHERE false)"
