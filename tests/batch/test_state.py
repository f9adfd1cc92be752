"""The folder of a store's batches: history and lock."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cpmon.batch.state import (
    append_history,
    exclusive_lock,
    lock_holder,
    read_history,
)
from cpmon.cli.main import Status
from cpmon.core.errors import BusyError
from cpmon.store.format.store import VERSION
from tests.batch.site import Site
from tests.batch.test_result import result


def test_the_history_is_bounded_and_a_cut_line_is_left_out(tmp_path: Path):
    for number in range(50):
        append_history(tmp_path, result(f"r{number}"), 10)
    with (tmp_path / "history.jsonl").open("a") as file:
        file.write('{"run": "cut')
    assert [said["run"] for said in read_history(tmp_path, 3)] == ["r49", "r48", "r47"]
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) <= 13


def test_a_second_batch_at_the_same_time_ends_with_75(
    site: Site, capfd: pytest.CaptureFixture[str]
):
    site.store.mkdir()
    (site.store / "store.json").write_text(f'{{"version": {VERSION}}}')
    folder = site.store / "batch"
    with exclusive_lock(folder, "first"):
        assert "run first" in lock_holder(folder)
        assert site.batch() is Status.BUSY
    said = capfd.readouterr().err
    assert "another batch is at work" in said and "run first" in said
    assert lock_holder(folder) == ""


def test_the_lock_goes_with_its_holder(tmp_path: Path):
    script = (
        "import os, sys, signal; from pathlib import Path\n"
        "from cpmon.batch.state import exclusive_lock\n"
        "with exclusive_lock(Path(sys.argv[1]), 'x'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    with (
        exclusive_lock(tmp_path, "next"),
        pytest.raises(BusyError),
        exclusive_lock(tmp_path, "third"),
    ):
        pass
