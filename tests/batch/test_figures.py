"""Metrics of the last interval: those of reports, bounded, in base units, none that is old."""

from __future__ import annotations

import json
import re
import socket
import time
import urllib.request
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cpmon.batch import figures
from cpmon.batch.figures import REST, Figures, LiveMetrics
from cpmon.batch.metrics import family
from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest.following import Follower
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.batch.openmetrics import Samples, parsed
from tests.ingest.test_following import live
from tools.dashboard import dashboard

TOP = 3


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("metrics") / "store", create=True)


@pytest.fixture(scope="module")
def followed(store: Store) -> LiveMetrics:
    generated = b"".join(dump_frames(load_scenario("small-lab"), "LAB", intervals=3))
    metrics = LiveMetrics(store, Settings(), TOP)
    with Follower(store, "a.mon") as follower:
        for landed in (*follower.follow(live(generated)), *follower.finish()):
            metrics.landed(landed)
    metrics.compute()
    return metrics


def scraped(metrics: LiveMetrics) -> dict[str, Samples]:
    return parsed(metrics.text().decode())


def test_figures_are_those_of_the_report_in_base_units(followed: LiveMetrics, store: Store):
    found = scraped(followed)

    with connect(store, reductions()) as connection:
        result = report(connection, "SYSTEM_SUMMARY_BY_TIME")
        last = result.table.slice(result.table.num_rows - 1).to_pylist()[0]
        users = report(
            connection, "USER_RESOURCE_UTIL", since=last["interval_end"] - timedelta(seconds=30)
        )
    labels = (("system", result.system),)
    assert found["cpmon_system_total_util_ratio"] == {labels: last["total_util"]}
    assert found["cpmon_intervals_total"] == {labels: 4}
    text = followed.text().decode()
    assert text.count("\ncpmon_system_total_util_ratio{") == 1
    rates = found["cpmon_user_io_per_second"]
    assert len(rates) == TOP + 1
    assert sum(rates.values()) == pytest.approx(users.total["io_rate"])
    assert (*labels, ("user", REST)) in rates


def test_a_total_that_is_less_than_its_parts_leaves_no_rest(followed: LiveMetrics, store: Store):
    with connect(store, reductions()) as connection:
        result = report(connection, "USER_RESOURCE_UTIL")
    first = result.table.column("io_rate")[0].as_py()
    wrong = replace(result, total={**result.total, "io_rate": first / 2})
    for users, has_rest in ((result, True), (wrong, False)):
        (rates,) = (
            f for f in figures.figures("user", users, 1) if f.name == "cpmon_user_io_per_second"
        )
        assert (REST in {sample.labels["user"] for sample in rates.samples}) is has_rest


def test_shares_are_ratios_and_times_seconds(followed: LiveMetrics):
    found = scraped(followed)

    assert all(0 <= value <= 1 for value in found["cpmon_device_busy_util_ratio"].values())
    assert 0 < max(found["cpmon_device_service_seconds"].values()) < 0.1
    assert REST not in str(found["cpmon_device_service_seconds"])  # nothing to be summed


def test_the_dashboard_asks_for_families_that_there_are(followed: LiveMetrics):
    asked = set(re.findall(r"cpmon_\w+(?={)", dashboard()))

    subjects = tuple(f"cpmon_{subject}_" for subject in figures.SUBJECTS)
    known = {name for name in scraped(followed) if name.startswith(subjects)}
    assert known <= asked
    assert len(known) > 30  # of some the lab has no records
    assert len(json.loads(dashboard())["panels"]) == len(asked) + len(subjects)


def test_figures_that_are_old_are_not_shown(followed: LiveMetrics, monkeypatch: pytest.MonkeyPatch):
    now = time.monotonic()
    monkeypatch.setattr(figures.time, "monotonic", lambda: now + 1000)

    assert set(scraped(followed)) == {
        *("cpmon_intervals_total", "cpmon_findings_total"),
        "cpmon_last_interval_timestamp_seconds",
    }


def test_a_family_of_several_systems_is_there_once(followed: LiveMetrics):
    (system,) = followed._figures
    try:
        until, end, families = followed._figures[system]
        followed._figures["OTHER"] = Figures(
            until + 1,
            end,
            [
                family(f.name.removeprefix("cpmon_"), "", f.unit, [({"system": "OTHER"}, 1)])
                for f in families
            ],
        )
        followed._render()
        for _ in range(2):  # a scrape changes nothing
            samples = scraped(followed)["cpmon_system_total_util_ratio"]
            assert {dict(labels)["system"] for labels in samples} == {system, "OTHER"}
    finally:
        del followed._figures["OTHER"]
        followed._render()


def test_they_are_served_on_this_machine(tmp_path: Path):
    metrics = LiveMetrics(Store(tmp_path / "store", create=True), Settings(), TOP)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with metrics.served("127.0.0.1", port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
            assert b"cpmon_findings_total" in answer.read()
        with (
            pytest.raises(CpmonError, match="another port"),
            metrics.served("127.0.0.1", port),
        ):
            pass
