"""Whatever the SQL: nothing is written, nothing outside of the store is read, nothing changed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl
import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import CpmonError
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.sandbox.sandbox import Limits, spill_folder
from tests.cli.answer import Cpmon
from tests.dumps import dump, interval
from tests.safety.attempts import HIDDEN, QUERIES, READS, STATEMENTS
from tests.scenarios import CONFIG, SAMPLE
from tests.sql import answer
from tests.waiting import wait_until

SECRET = "4711-do-not-tell"
LOCKED = "SELECT name, value FROM duckdb_settings() ORDER BY ALL"


@dataclass(frozen=True)
class Place:
    """A store, and what lies beside it."""

    store: Store
    out: Path
    connection: duckdb.DuckDBPyConnection

    def files(self) -> dict[str, tuple[int, int]]:
        """Size and time of change of every file in the store and beside it."""
        found = (file for file in self.out.parent.rglob("*") if not file.is_symlink())
        return {
            str(file): (file.stat().st_size, file.stat().st_mtime_ns)
            for file in found
            if file.is_file()
        }


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("safe")
    out = folder / "out"
    out.mkdir()
    for name in ("secret.txt", "secret.csv"):
        (out / name).write_text(f"a,b\n{SECRET},1\n")
    pl.DataFrame({"a": [SECRET]}).write_parquet(out / "secret.parquet")
    file = folder / "good.mon"
    file.write_bytes(dump(interval(60, CONFIG, SAMPLE)))
    store = Store(folder / "store", create=True)
    ingest(file, store)
    (store.root / "link").symlink_to(out / "secret.txt")
    os.environ["CPMON_SECRET"] = SECRET
    with connect(store, reductions()) as connection:
        yield Place(store, out, connection)
    del os.environ["CPMON_SECRET"]


def test_there_are_enough_attempts():
    attempts = [sql for sql, _ in (*STATEMENTS, *HIDDEN, *READS)]
    assert len(set(attempts)) == len(attempts) > 100


@pytest.mark.parametrize(("sql", "said"), [*STATEMENTS, *HIDDEN, *READS])
def test_an_attempt_has_no_effect(place: Place, sql: str, said: str):
    secret_of_python = pl.DataFrame({"a": [SECRET]})
    before, set_before = place.files(), place.connection.sql(LOCKED).fetchall()

    with pytest.raises(CpmonError) as caught:
        answer(place.connection, sql.format(store=place.store.root, out=place.out))

    assert said in str(caught.value)
    assert SECRET not in str(caught.value)
    assert place.files() == before
    assert place.connection.sql(LOCKED).fetchall() == set_before
    assert place.connection.sql("SELECT count(*) FROM meta.dump").fetchall() == [(1,)]
    del secret_of_python


@pytest.mark.parametrize(
    "sql",
    [
        "FROM meta.dump",
        "DESCRIBE meta.dump",
        "SUMMARIZE meta.dump",
        pytest.param("SHOW ALL TABLES", marks=pytest.mark.slow),
        "VALUES (1)",
        "TABLE meta.dump",
        "EXPLAIN FROM meta.dump",
        "EXPLAIN ANALYZE FROM meta.dump",
        "explain (format json) select 1",
        "EXPLAIN (SELECT 1)",
        "-- why\nSELECT 'COPY x TO y; --'",
        "WITH a AS (SELECT 1) FROM a",
        "WITH RECURSIVE r AS (SELECT 1 AS a UNION ALL SELECT a + 1 FROM r WHERE a < 3) FROM r",
        "FROM (PIVOT meta.dump ON system IN ('A') USING count(*))",
        "SELECT * FROM range(3), unnest([1, 2])",
        pytest.param("SELECT * FROM duckdb_columns() LIMIT 1", marks=pytest.mark.slow),
        "SELECT 1 UNION SELECT 2;",
    ],
)
def test_what_only_reads_is_answered(place: Place, sql: str):
    assert answer(place.connection, sql).num_columns


def test_the_files_of_the_store_can_be_read(place: Place):
    sql = f"SELECT * FROM glob('{place.store.root}/records/**/*.parquet')"
    found = answer(place.connection, sql)
    assert found.num_rows
    ((name,),) = place.connection.sql(
        "SELECT any_value(filename)"
        f" FROM read_parquet('{place.store.root}/records/**/mtrsys.parquet', filename = true)"
    ).fetchall()
    assert name.startswith(str(place.store.root))


@pytest.mark.parametrize("words", [("query",), ("shell",)])
def test_the_commands_refuse_as_well(cpmon: Cpmon, place: Place, words: tuple[str, ...]):
    sql = f"WITH x AS (COPY (SELECT 1) TO '{place.store.root}/made.csv') FROM x"
    piped = words == ("shell",)
    before = place.files()
    arguments = [*words, "--store", place.store.root, *([] if piped else [sql])]
    answer = cpmon(*arguments, stdin=sql.encode() if piped else b"")
    assert answer.status is Status.USAGE and answer.out == b""
    assert QUERIES in answer.err and "COPY in a query" in answer.err
    assert place.files() == before


def test_memory_and_threads_are_limited(cpmon: Cpmon, place: Place, tmp_path: Path):
    store = tmp_path / "limited"
    shutil.copytree(place.store.root, store, symlinks=True)
    asked = "SELECT current_setting('threads') AS t, current_setting('memory_limit') AS m"
    flags = ("--threads", 1, "--memory-limit", "100MiB")
    answer = cpmon("query", asked, "--store", store, *flags, "--format", "json")
    assert answer.rows == [{"t": 1, "m": "100.0 MiB"}]

    (store / "cpmon.toml").write_text('memory_limit = "50MiB"\nthreads = 2\n')
    answer = cpmon("query", asked, "--store", store, "--threads", 1, "--format", "json")
    assert answer.rows == [{"t": 1, "m": "50.0 MiB"}]

    answer = cpmon("query", asked, "--store", store, "--memory-limit", "much")
    assert answer.status is Status.USAGE and "a resource limit of queries is invalid" in answer.err


def test_what_does_not_fit_into_memory_is_spilled_outside_of_the_store(
    place: Place, tmp_path: Path
):
    store = Store(shutil.copytree(place.store.root, tmp_path / "spilled", symlinks=True))
    with connect(store, reductions(), Limits("60MB", 2)) as connection:
        before = {str(file) for file in store.root.rglob("*")}
        sorted_rows = (
            "SELECT count(*) AS n, max(s) AS s FROM (SELECT row_number() OVER (ORDER BY"
            " hash(range)) AS n, repeat('x', 100) || range AS s FROM range(1500000))"
        )
        assert answer(connection, sorted_rows).to_pylist()[0]["n"] == 1_500_000
        assert {str(file) for file in store.root.rglob("*")} == before
    folder = spill_folder()
    assert folder is not None and store.root not in folder.parents


def test_spills_of_killed_processes_are_removed():
    folder = spill_folder()
    assert folder is not None
    left = folder.with_name("spill-4194999")  # above the greatest process number there can be
    left.mkdir(parents=True)
    (left / "block").touch()
    spill_folder()
    assert not left.exists()


def test_a_terminated_query_leaves_no_spill(place: Place, tmp_path: Path):
    sql = "SELECT sum(a.range * b.range) FROM range(1000000) AS a, range(10000000) AS b"
    process = subprocess.Popen(
        [sys.executable, "-m", "cpmon", "query", sql, "--store", place.store.root],
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    )
    wait_until(lambda: [*tmp_path.glob("cpmon/spill-*")])
    process.terminate()
    assert process.wait(60) == Status.INTERRUPTED
    assert not [*tmp_path.glob("cpmon/spill-*")]


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (("validate", "--rule", "bad"), "validation"),
        (("validate", "--rows", "bad"), "validation"),
        (("exceptions",), "exceptions"),
    ],
)
def test_the_rules_of_a_site_refuse_as_well(
    cpmon: Cpmon, place: Place, tmp_path: Path, words: tuple[str, ...], table: str
):
    columns = "now()::TIMESTAMP AS interval_end, 'x' AS object, 1 AS value, 1 AS least, 1 AS most"
    select = f"SELECT 'x' AS system, {columns}"
    for sql in (
        f"{select}) ; COPY (SELECT 1) TO '{place.store.root}/made.csv'; FROM ({select}",
        f"WITH x AS (COPY ({select}) TO '{place.store.root}/made.csv') {select} FROM x",
        f"EXPLAIN ANALYZE COPY ({select}) TO '{place.store.root}/made.csv'",
    ):
        rules = tmp_path / "rules.toml"
        of_table = {"validation": "", "exceptions": "area = 'cpu'\nunit = 's'\n"}[table]
        rules.write_text(
            f"[{table}.bad]\ntitle = 't'\nseverity = 'info'\n{of_table}sql = {json.dumps(sql)}\n"
        )
        before = place.files()
        answer = cpmon(*words, "--store", place.store.root, "--rules", rules)
        assert answer.status is Status.USAGE, answer.err
        assert QUERIES in answer.err or "cannot be read" in answer.err
        assert place.files() == before
