"""The rules from layouts: which tables have them, and what counters are told from."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import Code, ingest
from cpmon.ingest.checks.passes import check_dump
from cpmon.ingest.container.source import open_source
from cpmon.reduce import reductions
from cpmon.reduce.validation import Rule, Scope, Status, find_rule, load_rules
from cpmon.reduce.validation.counting import count
from cpmon.reduce.validation.layout_rules import layout_rules
from cpmon.schemas.errors import CpmonError
from cpmon.schemas.registry import tables
from cpmon.store import Store, connect
from tests import dumps
from tests.dumps import fields, interval
from tests.validate.conftest import Counted, Falsify

CONFIG = fields("mtrsys", systmid="VMTEST")


def test_every_table_with_a_layout_has_rules_and_each_id_stands_once():
    found = [rule.id for rule in layout_rules(tables())]
    assert len(found) == len(set(found)) > 2 * len(tables())
    assert {"useact.keys", "useact.unique", "useact.text", "useact.counters"} <= set(found)
    assert "mtrspr.levels" in found and "mtrusr.clocks" in found


def test_tables_that_have_not_landed_have_no_rules():
    assert {rule.needs for rule in layout_rules(["sytprp", "finding"])} == {("sytprp",)}


def test_records_that_the_monitor_writes_for_every_frame_may_stand_twice():
    assert [rule.id for rule in layout_rules(["mtreof"])] == []


FOUR = [f.name for f in tables()["sytsyp"].columns if f.is_cumulative][:4]
STEADY = [dict.fromkeys(FOUR, 1000 * n) for n in range(1, 5)]
OWNERS = {
    "goes on": STEADY,
    "one falls": [*STEADY[:3], STEADY[3] | {FOUR[0]: 500}],
    "starts again": [*STEADY[:3], dict.fromkeys(FOUR, 10)],
    "wraps": [*(v | {FOUR[0]: 2**32 - 10} for v in STEADY[:3]), STEADY[3] | {FOUR[0]: 10}],
    "falls and makes up": [*STEADY[:2], STEADY[2] | {FOUR[1]: 1500}, STEADY[3]],
    "is away, comes back with less": [STEADY[3], STEADY[3], None, STEADY[0] | {FOUR[2]: 9999}],
}


def test_a_counter_runs_backwards_where_others_of_its_owner_go_on(tmp_path: Path):
    samples = [
        interval(
            60 * n,
            *([CONFIG] if n == 1 else []),
            *(
                fields("sytsyp", 60 * n, pfxcpuad=owner, **values[n - 1])
                for owner, values in enumerate(OWNERS.values())
                if values[n - 1] is not None
            ),
        )
        for n in range(1, 5)
    ]
    file = tmp_path / "counters.mon"
    file.write_bytes(dumps.dump(*samples))
    store = Store(tmp_path / "store", create=True)
    ingest(file, store)
    rule = find_rule(load_rules(store.tables()), "sytsyp.counters")
    with connect(store, reductions()) as con:
        (found,) = count(con, [rule], Scope(), store.tables())
        rows = con.sql(rule.check.rows(Scope())).fetchall()
    assert (found.checked, found.bad) == (17, 2)
    said = [(str(row[3])[11:16], *row[5:]) for row in rows]
    assert said == [
        ("10:03", "pfxcpuad 4", f"{FOUR[1]} 1500 after 2000"),
        ("10:04", "pfxcpuad 1", f"{FOUR[0]} 500 after 3000"),
    ]
    with open_source(file) as source:
        assert check_dump(source).findings.counts[Code.COUNTER_FELL] == 2


def test_a_text_is_looked_at_from_the_release_on_that_has_it(
    con: duckdb.DuckDBPyConnection, rules: tuple[Rule, ...], lab: Store, falsify: Falsify
):
    falsify("sytcup", "SELECT * REPLACE (chr(7) AS lcptype) FROM {rows}")
    rule = find_rule(rules, "sytcup.text")
    (new,) = count(con, [rule], Scope(), lab.tables())
    falsify("dump.json", "SELECT * REPLACE ('4.3.0' AS release) FROM {rows}")
    (old,) = count(con, [rule], Scope(), lab.tables())
    assert new.bad == new.checked > 0
    assert old.bad == 0 < old.checked


def test_the_same_interval_in_two_dumps_is_no_copy(
    con: duckdb.DuckDBPyConnection, falsify: Falsify, counted: Counted
):
    falsify(
        "useact", "SELECT * FROM {rows} UNION ALL SELECT * REPLACE ('slice' AS dump) FROM {rows}"
    )
    assert counted("useact.unique").bad == 0


def test_a_rule_without_its_records_is_not_applicable_and_says_which(
    con: duckdb.DuckDBPyConnection, rules: tuple[Rule, ...], lab: Store
):
    rule = find_rule(rules, "device-busy")
    (found,) = count(con, [rule], Scope(), lab.tables() - {"ioddev"})
    assert found.status is Status.NOT_APPLICABLE
    assert found.reason == "no record IODDEV (6.3) has landed"


def test_a_rule_over_a_span_without_rows_is_not_applicable(
    con: duckdb.DuckDBPyConnection, rules: tuple[Rule, ...], lab: Store
):
    wanted = [
        find_rule(rules, name) for name in ("useact.keys", "useact.counters", "users-time-charged")
    ]
    found = count(con, wanted, Scope("NOBODY"), lab.tables())
    assert {one.status for one in found} == {Status.NOT_APPLICABLE}
    assert found[0].reason == "no row of it is in this span"
    assert found[1].reason == "no interval follows another directly in this span"


def test_an_unknown_rule_is_told_with_the_nearest(rules: tuple[Rule, ...]):
    with pytest.raises(CpmonError) as error:
        find_rule(rules, "useact.countrs")
    assert error.value.remedy == "did you mean useact.counters?"
    assert find_rule(rules, "Processor_Busy").id == "processor-busy"
