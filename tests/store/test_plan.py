"""What is remembered of an old store: it is planned again when a file differs, and only then."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from cpmon.cli.main import run
from cpmon.reduce import reductions
from cpmon.store import Store, connect
from cpmon.store.catalogue import plan
from cpmon.store.views import snapshot
from cpmon.store.views.entries import catalogue_version
from tests.faults.conftest import dump_of

MONTH = 40 * 720
"""Dumps of faults/conftest that are so far apart are of different months."""
ASKED = (
    "meta.dump",
    "meta.interval",
    "meta.run",
    "meta.user_class",
    "users_by_time",
    "run_summary",
)
RUN = ("runs", "--define", "R", "--system", "VMFAULT", "--until", "2001-12-18T12:00")
CHANGES = (
    (*RUN, "--since", "2001-12-18T10:00"),
    (*RUN, "--since", "2001-12-18T10:01"),
    ("classes", "set", "classes.txt"),
    ("ingest", "2.mon"),
    ("reduce", "run_summary"),
    ("reduce", "users_by_time"),
    ("store", "compact"),
    ("reduce",),
    ("store", "prune", "--raw", "1d", "--as-of", "2010-01-01"),
)


def cpmon(*words: str) -> None:
    assert int(run([*words, "--store", "store"])) in (0, 3)


def answers(place: str) -> list[pa.Table]:
    with connect(Store(place), reductions()) as connection:
        return [connection.sql(f"FROM {each} ORDER BY ALL").to_arrow_table() for each in ASKED]


def test_an_old_store_is_planned_again_when_a_file_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(snapshot, "MANY", 1)
    find, plans = plan.kept, []
    monkeypatch.setattr(plan, "kept", lambda *of: (plans.append(of), find(*of))[1])
    for number in range(3):
        Path(f"{number}.mon").write_bytes(dump_of(number if number < 2 else MONTH))
    Path("classes.txt").write_text("WEB U1*\n", encoding="utf-8")
    cpmon("ingest", "0.mon", "1.mon")
    for words in CHANGES:
        connect(Store("store"), reductions()).close()
        plans.clear()
        cpmon(*words)
        connect(Store("store"), reductions()).close()
        assert plans, f"{words} made no difference"
        plans.clear()
        connect(Store("store"), reductions()).close()
        assert not plans
    old = answers("store")
    monkeypatch.setattr(snapshot, "MANY", 1_000)
    shutil.copytree("store", "young", ignore=shutil.ignore_patterns("snapshot", "*.duckdb"))
    assert answers("young") == old


def test_what_is_remembered_wrongly_makes_no_catalogue_of_that_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(snapshot, "MANY", 1)
    Path("0.mon").write_bytes(dump_of(0))
    cpmon("ingest", "0.mon")
    with monkeypatch.context() as wrong:
        wrong.setattr(plan, "derived", lambda *_: "wrong")
        connect(Store("store"), reductions()).close()
    with duckdb.connect("store/catalog.duckdb", read_only=True) as made:
        assert catalogue_version(made) == plan.Plan(Store("store"), reductions()).found
