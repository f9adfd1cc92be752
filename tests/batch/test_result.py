"""Results of batches: exit status, summary, JSON, metrics."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from cpmon.batch.metrics import render_metrics
from cpmon.batch.result import BatchResult, Event, ExitStatus
from cpmon.batch.state import (
    State,
    SystemTotals,
)
from cpmon.batch.summary import render_summary, subject_line
from tests.batch.openmetrics import parsed

BEGAN = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
END = BEGAN + timedelta(seconds=12.5)


NASTY = 'VM"1\\\n<x>é'


def result(run: str = "r1") -> BatchResult:
    return BatchResult(run, BEGAN, END)


def crowded() -> BatchResult:
    """A run in which everything that can be listed is there, many times."""
    found = result()
    for number in range(500):
        for kind in ("deferred", "quarantined", "rejected", "trouble", "failures", "broken"):
            found.note(kind, f"/in/{'x' * 90}{number}\n.mon", "möglich: " + "because " * 30)
        found.system(f"{NASTY}{number}").dumps = 10**9
        found.findings[f"CODE_{number}"] = "data_loss", 10**7
    found.exceptions.update(warning=10**6, critical=3)
    found.validation.update(critical=10**6)
    found.worst = [Event(NASTY, "critical " + "y" * 200)] * 12
    return found


@pytest.mark.parametrize("made", [result(), crowded()], ids=["empty", "crowded"])
@pytest.mark.parametrize("with_subject", [True, False])
def test_a_summary_has_at_most_60_lines_of_72_plain_columns(made: BatchResult, with_subject: bool):
    text = render_summary(made, with_subject=with_subject)
    lines = text.splitlines()
    assert len(lines) <= 60 and max(map(len, lines)) <= 72
    assert text.isascii() and all(c.isprintable() for line in lines for c in line)
    assert lines[0].startswith("Subject: " if with_subject else "cpmon batch: ")


def test_what_is_cut_off_is_said():
    text = render_summary(crowded())
    assert "more lines; the JSON twin has them all" in text or "... and 497 more" in text


def test_the_subject_says_how_it_ended():
    found = result()
    found.landed = 3
    assert subject_line(found) == "Subject: cpmon batch done: 3 new dumps"
    found.note("quarantined", "x", "y")
    assert subject_line(found).endswith("done, with warnings: 3 new dumps, 1 quarantined")


@pytest.mark.parametrize(
    ("what", "ended"),
    [
        ({}, ExitStatus.DONE),
        ({"deferred": 1}, ExitStatus.DONE),
        ({"trouble": 1}, ExitStatus.WARNINGS),
        ({"quarantined": 1}, ExitStatus.WARNINGS),
        ({"failures": 1}, ExitStatus.FAILED),
    ],
)
def test_the_status_follows_from_what_happened(what: dict[str, int], ended: ExitStatus):
    found = result()
    for kind in what:
        found.note(kind, "a", "b")
    assert found.status is ended


def test_the_status_follows_the_worst_finding_exception_and_rule():
    found = result()
    found.findings["END_MISSING"] = "info", 2
    assert found.status is ExitStatus.DONE
    found.findings["TRUNCATED"] = "warning", 1
    assert found.status is ExitStatus.WARNINGS
    found.validation["critical"] += 1
    assert found.status is ExitStatus.INVALID


def test_the_json_twin_is_json_whatever_the_names():
    said = json.loads(json.dumps(crowded().as_dict()))
    assert said["counts"]["trouble"] == 500 and len(said["trouble"]) == 200
    assert said["schema_version"] == 1


def test_metrics_are_well_formed_whatever_the_names():
    state = State(systems={NASTY: SystemTotals(3, 70, 1_700_000_000_000_000)}, last_success=5.0)
    found = parsed(render_metrics(state, crowded(), END))
    assert found["cpmon_records_total"] == {(("system", NASTY),): 70}
    lag = found["cpmon_lag_seconds"].popitem()[1]
    assert lag == pytest.approx(END.timestamp() - 1.7e9)


def test_a_first_run_that_failed_has_no_last_success():
    found = parsed(render_metrics(State(), result(), END))
    assert found["cpmon_last_success_timestamp_seconds"] == {}
