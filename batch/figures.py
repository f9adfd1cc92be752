"""The last interval of a system as metrics: figures of reports, by the units of their metrics.

A family is a metric of a report: `cpmon_user_io_per_second`. Names, units and help follow from the
metric table. The greatest objects have a sample each; the others are summed as `(rest)` where the
report has a total. What is not known has no sample, and no figure outlives the next intervals.
"""

from __future__ import annotations

import copy
import math
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from prometheus_client import Metric
from prometheus_client.openmetrics.exposition import CONTENT_TYPE_LATEST

from ..config import Settings
from ..core.errors import CpmonError, NothingToReportError
from ..ingest.findings import FindingSeverity
from ..ingest.landing import Landed
from ..reduce.live import LiveConnection, intervals_since
from ..reduce.metrics.metric import FIGURES, ReportColumn
from ..reduce.metrics.report_set import metric_of
from ..reduce.reports.cells import cell_text
from ..reduce.reports.report import ReportResult, report
from ..store import Store
from .metrics import END, family, openmetrics

SYSTEM = "system"
SUBJECTS = {
    SYSTEM: "SYSTEM_SUMMARY_BY_TIME",
    "processor": "PROCESSORS",
    "user": "USER_RESOURCE_UTIL",
    "device": "DASD_BY_ACTIVITY",
}
"""Subject -> the report whose figures it has."""
UNITS = {
    "%": ("ratio", 1.0),
    "s": ("seconds", 1.0),
    "ms": ("seconds", 1e-3),
    "us": ("seconds", 1e-6),
    "h": ("seconds", 3600.0),
    "MiB": ("bytes", float(1 << 20)),
    "KiB/s": ("bytes_per_second", 1024.0),
    "B/s": ("bytes_per_second", 1.0),
    "/s": ("per_second", 1.0),
    "pages/s": ("pages_per_second", 1.0),
    "frames/s": ("frames_per_second", 1.0),
}
"""Unit of a metric -> unit of its family, and how many of that it is; others are as they are."""
ENDINGS = ("_rate", "_ms", "_us", "_s", "_mib", "_share")
"""Endings of names of metrics that the unit of the family says."""
REST = "(rest)"
ROUNDING = 1e-9
"""Part of a total by which floats may sum up to more."""
REACH = timedelta(hours=2)
"""How far behind the last record that landed its interval is looked for."""
Send = Callable[[Sequence[Metric], Sequence[Metric], datetime], None]
"""Sends counts as they are now, and the figures of the interval of a system that ends then, UTC."""


class Figures(NamedTuple):
    """The figures of the last interval of a system.

    Attributes:
        until: when they do not hold any more, by the monotonic clock.
        end: of the interval, UTC.
    """

    until: float
    end: datetime
    families: Sequence[Metric]


def family_name(subject: str, column: ReportColumn, unit: str) -> tuple[str, str, float]:
    """The name of the family of a column, its unit, and the factor of its values."""
    name = column.name
    own, factor = UNITS.get(unit, (unit if unit.isidentifier() else "", 1.0))
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return "_".join(filter(None, (subject, name, own))), own, factor


def figures(subject: str, result: ReportResult, top: int) -> Iterator[Metric]:
    """The families of a report over one interval, and what is not known of its figures.

    Args:
        top: number of objects with samples of their own.
    """
    definition, system = result.report, {"system": result.system}
    key = next((c for c in definition.columns if c.name in definition.keys), None)
    texts: list[dict[str, str]] = [{}] * result.table.num_rows
    if key is not None:
        names = result.table.column(key.name).to_pylist()[:top]
        texts = [{subject: cell_text(key, name)} for name in names]
    for column in definition.columns:
        if column.kind not in FIGURES:
            continue
        metric = metric_of(definition.reduction, column.name)
        name, unit, factor = family_name(subject, column, metric.unit)
        samples = list[tuple[dict[str, str], float]]()
        values = result.table.column(column.name).to_pylist()
        shown = values[: len(texts)]
        samples += [
            (system | labels, factor * value)
            for labels, value in zip(texts, shown, strict=True)
            if value is not None
        ]
        total = result.total.get(column.name)
        if len(values) > len(shown) and total is not None and None not in values:
            rest = total - sum(shown)
            if rest > -ROUNDING * abs(total):  # else one of them is wrong
                samples.append((system | {subject: REST}, factor * max(0.0, rest)))
        if samples:
            yield family(name, metric.meaning or column.heading, unit, samples)
    if result.marks:
        notes = [(system | {"report": definition.name}, len(result.marks))]
        yield family("notes", "Notes of a report: what is not known, or a lower bound.", "", notes)


def joined(families: Iterable[Metric]) -> list[Metric]:
    """Families, those of a name as one, with the samples of all of them."""
    by_name = dict[str, Metric]()
    for each in families:
        known = by_name.setdefault(each.name, each)
        if known is not each:
            by_name[each.name] = both = copy.copy(known)
            both.samples = [*known.samples, *each.samples]
    return [*by_name.values()]


class LiveMetrics:
    """What a follower reports to monitors: its counts, and the figures of the last interval.

    Figures are computed in a thread of their own, so that nothing that lands waits for them.
    """

    def __init__(
        self, store: Store, settings: Settings, top: int, send: Send | None = None
    ) -> None:
        """Begins with counts of 0.

        Args:
            top: number of users, devices and processors with figures of their own.
            send: called in the thread that computes, with what it has computed.
        """
        self._send = send
        self._live = LiveConnection(store, settings, threads=1)
        self._settings, self._top = settings, top
        self._intervals, self._findings = Counter[str](), Counter[str]()
        self._lasts: dict[str, datetime] = {}
        self._figures: dict[str, Figures] = {}
        self._has_landed, self._is_over = threading.Event(), False
        self._waiting = dict[str, datetime]()
        self._rendered = math.inf, END

    @contextmanager
    def computed(self) -> Iterator[None]:
        """Computes figures as intervals land."""
        thread = threading.Thread(target=self._compute_on)
        thread.start()
        try:
            yield
        finally:
            self._is_over = True
            self._has_landed.set()
            thread.join()

    @contextmanager
    def served(self, address: str, port: int) -> Iterator[None]:
        """Answers scrapes.

        Raises:
            CpmonError: the address cannot be used.
        """
        try:
            server = _Server((address, port), _Scrape, self.text)
        except OSError as error:
            raise CpmonError(
                f"metrics cannot be served at {address}:{port}: {error.strerror}",
                code="metrics-address-unusable",
                remedy="choose another port, as --metrics :9118, or an address of this machine",
            ) from None
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def landed(self, landed: Landed) -> None:
        """Count a part that has landed."""
        about = landed.about
        self._intervals[landed.system] += about["intervals"]
        for code, count in landed.findings.counts.items():
            self._findings[code.severity] += count
        if about["intervals"]:
            last = datetime.fromisoformat(about["last_tod"])
            self._lasts[landed.system] = self._waiting[landed.system] = last
            self._has_landed.set()

    def text(self) -> bytes:
        """All families as OpenMetrics: the counts as they are, the figures as long as they hold."""
        until, figures_text = self._rendered
        if until <= time.monotonic():
            _, figures_text = self._render()
        return openmetrics(self._counts()).removesuffix(END) + figures_text

    def _counts(self) -> list[Metric]:
        lasts = {
            name: last.replace(tzinfo=UTC).timestamp() for name, last in self._lasts.copy().items()
        }
        findings = {each: self._findings[each] for each in FindingSeverity}
        return [
            family(name, meaning, "", [({label: key}, n) for key, n in values.items()])
            for name, meaning, label, values in (
                ("intervals_total", "Intervals that landed.", "system", self._intervals.copy()),
                ("findings_total", "Findings in them, by severity.", "severity", findings),
                ("last_interval_timestamp_seconds", "Time of the last record.", "system", lasts),
            )
        ]

    def _render(self) -> tuple[float, bytes]:
        """Render the figures that hold: until when, and their text. A scrape has 50 ms."""
        now = time.monotonic()
        held = [each for each in tuple(self._figures.values()) if now < each.until]
        self._rendered = (
            min((figures.until for figures in held), default=math.inf),
            openmetrics(joined(each for figures in held for each in figures.families)),
        )
        return self._rendered

    def compute(self) -> None:
        """Compute the figures of the systems of which intervals have landed."""
        waiting, self._waiting = self._waiting, {}
        for system, last in waiting.items():
            try:
                self._figures[system] = self._computed(system, last)
            except CpmonError:  # what is not known has no sample
                self._figures.pop(system, None)
        self._render()
        if self._send:
            for system in waiting.keys() & self._figures.keys():
                _, end, families = self._figures[system]
                self._send(self._counts(), families, end)

    def _compute_on(self) -> None:
        is_over = False
        while not is_over:
            self._has_landed.wait()
            self._has_landed.clear()
            is_over = self._is_over
            if self._send or not is_over:  # a scrape that comes later finds nobody
                self.compute()

    def _computed(self, system: str, last: datetime) -> Figures:
        families = list[Metric]()
        with self._live.current() as connection:
            intervals = intervals_since(connection, system, last - REACH)
            if not intervals:  # the first one has no rates
                return Figures(0.0, last, families)
            interval = intervals[-1]
            span: dict[str, Any] = {"since": interval.begin, "until": interval.end}
            for subject, name in SUBJECTS.items():
                try:
                    result = report(
                        connection, name, system=system, settings=self._settings, **span
                    )
                except NothingToReportError:
                    continue
                families += figures(subject, result, self._top)
        return Figures(time.monotonic() + interval.holds_s, interval.end, joined(families))


class _Server(ThreadingHTTPServer):
    """Answers each request with the text of the moment."""

    def __init__(
        self,
        address: tuple[str, int],
        handler: type[BaseHTTPRequestHandler],
        text: Callable[[], bytes],
    ) -> None:
        self.text = text
        if ":" in address[0]:
            self.address_family = socket.AF_INET6
        super().__init__(address, handler)


class _Scrape(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer a scrape."""
        text = self.server.text()
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", CONTENT_TYPE_LATEST)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_: Any) -> None:
        """Nothing: there is a scrape every few seconds."""
