"""No record that is missing, and no counter that falls or jumps, leads to a wrong figure."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from cpmon.reduce.compare.run_comparison import compare_runs
from cpmon.reduce.metrics.registry import metrics_of
from tests.reduce.altered import (
    Fleet,
    changed,
    counters,
    impossible,
    impossible_rows,
    removals,
    reported,
    silent_changes,
    whole,
    without,
)

ENGINES = Path(__file__).parents[1] / "generate" / "mixed-engines.toml"
SYSTEMS = {
    "lab": ("small-lab", "LAB"),
    "lab52": ("small-lab", "LAB52"),
    "engines": (ENGINES, "MIXED"),
    "regression": ("cp-regression", "APS9220"),
    "pfault": ("pfault", "31R80X0"),
    "smt": ("zvm73-smt", "ZVM73"),
}
"""Two levels of CP with Linux guests and expanded storage, processors of several types, several
processors without partitions, and threads."""


def few_or_all(few: int, many: int) -> pytest.MarkDecorator:
    """A test's arguments `system` and `count`: a few of one system, or many of each."""
    slow = [pytest.param(name, many, id=name, marks=pytest.mark.slow) for name in SYSTEMS]
    return pytest.mark.parametrize(("system", "count"), [pytest.param("lab", few, id="few"), *slow])


@few_or_all(10, 120)
def test_without_a_record_figures_are_the_same_blank_or_noted(
    system: str, count: int, tmp_path: Path
):
    dump, fleet = whole(*SYSTEMS[system]), Fleet(tmp_path)
    chance = random.Random(f"{system} {count}")
    fleet.add("BASE", dump)
    missing = removals(dump, chance, each=3)
    missing = chance.sample(missing, min(count, len(missing)))
    for number, record in enumerate(missing):
        fleet.add(f"LACKS{number}", without(dump, record.offset))
    con = fleet.computed()
    before = dict(reported(con, "BASE"))
    found = {
        record.name: silent
        for number, record in enumerate(missing)
        if (silent := silent_changes(before, reported(con, f"LACKS{number}")))
    }
    assert not found


@few_or_all(8, 60)
def test_whatever_counters_say_no_figure_is_impossible(system: str, count: int, tmp_path: Path):
    dump, fleet = whole(*SYSTEMS[system]), Fleet(tmp_path)
    known, chance = counters(dump), random.Random(f"{system} {count}")
    fleet.add("BASE", dump)
    changes = {}
    for number in range(count):
        name = f"ODD{number}"
        altered, changes[name] = changed(dump, known, chance, 40)
        fleet.add(name, altered)
    con = fleet.computed()
    assert not impossible_rows(con)
    for name, made in changes.items():
        found = [
            f"{title}: {text}"
            for title, result in reported(con, name)
            for row in (*result.table.to_pylist(), result.mean)
            for text in impossible(metrics_of(result.report.reduction), row)
        ]
        assert not found, made
    for line in compare_runs(con, list(changes)).lines:
        low, high = (float(bound) for bound in (line.metric.low or "-inf", "inf"))
        scale = line.metric.scale
        assert all(value is None or low - 0.001 <= value / scale <= high for value in line.values)
