"""Alerts: each exception is told when it begins and when it ends, once, also after a kill."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cpmon.batch import alerts
from cpmon.batch.alerts import Alerts
from cpmon.config import Settings
from cpmon.core.errors import CpmonError, StoreError
from cpmon.ingest.following import Follower
from cpmon.store import Store
from tests.ingest.test_following import live, sets

CHUNKS = [*sets(1, 2), *sets(5, 6, 7, named=False)]
"""Intervals are missing before the one of minute 5."""
GAP = [("begin", "monitor-gap"), ("end", "monitor-gap")]


def told(file: Path) -> list[tuple[str, str]]:
    lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    return [(line["event"], line["rule"]) for line in lines]


def follow(store: Store, file: Path, chunks: list[bytes]) -> None:
    told_to = Alerts(store, Settings(), file)
    with Follower(store, "a.mon") as follower:
        for landed in follower.follow(live(*chunks)):
            told_to.landed(landed)


def test_an_exception_is_told_when_it_begins_and_when_it_ends(store: Store, tmp_path: Path):
    file = tmp_path / "alerts.jsonl"
    follow(store, file, CHUNKS[:3])
    assert told(file) == GAP[:1]

    follow(store, file, CHUNKS)
    assert told(file) == GAP

    last = json.loads(file.read_text(encoding="utf-8").splitlines()[-1])
    assert (last["system"], last["severity"]) == ("VMTEST", "warning")
    assert last["first_interval"] == last["last_interval"] == "2001-12-18 10:05:00"


def test_what_a_kill_kept_from_being_told_is_told(store: Store, tmp_path: Path):
    file = tmp_path / "alerts.jsonl"
    with Follower(store, "a.mon") as follower:  # nobody is told of these
        assert len([*follower.follow(live(*CHUNKS[:4]))]) == 4
    file.write_text('{"event": "beg', encoding="utf-8")

    follow(store, file, CHUNKS)

    assert [json.loads(line)["event"] for line in file.read_text().splitlines()[1:]] == [
        "begin",
        "end",
    ]


def test_a_file_that_cannot_be_read_is_refused(store: Store, tmp_path: Path):
    with pytest.raises(StoreError, match="another file"):
        Alerts(store, Settings(), tmp_path)


def test_alerts_that_cannot_be_judged_are_no_silence(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def wrong(*_args: object, **_options: object) -> None:
        raise CpmonError("a rule is wrong")

    monkeypatch.setattr(alerts, "exceptions", wrong)
    with pytest.raises(CpmonError, match="a rule is wrong"):
        follow(store, tmp_path / "alerts.jsonl", CHUNKS)
