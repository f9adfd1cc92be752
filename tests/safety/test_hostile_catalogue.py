"""The catalogue of a store from elsewhere: nothing of it runs before the sandbox closes."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from cpmon.cli.main import Status
from cpmon.ingest import ingest
from cpmon.reduce import reductions
from cpmon.store import Store, connect
from cpmon.store.catalogue.in_memory import in_memory
from cpmon.store.views.entries import REGISTER
from tests.cli.answer import Cpmon
from tests.dumps import dump, interval
from tests.scenarios import CONFIG, SAMPLE

Spoil = Callable[[duckdb.DuckDBPyConnection, str], object]
"""Changes a catalogue; its second argument is SQL of a query with one row that writes a log."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made")
    (folder / "a.mon").write_bytes(dump(interval(60, CONFIG, SAMPLE)))
    store = Store(folder / "store", create=True)
    ingest(folder / "a.mon", store)
    connect(store, reductions()).close()
    return store.root


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    """A store where it was made, so that its catalogue is up to date."""
    kept = made.with_name("kept")
    if not kept.exists():
        shutil.copytree(made, kept)
    shutil.rmtree(made)
    return Store(shutil.copytree(kept, made))


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def spoil(store: Store, log: Path, change: Spoil) -> None:
    with duckdb.connect(store.root / "catalog.duckdb") as connection:
        change(connection, f"FROM enable_logging(storage = 'file', storage_path = '{log}')")


def view_of_the_register(connection: duckdb.DuckDBPyConnection, writes: str) -> None:
    connection.execute(f"ALTER TABLE {REGISTER} RENAME TO old")
    connection.execute(
        f"CREATE VIEW {REGISTER} AS SELECT * FROM meta.old WHERE 1 = (SELECT 1 {writes})"
    )


def computed_column_of_the_register(connection: duckdb.DuckDBPyConnection, writes: str) -> None:
    ((version,),) = connection.execute(
        f"SELECT digest FROM {REGISTER} WHERE kind = 'VERSION'"
    ).fetchall()
    connection.execute(
        f"DROP TABLE {REGISTER}; CREATE TABLE {REGISTER} (name VARCHAR, kind VARCHAR,"
        f" digest VARCHAR GENERATED ALWAYS AS (concat(name, '{version}')));"
        f"INSERT INTO {REGISTER} (name, kind) VALUES ('', 'VERSION');"
        f"CREATE MACRO concat(a, b) AS coalesce((SELECT '' {writes}), b)"
    )


def macro_with_the_name_of_a_function(connection: duckdb.DuckDBPyConnection, writes: str) -> None:
    connection.execute(f"CREATE MACRO current_setting(a) AS (SELECT false {writes})")


def macros_with_the_names_of_tables(connection: duckdb.DuckDBPyConnection, writes: str) -> None:
    """They cannot stand for those that tell what is in the catalogue."""
    name = connection.execute("SELECT current_database()").fetchall()[0][0]
    shown = f"SELECT 'meta' AS schema_name, 'catalogue' AS table_name, '' AS sql {writes}"
    connection.execute(f"CREATE SCHEMA {name}.system; CREATE SCHEMA {name}.system.main")
    for place in ("main", f"{name}.system", f"{name}.system.main"):
        connection.execute(f"CREATE MACRO {place}.duckdb_tables() AS TABLE {shown}")


@pytest.mark.parametrize(
    "change",
    [
        view_of_the_register,
        computed_column_of_the_register,
        macro_with_the_name_of_a_function,
        macros_with_the_names_of_tables,
    ],
)
@pytest.mark.parametrize("is_moved", [False, True])
def test_a_query_runs_nothing_of_a_catalogue_before_the_sandbox_closes(
    cpmon: Cpmon, store: Store, log: Path, tmp_path: Path, change: Spoil, is_moved: bool
):
    spoil(store, log, change)
    root = Path(shutil.copytree(store.root, tmp_path / "moved")) if is_moved else store.root
    answer = cpmon(
        "query", "SELECT count(*) AS n FROM meta.dump", "--store", root, "--format", "csv"
    )
    assert answer.status is Status.DONE and answer.out == b"n\n1\n"
    assert not log.exists()


@pytest.mark.parametrize(
    "row", ["'IF EXISTS x; {copy}', 'VIEW'", "'x', 'VIEW IF EXISTS x; {copy}'"]
)
def test_what_a_register_names_is_no_part_of_a_statement(
    cpmon: Cpmon, store: Store, tmp_path: Path, row: str
):
    victim = tmp_path / "victim.csv"
    values = row.format(copy=f"COPY (SELECT 1) TO ''{victim}''; --")
    with duckdb.connect(store.root / "catalog.duckdb") as connection:
        connection.execute(f"INSERT INTO {REGISTER} VALUES ({values}, '')")
    moved = shutil.copytree(store.root, tmp_path / "moved")
    assert cpmon("query", "FROM meta.dump", "--store", moved).status is Status.DONE
    assert not victim.exists()


def test_a_copy_in_memory_shows_nothing_before_the_sandbox_closes(
    store: Store, log: Path, monkeypatch: pytest.MonkeyPatch
):
    def change(connection: duckdb.DuckDBPyConnection, writes: str) -> None:
        ((rows,),) = connection.execute(
            "SELECT macro_definition FROM duckdb_functions()"
            " WHERE schema_name = '_landed' AND function_name = 'interval'"
        ).fetchall()
        connection.execute(
            'CREATE OR REPLACE MACRO _landed."interval"() AS TABLE'
            f" SELECT * FROM ({rows}) WHERE 1 = (SELECT 1 {writes})"
        )

    spoil(store, log, change)
    with pytest.raises(duckdb.Error, match="locked"):
        in_memory(store, reductions())
    assert not log.exists()
