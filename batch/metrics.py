"""Metrics of batches in the OpenMetrics text format, for a textfile collector: `metrics.txt`."""

from __future__ import annotations

from datetime import datetime

from ..ingest.findings import Severity
from ..reduce.rules.rule import Severity as RuleSeverity
from ..render.html import text_page
from .result import BatchResult
from .state import State


def render_metrics(state: State, result: BatchResult, last_end: datetime | None) -> str:
    """All metric families, after a batch.

    Args:
        result: of the last batch that was not silent.
        last_end: end of the last batch, to which lags are counted.
    """
    systems = dict(sorted(state.systems.items()))
    ended = last_end.timestamp() if last_end else 0.0
    lasts = {name: s.last / 1e6 for name, s in systems.items() if s.last is not None}
    return text_page(
        __package__,
        "metrics.txt",
        result=result,
        ended=ended,
        success={} if state.last_success is None else {"": state.last_success},
        dumps={name: totals.dumps for name, totals in systems.items()},
        records={name: totals.records for name, totals in systems.items()},
        findings={severity: state.findings.get(severity, 0) for severity in Severity},
        exceptions={severity: result.exceptions[severity] for severity in RuleSeverity},
        failures={severity: result.validation[severity] for severity in RuleSeverity},
        lasts=lasts,
        lags={name: max(0.0, ended - last) for name, last in lasts.items()},
        escaped=_escaped,
    )


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
