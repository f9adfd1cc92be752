"""Sends the metrics of a follower to a collector of OpenTelemetry, an interval at a time."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import export as otel
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client import Metric

from ..core import __version__
from ..core.errors import CpmonError
from .figures import Send

PATH = "/v1/metrics"
"""Where a collector takes metrics, if an address names no path (OTLP/HTTP)."""
UNITS = {
    "ratio": "1",
    "seconds": "s",
    "bytes": "By",
    "bytes_per_second": "By/s",
    "per_second": "1/s",
    "pages_per_second": "{page}/s",
    "frames_per_second": "{frame}/s",
}
"""Unit of a family -> its code in UCUM; others are annotations, as {pages}."""
LOGGER = "opentelemetry"


class _Reason(logging.Handler):
    """Keeps what the library says last, instead of its lines between those of a command."""

    text = "no answer"

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage()


@contextmanager
def by_otlp(url: str, report: Callable[[str], None]) -> Iterator[Send]:
    """Sends metrics to a collector, by OTLP over HTTP.

    What is not accepted within the time limit of the library (OTEL_EXPORTER_OTLP_TIMEOUT, 10 s)
    is left out: a gap, as a scrape that failed.

    Args:
        report: called when metrics are not accepted, once for several in a row.

    Raises:
        CpmonError: it is no address of http or https.
    """
    address = urlsplit(url)
    if address.scheme not in ("http", "https") or not address.hostname:
        raise CpmonError(
            "that is no address of a collector",
            code="otlp-address-invalid",
            expected="http://HOST:4318 or https://HOST/...",
            found=f"{address.scheme or 'no scheme'}, {address.hostname or 'no host'}",
            effect="nothing was done",
            remedy="give the address that the collector names, with --otlp http://HOST:4318",
        )
    reason, logger = _Reason(logging.WARNING), logging.getLogger(LOGGER)
    logger.addHandler(reason)
    logger.propagate = False
    began, has_failed = time.time_ns(), False
    exporter = OTLPMetricExporter(url if address.path.strip("/") else url.rstrip("/") + PATH)

    def send(counts: Sequence[Metric], figures: Sequence[Metric], end: datetime) -> None:
        nonlocal has_failed
        end_ns = 1000 * round(end.replace(tzinfo=UTC).timestamp() * 1_000_000)
        sent = _data((counts, began, time.time_ns()), (figures, 0, end_ns))
        failed = exporter.export(sent) is not otel.MetricExportResult.SUCCESS
        if failed and not has_failed:
            report(
                f"{address.hostname} did not accept the metrics of {end:%F %T} UTC: {reason.text}"
            )
        has_failed = failed

    try:
        yield send
    finally:
        exporter.shutdown()
        logger.removeHandler(reason)
        logger.propagate = True


def _data(*parts: tuple[Sequence[Metric], int, int]) -> otel.MetricsData:
    """What is sent: families, each part with begin and end of its samples in ns since 1970 UTC."""
    metrics = [_metric(family, *times) for families, *times in parts for family in families]
    scope = otel.ScopeMetrics(InstrumentationScope("cpmon", __version__), metrics, "")
    resource = Resource.create({"service.name": "cpmon", "service.version": __version__})
    return otel.MetricsData([otel.ResourceMetrics(resource, [scope], "")])


def _metric(family: Metric, begin_ns: int, end_ns: int) -> otel.Metric:
    """A family as the library has it: a gauge, or a counter that grows from `begin_ns` on."""
    samples = [
        otel.NumberDataPoint(sample.labels, begin_ns, end_ns, sample.value)
        for sample in family.samples
    ]
    data = (
        otel.Sum(samples, otel.AggregationTemporality.CUMULATIVE, is_monotonic=True)
        if family.type == "counter"
        else otel.Gauge(samples)
    )
    unit = UNITS.get(family.unit, family.unit and f"{{{family.unit}}}")
    return otel.Metric(family.name, family.documentation, unit, data)
