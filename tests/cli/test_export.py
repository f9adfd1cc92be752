"""`cpmon store export` as other programs meet it: plain DuckDB, Arrow, and what reads CSV."""

from __future__ import annotations

import csv
import struct
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from cpmon.cli.main import Status
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from tests.cli.answer import Cpmon

FORMAT_1_0 = 64
"""The number of the storage format of DuckDB 1.0."""


@pytest.fixture(scope="module")
def store(perf: Path) -> Path:
    return perf


def rows(store: Path, sql: str) -> list[tuple[object, ...]]:
    with connect(Store(store), reductions()) as connection:
        return connection.execute(sql).fetchall()


@pytest.mark.slow
def test_a_duckdb_file_has_all_rows_and_comments(cpmon: Cpmon, store: Path, tmp_path: Path):
    file = tmp_path / "perf.duckdb"
    answer = cpmon("store", "export", "--store", store, "--duckdb", file)
    assert answer.status is Status.DONE, answer.err

    assert struct.unpack("<Q", file.read_bytes()[12:20]) == (FORMAT_1_0,)
    assert [*tmp_path.iterdir()] == [file]
    with duckdb.connect(str(file), read_only=True) as plain:
        for relation in ("processors_by_time", "meta.interval", "meta.dump", "run_summary"):
            sql = f"SELECT * FROM {relation} ORDER BY ALL"
            assert plain.execute(sql).fetchall() == rows(store, sql) != []
        tables = plain.execute("SELECT schema_name, comment FROM duckdb_tables()").fetchall()
        bare = plain.execute(
            "SELECT table_name, column_name FROM duckdb_columns()"
            " WHERE NOT internal AND coalesce(comment, '') = ''"
        ).fetchall()
    assert {schema for schema, _ in tables} == {"main", "meta"}
    assert all(comment for _, comment in tables)
    assert bare == []


def test_an_export_replaces_the_one_before(cpmon: Cpmon, store: Path, tmp_path: Path):
    file = tmp_path / "perf.duckdb"
    for relation in ("meta.dump", "main.processors_by_time"):
        cpmon("store", "export", relation, "--store", store, "--duckdb", file)
    with duckdb.connect(str(file), read_only=True) as plain:
        names = plain.execute("SELECT table_name FROM duckdb_tables()").fetchall()
    assert names == [("processors_by_time",)]


@pytest.mark.slow
def test_patterns_take_the_records_that_have_landed(cpmon: Cpmon, store: Path, tmp_path: Path):
    words = ("--store", store, "--parquet", tmp_path / "files")
    assert cpmon("store", "export", "interval.syt*", "MONITOR.*", *words).status is Status.DONE
    found = {file.stem for file in (tmp_path / "files").iterdir()}
    with connect(Store(store), reductions()) as connection:
        tables = connection.tables
    public = {name for name in found if name.startswith("monitor.")}
    assert {name.partition(".")[2] for name in public} <= tables
    assert "interval.sytprp" in found
    assert "monitor.sytprp" in found
    for name in ("interval.sytprp", "monitor.mtrsys"):
        table = pq.read_table(tmp_path / "files" / f"{name}.parquet")
        ((count,),) = rows(store, f"SELECT count(*) FROM {name}")
        assert len(table) == count > 0


def test_a_span_chooses_rows_and_leaves_what_has_no_time(cpmon: Cpmon, store: Path, tmp_path: Path):
    ((middle,),) = rows(store, "SELECT median(interval_end) FROM interval.sytprp")
    words = ("--store", store, "--csv", tmp_path, "--since", f"{middle:%Y-%m-%dT%H:%M:%S}")
    relations = ("interval.sytprp", "monitor.sytprp", "run_summary")
    answer = cpmon("store", "export", *relations, *words)
    assert answer.status is Status.DONE, answer.err
    counts = {}
    for relation in relations:
        with (tmp_path / f"{relation}.csv").open(encoding="utf-8", newline="") as stream:
            counts[relation] = len([*csv.DictReader(stream)])
    ((every,),) = rows(store, "SELECT count(*) FROM interval.sytprp")
    assert 0 < counts["interval.sytprp"] < every
    assert counts["interval.sytprp"] <= counts["monitor.sytprp"]
    assert counts["run_summary"] == rows(store, "SELECT count(*) FROM run_summary")[0][0]


def test_another_system_has_no_rows(cpmon: Cpmon, store: Path, tmp_path: Path):
    words = ("--store", store, "--parquet", tmp_path, "--system", "NOSUCH")
    assert cpmon("store", "export", "processors_by_time", *words).status is Status.DONE
    assert len(pq.read_table(tmp_path / "processors_by_time.parquet")) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give one of --duckdb, --parquet, --csv and --iceberg"),
        (("--csv", "a", "--parquet", "b"), "give one of"),
        (("meta.dump", "--iceberg", "a"), "--iceberg registers whole files"),
        (("monitr.*", "--csv", "a"), "there is no table monitr.*"),
    ],
)
def test_what_cannot_be_exported_is_refused(
    words: tuple[str, ...],
    said: str,
    cpmon: Cpmon,
    store: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.chdir(tmp_path)
    answer = cpmon("store", "export", *words, "--store", store)
    assert answer.status is not Status.DONE
    assert said in answer.err
    assert [*tmp_path.iterdir()] == []
