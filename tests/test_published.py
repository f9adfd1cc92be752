"""Every published cell, from generated dumps through ingest and compare: bytes in, print out."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from cpmon.generate import load_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.compare import compare
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect

Key = tuple[str, str, str]
PUBLISHED = Path(__file__).parent / "published"
SCENARIOS = {"timer": "timer.csv", "large-storage": "large_storage.csv"}
SPECS = ("timer_t1", "timer_t2", "large_storage_t1")

UNMATCHED: dict[Key, str] = {}
"""Published cells that do not print again, each with its reason. Now there are none."""

BY_RULE: dict[Key, str] = {
    ("timer_t2_ratios", "3600P1", "Pct Spin Time"): "1.500",
    ("timer_t2_ratios", "3900P1", "Pct Spin Time"): "0.443",
    ("timer_t2_ratios", "3900P1", "Xstor Page Rate"): "0.974",
    ("timer_t2_ratios", "2600P", "DASD Page Rate"): "-",
    ("timer_t2_ratios", "2900P", "DASD Page Rate"): "1.000",
}
"""Ratios of the second timer table that its page prints and that tell the rules apart: printed
values are divided, except that 101k is divided in full; a base of 0 gives a dash."""


def published(file: str) -> dict[Key, tuple[str, str]]:
    """(table, run, row) -> (value, source letter)."""
    with (PUBLISHED / file).open(encoding="utf-8", newline="") as lines:
        return {
            (row["table"], row["run_id"], row["row_label"]): (
                row["value_as_printed"],
                row["source_tag"],
            )
            for row in csv.DictReader(lines)
        }


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[Key, tuple[str, str]]:
    folder = tmp_path_factory.mktemp("published")
    store = Store(folder / "store", create=True)
    for name in SCENARIOS:
        scenario = load_scenario(name)
        for run in scenario.runs:
            landed = ingest(write_run(scenario, run.run_id, folder, intervals=2).dump, store)
            assert not landed.findings.counts
    with connect(store, reductions()) as connection:
        tables = [compare(connection, spec) for spec in SPECS]
    return {
        (cell.table, cell.run_id, cell.row_label): (cell.text, cell.source)
        for table in tables
        for cell in table.cells
    }


@pytest.mark.parametrize("file", SCENARIOS.values())
def test_every_published_cell_prints_again(file: str, printed: dict[Key, tuple[str, str]]):
    expected = published(file)
    different = {key for key, cell in expected.items() if printed.get(key) != cell}

    assert different == {key for key in UNMATCHED if key in expected}
    assert len(expected) > 20


@pytest.mark.parametrize("key", BY_RULE, ids=" ".join)
def test_ratios_follow_the_print_rules(key: Key, printed: dict[Key, tuple[str, str]]):
    assert printed[key] == (BY_RULE[key], "calc")


def test_every_printed_value_is_published_or_a_ratio(printed: dict[Key, tuple[str, str]]):
    known = {key for file in SCENARIOS.values() for key in published(file)}
    more = {key for key in printed if key not in known}

    assert {table for table, _, _ in more} == {"timer_t2_ratios"}
