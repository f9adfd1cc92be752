"""A batch that stays: files as they come, and an end as soon as it is told to."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
import pytest

from cpmon.batch import BatchResult, BatchRunner
from cpmon.batch.run import stop_signal
from cpmon.cli.main import Status
from cpmon.render.render import render
from tests.batch.fleet import hourly
from tests.batch.openmetrics import parsed
from tests.batch.site import Site
from tests.waiting import PATIENCE_S

SETTINGS = """
[batch]
watch = "1s"
exceptions = false
validate = false
[[output]]
report = "PROCESSORS_BY_TIME"
path = "out/{date}.csv"
format = "csv"
"""


@contextmanager
def watching(site: Site) -> Iterator[subprocess.Popen[str]]:
    """`cpmon batch run --watch`; ended with the block if it is still there."""
    words = ["-m", "cpmon", "batch", "run", "--watch", "--config", str(site.config)]
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, *words], stdout=pipe, stderr=pipe, text=True) as process:
        too_late = threading.Timer(PATIENCE_S, process.kill)
        too_late.start()
        try:
            yield process
        finally:
            too_late.cancel()
            process.kill()


def wait_for(process: subprocess.Popen[str], said: str) -> str:
    """Read the log until it says something; what came until then."""
    lines = []
    assert process.stderr is not None
    for line in process.stderr:
        lines.append(line)
        if said in line:
            return "".join(lines)
    raise AssertionError(f"it never said {said!r}: {''.join(lines)}")


@pytest.mark.slow
def test_files_are_landed_as_they_come_until_ctrl_c(site: Site):
    first, second = hourly("ALPHA", 0, 0), hourly("ALPHA", 0, 30)
    site.configure(SETTINGS)
    site.put(first.name, first.data)
    with watching(site) as process:
        wait_for(process, " ended ")
        assert (site.folder / "out" / f"{first.begin.date()}.csv").exists()
        site.put(second.name, second.data)
        assert second.name in wait_for(process, " ended ")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
        assert wait_for(process, "stopped")
    assert [run["landed"] for run in site.history] == [1, 1]  # an idle look is not remembered


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_the_next_look(site: Site):
    first = hourly("ALPHA", 0, 0)
    site.configure(SETTINGS.replace('"1s"', '"1h"'))
    site.put(first.name, first.data)
    with watching(site) as process:
        wait_for(process, " ended ")
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


@pytest.mark.slow
def test_an_alarm_outlasts_batches_that_find_nothing_to_do(
    site: Site, monkeypatch: pytest.MonkeyPatch
):
    files = [site.folder / name for name in ("summary.txt", "summary.json", "cpmon.prom")]
    keys = zip(("summary", "summary_json", "metrics"), files, strict=True)
    settings = "".join(f'{key} = "{file.name}"\n' for key, file in keys)
    site.configure(f'[batch]\nwatch = "1s"\nquarantine = "quarantine"\n{settings}')
    site.put("text.mon", b"No space left on device\n" * 300)
    after: list[list[str]] = []
    real = BatchRunner.run

    def stops_after_two(self: BatchRunner, *, idle: bool) -> BatchResult:
        result = real(self, idle=idle)
        after.append([file.read_text(encoding="utf-8") for file in files])
        if len(after) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return result

    monkeypatch.setattr(BatchRunner, "run", stops_after_two)
    assert site.batch("--watch") is Status.DONE
    first, second = after
    assert "exit status 3" in first[0] and first[:2] == second[:2]
    before, now = parsed(first[2]), parsed(second[2])
    assert now["cpmon_files"][("kind", "quarantined"),] == 1
    for time_stamp in ("cpmon_last_run_timestamp_seconds", "cpmon_last_success_timestamp_seconds"):
        assert now.pop(time_stamp)[()] > before.pop(time_stamp)[()]
    assert now == before


def test_what_writes_csv_does_not_keep_the_signal_for_itself():
    with stop_signal() as stop:
        assert render(pa.table({"a": [1]}), "csv") == b"a\n1\n"
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        assert stop.wait(10)


def test_a_second_signal_does_not_wait_for_the_end_of_a_step():
    with stop_signal() as stop:
        os.kill(os.getpid(), signal.SIGTERM)
        assert stop.is_set()
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
