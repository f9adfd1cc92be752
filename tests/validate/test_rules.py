"""Every rule holds for a sound hour, and is broken by the smallest lie that it is made for."""

from __future__ import annotations

import duckdb
import pytest

from cpmon.reduce.rules.layout_checks import KINDS
from cpmon.reduce.rules.rule import Purpose, Rule, load_rules
from cpmon.reduce.rules.validation import count, rows_sql
from cpmon.store import Store
from cpmon.store.sql.scope import Scope
from tests.validate.conftest import Counted, Falsify

FIFTH = "QUALIFY dense_rank() OVER (ORDER BY interval_end)"

FOURTH = "tod_us // 60000000 % 4 <> 0"

TWICE_BUSY = (
    "SELECT * REPLACE (tod_us // 129 % 4294967296 AS scmfptim,"
    " tod_us // 129 % 4294967296 AS scmcntim) FROM {rows}"
)
"""Two times of a device, each of which is nearly all of the time."""

LIES = {
    "processor-time-lost": ("sytprp", "SELECT * REPLACE (pfxtotwt // 99 AS pfxtotwt) FROM {rows}"),
    "device-busy": ("ioddev", TWICE_BUSY),
    "dasd_by_activity.figures": ("ioddev", TWICE_BUSY),
    "users-time-charged": ("useact", "SELECT * REPLACE (vmdttime * 2 AS vmdttime) FROM {rows}"),
    "useact.sums": ("useact", "SELECT * REPLACE (vmdttime * 2 AS vmdvtime) FROM {rows}"),
    "processors-dispatched": (
        "sytcup_cpu",
        "SELECT * REPLACE (lcucactm // 99 AS lcucactm) FROM {rows}",
    ),
    "devices-ios": ("ioddev", "SELECT * REPLACE (scgssch * 9 AS scgssch) FROM {rows}"),
    "slots-counted": ("stoasp", "SELECT * REPLACE (cpvalocd * 9 AS cpvalocd) FROM {rows}"),
    "guests-time": (
        "aplsdt_os_cpu",
        "SELECT * REPLACE (per_cpu_user * 99 AS per_cpu_user) FROM {rows}",
    ),
    "users-counted": ("sytusr", "SELECT * REPLACE (2 AS sysusrs) FROM {rows}"),
    "users-in-lists": ("sytscg", "SELECT * REPLACE (9999 AS srmc3elg) FROM {rows}"),
    "users-running": ("sytuwt", "SELECT * REPLACE (99 AS calcpurn) FROM {rows}"),
    "pages-fit-frames": (
        "useact",
        "SELECT * REPLACE (CAST(99999999 AS UINTEGER) AS vmdctpvr) FROM {rows}",
    ),
    "sytrsg.sums": ("sytrsg", "SELECT * REPLACE (0 AS rsapgabl) FROM {rows}"),
    "intervals-regular": ("interval", f"SELECT * FROM {{rows}} {FIFTH} <> 5"),
    "intervals-once": (
        "interval",
        "SELECT * FROM {rows} UNION ALL SELECT * REPLACE ('slice' AS dump) FROM {rows}",
    ),
    "configuration-system": ("mtrsys", "SELECT * FROM {rows} WHERE false"),
    "configuration-processors": ("mtrprp", "SELECT * FROM {rows} WHERE pfxcpuad <> 1"),
    "configuration-users": ("mtrusr", "SELECT * FROM {rows} WHERE false"),
    "configuration-devices": ("mtrdev", "SELECT * FROM {rows} WHERE false"),
    "bytes-accounted": (
        "dump.json",
        "SELECT * REPLACE (struct_update(bytes, filler := bytes.filler + 1) AS bytes) FROM {rows}",
    ),
    "bytes-understood": (
        "dump.json",
        "SELECT * REPLACE (struct_update(bytes, quarantined := 20) AS bytes) FROM {rows}",
    ),
    "useact.keys": (
        "useact",
        "SELECT * REPLACE (if(vmduser = 'STAFF001', '', vmduser) AS vmduser) FROM {rows}",
    ),
    "sytprp.keys": (
        "sytprp",
        "SELECT * REPLACE (if(pfxcpuad = 1, NULL, pfxcpuad) AS pfxcpuad) FROM {rows}",
    ),
    "useact.unique": ("useact", "SELECT * FROM {rows} UNION ALL SELECT * FROM {rows}"),
    "uselon.unique": ("uselon", "SELECT * FROM {rows} UNION ALL SELECT * FROM {rows}"),
    "useact.text": ("useact", "SELECT * REPLACE (vmduser || chr(7) AS vmduser) FROM {rows}"),
    "mtrprp.text": ("mtrprp", "SELECT * REPLACE (chr(145) AS pfxidser) FROM {rows}"),
    "useact.counters": (
        "useact",
        "SELECT * REPLACE (if(record_offset % 3 = 0, 1, vmdvtime) AS vmdvtime) FROM {rows}",
    ),
    "sytprp.counters": (
        "sytprp",
        "SELECT * REPLACE (if(record_offset % 3 = 0, 9e18, pfxtmsys)::BIGINT AS pfxtmsys)"
        " FROM {rows}",
    ),
    "sytprp.owners": ("sytprp", f"SELECT * FROM {{rows}} WHERE pfxcpuad <> 1 OR {FOURTH}"),
    "useint.levels": ("useint", "SELECT * REPLACE (-1 AS vmdslcnt) FROM {rows}"),
    "mtrspr.levels": ("mtrspr", "SELECT * REPLACE (-60 AS interval) FROM {rows}"),
    "mtrusr.clocks": (
        "mtrusr",
        "SELECT * REPLACE (-1::BIGINT AS caltodon) FROM {rows}",
    ),
}


def test_every_rule_holds_for_a_sound_hour(
    con: duckdb.DuckDBPyConnection, lab: Store, rules: tuple[Rule, ...]
):
    counts = count(con, rules, Scope(), lab.tables())
    assert [one.rule.id for one in counts if one.bad] == []
    assert [one.rule.id for one in counts if one.reason] == []
    assert {one.rule.id for one in counts if one.checked} >= LIES.keys()


@pytest.mark.parametrize("rule", LIES)
def test_a_lie_breaks_its_rule(
    con: duckdb.DuckDBPyConnection,
    rules: tuple[Rule, ...],
    falsify: Falsify,
    counted: Counted,
    rule: str,
):
    falsify(*LIES[rule])
    found = counted(rule)
    assert 0 < found.bad <= found.checked
    rows = con.sql(rows_sql(con, found.rule, Scope())).fetchall()
    assert len(rows) == found.bad


def test_every_written_rule_and_every_kind_of_layout_rule_has_a_lie():
    assert {rule.id for rule in load_rules(Purpose.VALIDATION)} <= LIES.keys()
    kinds = {name.partition(".")[2] for name in LIES if "." in name}
    assert kinds == KINDS.keys()


def test_users_whose_records_are_missing_leave_charged_time_without_an_owner(
    falsify: Falsify, counted: Counted
):
    falsify("useact", "SELECT * FROM {rows} WHERE vmduser = 'TCPIP001'")
    found = counted("users-time-charged")
    assert (found.bad, found.checked) == (60, 120)


def test_a_virtual_processor_has_no_more_time_than_there_is(
    con: duckdb.DuckDBPyConnection, falsify: Falsify, counted: Counted
):
    falsify("useact", "SELECT * REPLACE (vmdttime * 9 AS vmdttime) FROM {rows}")
    falsify("sytprp", "SELECT * REPLACE (pfxutime * 9 AS pfxutime) FROM {rows}")
    rows = con.sql(rows_sql(con, counted("users-time-charged").rule, Scope())).fetchall()
    assert rows and all(row[2].startswith("user ") and 1.02 < row[3] < 9 for row in rows)


def test_pages_of_a_user_with_several_virtual_processors_count_once(
    con: duckdb.DuckDBPyConnection, falsify: Falsify, counted: Counted
):
    copies = " UNION ALL ".join(
        f"SELECT * REPLACE ({cpu} AS vmdcpuad) FROM {{rows}}" for cpu in range(9)
    )
    falsify("useact", copies)
    assert counted("pages-fit-frames").bad == 0
    assert counted("users-counted").bad == 0


def test_a_processor_that_waits_a_little_longer_than_there_is_time_is_let_through(
    falsify: Falsify, counted: Counted
):
    falsify("sytprp", WAITS.format(factor=1.005, rows="{rows}"))
    assert counted("sytprp.counters").bad == 0
    falsify("sytprp", WAITS.format(factor=2, rows="{rows}"))
    assert counted("sytprp.counters").bad > 0


WAITS = "SELECT * REPLACE (CAST(pfxtotwt * {factor} AS UBIGINT) AS pfxtotwt) FROM {rows}"


def test_two_dumps_of_one_interval_charge_its_users_once(falsify: Falsify, counted: Counted):
    sound = counted("users-time-charged")
    for table in ("useact", "sytprp", "interval"):
        part = "WHERE tod_us % 2 = 0" if table == "useact" else ""
        falsify(
            table,
            "SELECT * FROM {rows} UNION ALL"
            f" SELECT * REPLACE ('a copy of half' AS dump) FROM {{rows}} {part}",
        )
    again = counted("users-time-charged")
    assert (again.checked, again.bad) == (sound.checked, 0)


def test_figures_out_of_range_are_named_with_their_object(
    con: duckdb.DuckDBPyConnection, falsify: Falsify, counted: Counted
):
    falsify("ioddev", TWICE_BUSY)
    rows = con.sql(rows_sql(con, counted("dasd_by_activity.figures").rule, Scope())).fetchall()
    assert {row[2] for row in rows} >= {"run LAB52, device 0A00, Busy is not possible"}
    assert all("Busy is not possible" in row[2] and row[3:] == (1, 0, 0) for row in rows)


def test_an_owner_that_is_missing_or_began_anew_is_named(
    con: duckdb.DuckDBPyConnection, falsify: Falsify, counted: Counted
):
    falsify(*LIES["sytprp.owners"])
    found = counted("sytprp.owners")
    rows = con.sql(rows_sql(con, found.rule, Scope())).fetchall()
    assert {row[-1] for row in rows} == {"SYTPRP is missing", "SYTPRP was not sampled before"}
    assert {row[-2] for row in rows} == {"pfxcpuad 1"}
    assert counted("sytprp.counters").bad == 0


def test_intervals_of_half_and_of_twice_the_length_are_told(falsify: Falsify, counted: Counted):
    falsify("interval", "SELECT * REPLACE (300 AS nominal_s) FROM {rows}")
    assert counted("intervals-regular").bad == 60
    falsify("interval", "SELECT * REPLACE (20 AS nominal_s) FROM {rows}")
    assert counted("intervals-regular").bad == 60


def test_the_time_between_two_loads_of_cp_is_no_irregular_interval(
    falsify: Falsify, counted: Counted
):
    falsify("interval", "SELECT * REPLACE (interval_end_us AS ipl_us) FROM {rows}")
    found = counted("intervals-regular")
    assert (found.checked, found.bad) == (0, 0)
    assert found.reason == "no figure of it is known in this span"
