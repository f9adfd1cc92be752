"""The last interval of a system as metrics: figures of reports, by the units of their metrics.

A family is a metric of a report: `cpmon_user_io_per_second`. Names, units and help follow from the
metric table. The greatest objects have a sample each; the others are summed as `(rest)` where the
report has a total. What is not known has no sample, and no figure outlives the next intervals.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from prometheus_client import CollectorRegistry, Metric, start_http_server

from ..config import Settings
from ..core.errors import CpmonError, NothingToReportError
from ..ingest.findings import FindingSeverity
from ..ingest.landing import Landed
from ..reduce.metrics.metric import FIGURES, TIME, ReportColumn
from ..reduce.metrics.report_set import metric_of
from ..reduce.reductions.reductions import reductions
from ..reduce.reports.cells import cell_text
from ..reduce.reports.report import ReportResult, report
from ..reduce.reports.report_sql import BEGIN
from ..store import Store
from ..store.connection import connect
from ..store.sandbox.sandbox import Limits
from .metrics import family

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
OUTDATED = 3
"""Intervals without another one after which figures are not shown any more."""


def family_name(subject: str, column: ReportColumn, unit: str) -> tuple[str, str, float]:
    """The name of the family of a column, its unit, and the factor of its values."""
    name = column.name
    own, factor = UNITS.get(unit, (unit if unit.isidentifier() else "", 1.0))
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    return "_".join(filter(None, (subject, name, own))), own, factor


def figures(subject: str, result: ReportResult, top: int) -> Iterator[Metric]:
    """The families of a report over one interval.

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


class LiveMetrics:
    """What a follower reports to monitors: its counts, and the figures of the last interval.

    Figures are computed in a thread of their own, so that nothing that lands waits for them.
    """

    def __init__(self, store: Store, settings: Settings, top: int) -> None:
        self._store, self._settings, self._top = store, settings, top
        self._intervals, self._findings = Counter[str](), Counter[str]()
        self._lasts: dict[str, datetime] = {}
        self._figures: dict[str, tuple[float, list[Metric]]] = {}
        self._has_landed, self._is_over = threading.Event(), False
        self._waiting = dict[str, datetime]()

    @contextmanager
    def served(self, address: str, port: int) -> Iterator[None]:
        """Answers scrapes, and computes figures as intervals land.

        Raises:
            CpmonError: the address cannot be used.
        """
        registry = CollectorRegistry()
        registry.register(self)
        try:
            server, answering = start_http_server(port, address, registry)
        except OSError as error:
            raise CpmonError(
                f"metrics cannot be served at {address}:{port}: {error.strerror}",
                code="metrics-address-unusable",
                remedy="choose another port, as --metrics :9118, or an address of this machine",
            ) from None
        computing = threading.Thread(target=self._compute_on)
        computing.start()
        try:
            yield
        finally:
            self._is_over = True
            self._has_landed.set()
            server.shutdown()
            server.server_close()
            for thread in (computing, answering):
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

    def collect(self) -> Iterator[Metric]:
        """All families, as they are now."""
        lasts = {name: last.replace(tzinfo=UTC).timestamp() for name, last in self._lasts.items()}
        findings = {each: self._findings[each] for each in FindingSeverity}
        for name, meaning, label, values in (
            ("intervals_total", "Intervals that landed.", "system", self._intervals),
            ("findings_total", "Findings in them, by severity.", "severity", findings),
            ("last_interval_timestamp_seconds", "Time of the last record.", "system", lasts),
        ):
            yield family(name, meaning, "", [({label: key}, n) for key, n in values.items()])
        by_name: dict[str, Metric] = {}
        for until, families in self._figures.values():
            for each in families if time.monotonic() < until else ():
                if each.name in by_name:
                    by_name[each.name].samples += each.samples
                else:
                    by_name[each.name] = each
        yield from by_name.values()

    def compute(self) -> None:
        """Compute the figures of the systems of which intervals have landed."""
        waiting, self._waiting = self._waiting, {}
        for system, last in waiting.items():
            try:
                self._figures[system] = self._computed(system, last)
            except CpmonError:  # of the first interval there is nothing to report
                self._figures.pop(system, None)

    def _compute_on(self) -> None:
        while self._has_landed.wait() and not self._is_over:
            self._has_landed.clear()
            self.compute()

    def _computed(self, system: str, last: datetime) -> tuple[float, list[Metric]]:
        """Until when the figures of the last interval hold, by the monotonic clock, and these."""
        limits = Limits(self._settings.memory_limit, self._settings.threads)
        families = list[Metric]()
        with connect(self._store, reductions(), limits) as connection:
            since: Any = last - REACH
            options: dict[str, Any] = {"system": system, "settings": self._settings}
            whole = report(connection, SUBJECTS[SYSTEM], since=since, **options)
            assert whole.covered is not None
            begin = whole.covered.column(BEGIN)[-1].as_py()
            end = whole.table.column(TIME)[-1].as_py()
            middle = begin + (end - begin) / 2  # no other interval ends behind it; begin is rounded
            for subject, name in SUBJECTS.items():
                try:
                    result = report(connection, name, since=middle, until=end, **options)
                except NothingToReportError:
                    continue
                families += figures(subject, result, self._top)
        return time.monotonic() + OUTDATED * (end - begin).total_seconds(), families
