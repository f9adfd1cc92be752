"""A source that cannot be followed: what the message says helps."""

from __future__ import annotations

import gzip
import socket
from pathlib import Path

import pytest

from cpmon.cli.store import follow_command
from tests.dumps import dump, fields, interval
from tests.remedies.trying import Attempt, tries


def minute(number: int) -> bytes:
    named = fields("mtrsys", 60 * number, systmid="VMTEST") if number == 1 else b""
    return interval(60 * number, named, fields("sytrsp", 60 * number, pfxcpuad=number))


@tries("follow-compressed")
def test_what_is_compressed_is_landed_by_ingest(tried: Attempt, tmp_path: Path):
    file, store = tmp_path / "a.mon", tmp_path / "store"
    file.write_bytes(gzip.compress(dump(minute(1))))
    assert "gzip" in tried.fails("follow", file, "--store", store)

    tried.works("ingest", file, "--store", store)


@tries("follow-source-changed")
def test_a_source_that_changed_is_landed_or_what_landed_is_dropped(tried: Attempt, tmp_path: Path):
    file, store = tmp_path / "a.mon", tmp_path / "store"
    file.write_bytes(minute(1) + minute(2))
    tried.works("follow", file, "--store", store, "--idle", "1s")
    file.write_bytes(dump(minute(1), minute(3), minute(4)))
    tried.fails("follow", file, "--store", store, "--idle", "1s")

    tried.works("ingest", file, "--store", tmp_path / "other")
    whole = file.read_bytes()
    file.write_bytes(minute(1) + minute(3) + minute(4))
    message = tried.fails("follow", file, "--store", store, "--idle", "1s")
    tried.works("store", "drop", message.split("store drop ")[1].split()[0], "--store", store)
    file.write_bytes(whole)
    tried.works("follow", file, "--store", store)


@tries("metrics-address-unusable")
def test_another_port_serves_metrics(tried: Attempt, tmp_path: Path):
    file, store = tmp_path / "a.mon", tmp_path / "store"
    file.write_bytes(dump(minute(1)))
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        tried.fails("follow", file, "--store", store, "--metrics", f":{port}")

    tried.works("follow", file, "--store", store, "--metrics", f":{port}")


@tries("alerts-file-unusable")
def test_alerts_are_told_to_another_file(tried: Attempt, tmp_path: Path):
    file, store, alerts = tmp_path / "a.mon", tmp_path / "store", tmp_path / "alerts.jsonl"
    file.write_bytes(dump(minute(1)))
    alerts.write_bytes(b"\xff")
    tried.fails("follow", file, "--store", store, "--alerts", alerts)

    tried.works("follow", file, "--store", store, "--alerts", tmp_path / "others.jsonl")


@tries("webhook-address-invalid")
def test_alerts_are_posted_to_an_address_of_http(tried: Attempt, tmp_path: Path):
    file, store, alerts = tmp_path / "a.mon", tmp_path / "store", tmp_path / "alerts.jsonl"
    file.write_bytes(dump(minute(1)))
    words = ("follow", file, "--store", store, "--alerts", alerts, "--webhook")
    tried.fails(*words, "host/path")

    tried.works(*words, "https://host.invalid/path")  # there is no alert to be sent


@tries("otlp-address-invalid")
def test_metrics_are_sent_to_an_address_of_http(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    file = tmp_path / "a.mon"
    file.write_bytes(dump(minute(1)))
    words = ("follow", file, "--store", tmp_path / "store", "--otlp")
    tried.fails(*words, "localhost:4318")

    tried.works(*words, "http://127.0.0.1:9")  # nobody is there, which is told


@tries("otlp-extra-missing")
def test_the_extra_is_installed(tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    file = tmp_path / "a.mon"
    file.write_bytes(dump(minute(1)))
    words = ("follow", file, "--store", tmp_path / "store", "--otlp", "http://127.0.0.1:9")
    with monkeypatch.context() as without:
        without.setattr(follow_command, "find_spec", lambda _: None)
        tried.fails(*words)
    tried.works(*words)
