"""Every column of PROCESSORS_BY_TIME, worked out by hand on the rows of `lab`."""

from __future__ import annotations

import duckdb
import pytest

from tests.reduce.catalogue import TOD_SECOND, close, minute


def test_one_processor_of_the_first_interval(laboratory: duckdb.DuckDBPyConnection) -> None:
    found = laboratory.execute(
        "SELECT * FROM processors_by_time WHERE interval_end = ? AND cpu = 0", [minute(1)]
    )
    names = [column[0] for column in found.description or ()]
    (values,) = found.fetchall()
    cores = dict.fromkeys(("core", "core_util", "core_active_us", "core_seconds"))
    want = {
        **cores,
        "system": "LAB",
        "interval_end": minute(1),
        "cpu": 0,
        "cpu_type": "CP",
        "is_master": False,
        "seconds": 60,
        "total_util": 36 / 60,
        "emul_util": 12 / 60,
        "cp_user_util": 18 / 60,
        "cp_system_util": 6 / 60,
        "wait_util": 24 / 60,
        "spin_util": 0.6 / 60,
        "suspended_util": 0,
        "logical_load": 36 / 60,
        "sie_rate": 100,
        "xstor_page_rate": 1200 / 60,
        "dasd_page_rate": 360 / 60,
        "diagnose_rate": 120 / 60,
        "ssch_rate": 300 / 60,
        "busy_tod": 36 * TOD_SECOND,
        "emulation_tod": 12 * TOD_SECOND,
        "cp_user_tod": 18 * TOD_SECOND,
        "cp_system_tod": 6 * TOD_SECOND,
        "wait_tod": 24 * TOD_SECOND,
        "spin_tod": round(0.6 * TOD_SECOND),
        "suspended_tod": 0,
        "accounted_tod": 60 * TOD_SECOND,
        "sie_entries": 6000,
        "xstor_pages": 1200,
        "xstor_seconds": 60,
        "dasd_pages": 360,
        "diagnoses": 120,
        "starts": 300,
        "paging_seconds": 60,
        "doubts": "SYTCUP contradicts SYTPRP",  # 75 s of 90 s
    }
    close(dict(zip(names, values, strict=True)), want)


def test_time_that_is_neither_busy_nor_waiting_is_suspended(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.sytprp SET pfxtotwt = 0 WHERE pfxcpuad = 0")
    found = con.execute(
        "SELECT suspended_util FROM processors_by_time WHERE interval_end = ? AND cpu = 0",
        [minute(1)],
    ).fetchone()
    assert found == pytest.approx((0.4,))


def test_logical_load_is_of_the_time_in_which_the_processor_was_not_suspended(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute(f"UPDATE interval.sytprp SET pfxtotwt = {12 * TOD_SECOND} WHERE pfxcpuad = 0")
    row = con.execute(
        "SELECT logical_load, total_util, suspended_util FROM processors_by_time"
        " WHERE interval_end = ? AND cpu = 0",
        [minute(1)],
    ).fetchone()
    assert row == pytest.approx((36 / 48, 36 / 60, 12 / 60))
    con.execute("UPDATE interval.sytprp SET pfxtotwt = NULL")
    assert con.execute("SELECT count(logical_load) FROM processors_by_time").fetchone() == (0,)


def test_the_sie_rate_is_the_sum_of_all_counters_that_records_have(
    con: duckdb.DuckDBPyConnection,
) -> None:
    rate = "SELECT sie_rate FROM processors_by_time WHERE interval_end = ? AND cpu = 0"
    con.execute("UPDATE interval.sytprp SET pfxfstxc = 600, pfxfst44 = 1200")
    assert con.execute(rate, [minute(1)]).fetchone() == ((6000 + 600 + 1200) / 60,)
    con.execute("UPDATE interval.sytprp SET plsfppfsuccess = 60, pfxfstpx = 120, pfxfstsg = 180")
    con.execute("UPDATE interval.sytprp SET plswrucp = 240")
    assert con.execute(rate, [minute(1)]).fetchone() == ((6000 + 1800 + 600) / 60,)


def test_each_processor_has_one_row_an_interval(laboratory: duckdb.DuckDBPyConnection) -> None:
    count = laboratory.execute("SELECT count(*), count(seconds) FROM processors_by_time").fetchone()
    assert count == (6, 4)
