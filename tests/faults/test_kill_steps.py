"""Killed before any of its steps, an ingest leaves the store as it was; the next one completes."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.store import Store, connect
from tests.faults.conftest import Victim

ROWS = "SELECT system, interval_end, vmduser, vmdttime FROM monitor.useact ORDER BY ALL"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("dumps")


@pytest.fixture(scope="module")
def first(folder: Path) -> Path:
    """A dump that is in the store beforehand."""
    return write_run(load_scenario("timer"), "2600P", folder, intervals=1).dump


@pytest.fixture(scope="module")
def small(folder: Path, first: Path) -> tuple[Path, Path]:
    """That dump, and one whose ingest is killed at its steps: any size has the same."""
    return first, write_run(load_scenario("timer"), "2600NP", folder, intervals=2).dump


@pytest.fixture(scope="module")
def large(folder: Path, first: Path) -> tuple[Path, Path]:
    """That dump, and one whose ingest is killed at any moment, so it works on many users."""
    return first, write_run(load_scenario("large-storage"), "E12187E0", folder, intervals=2).dump


@pytest.fixture
def before(tmp_path: Path, first: Path) -> Store:
    store = Store(tmp_path / "killed", create=True)
    ingest(first, store)
    return store


def rows(store: Store) -> pa.Table:
    with connect(Store(store.root)) as connection:
        return connection.sql(ROWS).to_arrow_table()


def undisturbed(tmp_path: Path, dumps: tuple[Path, Path]) -> pa.Table:
    store = Store(tmp_path / "undisturbed", create=True)
    for dump in dumps:
        ingest(dump, store)
    return rows(store)


def check_completes(store: Store, tmp_path: Path, dumps: tuple[Path, Path]) -> None:
    ingest(dumps[1], store)
    assert rows(store).equals(undisturbed(tmp_path, dumps))
    assert list(store.staging.iterdir()) == []
    with connect(store) as connection:
        runs = connection.sql("SELECT run_id FROM meta.run").fetchall()
    assert {run for (run,) in runs} == {dump.stem for dump in dumps}


def check_kills(victim: Victim, store: Store, points: Iterable[int], dump: Path) -> int:
    """Kill before each of some steps; returns how many died before the dump was published."""
    expected, died = rows(store), 0
    for point in points:
        status, _ = victim.run(dump, store.root, die_before=point)
        there = rows(store)
        if status != -signal.SIGKILL or len(there) != len(expected):
            break
        assert there.equals(expected)
        died += 1
    return died


def test_an_ingest_killed_before_it_publishes_changes_nothing(
    victim: Victim, before: Store, tmp_path: Path, small: tuple[Path, Path]
):
    assert check_kills(victim, before, [1, 4, 20, 32], small[1]) == 4
    check_completes(before, tmp_path, small)


@pytest.mark.slow
def test_an_ingest_killed_at_every_step_changes_nothing_or_completes(
    victim: Victim, before: Store, tmp_path: Path, small: tuple[Path, Path]
):
    assert check_kills(victim, before, range(1, 200), small[1]) > 30
    check_completes(before, tmp_path, small)


@pytest.mark.long
def test_an_ingest_killed_at_random_moments_changes_nothing_or_completes(
    victim: Victim, before: Store, tmp_path: Path, large: tuple[Path, Path]
):
    old, moments = rows(before), random.Random(1)
    started = time.perf_counter()
    new = undisturbed(tmp_path, large)
    longest = time.perf_counter() - started
    for _ in range(25):
        victim.kill_after(moments.uniform(0, longest), large[1], before.root)
        there = rows(before)
        assert there.equals(old) or there.equals(new)
    check_completes(before, tmp_path, large)
