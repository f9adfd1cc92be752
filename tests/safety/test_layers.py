"""The layers behind the guard: with the guard switched off, each keeps SQL from writing."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import duckdb
import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import CpmonError, StoreError
from cpmon.ingest import ingest
from cpmon.reduce.engine.database import ReductionDatabase
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.connection import table_of
from cpmon.store.sandbox import guard, sandbox
from tests.cli.answer import Cpmon
from tests.dumps import dump, interval
from tests.safety.attempts import HIDDEN, STATEMENTS
from tests.scenarios import CONFIG, SAMPLE
from tests.sql import answer

WRITES = (
    "COPY (SELECT 1) TO '{to}/made.csv'",
    "COPY (SELECT 1) TO '{to}/made.json'",
    "COPY (FROM range(1000000)) TO '{to}/made.parquet'",
    "COPY (FROM range(1000000)) TO '{to}/made' (FORMAT parquet, PER_THREAD_OUTPUT)",
    "COPY (SELECT 1 AS a, 2 AS b) TO '{to}/made' (FORMAT csv, PARTITION_BY (a))",
    "COPY (SELECT 1) TO '{to}/existing.csv' (USE_TMP_FILE false)",
    "COPY (SELECT 1) TO '{to}/existing.csv'",
    "WITH x AS (COPY (SELECT 1) TO '{to}/made.csv') FROM x",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{to}/made.csv'",
    "SELECT 1; COPY (SELECT 1) TO '{to}/made.csv'",
    "ATTACH '{to}/made.duckdb' AS made; CREATE TABLE made.t AS SELECT 1",
    "EXPORT DATABASE '{to}/made'",
    "CALL enable_logging(storage = 'file', storage_config = {{'path': '{to}/made'}}); SELECT 1",
    "SET secret_directory = '{to}/made'; CREATE PERSISTENT SECRET s (TYPE s3, KEY_ID 'a')",
    "SET extension_directory = '{to}/made'; INSTALL httpfs",
    "CREATE TABLE t AS FROM range(1); COPY t TO '{to}/made.csv'",
)
needs_landlock = pytest.mark.skipif(
    not sandbox.landlock_version(), reason="a kernel without Landlock"
)


@pytest.fixture
def unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard lets everything through."""
    monkeypatch.setattr(guard, "guarded", lambda _connection, sql, **_: sql.unchecked)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a file in it."""
    folder = tmp_path / "to"
    folder.mkdir()
    (folder / "existing.csv").write_text("as it was")
    return folder


@pytest.fixture
def store(tmp_path: Path) -> Store:
    file = tmp_path / "good.mon"
    file.write_bytes(dump(interval(60, CONFIG, SAMPLE)))
    store = Store(tmp_path / "store", create=True)
    ingest(file, store)
    return store


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("sql", WRITES)
def test_the_attempts_write_where_nothing_keeps_them(place: Path, sql: str):
    """Otherwise the tests below would say nothing."""
    before = files(place)
    try:
        with duckdb.connect() as connection:
            connection.execute(sql.format(to=place)).fetchall()
    except duckdb.Error:
        if not any(word in sql for word in ("INSTALL", "SECRET")):  # these want the network
            raise
    else:
        assert files(place) != before


@needs_landlock
@pytest.mark.parametrize("sql", [sql for sql in WRITES if "enable_logging" not in sql])
def test_linux_alone_keeps_sql_from_writing(place: Path, sql: str):
    """Not for logs, written when a database closes: DuckDB's own lock keeps them off."""
    before = files(place)
    with duckdb.connect(config={"threads": 4}) as connection:
        sandbox.run(connection, lambda: sandbox.restart_threads(connection))
        with suppress(duckdb.Error):
            sandbox.run(connection, lambda: connection.execute(sql.format(to=place)).fetchall())
    assert files(place) == before
    assert [file.name for file in place.iterdir()] == ["existing.csv"]


@needs_landlock
@pytest.mark.parametrize(
    "action",
    [
        lambda file: file.write_text("x"),
        lambda file: file.unlink(),
        lambda file: file.rename(file.with_name("other")),
        lambda file: file.with_name("made").mkdir(),
        lambda file: file.with_name("made").symlink_to(file),
        lambda _file: subprocess.run([sys.executable, "-c", "1"], check=True),
        lambda _file: socket.create_connection(("127.0.0.1", 9), timeout=1),
    ],
    ids=["write", "remove", "rename", "folder", "link", "execute", "connect"],
)
def test_the_thread_that_runs_sql_changes_nothing(place: Path, action: Callable[[Path], object]):
    file = place / "existing.csv"
    with duckdb.connect() as connection, pytest.raises(PermissionError):
        sandbox.run(connection, lambda: action(file))
    assert files(place) == {str(file): b"as it was"}
    file.write_text("Python goes on writing elsewhere")


@pytest.mark.parametrize("sql", WRITES)
def test_duckdb_alone_keeps_sql_from_writing_beside_the_data(
    place: Path, store: Store, sql: str, monkeypatch: pytest.MonkeyPatch, unguarded: None
):
    monkeypatch.setattr(sandbox, "run", lambda _connection, work: work())
    before = files(place.parent)
    with connect(store) as connection:
        for folder in (place, store.root):
            with pytest.raises(CpmonError):
                answer(connection, sql.format(to=folder))
    assert files(place.parent).items() >= before.items()
    assert not [file for file in files(place.parent) if "made" in file]


@pytest.mark.parametrize(
    "file", ["cpmon.toml", "store.json", "classes.txt", "../good.mon", "records/../cpmon.toml"]
)
def test_duckdb_alone_keeps_sql_from_writing_files_of_the_store(
    store: Store, file: str, monkeypatch: pytest.MonkeyPatch, unguarded: None
):
    monkeypatch.setattr(sandbox, "run", lambda _connection, work: work())
    before = files(store.root.parent)
    attempt = f"COPY (SELECT 1) TO '{store.root}/{file}' (FORMAT csv, USE_TMP_FILE false)"
    with connect(store) as connection, pytest.raises(CpmonError):
        answer(connection, attempt)
    assert files(store.root.parent).items() >= before.items()
    assert not (store.root / "cpmon.toml").exists()


@needs_landlock
def test_nothing_is_written_without_the_guard(store: Store, unguarded: None):
    attempts = [sql for sql, _ in (*STATEMENTS, *HIDDEN) if "{store}" in sql or "{out}" in sql]
    assert len(attempts) > 30
    with connect(store) as connection:
        before = files(store.root.parent)
        for sql in attempts:
            for folder in (store.root, store.root / "records", store.root / "runs"):
                with suppress(CpmonError):
                    answer(connection, sql.format(store=folder, out=folder))
        assert files(store.root.parent) == before


def test_a_settings_file_is_not_written_into_a_store(cpmon: Cpmon, store: Store):
    """An EXPLAIN behind a nested comment was taken for another statement than the one that ran."""
    target = store.root / "cpmon.toml"
    hook = "[batch] hook_end = [''touch'', ''evil'']"
    sql = (
        "/* a /* b */ EXPLAIN SELECT 1 -- */ EXPLAIN ANALYZE"
        f" COPY (SELECT '{hook}') TO '{target}' (HEADER false)"
    )
    answer = cpmon("query", sql, "--store", store.root)
    assert answer.status is Status.USAGE and "EXPLAIN of no query" in answer.err
    assert not target.exists()


def test_answers_are_written_all_the_same(cpmon: Cpmon, store: Store, tmp_path: Path):
    words = ("--store", store.root, "--format", "csv")
    answer = cpmon("query", "SELECT 42 AS a", *words, "-o", tmp_path / "a.csv")
    assert answer.status is Status.DONE
    script = f".output {tmp_path / 'b.csv'}\nSELECT 42 AS a;\n".encode()
    assert cpmon("shell", *words, stdin=script).status is Status.DONE
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes() == b"a\n42\n"


def test_spilling_works_for_one_connection_after_another(store: Store):
    rows = (
        "SELECT count(*) AS n, max(s) AS s FROM (SELECT row_number() OVER (ORDER BY"
        " hash(range)) AS n, repeat('x', 100) || range AS s FROM range(800000))"
    )
    for _ in range(2):
        with connect(store, (), sandbox.Limits("40MB", 2)) as connection:
            assert answer(connection, rows).to_pylist()[0]["n"] == 800_000


@needs_landlock
@pytest.mark.parametrize("threads", [1, 2])
def test_what_reports_and_pages_run_replaces_nothing(store: Store, threads: int):
    (store.root / "runs").mkdir(exist_ok=True)
    before = files(store.root)
    with connect(store, reductions(), sandbox.Limits("1GB", threads)) as connection:
        for sql in WRITES:
            for folder in ("records", "runs"):
                copy = sql.format(to=store.root / folder)
                for ask in (connection.execute, partial(table_of, connection)):
                    with suppress(duckdb.Error, OSError):
                        ask(copy)
        assert files(store.root) == before
        assert connection.execute("SELECT count(*) FROM meta.dump").fetchall() == [(1,)]


def test_reductions_write_to_their_scratch_folder_alone(store: Store, place: Path, tmp_path: Path):
    """Whatever the SQL of a reduction is, the files of the store and beside it stay as they are."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    database = ReductionDatabase(store, reductions(), scratch, sandbox.Limits("1GB", 2))
    before = files(store.root), files(place)
    for writer in (database, database.writer):
        for sql in WRITES:
            for folder in (place, store.root):
                with pytest.raises(duckdb.Error):
                    writer.execute(sql.format(to=folder)).fetchall()
        writer.write_query("SELECT 42 AS a", scratch / "a.parquet")
    assert (files(store.root), files(place)) == before


@needs_landlock
@pytest.mark.parametrize("folder", ["records", "runs", "reduced"])
def test_linux_keeps_reductions_from_replacing_what_they_read(
    store: Store, tmp_path: Path, folder: str
):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    (store.root / folder).mkdir(exist_ok=True)
    database = ReductionDatabase(store, reductions(), scratch, sandbox.Limits("1GB", 2))
    before = files(store.root)
    for sql in WRITES:
        with suppress(duckdb.Error, OSError, CpmonError, StoreError):
            database.execute(sql.format(to=store.root / folder)).fetchall()
    assert files(store.root) == before
