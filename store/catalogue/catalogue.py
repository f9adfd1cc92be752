"""The DuckDB catalogue of a store: views and comments over its files, rebuilt when they change.

Parquet is the truth. `catalog.duckdb` holds no data: only views that find new dumps by
themselves, so it is made again only when a table appears for the first time, when layouts or
reductions change, when the first dump of other layouts lands, or when the store was moved; and then
by what differs from another one. It is replaced by a rename, since DuckDB allows one writer or many
readers.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import duckdb

from ...schemas.errors import StoreError
from ...schemas.registry import fingerprint
from ..columns import docs
from ..dumps.store import Store
from ..files.disk import make_private
from ..results.lineage import lineages
from ..results.months import rebuild_indexes
from ..sandbox.sandbox import Limits, seal
from ..views.database import database, storage_error
from ..views.dictionary import create_sql
from ..views.entries import (
    Entry,
    catalogue_version,
    different_views,
    is_catalogue,
    sync_entries,
    view,
)
from ..views.relations import landed_views, macros
from ..views.sources import sources
from ..views.template import catalogue_file, keep_as_template, load, save, template
from ..views.view import View
from ..views.views import LANDED
from .kept_views import SCHEMA as ROLLUP
from .kept_views import coverage, reduction_entries, rollup_entries
from .plan import Plan

SCHEMAS = ("monitor", "interval", "meta", ROLLUP, LANDED)
FEW = 5
"""So many views of a store's own catalogue are made anew rather than looking for a better base: a
view takes 10 to 40 ms, reading the template 100."""


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
    plan = Plan(store, views)
    connection = _opened(store, plan.version)
    if connection is None:
        built = _written(plan)
        connection = _opened(store, plan.version)
        if connection is None:  # not written, or this process still has the one before open
            return _sealed(built, store, limits)
        built.close()
    return _sealed(connection, store, limits)


def state_of(store: Store) -> object:
    """What differs once a connection that was opened before may show other rows than there are.

    Dumps have landed or were merged, or somebody has made another catalogue, as `reduce` does.
    """
    file = catalogue_file(store)
    return store.state, file.stat().st_mtime_ns if file.exists() else 0


def make_ready(store: Store, views: Sequence[View]) -> None:
    """Make the catalogue of a store, unless it is up to date, so that the next reader finds it.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    plan = Plan(store, views)
    (_opened(store, plan.version) or _written(plan)).close()


def live_catalogue(
    store: Store, views: Sequence[View] = (), *, shut: bool = False
) -> duckdb.DuckDBPyConnection:
    """A catalogue in memory in which nothing kept is read; its owner may change it.

    Args:
        shut: what dumps brought shows no rows until the owner lets it, as `sources` has it; nobody
            looks for the files.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    return _build(Plan(store, views, live=True), shut=shut)


def readers_catalogue(store: Store, views: Sequence[View]) -> duckdb.DuckDBPyConnection:
    """What `connect` reads as a catalogue in memory; its owner may change it.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    plan, copy = Plan(store, views), _loaded(store, catalogue_file(store))
    if copy is not None:
        if catalogue_version(copy) == plan.version:
            return copy
        copy.close()
    return _build(plan)


def rebuild(store: Store, views: Sequence[View]) -> int:
    """Make the catalogue, the manifest and indexes again; returns the number of views.

    Raises:
        StoreError: the catalogue cannot be built.
    """
    store.clean()
    if store.files.is_local or not store.manifest.is_readable:  # elsewhere it alone decides
        store.manifest.rebuild()
    rebuild_indexes(store)
    catalogue_file(store).unlink(missing_ok=True)
    with connect(store, views) as connection:
        counted = connection.execute("SELECT count(*) FROM duckdb_views() WHERE NOT internal")
        return int(counted.fetchall()[0][0])


def _sealed(
    connection: duckdb.DuckDBPyConnection, store: Store, limits: Limits | None
) -> duckdb.DuckDBPyConnection:
    seal(connection, store, limits or Limits())
    return connection


def _opened(store: Store, version: str) -> duckdb.DuckDBPyConnection | None:
    """A connection to the catalogue of a store, if it is there and up to date."""
    file = catalogue_file(store)
    if not file.exists():
        return None
    try:
        connection = database(store, file)
    except duckdb.Error:
        return None
    if catalogue_version(connection) == version:
        return connection
    connection.close()
    return None


def _written(plan: Plan) -> duckdb.DuckDBPyConnection:
    """A catalogue in memory, written to the store."""
    store, built = plan.store, _build(plan)
    if store.manifest.left_out or store.left_out:  # the next one may find the store whole again
        return built
    # A disk that cannot be written serves readers all the same. What killed processes had begun to
    # remove is not finished here: the plan was made with it.
    with suppress(OSError, StoreError):
        make_private(store.staging)
        file = catalogue_file(store)
        save(built, file, store.staging if file.parent == store.root else file.parent)
    return built


def _build(plan: Plan, *, shut: bool = False) -> duckdb.DuckDBPyConnection:
    """A catalogue in memory, made from one at hand if that is of any use, else from nothing.

    Args:
        shut: as `sources` has it.
    """
    store = plan.store
    entries = [
        *sources(store, plan.present, shut=shut, snapshot=plan.snapshot),
        *_views(plan),
    ]
    own, last = catalogue_file(store), template()
    failed: duckdb.Error | None = None
    nearest = [last, own] if plan.live else [own, last]  # nothing kept stands in the template
    for connection, file in _bases(store, nearest, entries):
        try:
            return _built(connection, entries, plan.found, is_kept=file != own)
        except duckdb.Error as error:
            connection.close()
            if unreadable := storage_error(error):  # it is no matter of the base
                raise unreadable from error
            failed = error
    raise StoreError(
        "the catalogue cannot be built", place=store.files.location, found=str(failed)
    ) from failed


def _bases(
    store: Store, files: Sequence[Path | None], entries: Sequence[Entry]
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Path | None]]:
    """Databases in memory to make a catalogue from, and their files, the best first.

    A file is read only when those before it hold too little. The last database is empty.
    """
    for file in filter(None, files):
        connection = _loaded(store, file)
        if connection is None:
            continue
        if file == template() or different_views(connection, entries) <= FEW:
            yield connection, file
        else:
            connection.close()
    yield database(store), None


def _loaded(store: Store, file: Path) -> duckdb.DuckDBPyConnection | None:
    """A database in memory with all that a catalogue holds; None if it cannot be read."""
    if not file.exists():
        return None
    connection = database(store)
    with suppress(duckdb.Error):
        load(connection, file)
        if is_catalogue(connection):
            return connection
    connection.close()
    return None


def _built(
    connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry], version: str, *, is_kept: bool
) -> duckdb.DuckDBPyConnection:
    """A database in memory, brought up to be the catalogue.

    Args:
        is_kept: as the template, if a view or table had to be made: the next new store has none to
            make. Not what a store's own catalogue holds: the store may be from somebody else.
    """
    made = _change(connection, entries, version)
    if is_kept and any(entry.kind != "MACRO TABLE" for entry in made):
        keep_as_template(connection)
    return connection


def _change(
    connection: duckdb.DuckDBPyConnection, entries: Sequence[Entry], version: str
) -> list[Entry]:
    """Bring a database up; returns what had to be made."""
    # A comment takes 0.2 ms without the optimizer and on one thread, 0.3 ms with them.
    ((threads,),) = connection.execute("SELECT system.main.current_setting('threads')").fetchall()
    connection.execute("PRAGMA disable_optimizer; SET threads = 1; BEGIN")
    for schema in SCHEMAS:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
    connection.execute(macros())
    made = sync_entries(connection, entries, version)
    connection.execute(f"COMMIT; PRAGMA enable_optimizer; SET threads = {threads:d}")
    return made


def _views(plan: Plan) -> Iterator[Entry]:
    """What a reader finds, each behind what it reads."""
    yield from _of_layouts(fingerprint())
    named = {reduction.name: reduction for reduction in plan.views}
    for lineage in lineages(plan.views):
        result = plan.reduced.get(lineage.name)
        yield from reduction_entries(plan.store, named[lineage.name], named[lineage.kept], result)
    yield from rollup_entries(plan.store, plan.reduced)
    yield from coverage(plan.reduced)


@functools.lru_cache(maxsize=2)
def _of_layouts(_fingerprint: str) -> tuple[Entry, ...]:
    """What is the same in every store that is read by these layouts: a tenth of a second."""
    return (
        *map(view, landed_views()),
        Entry(
            "TABLE",
            "meta.dictionary",
            create_sql(),
            "Every field of every layout.",
            docs("dictionary"),
        ),
    )
