"""Overcommitted storage and the available list: rows worked out by hand, and a generated dump."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from msgspec.structs import replace

from cpmon.generate import dump_frames, load_scenario
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import report
from cpmon.store import Store, connect
from tests.reduce.catalogue import close, insert, lab, minute

GIB = 1 << 30
GUESTS = [f"LINUX{n:03}" for n in range(1, 16)]


@pytest.fixture
def con(empty: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The published example: 15 guests of 1 GB on a system of 10 GB."""
    began = {"system": "LAB", "tod": minute(-1)}
    insert(empty, "monitor.mtrmem", {**began, "rsagstor": 10 * GIB})
    for guest in GUESTS:
        insert(empty, "monitor.mtrusr", {**began, "vmduser": guest, "ascdefsz": GIB - 1})
    for n in range(2):
        key = {"system": "LAB", "interval_end": minute(n), "seconds": 60 if n else None}
        insert(empty, "meta.interval", {**key, "previous_end": minute(n - 1) if n else None})
        insert(empty, "interval.sytrsg", {**key, "rsanonpg": 900, "sysrsvpg": 50})
        thresholds = {"rsaavllt": 80, "rsaavlht": 120, "rsaavllg": 800, "rsaavlhg": 1200}
        insert(empty, "interval.storsg", {**key, **thresholds})
        for guest in GUESTS:
            for cpu in range(2):  # storage belongs to the user, not to its processors
                row = {"vmduser": guest, "vmdcpuad": cpu, "vmdctpvr": 100}
                insert(empty, "interval.useact", {**key, **row})
    return empty


def storage(con: duckdb.DuckDBPyConnection) -> dict[str, object]:
    found = con.execute("SELECT * FROM storage_by_time WHERE interval_end = ?", [minute(1)])
    names = [column[0] for column in found.description or ()]
    (values,) = found.fetchall()
    return dict(zip(names, values, strict=True))


def test_fifteen_guests_of_a_gigabyte_overcommit_ten_by_half(con: duckdb.DuckDBPyConnection):
    row = storage(con)
    known = {"users": 15, "virtual_mib": 15 * 1024, "real_mib": 10 * 1024, "overcommit": 1.5}
    known |= {"nonpageable_below_2g": 900, "reserved_pages": 50, "doubts": None}
    close({name: row[name] for name in known}, known)


def test_a_guest_of_unknown_storage_leaves_the_sum_unknown(con: duckdb.DuckDBPyConnection):
    con.execute("DELETE FROM monitor.mtrusr WHERE vmduser = 'LINUX007'")
    row = storage(con)
    assert (row["users"], row["virtual_mib"], row["overcommit"]) == (15, None, None)
    assert row["doubts"] == "storage of users is not known"


def test_a_guest_that_was_not_sampled_leaves_the_sum_unknown(con: duckdb.DuckDBPyConnection):
    con.execute(
        "UPDATE interval.useact SET vmdctpvr = NULL, cause = 'missing', doubts = 'no sample'"
        " WHERE vmduser = 'LINUX007' AND interval_end = ?",
        [minute(1)],
    )
    row = storage(con)
    assert (row["users"], row["virtual_mib"], row["overcommit"]) == (None, None, None)
    assert row["doubts"] == "no sample"


def test_storage_that_was_not_recorded_has_no_ratio(con: duckdb.DuckDBPyConnection):
    con.execute("DELETE FROM monitor.mtrmem")
    row = storage(con)
    assert (row["virtual_mib"], row["real_mib"], row["overcommit"]) == (15 * 1024, None, None)


def test_the_ratio_of_a_span_is_of_its_samples(con: duckdb.DuckDBPyConnection):
    insert(
        con,
        "monitor.mtrusr",
        {"system": "LAB", "tod": minute(1.5), "vmduser": "LINUX001", "ascdefsz": 3 * GIB - 1},
    )
    key = {"system": "LAB", "interval_end": minute(2), "seconds": 60}
    insert(con, "meta.interval", {**key, "previous_end": minute(1)})
    for guest in GUESTS:
        insert(con, "interval.useact", {**key, "vmduser": guest, "vmdcpuad": 0, "vmdctpvr": 1})
    result = report(con, "STORAGE_BY_TIME", system="LAB")
    assert result.table.column("overcommit").to_pylist() == pytest.approx([1.5, 1.7])
    assert result.mean["overcommit"] == pytest.approx(1.6)


def test_the_available_list_stands_between_its_thresholds():
    con = lab()
    for n in range(3):
        key = {"system": "LAB", "interval_end": minute(n)}
        thresholds = {"rsaavllt": 2000, "rsaavlht": 4000, "rsaavllg": 200, "rsaavlhg": 400}
        insert(con, "interval.storsg", {**key, **thresholds})
    (line, _) = report(con, "AVAILLOG").table.to_pylist()
    want = {
        **{"interval_end": minute(1), "seconds": 60.0},
        **{"low_below_2g": 2000, "available_below_2g": 3000, "high_below_2g": 4000},
        **{"low_above_2g": 200, "available_above_2g": 310, "high_above_2g": 400},
        **{"empty_below_2g_rate": 6 / 60, "empty_above_2g_rate": 12 / 60, "steal_rate": 132 / 60},
    }
    line["interval_end"] = line["interval_end"].replace(tzinfo=None)
    close(line, want)


def test_a_generated_system_is_overcommitted_as_its_scenario_says(tmp_path: Path):
    lab = load_scenario("small-lab")
    guest = next(group for group in lab.users if group.prefix == "LXMAIL")
    guests = replace(guest, count=15, prefix="LX", storage_mib=1024)
    storage = replace(
        lab.storage, central_mib=10240, available_below_frames=1000, available_above_frames=5000
    )
    run = replace(lab.runs[0], storage=storage)
    scenario = replace(lab, users=(guests,), storage=storage, runs=(run,))
    dump = tmp_path / "LAB.mon"
    dump.write_bytes(b"".join(dump_frames(scenario, "LAB", intervals=3)))
    store = Store(tmp_path / "store", create=True)
    ingest(dump, store)
    con = connect(store, reductions())
    result = report(con, "STORAGE")
    lines = result.table.to_pylist()
    assert [line["overcommit"] for line in lines] == [1.5] * len(lines)
    assert {line["users"] for line in lines} == {15}
    assert {line["virtual_mib"] for line in lines} == {15 * 1024}
    available = report(con, "AVAILABLE_LIST_BY_TIME").table.to_pylist()
    limits = ("low_below_2g", "high_below_2g", "low_above_2g", "high_above_2g")
    assert {tuple(line[name] for name in limits) for line in available} == {(800, 1200, 4000, 6000)}
