"""How a batch tells what it did: summary, metrics, log, hooks, history, lock."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from cpmon.batch.history import history, remember
from cpmon.batch.hooks import call
from cpmon.batch.lock import holder, only_one
from cpmon.batch.log import Log
from cpmon.batch.memory import Memory, OfSystem
from cpmon.batch.metrics import metrics
from cpmon.batch.plain import plain_line, plain_path
from cpmon.batch.result import Ended, Event, Result
from cpmon.batch.summary import subject, summary
from cpmon.cli.main import Status
from cpmon.schemas.errors import BusyError
from tests.batch.openmetrics import parsed
from tests.batch.site import Site

BEGAN = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
NASTY = 'VM"1\\\n<x>é'


def result(run: str = "r1") -> Result:
    return Result(run, BEGAN, BEGAN + timedelta(seconds=12.5))


def crowded() -> Result:
    """A run in which everything that can be listed is there, many times."""
    found = result()
    for number in range(500):
        for kind in ("deferred", "quarantined", "rejected", "trouble", "failures", "broken"):
            found.note(kind, f"/in/{'x' * 90}{number}\n.mon", "möglich: " + "because " * 30)
        found.system(f"{NASTY}{number}").dumps = 10**9
        found.found(f"CODE_{number}", "data_loss", 10**7)
    found.exceptions.update(warning=10**6, critical=3)
    found.validation.update(critical=10**6)
    found.worst = [Event(NASTY, "critical " + "y" * 200)] * 12
    return found


@pytest.mark.parametrize("made", [result(), crowded()], ids=["empty", "crowded"])
@pytest.mark.parametrize("with_subject", [True, False])
def test_a_summary_has_at_most_60_lines_of_72_plain_columns(made: Result, with_subject: bool):
    text = summary(made, with_subject=with_subject)
    lines = text.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 72
    assert text.isascii() and all(c.isprintable() for line in lines for c in line)
    assert lines[0].startswith("Subject: " if with_subject else "cpmon batch: ")


def test_what_is_cut_off_is_said():
    assert "more lines; the JSON twin has them all" in summary(crowded()).splitlines()[-1] or (
        "... and 497 more" in summary(crowded())
    )


def test_the_subject_says_how_it_ended():
    found = result()
    found.landed = 3
    assert subject(found) == "Subject: cpmon batch done: 3 new dumps"
    found.note("quarantined", "x", "y")
    assert subject(found).endswith("done, with warnings: 3 new dumps, 1 quarantined")


@pytest.mark.parametrize(
    ("what", "ended"),
    [
        ({}, Ended.DONE),
        ({"deferred": 1}, Ended.DONE),
        ({"trouble": 1}, Ended.WARNINGS),
        ({"quarantined": 1}, Ended.WARNINGS),
        ({"failures": 1}, Ended.FAILED),
    ],
)
def test_the_status_follows_from_what_happened(what: dict[str, int], ended: Ended):
    found = result()
    for kind in what:
        found.note(kind, "a", "b")
    assert found.status is ended


def test_the_status_follows_the_worst_finding_exception_and_rule():
    found = result()
    found.found("END_MISSING", "info", 2)
    assert found.status is Ended.DONE
    found.found("TRUNCATED", "warning", 1)
    assert found.status is Ended.WARNINGS
    found.validation["critical"] += 1
    assert found.status is Ended.INVALID


def test_the_json_twin_is_json_whatever_the_names():
    said = json.loads(json.dumps(crowded().as_dict()))
    assert said["counts"]["trouble"] == 500 and len(said["trouble"]) == 200
    assert said["schema_version"] == 1


def test_metrics_are_well_formed_whatever_the_names():
    memory = Memory(systems={NASTY: OfSystem(3, 70, 1_700_000_000_000_000)}, last_success=5.0)
    found = parsed(metrics(memory, crowded()))
    assert found["cpmon_records_total"] == {(("system", 'VM\\"1\\\\\\n<x>é'),): 70}
    lag = found["cpmon_lag_seconds"].popitem()[1]
    assert lag == pytest.approx((BEGAN + timedelta(seconds=12.5)).timestamp() - 1.7e9)


def test_a_first_run_that_failed_has_no_last_success():
    assert parsed(metrics(Memory(), result()))["cpmon_last_success_timestamp_seconds"] == {}


def test_the_log_is_text_or_json_and_has_a_priority_in_the_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with (tmp_path / "log").open("w+") as stream:
        there = os.fstat(stream.fileno())
        monkeypatch.setenv("JOURNAL_STREAM", f"{there.st_dev}:{there.st_ino}")
        Log("text", stream).warning("odd", path="a b\nc")
        stream.seek(0)
        line = stream.read()
    assert line.startswith("<4>") and line.endswith(' warning run=- odd path="a b c"\n')
    other = io.StringIO()
    Log("json", other, quiet=True).info("news")
    assert other.getvalue() == ""
    Log("json", other).info("news", path="x\ny")
    assert json.loads(other.getvalue())["path"] == "x\ny"


def test_control_characters_never_reach_a_terminal():
    line = plain_line("a\x1b[31m\r\n  b\x00'é\udcff")
    assert line == "a\\x1b[31m b\\x00'\\xe9\\udcff"
    assert plain_line(line) == line  # it may pass through several hands
    assert plain_path(Path("/in/two  'words'\n.mon")) == "/in/two  'words'\\n.mon"


def test_a_hook_reads_json_and_no_shell_reads_its_words(tmp_path: Path):
    told = tmp_path / "told"
    script = "import sys; open(sys.argv[1], 'w').write(sys.stdin.read() + sys.argv[2])"
    command = (sys.executable, "-c", script, str(told), "$(touch x); `y`")
    assert call(command, {"a": 1}, 20, Log(stream=io.StringIO())) == ""
    assert told.read_text() == '{"a": 1}\n$(touch x); `y`'


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/no/such",), "cannot be started: No such file"),
        (("sh", "-c", "echo it broke; exit 7"), "ended with status 7: it broke"),
        (("sh", "-c", "kill -9 $$"), "was ended by signal 9"),
        (("sh", "-c", "sleep 60 & sleep 60"), "did not end within 0.3 s"),
        ((), ""),
    ],
)
def test_a_hook_that_fails_is_told(command: tuple[str, ...], said: str):
    assert said in call(
        command, {}, 0.3 if "sleep" in str(command) else 20, Log(stream=io.StringIO())
    )


def test_the_history_is_bounded_and_a_cut_line_is_left_out(tmp_path: Path):
    for number in range(50):
        remember(tmp_path, result(f"r{number}"), 10)
    with (tmp_path / "history.jsonl").open("a") as file:
        file.write('{"run": "cut')
    assert [said["run"] for said in history(tmp_path, 3)] == ["r49", "r48", "r47"]
    assert len((tmp_path / "history.jsonl").read_text().splitlines()) <= 13


def test_a_second_batch_at_the_same_time_ends_with_75(
    site: Site, capfd: pytest.CaptureFixture[str]
):
    site.store.mkdir()
    (site.store / "store.json").write_text('{"version": 1}')
    folder = site.store / "batch"
    with only_one(folder, "first"):
        assert "run first" in holder(folder)
        assert site.batch() is Status.BUSY
    said = capfd.readouterr().err
    assert "another batch is at work" in said and "run first" in said
    assert holder(folder) == ""


def test_the_lock_goes_with_its_holder(tmp_path: Path):
    script = (
        "import os, sys, signal; from pathlib import Path; from cpmon.batch.lock import only_one\n"
        "with only_one(Path(sys.argv[1]), 'x'): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    with only_one(tmp_path, "next"), pytest.raises(BusyError), only_one(tmp_path, "third"):
        pass
