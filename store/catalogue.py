"""The DuckDB catalogue of a store: views and comments over its files, rebuilt when they change.

Parquet is the truth. `catalog.duckdb` holds no data: only views that find new dumps by
themselves, so it is made again only when a table appears for the first time, when layouts or
reductions change, or when the store was moved. It is replaced by a rename, since DuckDB allows
one writer or many readers.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import duckdb

from ..schemas.arrow import schemas
from ..schemas.errors import CpmonError, StoreError
from ..schemas.registry import fingerprint
from .dictionary import COLUMNS, create_sql
from .meta import meta_views
from .reduced import kept
from .store import Store
from .views import Documented, interval_views, landed, monitor_view, name, text

FILE = "catalog.duckdb"
SCHEMAS = ("monitor", "interval", "meta")


class View(Protocol):
    """A reduction that the catalogue shows in schema `main`; one that starts with _ is private.

    `sql` creates the view, `doc` and `columns` become comments.
    """

    @property
    def name(self) -> str:
        """Name of the view."""
        ...

    @property
    def sql(self) -> str:
        """Statement that creates it."""
        ...

    @property
    def doc(self) -> str:
        """What it shows."""
        ...

    @property
    def columns(self) -> Sequence[Any]:
        """Its columns, each with `name` and `doc`."""
        ...


def connect(store: Store, views: Sequence[View] = ()) -> duckdb.DuckDBPyConnection:
    """A read-only connection to a store that can reach nothing outside of it.

    Args:
        views: reductions, in the order in which they build on each other.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    plan = _plan(store, views)
    file = store.root / FILE
    if not _is_current(file, plan.stamp):
        try:
            _replace(store, file, plan)
        except OSError:  # a disk that cannot be written serves readers all the same
            return _sealed(_build(":memory:", store, plan), store)
    connection = duckdb.connect(file, read_only=True, config=dict(QUIET))
    return _sealed(connection, store)


def select_only(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse SQL that is anything but queries.

    Raises:
        CpmonError: it does not parse, or has a statement that could write.
    """
    allowed = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
    try:
        statements = connection.extract_statements(sql)
    except duckdb.Error as error:
        raise CpmonError(f"the SQL cannot be read: {error}") from None
    refused = [s for s in statements if s.type not in allowed]
    if refused or not statements:
        raise CpmonError(
            "only queries are allowed",
            expected="SELECT, WITH, FROM, DESCRIBE, SHOW or EXPLAIN",
            found=refused[0].type.name if refused else "nothing",
            remedy="to keep a result, write it with -o FILE",
        )


QUIET = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def _sealed(connection: duckdb.DuckDBPyConnection, store: Store) -> duckdb.DuckDBPyConnection:
    """Let queries read the store's files and nothing else, for good."""
    connection.execute(f"SET allowed_directories = [{text(str(store.root.absolute()) + os.sep)}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute("SET lock_configuration = true")
    return connection


@dataclass(frozen=True)
class _Plan:
    """What goes into a catalogue, and a stamp that changes whenever it would come out differently.

    `reduced`: the file of each reduction whose result is kept and up to date.
    """

    present: set[str]
    views: Sequence[View]
    reduced: dict[str, Path]
    stamp: str


def _plan(store: Store, views: Sequence[View]) -> _Plan:
    present, reduced = store.tables(), kept(store, views)
    said = [str(store.root.absolute()), fingerprint(), duckdb.__version__, *sorted(present)]
    said += [view.sql for view in views] + [file.name for file in reduced.values()]
    said += [str(any(store.runs.glob("*.json"))), _own_text()]
    stamp = hashlib.blake2b("\0".join(said).encode(), digest_size=16).hexdigest()
    return _Plan(present, views, reduced, stamp)


def _own_text() -> str:
    """The code that makes the views: another version of it makes other views."""
    own = files(__package__)
    return "".join(
        (own / f).read_text(encoding="utf-8") for f in ("views.py", "meta.py", "dictionary.py")
    )


def _is_current(file: Path, stamp: str) -> bool:
    if not file.exists():
        return False
    try:
        with duckdb.connect(file, read_only=True, config=dict(QUIET)) as connection:
            found = connection.execute("SELECT stamp FROM meta.catalogue").fetchone()
    except duckdb.Error:
        return False
    return found is not None and found[0] == stamp


def _replace(store: Store, file: Path, plan: _Plan) -> None:
    with tempfile.TemporaryDirectory(dir=store.root, prefix=".catalog.") as folder:
        made = Path(folder) / FILE
        _build(str(made), store, plan).close()
        made.replace(file)


def _build(database: str, store: Store, plan: _Plan) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(database, config=dict(QUIET))
    try:
        connection.execute("BEGIN")
        for schema in SCHEMAS:
            connection.execute(f"CREATE SCHEMA {schema}")
        connection.execute((files(__package__) / "sql" / "deltas.sql").read_text(encoding="utf-8"))
        for view in _views(store, plan.present):
            connection.execute(f"CREATE VIEW {view.name} AS {view.select}")
            _comment(connection, view.name, view.title, view.columns)
        for reduction in plan.views:
            connection.execute(_reduction_sql(reduction, plan.reduced.get(reduction.name)))
            said = {column.name: column.doc for column in reduction.columns}
            _comment(connection, name(reduction.name), reduction.doc, said)
        connection.execute(create_sql())
        said = {column: doc for column, (_, doc) in COLUMNS.items()}
        _comment(connection, "meta.dictionary", "Every field of every layout.", said, "TABLE")
        connection.execute(f"CREATE TABLE meta.catalogue AS SELECT {text(plan.stamp)} AS stamp")
        connection.execute("COMMIT")
    except duckdb.Error as error:
        connection.close()
        raise StoreError(
            "the catalogue cannot be built", place=str(store.root), found=str(error)
        ) from error
    return connection


def _reduction_sql(reduction: View, file: Path | None) -> str:
    """The view of a reduction: over its kept result where that is up to date, else live."""
    if file is None:
        return reduction.sql
    columns = ", ".join(name(column.name) for column in reduction.columns)
    source = f"read_parquet({text(str(file.absolute()))})"
    return f"CREATE VIEW {name(reduction.name)} AS SELECT {columns} FROM {source}"


def _views(store: Store, present: set[str]) -> Iterable[Documented]:
    """The views of all schemas but `main`, each behind those that it reads."""
    yield from meta_views(store, present)
    drifted = any(dump.get("layouts") != fingerprint() for dump in store.dumps())
    for table, schema in schemas().items():
        source = landed(store.root, table, schema, table in present, drifted)
        yield monitor_view(table, schema, source)
    yield from interval_views()


def _comment(
    connection: duckdb.DuckDBPyConnection,
    view: str,
    title: str,
    columns: dict[str, str],
    kind: str = "VIEW",
) -> None:
    comments = [f"COMMENT ON {kind} {view} IS {text(title)};"]
    comments += [
        f"COMMENT ON COLUMN {view}.{name(column)} IS {text(said)};"
        for column, said in columns.items()
    ]
    connection.execute("".join(comments))
