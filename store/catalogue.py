"""The DuckDB catalogue of a store: views and comments over its files, rebuilt when they change.

Parquet is the truth. `catalog.duckdb` holds no data: only views that find new dumps by
themselves, so it is made again only when a table appears for the first time, when layouts or
reductions change, or when the store was moved; and then by what differs from another one. It is
replaced by a rename, since DuckDB allows one writer or many readers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Protocol

import duckdb

from ..schemas.arrow import schemas
from ..schemas.errors import StoreError
from ..schemas.registry import fingerprint
from .classes import classes_text
from .dictionary import COLUMNS, create_sql
from .entries import Entry, bring_up, stamp_of, view
from .kept_views import SCHEMA as ROLLUP
from .kept_views import coverage, reduction_entries, rollup_entries
from .meta import meta_views
from .reduced import Kept, kept
from .sealing import Limits, seal
from .sources import sources
from .store import Store
from .template import keep_as_template, load, save, template
from .views import LANDED, interval_views, landed_rows, monitor_view

FILE = "catalog.duckdb"
SCHEMAS = ("monitor", "interval", "meta", ROLLUP, LANDED)
OWN_TEXT = (
    *("catalogue.py", "views.py", "meta.py", "sources.py", "classes.py"),
    *("dictionary.py", "entries.py", "kept_views.py"),
    "companions/tables.py",
)


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


def connect(
    store: Store, views: Sequence[View] = (), limits: Limits | None = None
) -> duckdb.DuckDBPyConnection:
    """A read-only connection to a store that can reach nothing outside of it.

    Args:
        views: reductions, in the order in which they build on each other.
        limits: what queries may use; those of DuckDB by default.

    Raises:
        StoreError: the catalogue cannot be built.
        CpmonError: a limit means nothing.
    """
    plan = _plan(store, views)
    file = store.root / FILE
    connection = _opened(file, plan.stamp)
    if connection is None:
        built = _build(store, plan)
        with suppress(OSError):  # a disk that cannot be written serves readers all the same
            save(built, file)
        connection = _opened(file, plan.stamp)
        if connection is None:  # not written, or this process still has the one before open
            return _sealed(built, store, limits)
        built.close()
    return _sealed(connection, store, limits)


def live_catalogue(store: Store, views: Sequence[View]) -> duckdb.DuckDBPyConnection:
    """A catalogue in memory in which nothing kept is read; its owner may change it.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    return _build(store, _plan(store, views, live=True))


def rebuild(store: Store, views: Sequence[View]) -> int:
    """Make the catalogue of a store again, from nothing; returns the number of its views.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    for file in filter(None, (store.root / FILE, template())):
        file.unlink(missing_ok=True)
    with connect(store, views) as connection:
        counted = connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal")
        return int(counted.fetchall()[0][0])


QUIET = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}


def _sealed(
    connection: duckdb.DuckDBPyConnection, store: Store, limits: Limits | None
) -> duckdb.DuckDBPyConnection:
    seal(connection, store, limits or Limits())
    return connection


@dataclass(frozen=True)
class _Plan:
    """What goes into a catalogue, and a stamp that changes whenever it would come out differently.

    `reduced`: what is kept of each reduction, as far as it is up to date.
    """

    present: set[str]
    views: Sequence[View]
    reduced: dict[str, Kept]
    stamp: str


def _plan(store: Store, views: Sequence[View], *, live: bool = False) -> _Plan:
    present, reduced = store.tables(), {} if live else kept(store, views)
    said = [str(store.root.absolute()), fingerprint(), duckdb.__version__, *sorted(present)]
    said += [view.sql for view in views] + [found.said for found in reduced.values()]
    said += [str(any(store.runs.glob("*.json"))), classes_text(store), _own_text()]
    stamp = hashlib.blake2b("\0".join(said).encode(), digest_size=16).hexdigest()
    return _Plan(present, views, reduced, stamp)


def _own_text() -> str:
    """The code that makes the views: another version of it makes other views."""
    own = files(__package__)
    return "".join((own / f).read_text(encoding="utf-8") for f in OWN_TEXT)


def _opened(file: Path, stamp: str) -> duckdb.DuckDBPyConnection | None:
    """A connection to a catalogue, if it is there and up to date."""
    if not file.exists():
        return None
    try:
        connection = duckdb.connect(file, read_only=True, config=dict(QUIET))
    except duckdb.Error:
        return None
    if stamp_of(connection) == stamp:
        return connection
    connection.close()
    return None


def _build(store: Store, plan: _Plan) -> duckdb.DuckDBPyConnection:
    """A catalogue in memory, made from one at hand if that is of any use, else from nothing."""
    entries = [*sources(store, plan.present), *_views(store, plan)]
    for base in (template(), store.root / FILE):
        if base is not None and base.exists():
            with suppress(duckdb.Error):
                return _built(entries, plan.stamp, base)
    try:
        return _built(entries, plan.stamp)
    except duckdb.Error as error:
        raise StoreError(
            "the catalogue cannot be built", place=str(store.root), found=str(error)
        ) from error


def _built(
    entries: Sequence[Entry], stamp: str, base: Path | None = None
) -> duckdb.DuckDBPyConnection:
    """A catalogue in memory, made from another one.

    A comment takes 0.2 ms without the optimizer and on one thread, 0.3 ms with them.
    """
    connection = duckdb.connect(":memory:", config=dict(QUIET))
    try:
        if base is not None:
            load(connection, base)
        connection.execute("PRAGMA disable_optimizer; SET threads = 1; BEGIN")
        for schema in SCHEMAS:
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
        connection.execute((files(__package__) / "sql" / "deltas.sql").read_text(encoding="utf-8"))
        made = bring_up(connection, entries, stamp)
        connection.execute("COMMIT; PRAGMA enable_optimizer; RESET threads")
    except duckdb.Error:
        connection.close()
        raise
    if any(entry.kind == "VIEW" for entry in made):
        keep_as_template(connection)
    return connection


def _views(store: Store, plan: _Plan) -> Iterator[Entry]:
    """What a reader finds, each behind what it reads."""
    yield from map(view, meta_views())
    for table, schema in schemas().items():
        yield view(monitor_view(table, schema, landed_rows(table)))
    yield from map(view, interval_views())
    for reduction in plan.views:
        yield from reduction_entries(reduction, plan.reduced.get(reduction.name))
    yield from rollup_entries(store, plan.reduced)
    yield coverage(plan.reduced)
    said = {column: doc for column, (_, doc) in COLUMNS.items()}
    yield Entry("TABLE", "meta.dictionary", create_sql(), "Every field of every layout.", said)
