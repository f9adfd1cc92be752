"""Metrics of each interval are sent to a collector, with its end, as a scrape shows them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from cpmon.batch.figures import LiveMetrics
from cpmon.batch.otlp import by_otlp
from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest.following import Follower
from cpmon.store import Store
from tests.batch.openmetrics import parsed
from tests.ingest.test_following import live

END = datetime(2003, 5, 6, 8, 3, tzinfo=UTC)
"""Of the last of three intervals of the small lab; it has microseconds behind that."""
Families = dict[str, Metric]


class Collector(HTTPServer):
    """Keeps what it is sent; answers with a status."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.sent: list[tuple[str, bytes]] = []
        self.status = 200

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def families(self) -> list[Families]:
        """Of each message."""
        messages = [ExportMetricsServiceRequest.FromString(data) for _, data in self.sent]
        return [
            {metric.name: metric for scope in resource.scope_metrics for metric in scope.metrics}
            for message in messages
            for resource in message.resource_metrics
        ]


class _Answers(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.sent.append((self.path, data))
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@contextmanager
def follows(store: Store, url: str) -> Iterator[tuple[LiveMetrics, list[str]]]:
    """What has landed of three intervals is computed and sent; the lines that are reported."""
    told: list[str] = []
    generated = b"".join(dump_frames(load_scenario("small-lab"), "LAB", intervals=3))
    with by_otlp(url, told.append) as send:
        metrics = LiveMetrics(store, Settings(), 3, send)
        with Follower(store, "a.mon") as follower:
            for landed in (*follower.follow(live(generated)), *follower.finish()):
                metrics.landed(landed)
        yield metrics, told


def points(family: Metric) -> dict[tuple[tuple[str, str], ...], float]:
    data = family.sum if family.HasField("sum") else family.gauge
    return {
        tuple(sorted((each.key, each.value.string_value) for each in point.attributes)): (
            point.as_double if point.HasField("as_double") else point.as_int
        )
        for point in data.data_points
    }


def test_a_collector_gets_what_a_scrape_shows(store: Store, collector: Collector):
    with follows(store, collector.address) as (metrics, told):
        metrics.compute()
        scraped = parsed(metrics.text().decode())
    ((path, _),) = collector.sent
    (families,) = collector.families

    assert path == "/v1/metrics" and not told
    shown = {
        f"{name}_total" if family.HasField("sum") else name: points(family)
        for name, family in families.items()
    }
    assert shown.keys() >= {"cpmon_intervals_total", "cpmon_system_total_util_ratio"}
    assert shown == {
        name: {tuple(sorted(labels)): value for labels, value in samples.items()}
        for name, samples in scraped.items()
    }

    times = {p.time_unix_nano for p in families["cpmon_system_total_util_ratio"].gauge.data_points}
    (end,) = times
    assert datetime.fromtimestamp(end // 10**9, UTC) == END
    assert families["cpmon_system_total_util_ratio"].unit == "1"
    counts = families["cpmon_intervals"].sum
    assert counts.is_monotonic and counts.data_points[0].start_time_unix_nano > 0
    assert counts.data_points[0].start_time_unix_nano <= counts.data_points[0].time_unix_nano


def test_the_last_interval_is_sent_when_the_source_ends(store: Store, collector: Collector):
    with (
        follows(store, f"{collector.address}/own/path") as (metrics, _),
        metrics.computed(),
    ):
        pass
    assert {path for path, _ in collector.sent} == {"/own/path"}
    assert "cpmon_system_total_util_ratio" in collector.families[-1]


def test_what_a_collector_refuses_is_told_once(store: Store, collector: Collector):
    collector.status = 400
    with follows(store, collector.address) as (metrics, told):
        for _ in range(2):
            metrics._waiting = dict(metrics._lasts)
            metrics.compute()
        assert "cpmon_system_total_util_ratio" in parsed(metrics.text().decode())
    assert len(collector.sent) == 2
    (line,) = told
    assert line.startswith("127.0.0.1 did not accept the metrics of 2003-05-06 08:03:00 UTC: ")
    assert "400" in line or "Bad Request" in line


def test_nobody_at_the_address_ends_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with follows(store, url) as (metrics, told):
        metrics.compute()
        assert "cpmon_system_total_util_ratio" in parsed(metrics.text().decode())
    assert len(told) == 1
    assert capfd.readouterr().err == ""


def test_another_address_is_refused(tmp_path: Path):
    with pytest.raises(CpmonError, match="address") as refused, by_otlp("localhost:4318", print):
        pass
    assert refused.value.code == "otlp-address-invalid"
    assert not [*tmp_path.iterdir()]
