"""A dashboard of Grafana over the metrics of `cpmon follow`, from the reports that these are of."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from cpmon.batch.figures import SUBJECTS, SYSTEM, family_name
from cpmon.reduce.metrics.metric import FIGURES
from cpmon.reduce.metrics.report_set import metric_of, reports

UNITS = {
    "ratio": "percentunit",
    "seconds": "s",
    "bytes": "bytes",
    "bytes_per_second": "Bps",
    "per_second": "cps",
}
"""Unit of a family -> Grafana's; others are plain numbers."""
WIDTH, HEIGHT, ACROSS = 8, 7, 24


def dashboard() -> str:
    """The JSON that Grafana imports; it asks for a data source of Prometheus."""
    source = {"type": "prometheus", "uid": "${source}"}
    shown = {
        "title": "z/VM by cpmon",
        "uid": "cpmon-live",
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {
            "list": [
                {"name": "source", "label": "Source", "type": "datasource", "query": "prometheus"},
                {
                    "name": "system",
                    "label": "System",
                    "type": "query",
                    "datasource": source,
                    "query": "label_values(cpmon_last_interval_timestamp_seconds, system)",
                    "refresh": 2,
                },
            ]
        },
        "panels": [*_panels(source)],
    }
    return json.dumps(shown, indent=1) + "\n"


def _panels(source: dict[str, str]) -> Iterator[dict[str, Any]]:
    """A row for each subject, with a panel for each of its families."""
    y = 0
    for subject, report in SUBJECTS.items():
        yield {
            "type": "row",
            "title": reports()[report].title,
            "gridPos": {"h": 1, "w": ACROSS, "x": 0, "y": y},
        }
        y += 1
        columns = [column for column in reports()[report].columns if column.kind in FIGURES]
        for number, column in enumerate(columns):
            metric = metric_of(reports()[report].reduction, column.name)
            name, unit, _ = family_name(subject, column, metric.unit)
            legend = "{{system}}" if subject == SYSTEM else f"{{{{{subject}}}}}"
            target = {"expr": f'cpmon_{name}{{system="$system"}}', "legendFormat": legend}
            row, place = divmod(number, ACROSS // WIDTH)
            yield {
                "type": "timeseries",
                "title": column.heading,
                "description": metric.meaning,
                "datasource": source,
                "targets": [{"refId": "A", "datasource": source, **target}],
                "fieldConfig": {
                    "defaults": {"unit": UNITS.get(unit, "short"), "custom": {"spanNulls": False}}
                },
                "gridPos": {"h": HEIGHT, "w": WIDTH, "x": place * WIDTH, "y": y + row * HEIGHT},
            }
        y += HEIGHT * -(-len(columns) // (ACROSS // WIDTH))
