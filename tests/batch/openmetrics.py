"""Reads OpenMetrics text with the strict parser of its reference implementation."""

from __future__ import annotations

from prometheus_client.openmetrics.parser import text_string_to_metric_families

Samples = dict[tuple[tuple[str, str], ...], float]


def parsed(text: str) -> dict[str, Samples]:
    """Name of a metric -> labels -> value; a family without a sample has its own name."""
    found: dict[str, Samples] = {}
    for family in text_string_to_metric_families(text):
        if not family.samples:
            found[family.name] = {}
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sample.labels.items())] = sample.value
    return found
