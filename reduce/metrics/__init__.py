"""The metrics: one CSV row each, from which views, reports and comparisons are generated.

`*.csv` hold the rows, one file for each subject; `metric.py` documents the columns.
"""

from __future__ import annotations

from .metric import Compared, Metric, MetricKind
from .report_set import compared_metrics, metric_of, metrics_of

__all__ = ["Compared", "Metric", "MetricKind", "compared_metrics", "metric_of", "metrics_of"]
