"""Reductions as `cpmon reduce` computes them: equal to the views, shared parts computed once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import duckdb
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from cpmon.core.errors import CpmonError, StoreError
from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.engine.database import ReductionDatabase, Result, shared
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.files.disk import disk_error, writing
from cpmon.store.results.lineage import lineages
from cpmon.store.sandbox.sandbox import Limits
from cpmon.store.sql.relations import SMALL


def view(name: str, *reads: str) -> Any:
    return SimpleNamespace(name=name, reads=reads)


def test_what_several_computations_read_is_shared_and_nothing_else():
    views = [
        view("_a", "interval.x", "monitor.y"),
        view("_b", "_a", "interval.z"),
        view("_c", "_a", "interval.x"),
        view("p", "_b"),
        view("q", "_c", "meta.interval"),
        view("r", "_c", "interval.z"),
        view("unread", "interval.x"),
    ]
    of_p, of_q, of_r = (Result(name) for name in "pqr")

    found = shared({v.name: v for v in views}, [of_p, of_q, of_r])

    assert found == {
        "_a": {of_p, "_c"},
        "_c": {of_q, of_r},
        "interval.x": {"_a", "_c"},
        "interval.z": {of_p, of_r},
    }
    assert shared({v.name: v for v in views}, [of_p]) == {}
    days = [Result("p", "day 1"), Result("p", "day 2")]
    assert shared({v.name: v for v in views}, days) == {"p": {*days}}


@pytest.fixture
def lab(store: Store, tmp_path: Path) -> Store:
    written = write_run(load_scenario("small-lab"), "LAB", tmp_path / "dump", intervals=6)
    ingest(written.dump, store)
    return store


def test_inputs_that_wait_for_other_readers_are_counted(lab: Store, tmp_path: Path):
    names = ("_linux_guests_by_time", "_paging_by_time", "_system_summary_by_time")
    guests, *others = map(Result, names)
    database = ReductionDatabase(lab, reductions(), tmp_path)
    database.unrestrict([guests, *others])
    assert database.shared_inputs(guests) == 0
    assert all(database.shared_inputs(other) > 3 for other in others)
    database.unrestrict([guests, others[0]])
    assert database.shared_inputs(others[0]) < 3


ABSENT = {
    *("linux_file_systems_by_time", "linux_processes_by_time", "linux_tasks_by_time"),
    *("virtual_adapters_by_time", "virtual_disks_by_time", "virtual_switches_by_time"),
}
"""Reductions of records that the laboratory does not write."""


@pytest.mark.slow
def test_a_database_computes_what_the_views_say(lab: Store, tmp_path: Path):
    chosen = [b for b in lineages(reductions()) if b.public and b.by_time]
    database = ReductionDatabase(lab, reductions(), tmp_path)
    database.unrestrict(Result(basis.kept) for basis in chosen)
    with connect(lab, reductions()) as connection:
        for basis in chosen:
            shown = connection.sql(f"SELECT * FROM {basis.kept}").pl()
            file = tmp_path / f"{basis.name}.parquet"
            count = database.write(Result(basis.kept), file)
            keys = [c for c, kind in shown.schema.items() if not kind.is_float()]
            computed = pl.read_parquet(file).sort(keys)
            assert len(shown) == count
            assert (count == 0) is (basis.name in ABSENT), basis.name
            assert_frame_equal(computed, shown.sort(keys), rel_tol=1e-12)
    tables = database.connection.sql("SELECT schema_name, table_name FROM duckdb_tables()")
    left = set(tables.fetchall()) - {("meta", "interval")}
    assert {schema for schema, _ in left} == {"interval"}, "a reduction that was shared is left"
    sizes = {t: sum(f.stat().st_size for f in lab.root.rglob(f"{t}.parquet")) for _, t in left}
    assert max(sizes.values()) <= SMALL, "what is large is dropped after its last reader"


def test_rows_are_in_the_order_of_intervals_and_objects(lab: Store, tmp_path: Path):
    database = ReductionDatabase(lab, reductions(), tmp_path)
    database.unrestrict([Result("_users_by_time")])
    database.write(Result("_users_by_time"), tmp_path / "users")
    keys = pl.read_parquet(tmp_path / "users").select("system", "interval_end", "userid")
    assert keys.equals(keys.sort(pl.all()))


def test_a_memory_limit_that_is_too_small_is_reported_with_a_remedy(lab: Store, tmp_path: Path):
    database = ReductionDatabase(lab, reductions(), tmp_path, Limits("3MB", 1))
    database.unrestrict([Result("_users_by_time")])
    with pytest.raises(CpmonError) as caught:
        database.write(Result("_users_by_time"), tmp_path / "users")
    assert "memory_limit" in str(caught.value.remedy)


def test_a_full_disk_is_an_error_of_the_store(tmp_path: Path):
    full = duckdb.IOException('IO Error: Could not write file "x": No space left on device')
    with pytest.raises(StoreError, match="the disk of the store is full"), writing(tmp_path):
        raise disk_error(full)
    other = duckdb.IOException("IO Error: something else")
    assert disk_error(other).errno is None
