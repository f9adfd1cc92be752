"""USER_CONFIG: rows worked out by hand, and a generated dump of a known scenario."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import duckdb
import pytest

from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest import ingest
from cpmon.reduce.page.object_page import changes_of
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.reduce.catalogue import insert, minute

CALLED = {"vmdactno": "LAB00001", "vmdgrpn": "", "vmdbyval": "ADMIN"}


@pytest.fixture
def con(empty: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """ANNA has two processors, one of them later; her storage and reserve change at a logon."""
    user = {"system": "LAB", "vmduser": "ANNA", "vmdrelsh": 200, **CALLED}
    small, large = ({"ascdefsz": (n << 20) - 1, "vmdmxrvp": n * 10} for n in (64, 128))
    insert(empty, "monitor.mtrusr", {**user, **small, "tod": minute(-1)})
    insert(empty, "monitor.uselon", {**user, **large, "tod": minute(1.5)})
    for n in range(3):
        key = {"system": "LAB", "vmduser": "ANNA", "seconds": 60 if n else None}
        key |= {"interval_end": minute(n), "calmesa": True, "calmesam": n == 2}
        insert(empty, "meta.interval", {"system": "LAB", "interval_end": minute(n), "seconds": 60})
        for cpu in range(1 + (n == 2)):
            insert(empty, "interval.useact", {**key, "vmdcpuad": cpu, "vmdctpvr": 10})
    return empty


def test_settings_hold_from_their_record_on(con: duckdb.DuckDBPyConnection):
    rows = con.execute(
        "SELECT machine_mode, virtual_processors, storage_mib, relative_share, absolute_share,"
        " reserved_pages, account, group_name, by_user FROM user_config_by_time"
        " ORDER BY interval_end"
    ).fetchall()
    called = ("LAB00001", None, "ADMIN")
    before = ("ESA", 1, 64.0, 200.0, None, 640, *called)
    assert rows == [before, before, ("z", 2, 128.0, 200.0, None, 1280, *called)]


def test_the_report_shows_what_held_last(con: duckdb.DuckDBPyConnection):
    (line,) = report(con, "UCONF", system="LAB").table.to_pylist()
    assert (line["machine_mode"], line["virtual_processors"], line["storage_mib"]) == ("z", 2, 128)
    assert "group_name" not in line  # no record has one


def test_a_page_of_a_user_shows_changes_of_settings_only(con: duckdb.DuckDBPyConnection):
    every = report(con, "USER_CONFIG", system="LAB", objects={"user": "ANNA"})
    assert every.table.column("storage_mib").to_pylist() == [64, 128]
    repeated = replace(every, table=every.table.take([0, 0, 0, 1, 1, 0]))
    shown = changes_of(repeated)
    assert shown.table.column("storage_mib").to_pylist() == [64, 128, 64]
    assert shown.notes[0] == "3 lines left out, equal to the line before."
    assert changes_of(every) is every


def test_a_user_without_a_record_has_no_settings(con: duckdb.DuckDBPyConnection):
    con.execute("DELETE FROM monitor.mtrusr; DELETE FROM monitor.uselon")
    (line,) = report(con, "USER_CONFIG", system="LAB").table.to_pylist()
    assert (line["storage_mib"], line["relative_share"], line["reserved_pages"]) == (None,) * 3


def test_users_of_a_generated_system_are_set_up_as_its_scenario_says(tmp_path: Path):
    scenario = load_scenario("small-lab")
    dump = tmp_path / "LAB.mon"
    dump.write_bytes(b"".join(dump_frames(scenario, "LAB", intervals=2)))
    store = Store(tmp_path / "store", create=True)
    ingest(dump, store)
    lines = report(connect(store, reductions()), "USER_CONFIG").table.to_pylist()
    shown = {line["userid"]: line for line in lines}
    for group in scenario.users:
        own = [line for userid, line in shown.items() if userid.startswith(group.prefix)]
        assert len(own) == group.count
        for line in own:
            assert line["storage_mib"] == group.storage_mib
            assert line["virtual_processors"] == group.virtual_processors
            assert line["relative_share"] == group.share
    assert {line["machine_mode"] for u, line in shown.items() if u.startswith("STAFF")} == {"XC"}
