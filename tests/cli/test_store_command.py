"""`cpmon store`: what it tells, and that it removes nothing that it was not asked for."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.reduce.engine.reducing import reduce
from cpmon.store import Store
from tests.cli.answer import Cpmon


@pytest.fixture(scope="module")
def kept(perf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store without runs in which everything is reduced; nobody changes it."""
    store = tmp_path_factory.mktemp("reduced") / "perf"
    shutil.copytree(perf, store)
    for run in (store / "runs").iterdir():
        run.unlink()
    reduce(Store(store), [], Settings())
    return store


@pytest.fixture
def reduced(kept: Path) -> Iterator[Path]:
    """The same, put back after each test: where it stands its catalogue holds."""
    aside = kept.with_name("aside")
    shutil.copytree(kept, aside)
    yield kept
    shutil.rmtree(kept)
    aside.rename(kept)


def files(store: Path) -> set[Path]:
    return {file for file in store.rglob("*.parquet") if file.is_file()}


def test_info_tells_what_is_kept(cpmon: Cpmon, reduced: Path):
    rows = {
        row["what"]: row
        for row in cpmon("store", "info", "--store", reduced, "--format", "json").rows
    }
    assert rows["dumps"]["system"] == "TIMER"
    assert rows["dumps"]["note"] == "2 dumps"
    assert rows["hour"]["days"] == rows["interval"]["days"] == rows["dumps"]["days"]
    assert rows["outdated"]["files"] == 0


def test_a_dry_run_removes_nothing(cpmon: Cpmon, reduced: Path):
    before = files(reduced)
    words = ["store", "prune", "--store", reduced, "--keep", "interval=30d", "--raw", "90d"]
    answer = cpmon(*words, "--dry-run")
    assert "results of level interval: " in answer.text
    assert answer.text.splitlines()[-1].split(" files would be removed, ")[0] != "0"
    assert files(reduced) == before


def test_what_is_old_goes_and_reports_say_so(cpmon: Cpmon, reduced: Path):
    words = ["store", "prune", "--store", reduced, "--keep", "interval=30d", "--raw", "90d"]
    cpmon(*words)
    assert not [file for file in files(reduced) if "level=interval" in str(file)]
    assert not list(reduced.rglob("useact.parquet"))
    text = " ".join(cpmon("report", "SYSTEM_SUMMARY_BY_TIME", "--store", reduced).text.split())
    assert "this rests on roll-ups, each of an hour" in text


def test_ages_beyond_the_calendar_keep_everything(cpmon: Cpmon, reduced: Path):
    words = ["store", "prune", "--store", reduced, "--keep", "interval=9999y", "--raw", "99999w"]
    assert cpmon(*words).text == "0 files removed, 0 bytes\n"


def test_what_is_young_stays(cpmon: Cpmon, reduced: Path):
    before = files(reduced)
    words = ["store", "prune", "--store", reduced, "--keep", "interval=30d", "--raw", "90d"]
    assert cpmon(*words, "--as-of", "2001-11-20").text == "0 files removed, 0 bytes\n"
    assert files(reduced) == before


def test_retention_stands_in_the_settings(cpmon: Cpmon, reduced: Path):
    (reduced / "cpmon.toml").write_text('[retention]\ninterval = "30d"\n')
    answer = cpmon("store", "prune", "--store", reduced)
    assert answer.text.startswith("results of level interval: ")
    assert list(reduced.rglob("useact.parquet"))


def test_hours_that_would_be_computed_again_stay(cpmon: Cpmon, reduced: Path):
    words = ["store", "prune", "--store", reduced, "--keep", "interval=1d,hour=1d"]
    assert cpmon(*words).err == ""
    answer = cpmon(*words)
    assert answer.text == "0 files removed, 0 bytes\n"
    assert "cpmon reduce would compute them again; --raw limits samples" in answer.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say how long what is kept"),
        (("--keep", "interval"), "has no ="),
        (("--keep", "interval=soon"), "a retention time is invalid"),
        (("--keep", "minute=1y"), "no level minute"),
        (("--raw", "90d", "--as-of", "soon"), "is no day"),
    ],
)
def test_what_is_wrong_is_told(cpmon: Cpmon, perf: Path, words: tuple[str, ...], said: str):
    answer = cpmon("store", "prune", "--store", perf, *words)
    assert (answer.status, said in answer.err) == (Status.USAGE, True)
