"""Where two records know the same thing, a contradiction is noted under what either says."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.generate import parse_scenario, write_run
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.reduce.rules.rule import Purpose, find_rule, load_rules
from cpmon.reduce.rules.validation import count
from cpmon.store import Store
from cpmon.store.connection import Connection
from cpmon.store.sql.scope import ALL
from tests.validate.conftest import Falsify
from tests.validate.test_rules import LIES
from tests.worlds.world import KINDS, MACHINES, World, random_world

NOTED = {
    "processors-dispatched": (
        "SYTCUP contradicts SYTPRP",
        (
            *("PROCESSORS_BY_TIME", "SYSTEM_SUMMARY_BY_TIME", "SYSTEM_SUMMARY2_BY_TIME"),
            "LPAR",
        ),
    ),
    "devices-ios": (
        "SYTSYP contradicts IODDEV",
        ("DASD_BY_ACTIVITY", "DASD_BY_CONTROL_UNIT", "SYSTEM_SUMMARY_BY_TIME"),
    ),
    "slots-counted": (
        "SYTASG contradicts STOASP",
        ("AUX_STORAGE_BY_TIME", "DASD_SYSTEM_AREAS_BY_TYPE"),
    ),
    "guests-time": ("USEACT contradicts APLSDT", ("LINUX_GUESTS",)),
    "users-counted": (
        "SYTUSR contradicts USEACT",
        (
            *("USER_RESOURCE_UTIL", "CHARGEBACK", "STORAGE_BY_TIME"),
            *("SYSTEM_SUMMARY_BY_TIME", "SYSTEM_SUMMARY2_BY_TIME"),
        ),
    ),
    "users-time-charged": ("SYTPRP contradicts USEACT", ("USER_RESOURCE_UTIL", "CHARGEBACK")),
}
"""Rule of a witness -> what is said, and under which reports."""


def test_a_report_that_a_witness_contradicts_has_a_note(con: Connection, falsify: Falsify) -> None:
    for rule in NOTED.keys() - {"guests-time"}:
        falsify(*LIES[rule])
    falsify("aplsdt_os_cpu", "SELECT * REPLACE (per_cpu_user * 9999 AS per_cpu_user) FROM {rows}")
    under = {name for _, names in NOTED.values() for name in names}
    notes = {name: " ".join(report(con, name).notes) for name in under}
    for said, names in NOTED.values():
        for name in names:
            assert said in notes[name]
            assert ": figures of one of them are wrong (cpmon validate)." in notes[name]


WITNESSES = (
    *("_processor_witness", "_device_witness", "_slot_witness", "_guest_witness"),
    "_user_membership",
)


def contradictions(
    worlds: list[World], folder: Path
) -> tuple[list[tuple[str, str, str]], set[str]]:
    """What witnesses say of worlds: view, world and doubt; and the rules that had figures."""
    store = Store(folder / "store", create=True)
    for world in worlds:
        scenario = parse_scenario(world.text, f"{world.name}.toml")
        ingest(write_run(scenario, "A", folder / world.name).dump, store)
    with Connection(store, reductions()) as con:
        con.point(ALL)
        told = [
            (view, *row)
            for view in WITNESSES
            for row in con.execute(
                f"SELECT system, doubts FROM {view} WHERE doubts LIKE '% contradicts %'"
            ).fetchall()
        ]
        rules = load_rules(Purpose.VALIDATION, landed=con.tables)
        counts = count(con, [find_rule(rules, rule) for rule in NOTED], ALL, con.tables)
    return told, {each.rule.id for each in counts if each.checked}


@pytest.mark.slow
def test_no_witness_contradicts_a_world_without_events(tmp_path: Path) -> None:
    worlds = [World(f"W{n}", level, seed=n) for n, level in enumerate(MACHINES)]
    assert contradictions(worlds, tmp_path) == ([], NOTED.keys())


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(4), marks=pytest.mark.slow),
        *(pytest.param(range(n, n + 50), marks=pytest.mark.long) for n in range(4, 404, 50)),
    ],
)
def test_no_witness_contradicts_a_world_with_events(tmp_path: Path, seeds: range) -> None:
    worlds = [random_world(seed, KINDS, most=5) for seed in seeds]
    assert contradictions(worlds, tmp_path)[0] == []
