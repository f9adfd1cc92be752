"""`cpmon exceptions` from a generated dump with a guest that loops to the exit status."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon

SCENARIO = """
name = "loop"
title = "A guest that loops for an hour and a half"
system = "LOOPVM"
seed = 5
intervals = 100
[monitor]
domains = ["system", "user", "processor"]
[machine]
type = "2094"
model = "704"
serial = "0A1B2C"
processors = 4
[storage]
central_mib = 1024
[[users]]
name = "linux"
prefix = "LINUX"
count = 4
guest = "linux"
cpu_percent = 9
[run.LOOP]
cp_level = "5.2.0"
start = 2006-10-16T12:30:00Z
[[run.LOOP.events]]
kind = "runaway"
at_s = 303
lasts_s = 5397
users = "LINUX003"
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("loop")


@pytest.fixture
def loop(folder: Path, cpmon: Cpmon) -> Path:
    """A store with the dump of that run."""
    store = folder / "store"
    if not store.exists():
        (folder / "loop.toml").write_text(SCENARIO, encoding="utf-8")
        assert cpmon("generate", folder / "loop.toml", "-o", folder).status is Status.DONE
        cpmon("ingest", folder / "LOOP.mon", "--store", store)
    return store


@pytest.mark.slow
def test_times_are_those_of_the_zone_of_the_only_system(
    loop: Path, cpmon: Cpmon, tmp_path: Path
) -> None:
    config = tmp_path / "cpmon.toml"
    config.write_text('[systems.LOOPVM]\ntimezone = "America/New_York"\n')
    words = ("--config", config, "--store", loop)
    for whose in ((), ("--run", "LOOP")):
        text = cpmon("exceptions", *words, *whose).text
        assert "America/New_York" in text
        assert "2006-10-16 08:" in text


def test_a_guest_that_loops_is_found_with_the_record_that_says_so(loop: Path, cpmon: Cpmon) -> None:
    answer = cpmon("exceptions", "--store", loop, "--format", "json")
    assert answer.status is Status.WARNINGS
    (row,) = answer.rows
    assert (row["rule"], row["severity"]) == ("user-looping", "warning")
    assert row["object"] == "LINUX003 virtual processor 0"
    assert row["first_interval"][:16] == "2006-10-16T12:36"
    assert row["last_interval"][:16] == "2006-10-16T14:05"
    assert (row["intervals"], row["limit"]) == (90, 90)
    assert 90 < row["value"] <= 100

    shown = cpmon("show", loop.parent / "LOOP.mon", "--at", hex(row["record_offset"])).text
    assert "USEACT (4.3)" in shown and "LINUX003" in shown
    assert row["worst_interval"][:16].replace("T", " ") in shown


@pytest.mark.slow
def test_a_loop_is_found_in_a_span_that_is_shorter_than_the_rule_asks_for(
    loop: Path, cpmon: Cpmon
) -> None:
    """The fault: half an hour of the loop said "No exceptions", for want of an hour."""
    span = ("--since", "2006-10-16T13:35Z", "--until", "2006-10-16T14:04:30Z")
    answer = cpmon("exceptions", "--store", loop, "--run", "LOOP", *span, "--format", "json")
    assert answer.status is Status.WARNINGS
    (row,) = answer.rows
    assert row["object"] == "LINUX003 virtual processor 0"
    assert row["first_interval"][:16] == "2006-10-16T12:36"
    text = cpmon("exceptions", "--store", loop, "--run", "LOOP", *span).text
    assert "1 episode began before this span" in text


def test_the_text_tells_what_is_not_known(loop: Path, cpmon: Cpmon) -> None:
    answer = cpmon("exceptions", "--store", loop, "--run", "LOOP", "--tz", "Europe/Vienna")
    assert answer.status is Status.WARNINGS
    assert "System LOOPVM, run LOOP, 2006-10-16 14:3" in answer.text
    assert "LINUX003 virtual processor 0" in answer.text
    assert "device-response: not known" in answer.text
    assert "The layout of USEACT (4.3), on which this rests, is inferred." in answer.text


@pytest.mark.slow
def test_no_exception_is_no_warning(loop: Path, cpmon: Cpmon) -> None:
    for narrowed in (
        ("--until", "2006-10-16T13:00"),
        ("--severity", "critical"),
        ("--since", "2006-10-16T16:06+02:00", "--system", "LOOPVM"),
    ):
        answer = cpmon("exceptions", "--store", loop, *narrowed)
        assert answer.status is Status.DONE, narrowed
        assert "No exceptions" in answer.text


@pytest.mark.slow
def test_own_rules_change_limits_and_add_to_the_shipped_ones(
    loop: Path, cpmon: Cpmon, tmp_path: Path
) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text(
        """[exceptions.user-looping]
        severity = "info"
        [exceptions.samples]
        title = "An interval has samples"
        severity = "info"
        area = "monitor"
        sql = "SELECT interval_end, 'all' AS object, samples AS value FROM meta.interval"
        """,
        encoding="utf-8",
    )
    answer = cpmon("exceptions", "--store", loop, "--rules", rules, "--format", "json")
    assert answer.status is Status.DONE
    assert [row["rule"] for row in answer.rows] == ["samples", "user-looping"]

    settings = tmp_path / "cpmon.toml"
    settings.write_text("[exceptions.user-looping]\nlimit = 100\n", encoding="utf-8")
    answer = cpmon("exceptions", "--store", loop, "--config", settings)
    assert answer.status is Status.DONE
    settings.write_text("[exceptions.user-looping]\nlimit = 'much'\n", encoding="utf-8")
    answer = cpmon("exceptions", "--store", loop, "--config", settings)
    assert f"{settings}: exceptions.user-looping.limit" in answer.err

    answer = cpmon("exceptions", "--store", loop, "--rules", rules, "--list", "--format", "json")
    listed = {row["rule"]: row for row in answer.rows}
    assert listed["user-looping"]["written_in"] == (
        f"shipped rules, {rules}: exceptions.user-looping"
    )
    assert listed["processor-busy"]["limit"] == "above 90 %"


def test_a_wrong_rule_is_the_users_mistake(loop: Path, cpmon: Cpmon, tmp_path: Path) -> None:
    rules = tmp_path / "mine.toml"
    rules.write_text("[exceptions.user-looping]\nlimt = 1\n", encoding="utf-8")
    answer = cpmon("exceptions", "--store", loop, "--rules", rules)
    assert answer.status is Status.USAGE
    assert f"{rules}: exceptions.user-looping.limt" in answer.err
    assert "did you mean limit?" in answer.err
