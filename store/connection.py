"""A connection to a store, in which a relation is created once a statement names it.

Nothing is cached between connections: each shows the store as it is when the connection is opened,
or told to read it again. It is an in-memory database, sandboxed to the files of the store.
"""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb

from ..core.atomic import replacing
from ..core.errors import StoreError
from ..core.sql import name, relation_name, text
from .columns import COLUMNS, docs
from .files.plain_paths import path_text
from .format.store import Store
from .results.lineage import Lineage, lineages
from .results.reduced import LEVELS, ByDay, Materialized, MaterializedResults, meanings
from .results.result_files import is_one_of, result_rows, schema_of
from .sandbox.sandbox import Limits, run, seal
from .sql.database import database
from .sql.dictionary import dictionary
from .sql.landed_views import is_landed, landed_views
from .sql.relations import SCHEMAS, Relations, values
from .sql.scope import ALL, Scope
from .sql.views import Documented, View

if TYPE_CHECKING:
    import pyarrow as pa

    from .sql.views import View

Result = TypeVar("Result")
COVERAGE = "meta.reduced"
DICTIONARY = "meta.dictionary"
LIVE = "_live_"
"""Name prefix of a reduction that is computed without its materialized results."""
FOR_OLD_CLIENTS = "(STORAGE_VERSION 'v1.0.0')"
"""Option of ATTACH for a new file in the oldest format that DuckDB writes."""
_NAMED = re.compile(r'(?=(\w+|"[^"]+")\s*\.\s*(\w+|"[^"]+"))|(\w+)')
"""Names in a statement, with or without a schema; false matches are harmless."""
_LISTING = re.compile(
    r"\b(duckdb_(columns|views|tables|constraints)|information_schema|pg_catalog|show)\b"
)
"""Statements that list relations: all are created for them, which takes some ten seconds."""


warnings.filterwarnings("ignore", "Arrow output on a DB-API result")  # see `table_of`

if TYPE_CHECKING:
    _Base = duckdb.DuckDBPyConnection
else:  # DuckDB's class cannot be subclassed: `__getattr__` delegates to a connection
    _Base = object


class Connection(_Base):
    """A connection to a store, with all methods of a `duckdb.DuckDBPyConnection`.

    Attributes:
        store: the store that it reads.
        results: materialized results of the days of its scope.
    """

    def __init__(
        self,
        store: Store,
        views: Sequence[View] = (),
        limits: Limits | None = None,
        *,
        live: bool = False,
        views_only: bool = False,
    ) -> None:
        """Opens the connection. The store is read-only; temporary tables can be created.

        Args:
            views: reductions, dependencies first.
            limits: resource limits of queries; DuckDB's defaults if not given.
            live: compute reductions from samples, without their materialized results.
            views_only: materialize nothing and do not enable the sandbox: for a catalogue file that
                other programs read.

        Raises:
            CpmonError: a limit is invalid.
        """
        self.store = store
        self._duckdb = database(store)
        self._is_sealed = False
        self._views_only = views_only
        self._landed = Relations(self._run, store, views_only=views_only)
        self._run(f"CREATE SCHEMA {ROLLUPS}")
        if not views_only:
            seal(self._duckdb, store, limits or Limits())
            self._is_sealed = True
        self._views = {view.name: view for view in views}
        self._reduced = () if live else tuple(views)
        self._every_result = self.results = MaterializedResults(store, self._reduced)
        self._made: dict[str, str] = {}
        self._standing: dict[str, str] = {}
        self._pinned: set[str] = set()
        self._scope = ALL

    @functools.cached_property
    def lineages(self) -> dict[str, Lineage]:
        """The lineage of each of its reductions, by name; they need all layouts."""
        return {lineage.name: lineage for lineage in lineages(tuple(self._views.values()))}

    def point(self, scope: Scope) -> None:
        """Restricts the relations to a scope; to the whole store if the scope has no dumps."""
        if scope == self._scope:
            return
        self._scope = scope
        self.forget()
        self._landed.point(scope)
        if not self._landed.basis.samples:
            scope = ALL
            self._landed.point(scope)
        self.results = MaterializedResults(self.store, self._reduced, scope)

    def forget(self) -> None:
        """Lets all relations be created again from the current content of the store.

        Views stay until their text changes: DuckDB binds one, with all below it, to create it.
        Until those below are there again, they cannot be asked.
        """
        self._made.clear()
        self._landed.forget()

    def reread(self) -> None:
        """Shows the whole store as it is now; views stay, as `forget` says."""
        self._scope = ALL
        self.forget()
        self._landed.point(ALL)
        self._every_result = self.results = MaterializedResults(self.store, self._reduced)

    def measure(self, runs: Sequence[str] | None) -> None:
        """Replaces the stored runs by others, for instance by parts of them.

        Args:
            runs: the JSON text of each (see `part_of_run`); None for the stored ones again.
        """
        self.forget()
        self._landed.runs = runs

    @property
    def tables(self) -> set[str]:
        """Names of the landed tables of the dumps of the scope."""
        basis = self._landed.basis
        return set().union(*(dump.tables for dump in (*basis.samples, *basis.others)))

    def execute(self, query: Any, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Runs a statement, after creating the relations that it names."""
        self.make_named(query)
        return self._run(query, parameters)

    def _run(self, query: Any, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Runs a statement, in the sandbox if there is one."""
        if not self._is_sealed:
            return self._duckdb.execute(query, parameters)
        return run(self._duckdb, lambda: self._duckdb.execute(query, parameters))

    def sql(self, query: Any, **options: Any) -> duckdb.DuckDBPyRelation:
        """Relation of a query, after creating the relations that it names."""
        self.make_named(query)
        return self._duckdb.sql(query, **options)

    query = sql

    def table(self, relation: str) -> duckdb.DuckDBPyRelation:
        """Relation of a table or view, by name."""
        self.make_named(relation)
        return self._duckdb.table(relation)

    def view(self, view_name: str) -> duckdb.DuckDBPyRelation:
        """Relation of a view, by name."""
        return self.table(view_name)

    def make_named(self, statement: Any) -> None:
        """Creates the relations that a statement names, and their dependencies."""
        if not isinstance(statement, str):
            return
        folded = statement.lower()
        if _LISTING.search(folded):
            self.make_all()
        for schema, table, word in dict.fromkeys(_NAMED.findall(folded)):
            self._make(f"{schema}.{table}".replace('"', "") if schema else word)

    def make_all(self) -> None:
        """Creates every relation, with comments on it and on its columns."""
        for documented in self.documented():
            self._make(documented.name)
            kind = self._made.get(documented.name) or self._landed.kind_of(documented.name)
            self._duckdb.execute(comments(documented, kind))

    def pin(self, reductions: Collection[str]) -> None:
        """Creates neither these reductions nor what they read: tables stand for them (`pinned`)."""
        self._pinned = {*reductions}
        self._made.clear()  # also views that did not need what is pinned no longer

    def documented(self) -> Iterator[Documented]:
        """Yields the public relations with titles and column docs; most without their SELECT."""
        yield from landed_views()
        yield Documented(DICTIONARY, "", "Every field of every layout.", docs("dictionary"))
        title = "Days with materialized results of reductions."
        yield Documented(COVERAGE, "", title, docs("reduced"))
        for view in self._views.values():
            columns = {column.name: column.doc for column in view.columns}
            yield Documented(view.name, "", view.doc, columns)
        for reduction, result in self._every_result.all().items():
            if result.rollups:
                yield _rollup_view(self.store, reduction, result)

    def _make(self, relation: str) -> None:
        """Creates a relation and its dependencies; ignores existing and unknown ones."""
        relation = relation.removeprefix("main.")
        schema, _, table = relation.rpartition(".")
        if relation in self._made or relation in self._pinned:
            return
        if relation == DICTIONARY:
            self._create(relation, "TABLE", dictionary())
        elif relation == COVERAGE:
            rows = _coverage(self._every_result.all())
            self._create(relation, "VIEW", f"SELECT * FROM {rows}")
        elif schema in SCHEMAS:
            if is_landed(relation):
                self._landed.make(relation)
        elif schema == ROLLUPS:
            result = self.results.of(table)
            if not (result and result.rollups):  # none in the scope: then it has no rows of it
                result = self._every_result.of(table)
            if result and result.rollups:
                self._create(relation, "VIEW", _rollup_view(self.store, table, result).select)
        elif not schema and table.removeprefix(LIVE) in self._views:
            self._create(relation, "VIEW", self._reduction(table))

    def _create(self, relation: str, kind: str, select: str) -> None:
        if self._standing.get(relation) != select:
            # Not a temporary table of this name, as `pinned` creates.
            place = relation_name(relation if "." in relation else f"main.{relation}")
            self._run(f"CREATE OR REPLACE {kind} memory.{place} AS {select}")
            self._standing[relation] = select
        self._made[relation] = kind

    def _reduction(self, reduction: str) -> str:
        """SELECT of a reduction; creates the relations that it reads.

        Reductions below are CTEs: DuckDB binds a view to create it, and again for each that reads
        it. For other programs they are views.
        """
        select, reads = self._definition(reduction)
        if self._views_only:
            for below in reads:
                self._make(below)
            return select
        defined: dict[str, str] = {}
        self._define(reduction, defined)
        if len(defined) == 1:
            return select
        ctes = (f"{name(n)} AS NOT MATERIALIZED ({below})" for n, below in defined.items())
        return f"WITH {', '.join(ctes)} FROM {name(reduction)}"

    def _define(self, reduction: str, defined: dict[str, str]) -> None:
        """Adds the SELECT of a reduction to those below it; creates the other relations."""
        select, reads = self._definition(reduction)
        for below in reads:
            if below.removeprefix(LIVE) not in self._views:
                self._make(below)
            elif below not in defined and below not in self._pinned:
                self._define(below, defined)
        defined[reduction] = select

    def _definition(self, reduction: str) -> tuple[str, Sequence[str]]:
        """SELECT of a reduction, and the relations that it reads."""
        view = self._views[reduction.removeprefix(LIVE)]
        is_other = self._landed.runs is not None and self.lineages[view.name].of_runs
        result = None if is_other else self.results.of(reduction)
        rows = self._views[self.lineages[view.name].kept]
        live = f"{LIVE}{rows.name}" if rows is view else rows.name
        if result is None or (not result.tells_columns and result.is_open and not result.closed):
            return view.select, view.reads
        select = _kept_select(self.store, view, rows, result, name(live))
        return select, () if result.tells_columns else (live,)

    def close(self) -> None:
        """Closes the connection."""
        self._duckdb.close()

    def __enter__(self) -> Self:
        """The connection itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Closes the connection."""
        self.close()

    def __getattr__(self, attribute: str) -> Any:
        """Any other attribute of DuckDB's connection."""
        return getattr(self._duckdb, attribute)


def result_of(connection: duckdb.DuckDBPyConnection, reduction: str) -> Materialized | None:
    """The materialized results of a reduction for the scope of a connection to a store, if any."""
    return connection.results.of(reduction) if isinstance(connection, Connection) else None


def levels_of(
    connection: duckdb.DuckDBPyConnection, reduction: str, system: str
) -> dict[date, set[str]]:
    """Day -> levels with materialized results of a reduction, of the days of the scope."""
    result = result_of(connection, reduction)
    if result is None:
        return {}
    return {day: set(levels) for (of, day), levels in result.days.pieces.items() if of == system}


def systems_of(connection: duckdb.DuckDBPyConnection, *, with_intervals: bool = False) -> list[str]:
    """The systems that have dumps, regardless of the scope of the connection.

    Args:
        with_intervals: only systems that have intervals.
    """
    if isinstance(connection, Connection):
        dumps = connection.store.dumps()
        chosen = (dump.system for dump in dumps if dump.days or not with_intervals)
        return list(dict.fromkeys(chosen))
    relation = "meta.interval" if with_intervals else "meta.dump"
    rows = f"SELECT DISTINCT system FROM {relation} ORDER BY system"
    return [str(system) for (system,) in connection.execute(rows).fetchall()]


def point(connection: duckdb.DuckDBPyConnection, scope: Scope) -> None:
    """Restricts a connection to a store to a scope; has no effect on any other connection."""
    if isinstance(connection, Connection):
        connection.point(scope)


@contextmanager
def pinned(
    connection: duckdb.DuckDBPyConnection,
    reductions: Iterable[str],
    where: str,
    values: Sequence[Any],
) -> Iterator[None]:
    """Restricts reductions to the rows that meet a condition, as temporary tables, in a context.

    The tables shadow the views of the same names, also for other views that read them. Reductions
    with stored results are not materialized, as they need no computation.
    """
    computed = {n: f"_pinned_{n}" for n in reductions if result_of(connection, n) is None}
    pin = connection.pin if isinstance(connection, Connection) else lambda _: None
    try:
        for reduction, table in computed.items():
            rows = f"SELECT * FROM {name(reduction)} WHERE {where}"
            connection.execute(f"CREATE TEMP TABLE {name(table)} AS {rows}", values)
        for reduction, table in computed.items():  # last: no table is of rows that meet it
            connection.execute(f"ALTER TABLE temp.{name(table)} RENAME TO {name(reduction)}")
        pin(computed)
        yield
    finally:
        for table in (*computed, *computed.values()):
            connection.execute(f"DROP TABLE IF EXISTS temp.{name(table)}")
        pin(())


def run_restricted(
    connection: duckdb.DuckDBPyConnection, statement: str, work: Callable[[], Result]
) -> Result:
    """Runs some work on a statement in the sandboxed thread, and returns its result.

    That thread has no access to object storage, so the relations that the statement names are
    created first.

    Raises:
        KeyboardInterrupt: the user interrupted it; the work has ended.
    """
    if isinstance(connection, Connection):
        connection.make_named(statement)
    return run(connection, work)


def table_of(
    connection: duckdb.DuckDBPyConnection, query: str, values: Sequence[Any] = ()
) -> pa.Table:
    """The rows of a query, computed in the sandbox. `values`: of its parameters.

    It is bound once, not twice as by `Connection.sql`, but its rows are copied once more.
    """
    return run_restricted(
        connection, query, lambda: connection.execute(query, [*values]).to_arrow_table()
    )


def connect(store: Store, views: Sequence[View] = (), limits: Limits | None = None) -> Connection:
    """A read-only connection to a store, sandboxed to its files.

    Args:
        views: reductions, dependencies first.
        limits: resource limits of queries; DuckDB's defaults if not given.

    Raises:
        CpmonError: a limit is invalid.
    """
    return Connection(store, views, limits)


def comments(documented: Documented, kind: str) -> str:
    """COMMENT ON statements for a relation and its columns."""
    relation = relation_name(documented.name)
    statements = [f"COMMENT ON {kind} {relation} IS {text(documented.title)}"]
    statements += [
        f"COMMENT ON COLUMN {relation}.{name(column)} IS {text(doc)}"
        for column, doc in documented.columns.items()
    ]
    return ";".join(statements)


def write_catalogue(store: Store, views: Sequence[View], file: Path) -> int:
    """Writes a DuckDB database with all views of a store and their comments.

    The views refer to the current files of the store by absolute path. The database file is
    replaced atomically.

    Args:
        views: reductions, dependencies first.

    Returns:
        The number of views.

    Raises:
        StoreError: the disk refuses it, or a file of the store cannot be read.
    """
    with (
        Connection(store, views, views_only=True) as connection,
        TemporaryDirectory() as folder,
    ):
        made = Path(folder, file.name)
        try:
            connection.make_all()
            connection.execute(f"ATTACH {path_text(made)} AS _file {FOR_OLD_CLIENTS}")
            connection.execute("COPY FROM DATABASE memory TO _file")
            connection.execute("DETACH _file")
            counted = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"
            ((views_made,),) = connection.execute(counted).fetchall()
        except duckdb.Error as error:
            raise StoreError(
                "the catalogue cannot be made", place=str(file), found=str(error)
            ) from error
        with replacing(file.absolute()) as part:  # DuckDB does not open an empty file
            copyfile(made, part)
    return int(views_made)


ROLLUPS = "rollup"
"""The schema of roll-ups."""


def _kept_select(store: Store, reduction: View, rows: View, result: Materialized, live: str) -> str:
    """SELECT of a reduction from its materialized results, and from samples for other days.

    Args:
        rows: the materialized reduction: itself, or the one whose rows it projects.
        live: the relation that computes `rows`.
    """
    columns = ", ".join(name(column.name) for column in rows.columns)
    kept = f"(SELECT {columns} FROM {_rows(store, result, live)})"
    shown = "SELECT *" if rows is reduction else reduction.select.rpartition("\nFROM ")[0]
    return f"{shown} FROM {kept} AS {name(rows.name)}"


def _rows(store: Store, result: Materialized, live: str) -> str:
    """SQL relation of a reduction that is partly or wholly materialized."""
    if result.is_open and not result.closed:
        return live
    if result.tells_columns:
        return result_rows(store, result.files, union=not result.is_uniform)
    # The live view also defines the columns: results of another version may lack some.
    condition = f"NOT {is_one_of(result.closed)}" if result.is_open else "false"
    rows = f"SELECT * FROM {live} WHERE {condition}"
    if result.files:
        rows += f" UNION ALL BY NAME SELECT * FROM {result_rows(store, result.files, union=True)}"
    return f"({rows})"


def _rollup_view(store: Store, reduction: str, result: Materialized) -> Documented:
    """View `rollup.X`: the roll-ups of a reduction."""
    schema = schema_of(store, result.newest(LEVELS[1:]))
    documented = meanings(store, reduction)
    column_docs = {c: documented.get(c, "Meaning not known.") for c in schema.names}
    columns = ", ".join(map(name, column_docs))
    column_docs = {"level": "Length of what a row covers: hour.", **column_docs}
    rows = result_rows(store, result.rollups, hive=True, union=not result.is_uniform)
    title = f"Roll-ups of {reduction}: sums; mean, max and 95th percentile of what is shown."
    return Documented(
        f"{ROLLUPS}.{reduction}", f"SELECT level, {columns} FROM {rows}", title, column_docs
    )


def _coverage(results: Mapping[str, Materialized]) -> str:
    """SQL relation of the days that are materialized, by reduction, system and level."""
    spans = [
        f"({text(reduction)}, {text(system)}, {text(level)}, '{first}', '{last}', {days})"
        for reduction, result in sorted(results.items())
        for level in LEVELS
        for system, first, last, days in _ranges(result.days, level)
    ]
    return values(COLUMNS["reduced"], spans)


def _ranges(state: ByDay, level: str) -> list[tuple[str, date, date, int]]:
    """System, first day, last day and number of days of each range of materialized days."""
    spans: list[tuple[str, date, date, int]] = []
    is_open = False
    pieces = state.of_level(level)
    for system, day in sorted(state.expected.keys() | state.pieces.keys()):
        if (system, day) not in pieces:
            is_open = False
        elif is_open and spans[-1][0] == system:
            spans[-1] = (system, spans[-1][1], day, spans[-1][3] + 1)
        else:
            spans.append((system, day, day, 1))
            is_open = True
    return spans
