"""What units of work end with, and what to do then."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path
from typing import Any

import pytest

from cpmon.jobs.processes import Processes
from cpmon.reduce.engine import computing, planning
from cpmon.reduce.engine.database import ReductionDatabase
from cpmon.store import Store
from tests.fleet import fleet
from tests.jobs import work
from tests.remedies.conftest import dump_of
from tests.remedies.trying import Attempt, tries


@pytest.fixture
def mon(tmp_path: Path) -> Path:
    file = tmp_path / "first.mon"
    file.write_bytes(dump_of())
    return file


@pytest.fixture
def store(tried: Attempt, tmp_path: Path, mon: Path) -> Path:
    tried.works("ingest", mon, "--store", tmp_path / "perf")
    return tmp_path / "perf"


def cut(file: Path) -> bytes:
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2])
    return whole


@pytest.mark.slow
@tries("store-file-unreadable")
def test_a_damaged_dump_of_a_store_lands_again(
    tried: Attempt, store: Path, mon: Path, tmp_path: Path
):
    (file,) = store.glob("records/*/*/*/*/useact.parquet")
    cut(file)
    said = tried.fails("reduce", "users_by_time", "--store", store)
    assert str(file) in said
    (dump,) = Store(store).dumps()
    tried.cpmon("store", "drop", dump.dump, "--store", store)
    tried.cpmon("ingest", mon, "--store", store)
    tried.works("reduce", "users_by_time", "--store", store)


@pytest.mark.slow
@tries("previous-settings-missing")
def test_settings_go_on_when_the_day_before_is_reduced(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(planning, "UNIT_BYTES", 1)  # each day is a unit of its own
    store = fleet(tmp_path, intervals=2)
    (file,) = store.root.glob("records/system=PRODA/date=2003-05-06/*/*/mtrsys.parquet")
    whole = cut(file)
    said = tried.fails("reduce", "system_config", "--store", store.root)
    assert "2003-05-06" in said and str(file) in said
    file.write_bytes(whole)
    tried.works("reduce", "system_config", "--store", store.root)


@tries("worker-version-mismatch")
def test_the_same_cpmon_computes_what_was_planned(
    tried: Attempt, store: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patch:
        patch.setattr(computing, "definition_version", lambda *_: "another")
        tried.fails("reduce", "users_by_time", "--store", store)
    tried.works("reduce", "users_by_time", "--store", store)


@tries("reduction-conflict")
def test_results_of_all_days_are_kept_when_no_dump_lands_meanwhile(
    tried: Attempt, store: Path, monkeypatch: pytest.MonkeyPatch
):
    sizes, write = itertools.count(), ReductionDatabase.write

    def behind_a_change(database: ReductionDatabase, *rest: Any) -> int:
        place = Store(store)
        about, *_ = place.abouts(place.dumps()[:1])
        assert place.manifest.put(place.dumps()[:1], [{**about, "stored_size": next(sizes)}])
        return write(database, *rest)

    with monkeypatch.context() as patch:
        patch.setattr(ReductionDatabase, "write", behind_a_change)
        tried.fails("reduce", "events", "--store", store)
    assert not list(store.glob("reduced/events*"))
    tried.works("reduce", "events", "--store", store)


@tries("name-unknown")
def test_the_system_that_is_meant_is_named(tried: Attempt, store: Path):
    (system,) = {dump.system for dump in Store(store).dumps()}
    said = tried.fails("reduce", "users_by_time", "--system", f"{system[:-1]}X", "--store", store)
    assert f"did you mean {system}?" in said
    tried.works("reduce", "users_by_time", "--system", system, "--store", store)


@tries("worker-killed")
def test_what_fits_into_memory_is_done(tried: Attempt):
    assert dict(Processes(1).run(work.die, [1]))[0].error
    assert tried.returns(lambda: dict(Processes(1).run(work.die, [2])))[0].result == 2


@pytest.mark.slow
@tries("spark-package-missing")
def test_without_spark_there_are_jobs(tried: Attempt, store: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    tried.fails("reduce", "users_by_time", "--engine", "spark", "--store", store)
    tried.works("reduce", "users_by_time", "--jobs", "2", "--store", store)
