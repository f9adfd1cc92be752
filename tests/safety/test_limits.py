"""Each command with a store under limits of memory: done, or with a reason."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from tests.commands import leaves

ROOT = Path(__file__).resolve().parents[2]
DUMP = ROOT / "sample-data" / "small-lab" / "LAB.mon.zst"
SPAN = ("--since", "2003-05-06T08:10", "--until", "08:30")
COMMANDS = {
    "ingest": ["ingest", "other.mon.zst", "--store", "other"],
    "runs": ["runs"],
    "classes show": ["classes", "show"],
    "classes set": ["classes", "set", "classes.txt"],
    "classes of": ["classes", "of", "LINUX1"],
    "report": ["report", "USER_RESOURCE_UTIL"],
    "report --html": ["report", "--html", "-o", "pages", *SPAN],
    "exceptions": ["exceptions"],
    "explain": ["explain", "--at", "2003-05-06T08:20"],
    "validate": ["validate"],
    "compare": ["compare", "--base", "a", "--run", "b"],
    "batch run": ["batch", "run"],
    "batch status": ["batch", "status"],
    "reduce": ["reduce"],
    "forecast": ["forecast", "total_util"],
    "whatif": ["whatif", "--add", "5", "--like", "LXDB0001"],
    "store info": ["store", "info"],
    "store rebuild": ["store", "rebuild"],
    "store check": ["store", "check"],
    "store drop": ["store", "drop", "reduced"],
    "store catalogue": ["store", "catalogue", "-o", "views.duckdb"],
    "store export": ["store", "export", "users_by_time", "--parquet", "exported"],
    "store compact": ["store", "compact"],
    "store prune": ["store", "prune", "--keep", "interval=30d", "--raw", "90d"],
    "top": ["top", "--once"],
    "query": ["query", "FROM interval.useact ORDER BY ALL"],
    "shell": ["shell"],
    "config show": ["config", "show"],
    "schema dictionary": ["schema", "dictionary"],
}
REASONS = ("memory", "no hours are kept", "too few weeks", "too few hours", "there is no dump")
"""What is said of a limit, or of this store without one."""
MORE = ("16MB", "400MB", "1GB")
"""Limits that are tried before a release: each runs all commands."""
ELSEWHERE = {
    "follow": "asks the store for nothing",
    "demo": "makes a store of its own by ingest, reduce and compare",
    "serve": "tests/serve/test_limits.py",
    "notebook": "starts another program",
    "schema list": "reads no data",
    "schema diff": "reads no data",
    "schema show": "reads no data",
}


def test_each_command_with_a_store_is_tried():
    with_store = {
        name for name, each in leaves() if any("--store" in option.opts for option in each.params)
    }
    assert with_store == ELSEWHERE.keys() | {name.partition(" --")[0] for name in COMMANDS}


@pytest.fixture(scope="module")
def landed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("limits")
    (folder / "inbox").mkdir()
    (folder / "cpmon.toml").write_text(_settings("1GB"))
    (folder / "classes.txt").write_text("LINUX* guests\n")
    shutil.copy(DUMP, folder / "other.mon.zst")
    assert _cpmon(folder, "ingest", DUMP).returncode == Status.DONE
    for run in ("a", "b"):
        words = ("--system", "SMALLLAB", *SPAN)
        assert _cpmon(folder, "runs", "--define", run, *words).returncode == Status.DONE
    return folder


def _settings(limit: str) -> str:
    return f'store = "store"\nmemory_limit = "{limit}"\n[[inbox]]\nfolder = "inbox"\n'


def _cpmon(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own: a limit of data is one of the process."""
    return subprocess.run(
        [sys.executable, "-m", "cpmon", *map(str, words)],
        cwd=folder,
        env={**os.environ, "XDG_CONFIG_HOME": str(folder / "config")},
        input="FROM interval.useact ORDER BY ALL;\n",
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "limit", ["1MB", "64MB", *(pytest.param(size, marks=pytest.mark.long) for size in MORE)]
)
def test_a_limit_ends_no_command_without_a_reason(landed: Path, tmp_path: Path, limit: str):
    shutil.copytree(landed, tmp_path, dirs_exist_ok=True)
    (tmp_path / "cpmon.toml").write_text(_settings(limit))
    for name, words in COMMANDS.items():
        done = _cpmon(tmp_path, *words)
        assert done.returncode >= 0 and "failure of cpmon" not in done.stderr, (name, done)
        if done.returncode in (Status.FAILED, Status.USAGE):
            assert any(reason in done.stderr for reason in REASONS), (name, done)
    (tmp_path / "cpmon.toml").write_text(_settings("1GB"))
    for name in ("reduce", "report", "exceptions", "store check"):
        done = _cpmon(tmp_path, *COMMANDS[name])
        assert done.returncode not in (Status.FAILED, Status.USAGE), (name, done)


@pytest.mark.slow
def test_a_rule_is_not_to_blame_for_a_limit(landed: Path, tmp_path: Path):
    shutil.copytree(landed, tmp_path, dirs_exist_ok=True)
    (tmp_path / "cpmon.toml").write_text(_settings("16MB"))
    done = _cpmon(tmp_path, "exceptions")
    assert done.returncode == Status.USAGE
    assert "memory_limit in the settings" in done.stderr
    assert "switch it off" not in done.stderr
