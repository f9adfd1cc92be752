"""Each shipped rule on a few literal rows: met once, by a value worked out by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import duckdb
import pytest

from cpmon.reduce.rules.exceptions import exceptions
from cpmon.reduce.rules.rule import Purpose, load_rules
from tests.reduce.catalogue import both, insert, minute
from tests.reduce.rules import catalogue, intervals, shares

RULES = {rule.id: rule for rule in load_rules(Purpose.EXCEPTIONS)}
HOUR = 61
Want = tuple[str, float, int, tuple[str, int]]
"""Object, worst value, intervals, and the place of the record."""
Case = Callable[[duckdb.DuckDBPyConnection], Want]
CASES: dict[str, Case] = {}


def case(rule: str) -> Callable[[Case], Case]:
    """A function that inserts the rows by which a rule is met."""

    def add(fill: Case) -> Case:
        CASES[rule] = fill
        return fill

    return add


def at(n: int) -> dict[str, Any]:
    return {"system": "LAB", "dump": "a", "interval_end": minute(n), "record_offset": 1000 * n}


@case("processor-busy")
def processor(con: duckdb.DuckDBPyConnection) -> Want:
    shares(con, [None, 0.95, 0.95, 0.95, 0.96, 0.95, 0.5])
    shares(con, [None, 0.95, 0.95, 0.95, 0.95, 0.5], cpu=1)
    return "CPU 0", 96.0, 5, ("a", 4000)


@case("spin-time")
def spinning(con: duckdb.DuckDBPyConnection) -> Want:
    """Two processors: 12 and 3 of 60 s spinning are 12.5 %; then 6 s each, which is 10 %."""
    for n in range(1, 8):
        for cpu, seconds in ((0, 12), (1, 3)) if n < 6 else ((0, 6), (1, 6)):
            row = {**at(n), "pfxcpuad": cpu, "seconds": 60.0}
            both(con, "sytprp", {**row, "pfxspint": round(seconds * 4096e6)})
    return "all processors", 12.5, 5, ("a", 1000)


@case("page-volume-busy")
def paging(con: duckdb.DuckDBPyConnection) -> Want:
    """25 of 60 s in use is 41.7 %, on a volume with page slots; one without is left alone."""
    for n in range(1, 6):
        for device, slots in ((0x200, 500), (0x300, 0)):
            row = {**at(n), "rdevdev": device, "seconds": 60.0}
            insert(con, "interval.stoasp", {**row, "calvser": "PAG200", "calpage": slots})
            times = {"scmfptim": 0, "scmddtim": 0, "scmcntim": round(25 / 128e-6)}
            both(con, "ioddev", {**row, **times, "scmssch": 9, "scmcount": 9})
    return "device 0200", 100 * 25 / 60, 5, ("a", 1000)


@case("available-list-empty")
def frames(con: duckdb.DuckDBPyConnection) -> Want:
    """Empty twice on one processor and once on the other; the list above 2 GB is not known."""
    for n, times in ((1, (0, 0)), (2, (2, 1)), (3, (0, 0))):
        for cpu, empty in enumerate(times):
            row = {**at(n), "pfxcpuad": cpu, "seconds": 60.0}
            both(con, "sytrsp", {**row, "plsalemp": empty})
    return "list below 2 GB", 3.0, 1, ("a", 2000)


@case("device-response")
def device(con: duckdb.DuckDBPyConnection) -> Want:
    """600 I/Os a minute of 20 ms, and 0.2 in the queue at 10 a second: 20 more."""
    for n in range(1, 6):
        for number, starts in ((0x321, 600), (0x322, 6)):
            row = {**at(n), "rdevdev": number, "rdevser": f"V{number:03X}", "seconds": 60.0}
            counts = {"scgssch": starts, "scgcount": starts, "scmssch": starts, "scmcount": starts}
            times = {"scmfptim": 0, "scmddtim": 0, "scmcntim": round(starts * 0.02 / 128e-6)}
            both(con, "ioddev", {**row, **counts, **times, "hfctio": 6, "hfrdevct": 30})
    return "device 0321 V321", 40.0, 5, ("a", 1000)


@case("user-looping")
def loop(con: duckdb.DuckDBPyConnection) -> Want:
    """One virtual processor of two runs 57 of 60 s for an hour."""
    for n in range(1, HOUR):
        for cpu, seconds in ((0, 6), (1, 57)):
            row = {**at(n), "vmduser": "ANNA", "vmdcpuad": cpu, "seconds": 60.0}
            both(con, "useact", {**row, "vmdttime": round(seconds * 4096e6)})
    return "ANNA virtual processor 1", 95.0, 60, ("a", 1000)


@case("monitor-data-lost")
def damage(con: duckdb.DuckDBPyConnection) -> Want:
    """A finding between the ends of the intervals 1 and 2; another one loses nothing."""
    for n in (1, 2):
        insert(con, "monitor.mtrend", at(n))
    key = {"system": "LAB", "dump": "a", "record_offset": 1500}
    insert(
        con, "meta.finding", {**key, "code": "RECORD_SHORT", "severity": "data_loss", "count": 7}
    )
    insert(con, "meta.finding", {**key, "code": "RECORD_LONGER", "severity": "info", "count": 9})
    return "RECORD_SHORT", 7.0, 1, ("a", 1500)


@case("monitor-events-lost")
def events(con: duckdb.DuckDBPyConnection) -> Want:
    insert(con, "monitor.mtrsus", {**at(3), "lostrcct": 12})
    return "event records", 12.0, 1, ("a", 3000)


@case("monitor-gap")
def gap(con: duckdb.DuckDBPyConnection) -> Want:
    """Four minutes are missing in front of interval 5; two days between dumps are a pause."""
    con.execute(
        "UPDATE meta.interval SET gap = true, seconds = 240 WHERE interval_end = ?", [minute(5)]
    )
    later = {"system": "LAB", "dump": "b", "interval_end": minute(3000), "gap": True}
    insert(con, "meta.interval", {**later, "restart": True, "seconds": 172_800.0})
    insert(con, "monitor.mtrend", at(5))
    return "no samples", 4.0, 1, ("a", 5000)


@pytest.fixture(scope="module")
def tables() -> duckdb.DuckDBPyConnection:
    return catalogue()


@pytest.fixture
def con(tables: duckdb.DuckDBPyConnection) -> Iterator[duckdb.DuckDBPyConnection]:
    """An hour of intervals, and no record yet."""
    tables.execute("BEGIN")
    intervals(tables, HOUR)
    yield tables
    tables.execute("ROLLBACK")


@pytest.mark.parametrize("rule", RULES)
def test_a_shipped_rule_is_met_where_it_should(rule: str, con: duckdb.DuckDBPyConnection) -> None:
    name, worst, count, place = CASES[rule](con)
    (row,) = exceptions(con, [RULES[rule]]).table.to_pylist()
    assert row["object"] == name
    assert row["value"] == pytest.approx(worst, rel=1e-5)  # times are in units of 128 us
    assert row["intervals"] == count
    assert (row["dump"], row["record_offset"]) == place


def test_no_rule_is_met_by_nothing(con: duckdb.DuckDBPyConnection) -> None:
    got = exceptions(con)
    assert got.table.num_rows == 0
    assert {rule.id for rule, _ in got.unseen} == {
        n for n, r in RULES.items() if r.limit is not None
    }
