"""Alerts on their way: in order, each until it was accepted, and not again after a kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from cpmon.batch import delivery
from cpmon.batch.alerts import Alerts
from cpmon.batch.delivery import Delivery, by_command, by_webhook
from cpmon.cli.main import Status
from cpmon.config import Settings
from cpmon.config.settings import parse_settings
from cpmon.core.errors import CpmonError
from cpmon.ingest.following import Follower
from cpmon.store import Store
from tests.batch.test_alerts import CHUNKS, told
from tests.ingest.test_following import live
from tests.waiting import wait_until


@dataclass
class Receiver:
    """A webhook on loopback, and what it accepted.

    Attributes:
        answers: statuses of the next requests; 200 behind these.
    """

    url: str = ""
    answers: list[int] = field(default_factory=list)
    accepted: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    received = Receiver()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            event = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status = received.answers.pop(0) if received.answers else 200
            received.keys.append(self.headers["Idempotency-Key"])
            if status == 200:
                received.accepted.append(event)
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        received.url = f"http://127.0.0.1:{server.server_port}/alerts"
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield received
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delivery, "FIRST_WAIT_S", 0.01)


def append(file: Path, *numbers: int) -> None:
    with file.open("a") as out:
        out.writelines(json.dumps({"event": "begin", "n": n}) + "\n" for n in numbers)


def numbers(receiver: Receiver) -> list[int]:
    return [event["n"] for event in receiver.accepted]


def test_each_alert_is_sent_until_it_is_accepted_in_order(tmp_path: Path, receiver: Receiver):
    file, reports = tmp_path / "a", list[str]()
    append(file, 0)  # before anybody asked for it to be sent
    receiver.answers += [500, 302, 404, 200, 503]
    sending = Delivery(file, "webhook", by_webhook(receiver.url), reports.append)
    with sending.running():
        append(file, 1, 2)
        sending.wake()
        wait_until(lambda: len(receiver.accepted) == 2)

    assert numbers(receiver) == [1, 2]
    assert len(set(receiver.keys[:4])) == 1  # a try again has the id of the first one
    assert [report.rpartition(" ")[2] for report in reports] == ["500", "302", "404", "503"]


def test_what_was_not_accepted_is_sent_at_the_next_start(tmp_path: Path, receiver: Receiver):
    file, reports = tmp_path / "a", list[str]()
    file.touch()
    with Delivery(file, "webhook", by_webhook("http://127.0.0.1:9/"), reports.append).running():
        append(file, 1)
    assert reports and "at the next start" in reports[-1]

    with file.open("a") as out:
        out.write('{"event": "beg\n')  # a kill has cut it
    for _ in range(2):
        with Delivery(file, "webhook", by_webhook(receiver.url), reports.append).running():
            append(file, 2)
    assert numbers(receiver) == [1, 2, 2]  # the last one was appended twice


def test_a_command_gets_each_alert(tmp_path: Path):
    file, out, reports = tmp_path / "a", tmp_path / "out", list[str]()
    (tmp_path / "cpmon.toml").write_text(
        f'[batch]\nhook_alert = ["sh", "-c", "test -f {out} || exit 3; cat >> {out}"]\n'
    )
    send = by_command(parse_settings(tmp_path / "cpmon.toml").batch)
    file.touch()
    sending = Delivery(file, "hook", send, reports.append)
    with sending.running():
        append(file, 1, 2)
        sending.wake()
        wait_until(lambda: bool(reports))
        out.touch()
        wait_until(lambda: out.read_text().count("\n") == 2)

    assert "ended with status 3" in reports[0]
    assert [json.loads(line)["n"] for line in out.read_text().splitlines()] == [1, 2]


def test_what_a_kill_kept_untold_is_told_at_the_start(store: Store, tmp_path: Path):
    file = tmp_path / "alerts.jsonl"
    with Follower(store, "a.mon") as follower:
        assert len([*follower.follow(live(*CHUNKS))]) == 5
    Alerts(store, Settings(), file).catch_up()
    assert told(file) == []  # a new file begins with what lands

    Alerts(store, Settings(), file).catch_up()
    assert [event for event, _ in told(file)] == ["begin", "end"]
    Alerts(store, Settings(), file).catch_up()
    assert len(told(file)) == 2


@pytest.mark.slow
def test_a_follower_that_is_killed_sends_each_alert_once(tmp_path: Path, receiver: Receiver):
    file, alerts = tmp_path / "a.mon", tmp_path / "alerts.jsonl"
    words = [sys.executable, "-m", "cpmon", "follow", file, "--store", tmp_path / "store"]
    words += ["--alerts", alerts, "--webhook", receiver.url]
    receiver.answers += [503]
    for chunk in CHUNKS:
        with file.open("ab") as growing:
            growing.write(chunk)
        with subprocess.Popen([str(word) for word in words]) as process:
            wait_until((tmp_path / "alerts.jsonl.webhook").exists)
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(5)
            os.kill(process.pid, signal.SIGKILL)
    last = subprocess.run([*map(str, words), "--idle", "1s"], timeout=60, check=False)
    assert last.returncode in (Status.DONE, Status.WARNINGS)  # a gap is a finding

    assert [(event["event"], event["rule"]) for event in receiver.accepted] == [
        ("begin", "monitor-gap"),
        ("end", "monitor-gap"),
    ]


@pytest.mark.parametrize("url", ["ftp://host/", "host:80", "http:///x"])
def test_another_address_is_refused(url: str):
    with pytest.raises(CpmonError) as refused:
        by_webhook(url)
    assert refused.value.code == "webhook-address-invalid"
