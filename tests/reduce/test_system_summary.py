"""Every column of the two system summaries, worked out by hand on the rows of `lab`."""

from __future__ import annotations

import duckdb
import pytest

from tests.reduce.catalogue import TOD_SECOND, close, empty_catalogue, insert, minute


def row(con: duckdb.DuckDBPyConnection, view: str, n: int) -> dict[str, object]:
    found = con.execute(f"SELECT * FROM {view} WHERE interval_end = ?", [minute(n)])
    names = [column[0] for column in found.description or ()]
    (values,) = found.fetchall()
    return dict(zip(names, values, strict=True))


def test_the_first_sample_has_levels_but_no_rates(con: duckdb.DuckDBPyConnection) -> None:
    first = row(con, "system_summary_by_time", 0)
    assert first["users_logged_on"] == 10
    assert first["dispatch_list_users"] == 3
    assert first["seconds"] is None
    for rate in ("total_util", "tv_ratio", "xstor_page_rate", "ssch_rate", "response_s"):
        assert first[rate] is None


DISPATCHED = "SYTCUP contradicts SYTPRP"
"""The machine dispatched the processors of the lab for 75 s, of the 90 s that they ran."""


def test_system_summary_of_the_first_interval(con: duckdb.DuckDBPyConnection) -> None:
    got = row(con, "system_summary_by_time", 1)
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "seconds": 60.0,
        "processors": 2,
        "total_util": 90 / 120,  # 30 + 6 + 48 + 6 seconds on two processors
        "emul_util": 42 / 120,
        "cp_util": 48 / 120,
        "tv_ratio": 90 / 42,
        "suspended_util": 0,  # they ran for 36 and 54 seconds and waited for the others
        "logical_load": 90 / 120,
        "users_logged_on": 11,
        "users_active": 7,
        "dispatch_list_users": 4,
        "eligible_list_users": 1,
        "xstor_page_rate": 2 * 1200 / 60,
        "dasd_page_rate": 2 * 360 / 60,
        "spool_rate": 2 * 9 / 60,
        "ssch_rate": 2 * 300 / 60,
        "transaction_rate": 5 * 6 / 60,
        "response_s": 5 * 3 / 30,
        "processor_seconds": 120,
        "busy_tod": 90 * TOD_SECOND,
        "emulation_tod": 42 * TOD_SECOND,
        "cp_tod": 48 * TOD_SECOND,
        "accounted_tod": 120 * TOD_SECOND,
        "suspended_tod": 0,
        "xstor_pages": 2400,
        "xstor_seconds": 60,
        "dasd_pages": 720,
        "spool_pages": 18,
        "starts": 600,
        "paging_seconds": 60,
        "transactions": 30,
        "response_tod": 15 * TOD_SECOND,
        "transaction_seconds": 60,
        "doubts": DISPATCHED,
    }
    close(got, want)


def test_system_summary2_of_the_first_interval(con: duckdb.DuckDBPyConnection) -> None:
    got = row(con, "system_summary2_by_time", 1)
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "seconds": 60.0,
        "processors": 2,
        "master_total_util": 54 / 60,  # processor 1 carries the flag
        "master_emul_util": 30 / 60,
        "master_cp_util": 24 / 60,
        "spin_lock_rate": 90_000 / 60,
        "spin_time_us": 1.8e6 / 90_000,
        "pct_spin": 1.8 / 120,
        "move_2g_rate": 66 / 60,
        "steal_rate": 132 / 60,
        "resident_pages_per_user": (110 + 300) / 2,
        "xstor_pages_per_user": (40 + 60) / 2,
        "dasd_pages_per_user": (200 + 100) / 2,
        "processor_seconds": 120,
        "master_seconds": 60,
        "master_busy_tod": 54 * TOD_SECOND,
        "master_emulation_tod": 30 * TOD_SECOND,
        "master_cp_tod": 24 * TOD_SECOND,
        "spin_tod": round(1.8 * TOD_SECOND),
        "spins": 90_000,
        "moves_2g": 66,
        "steals": 132,
        "storage_seconds": 60,
        "users": 2,
        "resident_pages": 410,
        "resident_above_pages": None,
        "xstor_pages": 100,
        "dasd_pages": 300,
        "doubts": DISPATCHED,
    }
    close(got, want)


def test_pct_spin_is_rate_times_time_over_processors(con: duckdb.DuckDBPyConnection) -> None:
    got = row(con, "system_summary2_by_time", 2)
    product = float(str(got["spin_lock_rate"])) * float(str(got["spin_time_us"]))
    assert got["pct_spin"] == pytest.approx(product / 1e6 / 2)


def test_a_record_type_that_was_not_taken_is_null_and_adds_no_row() -> None:
    con = empty_catalogue()
    ends = {"previous_end": minute(0), "interval_end": minute(1)}
    insert(con, "meta.interval", {"system": "S", **ends, "seconds": 60.0})
    insert(
        con,
        "interval.sytxsp",
        {
            "system": "S",
            "interval_end": minute(1),
            "pfxcpuad": 0,
            "seconds": 60.0,
            "pfxpgin": 60,
            "plspgin": 0,
            "plspgout": 0,
        },
    )
    got = row(con, "system_summary_by_time", 1)
    assert got["seconds"] == 60.0
    assert got["xstor_page_rate"] == 1.0
    assert got["dasd_page_rate"] is None
    assert got["total_util"] is None
    assert got["users_logged_on"] is None


def test_the_length_of_a_gap_is_not_the_length_of_an_interval() -> None:
    con = empty_catalogue()
    insert(con, "meta.interval", {"system": "S", "interval_end": minute(9), "seconds": 540.0})
    assert row(con, "system_summary_by_time", 9)["seconds"] is None


def test_the_master_is_unknown_without_configuration_records(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("DELETE FROM monitor.mtrprp")
    got = row(con, "system_summary2_by_time", 1)
    assert got["master_total_util"] is None
    assert got["spin_lock_rate"] == 1500


def test_the_configuration_in_force_is_the_latest_before_the_interval_ended(
    con: duckdb.DuckDBPyConnection,
) -> None:
    insert(
        con,
        "monitor.mtrprp",
        {"system": "LAB", "tod": minute(1.7), "pfxcpuad": 0, "calflags": 0x40},
        {"system": "LAB", "tod": minute(1.7), "pfxcpuad": 1, "calflags": 0x00},
    )
    # Minute 1 still has processor 1 (54 of 60 s); minute 2 has processor 0 (3 of 30 s).
    assert row(con, "system_summary2_by_time", 1)["master_total_util"] == pytest.approx(0.9)
    assert row(con, "system_summary2_by_time", 2)["master_total_util"] == pytest.approx(0.1)


def test_another_systems_configuration_does_not_name_the_master(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE monitor.mtrprp SET system = 'OTHER'")
    assert row(con, "system_summary2_by_time", 1)["master_total_util"] is None
