"""Spans of time mean the same in every command, and options of one name do too."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import click
import pytest

from cpmon.cli.main import Status
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.cli.answer import Cpmon
from tests.commands import leaves
from tests.dumps import dump, fields, interval
from tests.scenarios import CONFIG

MINUTES = range(0, 301, 60)
SPAN = "span: 10:01 to 10:03 on 2001-12-18 UTC\n"
SHORT = ("--since", "10:01", "--until", "10:03")
DAY = ("--since", "2001-12-18T10:01", "--until", "10:03")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    """A dump of 2001-12-18 with interval ends from 10:00 to 10:05."""
    file = tmp_path / "whole.mon"
    samples = [
        interval(at, *([CONFIG] if at == 0 else []), fields("sytprp", at, pfxutime=at << 26))
        for at in MINUTES
    ]
    file.write_bytes(dump(*samples))
    return file


@pytest.fixture
def store(tmp_path: Path, whole: Path) -> Path:
    ingest(whole, Store(tmp_path / "store", create=True))
    return tmp_path / "store"


def system_of(store: Path) -> str:
    return Store(store).dumps()[0].system


@pytest.mark.parametrize(
    ("line", "span"),
    [
        pytest.param("report processors_by_time --store S", SHORT, id="report-clock"),
        pytest.param("report processors_by_time --store S", DAY, id="report-day"),
        pytest.param("exceptions --store S", SHORT, id="exceptions"),
        pytest.param("validate --store S", DAY, id="validate"),
        pytest.param("runs --store S --define am --system SYSTEM", SHORT, id="runs"),
        pytest.param("slice D -o OUT", SHORT, id="slice-clock"),
        pytest.param("slice D -o OUT", DAY, id="slice-day"),
        pytest.param("show D --record SYTPRP", SHORT, id="show-clock"),
        pytest.param("show D --record SYTPRP", DAY, id="show-day"),
    ],
)
def test_every_command_reads_a_span_alike_and_prints_it(
    line: str, span: tuple[str, ...], cpmon: Cpmon, store: Path, whole: Path, tmp_path: Path
):
    named = {"S": store, "D": whole, "OUT": tmp_path / "out.mon", "SYSTEM": system_of(store)}
    answer = cpmon(*(named.get(word, word) for word in line.split()), *span)
    assert answer.status in (Status.DONE, Status.WARNINGS, Status.INVALID), answer.err
    assert SPAN in answer.err


def test_a_span_chooses_the_same_intervals_everywhere(
    cpmon: Cpmon, store: Path, whole: Path, tmp_path: Path
):
    part = tmp_path / "part.mon"
    cpmon("slice", whole, *SHORT, "-o", part)
    (about,) = cpmon("list", part, "--format", "json").rows
    shown = cpmon("show", whole, *SHORT, "--record", "SYTPRP", "--follow", "--format", "json").rows
    words = ("processors_by_time", "--store", store, "--format", "json")
    reported = cpmon("report", *words, *SHORT).rows
    cpmon("runs", "--store", store, "--define", "am", "--system", system_of(store), *SHORT)
    of_run = cpmon("report", *words, "--run", "am").rows
    assert [about["intervals"], len(shown), len(reported)] == [2, 2, 2]
    assert of_run == reported
    assert cpmon("report", *words, "--run", "am", "--since", "10:02").rows == reported[1:]


def test_a_time_of_day_is_of_today_where_data_are_of_several_days(
    cpmon: Cpmon, store: Path, tmp_path: Path
):
    other = tmp_path / "other.mon"
    samples = [interval(at, fields("sytprp", at, pfxutime=at << 26)) for at in (86_400, 86_460)]
    other.write_bytes(dump(interval(86_340, CONFIG), *samples))
    cpmon("ingest", other, "--store", store, "--system", system_of(store))
    answer = cpmon("report", "processors_by_time", "--store", store, "--since", "00:00")
    assert answer.status is Status.USAGE
    assert f"span: later than 00:00 on {datetime.now(UTC):%Y-%m-%d} UTC" in answer.err


def test_a_pipe_has_no_day_of_its_own(cpmon: Cpmon, whole: Path):
    answer = cpmon("slice", "-", "--since", "00:00", "-o", "-", stdin=whole.read_bytes())
    assert f"later than 00:00 on {datetime.now(UTC):%Y-%m-%d} UTC" in answer.err


def test_a_run_without_an_interval_is_refused(cpmon: Cpmon, store: Path):
    words = ("runs", "--store", store, "--system", system_of(store), "--define", "am")
    answer = cpmon(*words, "--since", "2001-12-18T11:00", "--until", "12:00")
    assert answer.status is Status.USAGE
    assert "expected  a part of 10:00 to 10:05 on 2001-12-18 UTC" in answer.err
    assert "found     11:00 to 12:00 on 2001-12-18 UTC" in answer.err
    assert cpmon("runs", "--store", store, "--format", "json").rows == []
    assert cpmon(*words, "--since", "yesterday", "--until", "now").status is Status.USAGE


@pytest.mark.slow
def test_a_run_is_removed_and_its_dump_stays(cpmon: Cpmon, store: Path):
    words = ("runs", "--store", store)
    for name in ("a/b", "other"):
        cpmon(*words, "--system", system_of(store), "--define", name, *DAY)
    cpmon("reduce", "run_summary", "--store", store)
    assert "did you mean other?" in cpmon(*words, "--delete", "a/b", "--delete", "othr").err
    answer = cpmon(*words, "--delete", "a/b", "--format", "json")
    assert [run["run_id"] for run in answer.rows] == ["other"]
    asked = cpmon("query", "SELECT run_id FROM run_summary", "--store", store, "--format", "json")
    assert asked.rows == [{"run_id": "other"}]
    assert "there is no run a/b" in cpmon("report", "events", "--store", store, "--run", "a/b").err
    assert len(Store(store).dumps()) == 1
    assert not list(store.glob("runs/a*"))


@pytest.mark.parametrize(
    ("word", "status"),
    [("2001-12-18", Status.DONE), ("yesterday", Status.DONE), ("10:00", Status.USAGE)],
)
def test_reduce_takes_days(word: str, status: Status, cpmon: Cpmon, store: Path):
    answer = cpmon("reduce", "processors_by_time", "--store", store, "--since", word)
    assert answer.status is status, answer.err
    assert "on 20" in answer.err or "later than" in answer.err
    day = cpmon("reduce", "processors_by_time", "--store", store, "--day", word)
    assert day.status is status, day.err


DIFFERENT = {
    *("--output", "--store", "--system", "--container", "--format", "--engine"),
    *("--where", "--sort", "--by", "--at", "--like", "--threshold"),
}
"""Files or folders, patterns or names, choices that a command has more or less of; fields of
records or columns of reports; a byte of a dump or a time of a store; a report or a user to be like;
a limit of the metric that is named or of several."""


def test_options_of_one_name_mean_one_thing():
    kinds = defaultdict(set)
    for _, command in leaves():
        for option in command.params:
            if isinstance(option, click.Option):
                kind = json.dumps([option.is_flag, option.metavar or option.type.name])
                for name in option.opts:
                    kinds[name].add(kind)
    several = {name for name, found in kinds.items() if len(found) > 1 and name[:2] == "--"}
    assert several == DIFFERENT & several
    assert kinds["--since"] == kinds["--from"] == kinds["--until"]
