"""The metrics: one row of a CSV each, from which views, reports and comparisons follow.

`*.csv` hold the rows, a file a subject; `metric.py` says what the columns mean.
"""

from __future__ import annotations

from .metric import Compared, Metric
from .report_set import compared_metrics, metric_of, metrics_of
from .report_shape import Kind

__all__ = ["Compared", "Kind", "Metric", "compared_metrics", "metric_of", "metrics_of"]
