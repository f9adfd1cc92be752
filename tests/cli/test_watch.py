"""`report --watch`: each new line when its interval is in the store, as the report has it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.batch.figures import figures
from cpmon.cli.main import Status
from cpmon.ingest import ingest
from cpmon.ingest.following import Follower
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval
from tests.ingest.test_following import live, sets

REPORT = ("report", "user_resource_util", "--user", "ALICE", "--store")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store in which intervals land while it is looked at; the first look is before all."""
    store = Store(tmp_path / "perf", create=True)

    def landing(_store: Store) -> Iterator[None]:
        yield
        with Follower(store, "a.mon") as follower:
            for _ in follower.follow(live(*sets(1, 2, 3, 4))):
                yield
            yield

    monkeypatch.setattr(Store, "changes", landing)
    return store.root


@pytest.mark.slow
def test_lines_come_one_by_one_below_one_heading(cpmon: Cpmon, place: Path):
    watched = cpmon(*REPORT, place, "--watch").text
    whole = cpmon(*REPORT, place).text

    lines = [line for line in whole.splitlines() if line.startswith("2001")]
    assert len(lines) == 3
    assert [line for line in watched.splitlines() if line.startswith("2001")] == lines
    assert watched.count("End time") == 1 and "Mean" not in watched


@pytest.mark.slow
def test_lines_for_programs_are_those_of_the_report(cpmon: Cpmon, place: Path):
    watched = cpmon(*REPORT, place, "--watch", "--format", "jsonl")
    csv = cpmon(*REPORT, place, "--watch", "--format", "csv").text

    whole = cpmon(*REPORT, place, "--format", "jsonl").text
    assert [*map(json.loads, watched.text.splitlines())] == [*map(json.loads, whole.splitlines())]
    assert csv == cpmon(*REPORT, place, "--format", "csv").text


def test_what_has_no_lines_by_time_is_refused(cpmon: Cpmon, place: Path):
    answer = cpmon("report", "users_by_time", "processors", "--store", place, "--watch")
    assert answer.status is not Status.DONE

    answer = cpmon("report", "user_resource_util", "--store", place, "--watch")
    assert answer.status is Status.USAGE and "--by" in answer.err


def test_a_store_tells_of_what_lands(store: Store):
    looks = store.changes(poll_s=0)
    next(looks)
    with Follower(store, "a.mon") as follower:
        assert len([*follower.follow(live(*sets(1)))]) == 1
    next(looks)


def test_lower_bounds_are_told_wherever_last_intervals_are(
    cpmon: Cpmon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """ALICE begins anew in the last interval, which no event tells."""
    times = [10**10, 2 * 10**10, 10**9]
    parts = [
        interval(60 * n, fields("mtrsys", 60 * n, systmid="VMTEST"))
        if n == 0
        else interval(60 * n, fields("useact", 60 * n, vmduser="ALICE", vmdttime=times[n - 1]))
        for n in range(4)
    ]
    (tmp_path / "a.mon").write_bytes(dump(*parts))
    store = Store(tmp_path / "perf", create=True)
    ingest(tmp_path / "a.mon", store)
    monkeypatch.setattr(Store, "changes", lambda _store: iter([None]))
    said = "USEACT began anew"

    assert said in cpmon(*REPORT, store.root, "--watch").err
    assert said in cpmon("top", "--store", store.root, "--once").text
    with connect(store, reductions()) as connection:
        result = report(connection, "user_resource_util")
    families = {each.name: each for each in figures("user", result, 1)}
    assert any(said in note for note in result.marks)
    (sample,) = families["cpmon_notes"].samples
    assert sample.labels == {"system": result.system, "report": "USER_RESOURCE_UTIL"}
    assert sample.value == len(result.marks)
