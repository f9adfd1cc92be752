"""No record that is missing, and no counter that falls or jumps, leads to a wrong figure."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest

from cpmon.config import Settings
from cpmon.reduce.compare.run_comparison import compare_runs
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.metrics.report_set import metrics_of
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import connect
from cpmon.store.connection import Connection
from tests.reduce.altered import (
    Change,
    Fleet,
    cells,
    changed,
    counters,
    impossible,
    impossible_rows,
    is_same,
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


@dataclass(frozen=True)
class Altered:
    """Reductions of a store, computed; runs that lack a record, and runs of odd counters.

    `lacking`: run -> what it lacks. `odd`: run -> what counters have other values.
    """

    con: duckdb.DuckDBPyConnection
    lacking: dict[str, str]
    odd: dict[str, list[Change]]


OTHERS = [name for name in SYSTEMS if name not in {"lab", "smt"}]
ALTERED = [
    pytest.param(("lab", 3, 2), id="few", marks=pytest.mark.long),
    pytest.param(("smt", 2, 1), id="smt", marks=pytest.mark.slow),
    *(pytest.param((name, 5, 3), id=name, marks=pytest.mark.long) for name in OTHERS),
]
"""A system, and how many runs of each kind: to compute them takes longer than to report them."""


@pytest.fixture(scope="module", params=ALTERED)
def altered(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Altered:
    system, lacks, changes = request.param
    dump, fleet = whole(*SYSTEMS[system]), Fleet(tmp_path_factory.mktemp(system))
    fleet.add("BASE", dump)
    chance = random.Random(f"{system} {lacks}")
    missing = removals(dump, chance, each=3)
    lacking: dict[str, str] = {}
    for number, record in enumerate(chance.sample(missing, min(lacks, len(missing)))):
        fleet.add(f"LACKS{number}", without(dump, record.offset))
        lacking[f"LACKS{number}"] = record.name
    known, chance = counters(dump), random.Random(f"{system} {changes}")
    odd: dict[str, list[Change]] = {}
    for number in range(changes):
        other, odd[f"ODD{number}"] = changed(dump, known, chance, 40)
        fleet.add(f"ODD{number}", other)
    return Altered(fleet.computed(), lacking, odd)


def test_without_a_record_figures_are_the_same_blank_or_noted(altered: Altered):
    con, before = altered.con, dict(reported(altered.con, "BASE"))
    found = {}
    for name, record in altered.lacking.items():
        silent = [*silent_changes(before, reported(con, name)), *silent_differences(con, name)]
        if silent:
            found[record] = silent
    assert not found


def silent_differences(con: duckdb.DuckDBPyConnection, run: str) -> list[str]:
    """Figures of a run that differ from those of its base run, if no note tells why."""
    comparison = compare_runs(con, [run], "BASE")
    base, own = (
        {note.removeprefix(f"{name}: ") for note in comparison.notes if note.startswith(name)}
        for name in ("BASE", run)
    )
    if own - base:
        return []
    return [
        f"{line.metric.name}: {line.values}"
        for line in comparison.lines
        if line.values[1] is not None and not is_same(*line.values)
    ]


def test_whatever_counters_say_no_figure_is_impossible(altered: Altered):
    con = altered.con
    assert not impossible_rows(con)
    for name, made in altered.odd.items():
        found = [
            f"{title}: {text}"
            for title, result in reported(con, name)
            for row in (*result.table.to_pylist(), result.mean, result.total)
            for text in impossible(metrics_of(result.report.reduction), row)
        ]
        assert not found, made
    for line in compare_runs(con, list(altered.odd)).lines:
        low, high = (float(bound) for bound in (line.metric.low or "-inf", "inf"))
        scale = line.metric.scale
        assert all(value is None or low - 0.001 <= value / scale <= high for value in line.values)


@pytest.mark.parametrize(
    ("system", "count"),
    [
        pytest.param("engines", 1, marks=pytest.mark.slow),
        pytest.param("lab", 3, marks=pytest.mark.long),
    ],
)
def test_what_is_kept_of_odd_counters_is_what_would_be_computed(
    system: str, count: int, tmp_path: Path
):
    dump, chance = whole(*SYSTEMS[system]), random.Random(f"{system} {count}")
    dump = without(dump, chance.choice(removals(dump, chance, each=1)).offset)
    known, fleet = counters(dump), Fleet(tmp_path)
    names = [f"ODD{number}" for number in range(count)]
    for name in names:
        altered, _ = changed(dump, known, chance, 25)
        fleet.add(name, altered)
    reduce(fleet.store, [], Settings())
    live = Connection(fleet.store, reductions(), live=True)
    with connect(fleet.store, reductions()) as kept:
        for name, by in itertools.product(names, (None, timedelta(minutes=15))):
            computed = {title: cells(result) for title, result in reported(live, name, by=by)}
            read = {title: cells(result) for title, result in reported(kept, name, by=by)}
            assert read.keys() == computed.keys()
            for title, figures in computed.items():
                differ = {
                    key: (value, read[title].get(key))
                    for key, value in figures.items()
                    if not is_same(value, read[title].get(key))
                }
                assert not differ, title
