"""The rules from layouts: which tables have them, and what counters are told from."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import duckdb
import pytest

from cpmon.cli.dump.diagnosis import check_dump
from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.ingest import Code, ingest
from cpmon.ingest.container.source import open_source
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.rules.rule import Purpose, Rule, find_rule, load_rules
from cpmon.reduce.rules.validation import Status, count, rows_sql
from cpmon.schemas.registry import tables
from cpmon.store import Store, connect
from cpmon.store.sql.scope import Scope
from tests import dumps
from tests.dumps import fields, interval
from tests.validate.conftest import Counted, Falsify

CONFIG = fields("mtrsys", systmid="VMTEST")


def of_layouts(landed: Collection[str]) -> list[Rule]:
    """The rules that follow from the layouts of some tables."""
    return [rule for rule in load_rules(Purpose.VALIDATION, landed=landed) if rule.check]


def test_every_table_with_a_layout_has_rules_and_each_id_stands_once():
    found = [rule.id for rule in of_layouts(tables())]
    assert len(found) == len(set(found)) > 2 * len(tables())
    assert {
        "useact.keys",
        "useact.unique",
        "useact.text",
        "useact.counters",
        "useact.owners",
    } <= set(found)
    assert "mtrspr.levels" in found and "mtrusr.clocks" in found


def test_tables_that_have_not_landed_have_no_rules():
    assert {rule.needs for rule in of_layouts(["sytprp", "finding"])} == {("sytprp",)}


def test_records_that_the_monitor_writes_for_every_frame_may_stand_twice():
    assert [rule.id for rule in of_layouts(["mtreof"])] == []


COUNTS = ["plsdiagt", "plsctss", "plsctrs"]
"""Three counters that tell of a restart, and how far they are."""
OLD = 3_000_000_000
STEADY = [dict.fromkeys(COUNTS, OLD + 1000 * n) for n in range(1, 5)]
OWNERS = {
    "goes on": STEADY,
    "one falls": [*STEADY[:3], STEADY[3] | {COUNTS[0]: OLD - 5}],
    "starts again": [*STEADY[:3], dict.fromkeys(COUNTS, 10)],
    "wraps": [*(v | {COUNTS[0]: 2**32 - 10} for v in STEADY[:3]), STEADY[3] | {COUNTS[0]: 10}],
    "falls and makes up": [*STEADY[:2], STEADY[2] | {COUNTS[1]: OLD - 7}, STEADY[3]],
    "is away": [STEADY[0], STEADY[1], None, STEADY[3]],
}


def test_counters_that_fall_and_owners_that_do_not_go_on_are_told_apart(tmp_path: Path):
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
    rules = load_rules(Purpose.VALIDATION, landed=store.tables())
    chosen = [find_rule(rules, name) for name in ("sytsyp.counters", "sytsyp.owners")]
    with connect(store, reductions()) as con:
        found = count(con, chosen, Scope(), store.tables())
        rows = [con.sql(rows_sql(con, rule, Scope())).fetchall() for rule in chosen]
    assert [(one.checked, one.bad) for one in found] == [(18, 2), (18, 3)]
    counters, owners = ([(str(r[3])[11:16], *r[5:]) for r in some] for some in rows)
    assert counters == [
        ("10:03", "pfxcpuad 4", "SYTSYP.PLSCTSS fell"),
        ("10:04", "pfxcpuad 1", "SYTSYP.PLSDIAGT fell"),
    ]
    assert owners == [
        ("10:03", "pfxcpuad 5", "SYTSYP is missing"),
        ("10:04", "pfxcpuad 2", "SYTSYP began anew"),
        ("10:04", "pfxcpuad 5", "SYTSYP was not sampled before"),
    ]
    with open_source(file) as source:
        codes = check_dump(source).findings.counts
    assert codes == {Code.COUNTER_FELL: 2, Code.OWNER_RESTARTED: 1, Code.SAMPLE_MISSING: 2}


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


def test_a_site_changes_single_keys_of_a_shipped_rule():
    sql = "SELECT system, interval_end, '' AS object, 1 AS value, 0 AS least, 2 AS most FROM {}"
    changed = {
        "useact.keys": {"title": "Keys", "remedy": "Ask."},
        "useact.text": {"sql": sql.format("monitor.sytprp")},
        "pages-fit-frames": {"sql": sql.format("interval.useact")},
        "sytprp.keys": {"severity": "info"},
    }
    found = load_rules(Purpose.VALIDATION, Settings(validation=changed), landed=["useact"])
    keys, text, pages = (find_rule(found, name) for name in list(changed)[:3])
    assert (keys.title, keys.remedy, keys.severity) == ("Keys", "Ask.", "critical")
    assert keys.check is not None and text.check is None
    assert [rule.is_shipped for rule in (keys, text, pages)] == [True, False, False]
    assert (text.needs, pages.needs) == (("sytprp",), ("useact",))
    assert keys.written_in == "layout of USEACT, cpmon.toml: validation.useact.keys"
    assert "sytprp.keys" not in {rule.id for rule in found}


def test_an_unknown_rule_is_told_with_the_nearest(rules: tuple[Rule, ...]):
    with pytest.raises(CpmonError) as error:
        find_rule(rules, "useact.countrs")
    assert error.value.remedy == "did you mean useact.counters?"
    assert find_rule(rules, "Device_Busy").id == "device-busy"
