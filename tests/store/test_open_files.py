"""Few files are open at once, however many dumps a store has; else the remedy names the limit."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from bench.copies import copy_dump
from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.format.landed_dump import ABOUT
from tests.faults.conftest import dump_of
from tests.fleet import rebuilt

DUMPS = 300


def command(most: int, *words: object) -> subprocess.CompletedProcess[str]:
    """A command that may have so many files open."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    return subprocess.run(
        [sys.executable, "-m", "cpmon", *map(str, words)],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of many dumps, one of which was landed by other layouts: all are opened to bind."""
    folder = tmp_path_factory.mktemp("many")
    file, store = folder / "a.mon", Store(folder / "s", create=True)
    file.write_bytes(dump_of(0))
    place = store.find(ingest(file, store).dump)
    assert place is not None
    copy_dump(place, [timedelta(hours=3 * number) for number in range(1, DUMPS)])
    about = json.loads((place / ABOUT).read_text(encoding="utf-8"))
    about["layouts"] = "0" * len(about["layouts"])
    (place / ABOUT).write_text(json.dumps(about), encoding="utf-8")
    rebuilt(store)
    return store.root


@pytest.mark.slow
def test_many_dumps_need_few_open_files(many: Path, tmp_path: Path):
    at = ("--store", many)
    for words in (
        ("query", "select count(distinct dump) from monitor.sytrsp", *at),
        ("query", "select count(distinct dump) from interval.useact", *at),
        ("store", "compact", *at),
        ("query", "select count(distinct dump) from monitor.sytrsp", *at),
        ("store", "export", "--iceberg", tmp_path / "ice", *at),
    ):
        answer = command(64, *words)
        assert answer.returncode == 0, answer.stderr
        assert words[0] != "query" or str(DUMPS) in answer.stdout


@pytest.mark.slow
def test_too_few_files_are_named_with_the_limit(tmp_path: Path):
    lab = Path(__file__).resolve().parents[2] / "sample-data" / "small-lab" / "LAB.mon.zst"
    answer = command(24, "ingest", lab, "--store", tmp_path / "s")
    assert answer.returncode == 2
    assert "too many files are open at once" in answer.stderr
    assert "ulimit -n" in answer.stderr and "remove" not in answer.stderr
    assert command(256, "ingest", lab, "--store", tmp_path / "s").returncode == 0
