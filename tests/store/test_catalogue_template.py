"""A catalogue is made from the last one: whatever that holds, what comes out is the same."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce import reductions
from cpmon.reduce.reductions.reductions import Reduction
from cpmon.schemas.registry import fingerprint
from cpmon.store import Store, connect
from cpmon.store.catalogue import catalogue
from cpmon.store.views.entries import Entry, catalogue_version, sync_entries
from cpmon.store.views.template import template
from tests.dumps import dump, fields, interval, record
from tests.scenarios import CONFIG, SAMPLE


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of one's own, empty."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    found = template()
    assert found is not None
    return found


@dataclass(frozen=True)
class Made:
    """What one store's catalogue says of itself that was made from nothing, and the template."""

    store: Store
    contents: list[list[tuple[object, ...]]]
    template: Path


@pytest.fixture(scope="module")
def from_nothing(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Seconds of work, so it is done once."""
    folder = tmp_path_factory.mktemp("nothing")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        store = a_store(folder / "a", SAMPLE)
        made = contents(store)
        found = template()
    assert found is not None
    return Made(store, made, found)


FEW = (".sytrsp", ".prcvon", ".prcvof", ".record_raw")
"""A table of samples, the events that its deltas look at, and one without a layout."""


@pytest.fixture
def few_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catalogues have a few records only, so that one is made from nothing at once."""
    few = [
        entry
        for entry in catalogue._of_layouts(fingerprint())
        if entry.name.startswith("meta.") or entry.name.endswith(FEW)
    ]
    monkeypatch.setattr(catalogue, "_of_layouts", lambda _: few)


def a_store(folder: Path, *records: bytes) -> Store:
    store = Store(folder, create=True)
    file = folder.with_suffix(".mon")
    file.write_bytes(dump(interval(60, CONFIG, *records)))
    ingest(file, store)
    return store


def contents(store: Store) -> list[list[tuple[object, ...]]]:
    """All that a catalogue says of itself, its numbers of objects apart."""
    with connect(store, reductions()) as connection:
        return [
            connection.sql(f"SELECT {columns} FROM {table} ORDER BY ALL").fetchall()
            for table, columns in (
                ("duckdb_views()", "schema_name, view_name, comment, sql"),
                ("duckdb_columns()", "schema_name, table_name, column_name, data_type, comment"),
                ("duckdb_functions()", "schema_name, function_name, macro_definition, comment"),
                ("meta.dictionary", "*"),
                ("meta.catalogue", "*"),
            )
        ]


@pytest.mark.slow
def test_a_catalogue_made_from_that_of_another_store_equals_one_made_from_nothing(
    tmp_path: Path, cache: Path, from_nothing: Made
):
    cache.parent.mkdir(parents=True)
    shutil.copy(from_nothing.template, cache)
    other = a_store(tmp_path / "b", record(9, 42, b"xy", 60))
    connect(other).close()
    cache.unlink()
    (other.root / "catalog.duckdb").replace(cache)  # without the reductions
    (from_nothing.store.root / "catalog.duckdb").unlink()

    assert contents(from_nothing.store) == from_nothing.contents


@pytest.mark.slow
def test_another_store_needs_no_view_that_the_last_one_had(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, from_nothing: Made
):
    made: list[Entry] = []

    def noted(*arguments: Any) -> list[Entry]:
        made.extend(found := sync_entries(*arguments))
        return found

    cache.parent.mkdir(parents=True)
    shutil.copy(from_nothing.template, cache)
    monkeypatch.setattr(catalogue, "sync_entries", noted)
    connect(a_store(tmp_path / "b", record(9, 42, b"xy", 60)), reductions()).close()

    assert {entry.kind for entry in made} == {"MACRO TABLE"}
    assert '_landed."record_raw"' in {entry.name for entry in made}


def test_only_what_differs_is_made(tmp_path: Path):
    same = Entry("VIEW", "same", "CREATE VIEW same AS SELECT 1 AS a", "Same.", {"a": "One."})
    old = Entry("VIEW", "b", "CREATE VIEW b AS SELECT 2 AS a", "Old.", {"a": "Two."})
    new = Entry("VIEW", "b", "CREATE VIEW b AS SELECT 2 AS a", "New.", {"a": "Two."})
    gone = Entry("MACRO TABLE", "gone", "CREATE MACRO gone() AS TABLE SELECT 3 AS a")
    with duckdb.connect() as connection:
        connection.execute("CREATE SCHEMA meta")

        assert sync_entries(connection, [same, old, gone], "1") == [same, old, gone]
        assert sync_entries(connection, [same, new], "2") == [new]

        assert catalogue_version(connection) == "2"
        assert connection.sql(
            "SELECT view_name, comment FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        ).fetchall() == [("b", "New."), ("same", "Same.")]
        with pytest.raises(duckdb.CatalogException):
            connection.sql("FROM gone()")


def other_database(file: Path) -> None:
    with duckdb.connect(file) as connection:
        connection.execute("CREATE SCHEMA monitor; CREATE TABLE monitor.sytrsp AS SELECT 1 AS a")


def garbage(file: Path) -> None:
    file.write_bytes(b"no database")


@pytest.mark.usefixtures("few_tables")
@pytest.mark.parametrize("spoil", [garbage, other_database])
def test_a_template_that_is_of_no_use_is_passed_over(
    tmp_path: Path, cache: Path, spoil: Callable[[Path], None]
):
    cache.parent.mkdir(parents=True)
    spoil(cache)

    with connect(a_store(tmp_path / "a", SAMPLE)) as connection:
        assert connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(1,)]


@pytest.mark.usefixtures("few_tables")
def test_a_catalogue_needs_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "cache").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    with connect(a_store(tmp_path / "a", SAMPLE)) as connection:
        assert connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(1,)]


@pytest.mark.usefixtures("few_tables")
def test_a_template_is_written_where_a_new_store_would_have_to_make_views_or_tables(
    tmp_path: Path, cache: Path
):
    old, new, newest = (a_store(tmp_path / name, SAMPLE) for name in "abc")
    select = "SELECT 1 AS a"
    view = Reduction("_view", "", (), f"CREATE VIEW _view AS {select}", select, ())
    connect(old).close()
    first = cache.stat().st_ino
    connect(old, [view]).close()  # most of it was in the store
    assert cache.stat().st_ino == first
    connect(new, [view]).close()
    second = cache.stat().st_ino
    assert second != first
    connect(newest, [view]).close()  # other macros, and no other views
    assert cache.stat().st_ino == second
    with duckdb.connect(cache) as connection:
        connection.execute("UPDATE meta.catalogue SET digest = '' WHERE kind = 'TABLE'")
    connect(a_store(tmp_path / "d", SAMPLE), [view]).close()
    assert cache.stat().st_ino != second  # a table was made


@pytest.mark.usefixtures("few_tables")
def test_views_of_a_store_from_elsewhere_do_not_reach_other_stores(tmp_path: Path, cache: Path):
    foreign, own = a_store(tmp_path / "foreign", SAMPLE), a_store(tmp_path / "own", SAMPLE)
    connect(foreign).close()
    cache.unlink()
    with duckdb.connect(foreign.root / "catalog.duckdb") as connection:
        connection.execute("CREATE OR REPLACE VIEW monitor.sytrsp AS SELECT 666 AS plsmvb2g")
        of_meta = connection.sql(
            "SELECT name FROM meta.catalogue WHERE kind = 'VIEW' AND name LIKE 'meta.%'"
        ).fetchall()
        assert len(of_meta) > catalogue.FEW
        for (name,) in of_meta:
            connection.execute(f"DROP VIEW {name}")
        connection.execute("DELETE FROM meta.catalogue WHERE kind = 'VIEW' AND name LIKE 'meta.%'")

    foreign.root.rename(tmp_path / "moved")  # so the next reader makes what is missing
    connect(Store(tmp_path / "moved")).close()
    with connect(own) as connection:
        assert connection.sql("SELECT plsmvb2g FROM monitor.sytrsp").fetchall() != [(666,)]


def test_a_user_without_a_home_has_no_template(monkeypatch: pytest.MonkeyPatch):
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)

    assert template() is None


def test_a_store_that_cannot_be_written_can_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def no_space(*_: object) -> None:
        raise OSError("No space left on device")

    store = a_store(tmp_path / "a", SAMPLE)
    monkeypatch.setattr(catalogue, "save", no_space)

    with connect(store) as connection:
        assert connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(1,)]
        with pytest.raises(duckdb.Error):
            connection.sql("FROM read_text('/etc/hostname')")
    assert not (store.root / "catalog.duckdb").exists()


def test_a_table_has_the_same_columns_before_and_after_something_landed(tmp_path: Path):
    described = []
    for store in (Store(tmp_path / "empty", create=True), a_store(tmp_path / "a", SAMPLE)):
        with connect(store) as connection:
            described.append(
                [
                    connection.sql(f"DESCRIBE {schema}.{table}").fetchall()
                    for schema in ("monitor", "interval")
                    for table in ("sytrsp", "sytprp")
                ]
                + [connection.sql(f"DESCRIBE meta.{t}").fetchall() for t in ("dump", "interval")]
            )

    assert described[0] == described[1]


def test_two_connections_of_a_process_each_see_what_had_landed_when_they_were_made(
    tmp_path: Path,
):
    store = a_store(tmp_path / "a", SAMPLE)
    with connect(store) as first, connect(store) as second:
        file = tmp_path / "b.mon"
        file.write_bytes(dump(interval(120, fields("sytrsp", 120), record(9, 42, b"xy", 120))))
        ingest(file, store)
        with connect(store) as third:
            assert third.sql("SELECT count(*) FROM monitor.record_raw").fetchall() == [(1,)]
        for connection in (first, second):
            assert connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(2,)]
