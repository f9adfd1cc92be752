"""What a batch reports to monitors: its metrics as OpenMetrics text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.openmetrics.exposition import generate_latest

from ..ingest.findings import FindingSeverity
from ..reduce.rules.rule import Severity
from .result import BatchResult
from .state import State


def render_metrics(state: State, result: BatchResult, last_end: datetime | None) -> str:
    """Render all metric families after a batch.

    Args:
        result: the last batch that was not silent.
        last_end: end of the last batch, up to which lags are measured.
    """
    systems = dict(sorted(state.systems.items()))
    ended = last_end.timestamp() if last_end else 0.0
    success = {} if state.last_success is None else {"": state.last_success}
    kinds = {kind: result.counts[kind] for kind in ("deferred", "quarantined")}
    dumps = {name: totals.dumps for name, totals in systems.items()}
    records = {name: totals.records for name, totals in systems.items()}
    findings = {each: state.findings.get(each, 0) for each in FindingSeverity}
    exceptions = {each: result.exceptions[each] for each in Severity}
    failures = {each: result.validation[each] for each in Severity}
    lasts = {name: s.last / 1e6 for name, s in systems.items() if s.last is not None}
    lags = {name: max(0.0, ended - last) for name, last in lasts.items()}
    families = [
        _family("last_run_timestamp_seconds", "End of the last run.", {"": ended}),
        _family("last_success_timestamp_seconds", "End of the last that did not fail.", success),
        _family("last_exit_code", "Exit status of the last in the history.", {"": result.status}),
        _family("last_run_seconds", "How long it took.", {"": result.seconds}),
        _family("files", "Files of it that did not land.", kinds, "kind"),
        _family("dumps_total", "Dumps that batches landed.", dumps, "system"),
        _family("records_total", "Records of them.", records, "system"),
        _family("findings_total", "Findings in them, by severity.", findings, "severity"),
        _family("exceptions", "Exceptions in the days that it changed.", exceptions, "severity"),
        _family("validation_failures", "Broken rules in it.", failures, "severity"),
        _family("last_interval_timestamp_seconds", "End of the last interval.", lasts, "system"),
        _family("lag_seconds", "From that to the end of the last run.", lags, "system"),
    ]
    return openmetrics(families).decode()


END = b"# EOF\n"


def openmetrics(families: Iterable[Metric]) -> bytes:
    """Families as OpenMetrics text, up to `END`."""
    registry = CollectorRegistry()
    registry.register(_Families([*families]))
    text: bytes = generate_latest(registry)  # type: ignore[no-untyped-call]
    return text


@dataclass(frozen=True, eq=False)
class _Families:
    """A collector of families."""

    families: list[Metric]

    def collect(self) -> list[Metric]:
        return self.families


def _family(name: str, meaning: str, samples: Mapping[Any, float], label: str = "") -> Metric:
    """A family: its samples by the value of their label, or one of a family without a label."""
    unit = "seconds" if name.endswith("_seconds") else ""
    labelled = [({label: text} if label else {}, value) for text, value in samples.items()]
    return family(name, meaning, unit, labelled)


def family(
    name: str, meaning: str, unit: str, samples: Iterable[tuple[dict[str, str], float]]
) -> Metric:
    """A family of metrics of cpmon: a counter by its name, or a gauge; labels and values."""
    kind = "counter" if name.endswith("_total") else "gauge"
    made = Metric(f"cpmon_{name.removesuffix('_total')}", meaning, kind, unit)
    for labels, value in samples:
        made.add_sample(f"cpmon_{name}", labels, value)
    return made
