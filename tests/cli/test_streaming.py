"""Answers of any length leave in parts: memory is bounded, the first rows come at once."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.config.formats import FORMATS
from tests.waiting import PATIENCE_S

PEAK_MB = 400
WIDE = ", ".join(f"range * {n} AS c{n}" for n in range(40))
SQL = f"SELECT {WIDE}, 'user ' || range AS name, range / 7 AS share FROM range({{}})"
ROWS = {"xlsx": 10_000, "table": 100_000, "text": 100_000, "markdown": 100_000}
MANY = 300_000
"""Rows that took 600 MB to 1.4 GB when an answer was made as a whole."""


def peak_of(words: list[str], report: Path) -> subprocess.Popen[bytes]:
    """A command that writes its peak memory in kB into a file when it ends.

    It is the high-water mark of its own memory: `ru_maxrss` begins with that of the parent.
    """
    code = (
        "import re, sys\n"
        "from cpmon.cli.main import run\n"
        "status = run(sys.argv[2:])\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1]\n"
        "open(sys.argv[1], 'w').write(peak)\n"
        "sys.exit(int(status))\n"
    )
    command = [sys.executable, "-c", code, str(report), *words]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


QUICK = ("table", "json")


@pytest.mark.slow
@pytest.mark.parametrize(
    "form", [pytest.param(f, marks=() if f in QUICK else pytest.mark.slow) for f in FORMATS]
)
def test_no_answer_takes_more_memory_than_its_parts(form: str, perf: Path, tmp_path: Path):
    rows, report = ROWS.get(form, MANY), tmp_path / "peak"
    words = ["query", SQL.format(rows), "--store", str(perf), "--format", form, "--threads", "1"]
    with peak_of(words, report) as process:
        assert process.stdout is not None
        size = 0
        while part := process.stdout.read(1 << 20):
            size += len(part)
        assert process.wait() == 0
    assert size > 40 * rows / 10, "all rows came"
    assert int(report.read_text()) / 1024 < PEAK_MB


def test_the_first_rows_come_before_the_last_are_computed_and_a_closed_pipe_ends_it(
    perf: Path, tmp_path: Path
):
    report = tmp_path / "peak"
    words = ["query", SQL.format(10**10), "--store", str(perf)]  # hours of work
    with peak_of(words, report) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"c0")
        process.stdout.close()
        assert process.wait(PATIENCE_S) == 0
    assert int(report.read_text()) / 1024 < PEAK_MB


def test_widths_are_those_of_the_first_thousand_rows(perf: Path):
    sql = "SELECT CASE WHEN range < 1000 THEN 'abc' ELSE 'longer' END AS t, 1 AS n FROM range(1002)"
    command = [sys.executable, "-m", "cpmon", "query", sql, "--store", str(perf)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=os.environ)
    lines = done.stdout.splitlines()
    assert lines[:3] == ["t    n", "---  -", "abc  1"]
    assert lines[-1] == "longer  1"


@pytest.mark.slow
def test_a_limit_of_memory_holds_for_a_sort_that_needs_more(perf: Path, tmp_path: Path):
    report = tmp_path / "peak"

    def peak(sql: str, rows: int) -> float:
        words = ["query", sql, "--store", str(perf), "--memory-limit", "200MB", "--format", "csv"]
        with peak_of(words, report) as process:
            assert process.stdout is not None
            read = process.stdout.read
            lines = sum(part.count(b"\n") for part in iter(lambda: read(1 << 20), b""))
            assert (process.wait(), lines) == (0, rows + 1)
        return int(report.read_text()) / 1024

    sort = f"{SQL.format(MANY)} ORDER BY hash(range)"  # 130 MB, several times while it is sorted
    assert peak(sort, MANY) < peak("SELECT 1", 1) + 1.5 * 200
