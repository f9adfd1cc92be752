"""A connection to a store, in which a relation is made once a statement names it.

Nothing is prepared, and nothing has to be kept current: a connection shows the store as it is when
it is opened. It is a database in memory that can reach nothing outside of the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self, TypeVar

import duckdb

from ...core.atomic import replacing
from ...core.errors import StoreError
from ...core.sql import name, text
from ..columns import COLUMNS, docs
from ..dumps.store import Store
from ..files.plain_paths import path_text
from ..relations import SCHEMAS, Relations, values
from ..results.kept_files import is_one_of, kept_rows, schema_of
from ..results.lineage import lineages
from ..results.reduced import LEVELS, ByDay, Kept, KeptResults, meanings
from ..sandbox.sandbox import Limits, run, seal
from ..scope import ALL, Scope
from ..views.database import database
from ..views.dictionary import dictionary
from ..views.landed_views import is_landed, landed_views
from ..views.views import Documented, View

if TYPE_CHECKING:
    from ..views.views import View

Result = TypeVar("Result")
COVERAGE = "meta.reduced"
DICTIONARY = "meta.dictionary"
LIVE = "_live_"
"""What the name of a reduction begins with where nothing is read that is kept of it."""
_NAMED = re.compile(r'(?=(\w+|"[^"]+")\s*\.\s*(\w+|"[^"]+"))|(\w+)')
"""Names in a statement, with a schema or without: more than are meant do no harm."""
_LISTING = re.compile(
    r"\b(duckdb_(columns|views|tables|constraints)|information_schema|pg_catalog|show)\b"
)
"""What lists relations: all are made for it, which takes some ten seconds."""


if TYPE_CHECKING:
    _Base = duckdb.DuckDBPyConnection
else:  # DuckDB's class cannot be derived from: what is not here, a connection of its own answers
    _Base = object


class Connection(_Base):
    """A connection of DuckDB to a store, with all that a `duckdb.DuckDBPyConnection` has.

    Attributes:
        store: that it is to.
        lineages: of its reductions, by name.
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
        """Open it. It is read-only as far as the store goes; temporary tables may be made.

        Args:
            views: reductions, in the order in which they build on each other.
            limits: what queries may use; those of DuckDB by default.
            live: nothing is read that is kept of reductions.
            views_only: nothing is computed once, and nothing keeps the connection to the store: it
                is for a file that others will read.

        Raises:
            CpmonError: a limit means nothing.
        """
        self.store = store
        self._duckdb = database(store)
        self._landed = Relations(self._duckdb.execute, store, views_only=views_only)
        self._duckdb.execute(f"CREATE SCHEMA {ROLLUPS}")
        if not views_only:
            seal(self._duckdb, store, limits or Limits())
        self._views = {view.name: view for view in views}
        self.lineages = {lineage.name: lineage for lineage in lineages(views)}
        self._results = KeptResults(store, () if live else views)
        self._made: dict[str, str] = {}
        self._scope = ALL

    def point(self, scope: Scope) -> None:
        """Show what a scope rests on from now on; all of the store where no dump is in it."""
        if scope == self._scope:
            return
        self._scope = scope
        self.forget()
        self._landed.point(scope)
        if not self._landed.basis.samples:
            self._landed.point(ALL)

    def forget(self) -> None:
        """Drop what was made; it is made again from what the store has then."""
        for relation, kind in self._made.items():
            # A temporary table of this name, as `pinned` makes, is another relation.
            own = _quoted(relation if "." in relation else f"main.{relation}")
            self._duckdb.execute(f"DROP {kind} memory.{own}")
        self._made.clear()
        self._landed.forget()

    @property
    def tables(self) -> set[str]:
        """The tables that dumps of the scope have landed in."""
        basis = self._landed.basis
        return set().union(*(dump.tables for dump in (*basis.samples, *basis.others)))

    def execute(self, query: Any, parameters: Any = None) -> duckdb.DuckDBPyConnection:
        """Run a statement."""
        self.make_named(query)
        return self._duckdb.execute(query, parameters)

    def sql(self, query: Any, **options: Any) -> duckdb.DuckDBPyRelation:
        """The answer of a query."""
        self.make_named(query)
        return self._duckdb.sql(query, **options)

    query = sql

    def table(self, relation: str) -> duckdb.DuckDBPyRelation:
        """A relation by its name."""
        self.make_named(relation)
        return self._duckdb.table(relation)

    def view(self, view_name: str) -> duckdb.DuckDBPyRelation:
        """A view by its name."""
        return self.table(view_name)

    def make_named(self, statement: Any) -> None:
        """Make the relations that a statement names, and what these read."""
        if not isinstance(statement, str):
            return
        folded = statement.lower()
        if _LISTING.search(folded):
            self.make_all()
        for schema, own, word in _NAMED.findall(folded):
            self._make(f"{schema}.{own}".replace('"', "") if schema else word)

    def make_all(self) -> None:
        """Make every relation, with the comments on it and on its columns."""
        for documented in self.documented():
            self._make(documented.name)
            self._duckdb.execute(_comments(documented, self._kind_of(documented.name)))

    def documented(self) -> Iterator[Documented]:
        """What people may ask for, and what it says of itself, without its SELECT."""
        yield from landed_views()
        yield Documented(DICTIONARY, "", "Every field of every layout.", docs("dictionary"))
        title = "Days of which results of reductions are kept."
        yield Documented(COVERAGE, "", title, docs("reduced"))
        for view in self._views.values():
            columns = {column.name: column.doc for column in view.columns}
            yield Documented(view.name, "", view.doc, columns)
        for reduction, result in self._results.all().items():
            if result.rollups:
                yield _rollup_view(self.store, reduction, result)

    def _make(self, relation: str) -> None:
        """Make a relation and those that it reads, as far as they are not there; if it is one."""
        relation = relation.removeprefix("main.")
        schema, _, own = relation.rpartition(".")
        if relation in self._made:
            return
        if relation == DICTIONARY:
            self._create(relation, "TABLE", dictionary())
        elif relation == COVERAGE:
            self._create(relation, "VIEW", f"SELECT * FROM {_coverage(self._results.all())}")
        elif schema in SCHEMAS:
            if is_landed(relation):
                self._landed.make(relation)
        elif schema == ROLLUPS:
            result = self._results.of(own)
            if result and result.rollups:
                self._create(relation, "VIEW", _rollup_view(self.store, own, result).select)
        elif not schema and own.removeprefix(LIVE) in self._views:
            self._create(relation, "VIEW", self._reduction(own))

    def _kind_of(self, relation: str) -> str:
        return self._made.get(relation) or self._landed.kind_of(relation)

    def _create(self, relation: str, kind: str, select: str) -> None:
        self._duckdb.execute(f"CREATE {kind} {_quoted(relation)} AS {select}")
        self._made[relation] = kind

    def _reduction(self, own: str) -> str:
        """The SELECT of a reduction, once what it reads is made."""
        view = self._views[own.removeprefix(LIVE)]
        result = self._results.of(own)
        rows = self._views[self.lineages[view.name].kept]
        live = f"{LIVE}{rows.name}" if rows is view else rows.name
        if result is not None and not _is_computed(result):
            return _kept_select(self.store, view, rows, result, name(live))
        if result is None or (result.is_open and not result.closed):
            for below in view.reads:
                self._make(below)
            return view.select
        self._make(live)
        return _kept_select(self.store, view, rows, result, name(live))

    def close(self) -> None:
        """Close it."""
        self._duckdb.close()

    def __enter__(self) -> Self:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def __getattr__(self, attribute: str) -> Any:
        """What DuckDB's own connection has besides."""
        return getattr(self._duckdb, attribute)


def systems_of(connection: duckdb.DuckDBPyConnection, *, with_intervals: bool = False) -> list[str]:
    """The systems that have dumps, whatever a connection to a store is pointed at."""
    if isinstance(connection, Connection):
        dumps = connection.store.dumps()
        chosen = (dump.system for dump in dumps if dump.days or not with_intervals)
        return list(dict.fromkeys(chosen))
    relation = "meta.interval" if with_intervals else "meta.dump"
    rows = f"SELECT DISTINCT system FROM {relation} ORDER BY system"
    return [str(system) for (system,) in connection.execute(rows).fetchall()]


def point(connection: duckdb.DuckDBPyConnection, scope: Scope) -> None:
    """Let a connection to a store show what a scope rests on; others show what they show."""
    if isinstance(connection, Connection):
        connection.point(scope)


def run_restricted(
    connection: duckdb.DuckDBPyConnection, statement: str, work: Callable[[], Result]
) -> Result:
    """The result of some work on a statement, by the thread that can change no file.

    That thread can reach no object storage either, so what the statement names is made before.

    Raises:
        KeyboardInterrupt: the user stopped it; the work has ended.
    """
    if isinstance(connection, Connection):
        connection.make_named(statement)
    return run(connection, work)


def connect(store: Store, views: Sequence[View] = (), limits: Limits | None = None) -> Connection:
    """A read-only connection to a store that can reach nothing outside of it.

    Args:
        views: reductions, in the order in which they build on each other.
        limits: what queries may use; those of DuckDB by default.

    Raises:
        CpmonError: a limit means nothing.
    """
    return Connection(store, views, limits)


def _quoted(relation: str) -> str:
    return ".".join(map(name, relation.split(".")))


def _comments(documented: Documented, kind: str) -> str:
    """The statements that comment on a relation and its columns."""
    relation = _quoted(documented.name)
    statements = [f"COMMENT ON {kind} {relation} IS {text(documented.title)}"]
    statements += [
        f"COMMENT ON COLUMN {relation}.{name(column)} IS {text(doc)}"
        for column, doc in documented.columns.items()
    ]
    return ";".join(statements)


def write_catalogue(store: Store, views: Sequence[View], file: Path) -> int:
    """Write every view of a store as it is now, with its comments; returns their number.

    The views name the files of the store by their absolute paths. The file is replaced as a whole.

    Args:
        views: reductions, in the order in which they build on each other.

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
            connection.execute(f"ATTACH {path_text(made)} AS _file")
            connection.execute("COPY FROM DATABASE memory TO _file")
            connection.execute("DETACH _file")
            counted = "SELECT count(*) FROM duckdb_views() WHERE NOT internal"
            ((views_made,),) = connection.execute(counted).fetchall()
        except duckdb.Error as error:
            raise StoreError(
                "the catalogue cannot be made", place=str(file), found=str(error)
            ) from error
        with replacing(file.absolute()) as part:  # DuckDB takes no file that is there and empty
            copyfile(made, part)
    return int(views_made)


ROLLUPS = "rollup"
"""The schema of roll-ups."""


def _kept_select(store: Store, reduction: View, rows: View, result: Kept, live: str) -> str:
    """The SELECT of a reduction over what is kept of it, and over what is not.

    Args:
        rows: what is kept: the reduction itself, or one that it shows line by line.
        live: the relation that computes `rows`.
    """
    columns = ", ".join(name(column.name) for column in rows.columns)
    kept = f"(SELECT {columns} FROM {_rows(store, result, live)})"
    shown = "SELECT *" if rows is reduction else reduction.select.rpartition("\nFROM ")[0]
    return f"{shown} FROM {kept} AS {name(rows.name)}"


def _is_computed(result: Kept | None) -> bool:
    """Whether a reduction is computed whole, or its columns are told by what computes it."""
    return result is None or not result.tells_columns


def _rows(store: Store, result: Kept, live: str) -> str:
    """The rows of a reduction, of which some or all are kept."""
    if result.is_open and not result.closed:
        return live
    if result.tells_columns:
        return kept_rows(store, result.files, union=not result.is_uniform)
    # The live view also tells the columns: results of another version may lack some.
    condition = f"NOT {is_one_of(result.closed)}" if result.is_open else "false"
    rows = f"SELECT * FROM {live} WHERE {condition}"
    if result.files:
        rows += f" UNION ALL BY NAME SELECT * FROM {kept_rows(store, result.files, union=True)}"
    return f"({rows})"


def _rollup_view(store: Store, reduction: str, result: Kept) -> Documented:
    """`rollup.X`: the roll-ups of a reduction that has any, of all levels."""
    schema = schema_of(store, result.newest(LEVELS[1:]))
    known = meanings(store, reduction)
    column_docs = {c: known.get(c, "Meaning not known.") for c in schema.names}
    columns = ", ".join(map(name, column_docs))
    column_docs = {"level": "Length of what a row covers: 15m or hour.", **column_docs}
    rows = kept_rows(store, result.rollups, hive=True, union=not result.is_uniform)
    title = f"Roll-ups of {reduction}: sums; mean, max and 95th percentile of what is shown."
    return Documented(
        f"{ROLLUPS}.{reduction}", f"SELECT level, {columns} FROM {rows}", title, column_docs
    )


def _coverage(results: Mapping[str, Kept]) -> str:
    """A relation of which days are kept at which level, as SQL."""
    spans = [
        f"({text(reduction)}, {text(system)}, {text(level)}, '{first}', '{last}', {days})"
        for reduction, of_days in sorted(results.items())
        for level in LEVELS
        for system, first, last, days in _ranges(of_days.days, level)
    ]
    return values(COLUMNS["reduced"], spans)


def _ranges(state: ByDay, level: str) -> list[tuple[str, date, date, int]]:
    """System, first day, last day and number of days that are kept without one missing between."""
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
