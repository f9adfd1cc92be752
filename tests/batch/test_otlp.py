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
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> LiveMetrics:
    """What has landed of three intervals is computed, and sent nowhere."""
    store = Store(tmp_path_factory.mktemp("otlp") / "store", create=True)
    generated = b"".join(dump_frames(load_scenario("small-lab"), "LAB", intervals=3))
    metrics = LiveMetrics(store, Settings(), 3)
    with Follower(store, "a.mon") as follower:
        for landed in (*follower.follow(live(generated)), *follower.finish()):
            metrics.landed(landed)
    metrics.compute()
    return metrics


@contextmanager
def sends(metrics: LiveMetrics, url: str) -> Iterator[list[str]]:
    """Whatever is computed is sent again, in its thread; the lines that are reported."""
    told: list[str] = []
    computed = next(iter(metrics._figures.values()))
    with by_otlp(url, told.append) as send, pytest.MonkeyPatch.context() as patch:
        patch.setattr(metrics, "_send", send)
        patch.setattr(metrics, "_computed", lambda *_: computed)
        patch.setattr(metrics, "_is_over", False)  # as it is again behind this
        metrics._waiting = dict(metrics._lasts)
        yield told


def points(family: Metric) -> dict[tuple[tuple[str, str], ...], float]:
    data = family.sum if family.HasField("sum") else family.gauge
    return {
        tuple(sorted((each.key, each.value.string_value) for each in point.attributes)): (
            point.as_double if point.HasField("as_double") else point.as_int
        )
        for point in data.data_points
    }


def test_a_collector_gets_what_a_scrape_shows(followed: LiveMetrics, collector: Collector):
    with sends(followed, collector.address) as told:
        followed.compute()
        scraped = parsed(followed.text().decode())
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


def test_the_last_interval_is_sent_when_the_source_ends(
    followed: LiveMetrics, collector: Collector
):
    with sends(followed, f"{collector.address}/own/path"), followed.computed():
        pass
    assert {path for path, _ in collector.sent} == {"/own/path"}
    assert "cpmon_system_total_util_ratio" in collector.families[-1]


def test_what_a_collector_refuses_is_told_once(followed: LiveMetrics, collector: Collector):
    collector.status = 400
    with sends(followed, collector.address) as told:
        for _ in range(2):
            followed._waiting = dict(followed._lasts)
            followed.compute()
        assert "cpmon_system_total_util_ratio" in parsed(followed.text().decode())
    assert len(collector.sent) == 2
    (line,) = told
    assert line.startswith("127.0.0.1 did not accept the metrics of 2003-05-06 08:03:00 UTC: ")
    assert "400" in line or "Bad Request" in line


def test_nobody_at_the_address_ends_nothing(
    followed: LiveMetrics, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with sends(followed, url) as told:
        followed.compute()
        assert "cpmon_system_total_util_ratio" in parsed(followed.text().decode())
    assert len(told) == 1
    assert capfd.readouterr().err == ""


def test_another_address_is_refused(tmp_path: Path):
    with pytest.raises(CpmonError, match="address") as refused, by_otlp("localhost:4318", print):
        pass
    assert refused.value.code == "otlp-address-invalid"
    assert not [*tmp_path.iterdir()]
