"""What works where something of Linux is missing: locks, Landlock, /proc."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[2] / "sample-data" / "timer" / "2600NP.mon.zst"


def python(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


def test_the_command_says_in_a_few_lines_what_a_system_without_flock_lacks():
    done = python("import sys; sys.modules['fcntl'] = None; import cpmon.__main__")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("cpmon runs on Linux and macOS only")
    assert "WSL 2" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.parametrize("package", ["store", "ingest", "batch", "reduce.engine.reducing"])
def test_a_program_gets_the_same_as_an_import_error(package: str):
    done = python(f"import sys; sys.modules['fcntl'] = None; import cpmon.{package}")
    assert "ImportError: cpmon runs on Linux and macOS only" in done.stderr


AS_ON_MACOS = """
import pathlib, sys
import cpmon.batch.run, cpmon.core.memory, cpmon.store.sandbox.sandbox as sandbox
class MacOS:
    platform = "darwin"
    def __getattr__(self, name):
        return getattr(sys, name)
for module in (cpmon.batch.run, cpmon.core.memory, sandbox):
    module.sys = MacOS()
assert not sandbox.restrict()
read = pathlib.Path.read_text
def without_proc(self, *args, **kwargs):
    if str(self).startswith("/proc"):
        raise FileNotFoundError(str(self))
    return read(self, *args, **kwargs)
pathlib.Path.read_text = without_proc
from cpmon.cli.main import run
for line in sys.argv[2:]:
    status = run(line.replace("STORE", sys.argv[1]).split("|"))
    assert not status, (line, status)
"""


@pytest.mark.slow
def test_landing_reducing_reporting_and_sql_do_without_landlock_and_proc(tmp_path: Path):
    store = str(tmp_path / "store")
    lines = (
        f"ingest|{SAMPLE}|--store|STORE",
        "reduce|system_summary_by_time|--store|STORE",
        "report|SYSTEM_SUMMARY2_BY_TIME|--store|STORE",
        "query|--store|STORE|SELECT count(*) AS intervals FROM meta.interval",
    )
    done = python(AS_ON_MACOS, store, *lines)
    assert done.returncode == 0, done.stderr
    assert "intervals" in done.stdout
