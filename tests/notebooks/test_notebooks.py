"""Each notebook runs from top to bottom, and has the values that the commands print."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.cli.conftest import cpmon  # noqa: F401 - a fixture
from tests.months import months, shares, store_of_months

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "notebooks"
DUMP = ROOT / "sample-data" / "timer" / "2600NP.mon.zst"
NOTEBOOKS = sorted(file.stem for file in FOLDER.glob("[!_]*.py"))

Run = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def timer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs of the timer measurement: four intervals of 600 users each, a month apart."""
    store = Store(tmp_path_factory.mktemp("timer") / "perf", create=True)
    for run in ("2600NP", "3600P1"):
        ingest(DUMP.with_name(f"{run}.mon.zst"), store)
    return store.root


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A week of hours of one processor, without users, disks or storage."""
    data = months(shares(1), missing=range(50, 54), ipl=100)
    return store_of_months(tmp_path_factory.mktemp("week"), data).root


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs a notebook with options; the names that its cells define."""

    def run(name: str, **options: object) -> dict[str, Any]:
        words = [word for key, value in options.items() for word in (f"--{key}", str(value))]
        file = FOLDER / f"{name}.py"
        monkeypatch.setattr("sys.argv", [str(file), *words])
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        _, names = module.app.run()
        return dict(names)

    return run


@pytest.mark.slow
@pytest.mark.parametrize("system", ["TIMER", "VMTEST"])
@pytest.mark.parametrize("name", NOTEBOOKS)
def test_each_notebook_is_a_script_of_any_store(
    name: str, system: str, request: pytest.FixtureRequest
):
    """One store lacks months, the other users, disks and storage: they are blank."""
    store = request.getfixturevalue("timer" if system == "TIMER" else "week")
    words = [sys.executable, FOLDER / f"{name}.py", "--store", store, "--system", system]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    if (name, system) != ("two_runs", "VMTEST"):  # which has no runs
        assert system in done.stdout or "3600P1" in done.stdout


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_a_first_look_is_what_a_query_of_the_dump_finds(notebook: Run, cpmon: Cpmon):  # noqa: F811
    names = notebook("first_look", dump=DUMP)
    sql = "SELECT count(*) AS intervals, count(*) FILTER (gap) AS gaps FROM meta.interval"
    (row,) = cpmon("query", sql, "--dump", DUMP, "--format", "json").rows
    assert names["wholeness"].row(0, named=True) | row == names["wholeness"].row(0, named=True)
    sql = "SELECT max(total_util) AS share FROM system_summary_by_time"
    (row,) = cpmon("query", sql, "--dump", DUMP, "--format", "json").rows
    assert any(f"Busiest: {row['share']:.1%}" in line for line in names["conclusion"])
    assert names["findings"].is_empty()
    names["source"].close()


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_users_are_those_of_the_report(notebook: Run, cpmon: Cpmon, timer: Path):  # noqa: F811
    # The runs are a month apart: the report is of all intervals of the system.
    names = notebook("first_look", store=timer)
    options = ("--store", timer, "--top", "10", "--format", "json")
    printed = json.loads(cpmon("report", "user_resource_util", *options).text)
    assert names["users"]["userid"].to_list() == [line["userid"] for line in printed]
    assert names["users"]["cpu_util"].to_list() == [line["cpu_util"] for line in printed]


@pytest.mark.slow
@pytest.mark.filterwarnings("default")
def test_runs_are_compared_as_by_the_command(notebook: Run, cpmon: Cpmon, timer: Path):  # noqa: F811
    names = notebook("two_runs", store=timer, base="2600NP", run="3600P1")
    words = ("compare", "--base", "2600NP", "--run", "3600P1", "--store", timer)
    printed = json.loads(cpmon(*words, "--format", "json").text)
    rows = {row["measure"]: row for row in names["changes"].iter_rows(named=True)}
    assert rows["total_util"]["base_value"] == pytest.approx(47.8)
    assert str(rows["total_util"]["value"]) in json.dumps(printed)
    assert names["courses"].filter(run="2600NP").height == 3


def test_no_notebook_imports_more_than_the_public_interface():
    for name in NOTEBOOKS:
        text = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
        assert "import cpmon\n" in text and "cpmon._" not in text and "from cpmon" not in text


@pytest.mark.slow
def test_marimo_finds_nothing_wrong_with_them():
    files = [FOLDER / f"{name}.py" for name in NOTEBOOKS]
    words = [sys.executable, "-m", "marimo", "check", "--strict", *files]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
