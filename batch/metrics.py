"""Metrics of batches in the OpenMetrics text format, for a textfile collector."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..ingest.findings import Severity
from .result import BatchResult
from .state import State

Samples = Iterable[tuple[Mapping[str, str], float]]
"""Labels and value of each sample."""
_RULES = ("info", "warning", "critical")
"""Severities of rules."""
_SUCCESS = "End of the last run that did not fail."
_LAG = "From the end of a system's last interval to the end of the run."


def render_metrics(state: State, result: BatchResult) -> str:
    """All metric families, after a batch."""
    systems = sorted(state.systems.items())
    ended = result.ended.timestamp() if result.ended else 0.0
    lasts = [({"system": name}, s.last / 1e6) for name, s in systems if s.last is not None]
    files = [({"kind": k}, float(result.counts[k])) for k in ("deferred", "quarantined")]
    findings = [({"severity": str(s)}, float(state.findings.get(s, 0))) for s in Severity]
    success: Samples = [({}, state.last_success)] if state.last_success is not None else []
    dumps = [({"system": name}, float(s.dumps)) for name, s in systems]
    records = [({"system": name}, float(s.records)) for name, s in systems]
    exceptions = [({"severity": s}, float(result.exceptions[s])) for s in _RULES]
    failures = [({"severity": s}, float(result.validation[s])) for s in _RULES]
    lags = [(labels, max(0.0, ended - last)) for labels, last in lasts]
    families: Iterable[tuple[str, str, str, Samples]] = (
        ("last_run_timestamp_seconds", "gauge", "End of the last run.", [({}, ended)]),
        ("last_success_timestamp_seconds", "gauge", _SUCCESS, success),
        ("last_exit_code", "gauge", "Its exit status.", [({}, float(int(result.status)))]),
        ("last_run_seconds", "gauge", "How long it took.", [({}, result.seconds)]),
        ("files", "gauge", "Files of the last run that did not land.", files),
        ("dumps", "counter", "Dumps that batches landed.", dumps),
        ("records", "counter", "Records of them.", records),
        ("findings", "counter", "Findings in them, by severity.", findings),
        ("exceptions", "gauge", "Exceptions in the days that the last run changed.", exceptions),
        ("validation_failures", "gauge", "Broken rules in the last run.", failures),
        ("last_interval_timestamp_seconds", "gauge", "End of the last interval.", lasts),
        ("lag_seconds", "gauge", _LAG, lags),
    )
    texts = (
        _family(f"cpmon_{name}", kind, meaning, samples)
        for name, kind, meaning, samples in families
    )
    return "".join(texts) + "# EOF\n"


def _family(name: str, kind: str, meaning: str, samples: Samples) -> str:
    lines = [f"# TYPE {name} {kind}\n"]
    if name.endswith("_seconds"):
        lines.append(f"# UNIT {name} seconds\n")
    lines.append(f"# HELP {name} {meaning}\n")
    sample = f"{name}_total" if kind == "counter" else name
    for labels, value in samples:
        pairs = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        lines.append(f"{sample}{{{pairs}}} {value!r}\n" if pairs else f"{sample} {value!r}\n")
    return "".join(lines)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
