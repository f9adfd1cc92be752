"""Every column of LPAR, worked out by hand on the rows of `lab`."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from cpmon.reduce.reports.report import report
from tests.reduce.catalogue import TOD_SECOND, close, insert, minute
from tests.reduce.lab_processors import CLOCK
from tests.reduce.rows import rows

NO_TYPE = dict.fromkeys(
    [
        *("weights", "weight_share", "shared_processors", "entitlement", "entitlement_util"),
        *("entitled_us", "entitled_seconds"),
    ]
)
"""The rows name no types: nothing says with which weights one competes."""


def partition(con: duckdb.DuckDBPyConnection, name: str, n: int) -> dict[str, Any]:
    (found,) = rows(
        con, "lpar_by_time", "interval_end = ? AND partition_name = ?", [minute(n), name]
    )
    return found


def test_the_partition_of_the_system_itself(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "partition_name": "LAB",
        "partition_number": 1,
        "processor_type": None,
        "is_own": True,
        "logical_processors": 2,
        "weight": 200,
        **NO_TYPE,
        "is_dedicated": False,
        "is_capped": True,
        "seconds": 60,
        "busy_util": (30 + 45) / 120,
        "overhead_util": 2 / 120,
        # Processor 0 ran 36 and waited 24 seconds, processor 1 ran 54 and waited 6.
        "suspended_util": 0,
        "physical_util": 75 / 240,
        "active_us": 75_000_000,
        "dispatched_us": 75_000_000,
        "overhead_us": 2_000_000,
        "logical_seconds": 120,
        "suspended_tod": 0,
        "own_seconds": 120,
        "physical_seconds": 240,
        "physical_us": 75_000_000,
        # Its processors ran for 90 s.
        "doubts": "SYTCUP contradicts SYTPRP",
    }
    close(partition(con, "LAB", 1), want)


def test_time_that_the_own_partition_was_not_dispatched(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.sytprp SET pfxtotwt = 0 WHERE pfxcpuad = 0")
    found = partition(con, "LAB", 1)
    assert found["suspended_tod"] == 24 * TOD_SECOND
    assert found["suspended_util"] == pytest.approx(24 / 120)


def test_another_partition_is_not_known_to_be_suspended(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        "system": "LAB",
        "interval_end": minute(2),
        "partition_name": "TEST",
        "partition_number": 2,
        "processor_type": None,
        "is_own": False,
        "logical_processors": 1,
        "weight": 0,
        **NO_TYPE,
        "is_dedicated": True,
        "is_capped": False,
        "seconds": 30,
        "busy_util": 1,
        "overhead_util": 0,
        "suspended_util": None,
        "physical_util": 0.25,
        "active_us": 30_000_000,
        "dispatched_us": 30_000_000,
        "overhead_us": 0,
        "logical_seconds": 30,
        "suspended_tod": None,
        "own_seconds": None,
        "physical_seconds": 120,
        "physical_us": 30_000_000,
    }
    close(partition(con, "TEST", 2), want)


def test_what_the_machine_needs_for_itself_belongs_to_no_partition(
    con: duckdb.DuckDBPyConnection,
) -> None:
    found = partition(con, "*PHYSICAL*", 1)
    unknown = {name for name, value in found.items() if value is None}
    assert found["physical_util"] == pytest.approx(0.01)  # a hundredth of each of 4 processors
    assert found["active_us"] == 2_400_000
    assert found["is_own"] is False
    assert unknown == {
        *("partition_number", "logical_processors", "weight", "is_dedicated", "is_capped"),
        *("busy_util", "overhead_util", "suspended_util", "dispatched_us", "overhead_us"),
        *("logical_seconds", "suspended_tod", "own_seconds", "processor_type", *NO_TYPE),
        "doubts",
    }


def test_a_first_sample_has_settings_but_no_times(con: duckdb.DuckDBPyConnection) -> None:
    first = partition(con, "LAB", 0)
    assert (first["weight"], first["is_capped"]) == (200, True)
    assert first["seconds"] is None
    assert first["busy_util"] is None
    assert first["physical_util"] is None


def test_the_length_of_an_interval_is_that_of_the_partitions_clock(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute(
        "UPDATE interval.sytcup SET lcutctod = ? WHERE interval_end = ?",
        [CLOCK + 100 * TOD_SECOND, minute(1)],
    )
    assert partition(con, "LAB", 1)["seconds"] == pytest.approx(100)
    assert partition(con, "LAB", 1)["busy_util"] == pytest.approx(75 / 200)


def test_an_interval_that_two_dumps_hold_counts_once(con: duckdb.DuckDBPyConnection) -> None:
    once = partition(con, "LAB", 1)
    for table in ("sytcup", "sytcup_cpu"):
        growing = ", lcucactm = NULL, lcuclptm = NULL" if table == "sytcup_cpu" else ""
        con.execute(
            f"CREATE TEMP TABLE copy_{table} AS FROM interval.{table} WHERE interval_end = ?",
            [minute(1)],
        )
        con.execute(f"UPDATE copy_{table} SET dump = 'b', seconds = NULL{growing}")
        con.execute(f"INSERT INTO interval.{table} FROM copy_{table}")
    # Without the time of each row, nothing contradicts the time of the processors.
    close(partition(con, "LAB", 1), once | {"doubts": None})


def test_before_4_3_no_partition_is_told_to_be_the_own_one(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE monitor.sytcug SET lparname = NULL")
    found = partition(con, "LAB", 1)
    assert found["is_own"] is None
    assert found["suspended_util"] is None
    assert found["busy_util"] == pytest.approx(75 / 120)


def test_a_line_covers_the_whole_span(con: duckdb.DuckDBPyConnection) -> None:
    lines = report(con, "LPAR").table.to_pylist()
    assert [line["partition_name"] for line in lines] == ["LAB", "TEST", "*PHYSICAL*"]
    assert lines[0]["busy_util"] == pytest.approx((75 + 37.5) / 180)
    # 30 seconds of processor 1 in minute 2: 15 busy, 15 waiting; processor 0: 3 and 27.
    assert lines[0]["suspended_util"] == pytest.approx(0)
    assert lines[0]["seconds"] == pytest.approx(90)
    assert lines[1]["physical_util"] == pytest.approx(0.25)


def test_a_partition_may_get_another_weight(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "UPDATE interval.sytcup_cpu SET lcucwght = 300 WHERE lcupname = 'LAB' AND interval_end = ?",
        [minute(2)],
    )
    assert report(con, "LPAR").table.to_pylist()[0]["weight"] == 300


def test_the_clock_of_a_gap_gives_no_interval(con: duckdb.DuckDBPyConnection) -> None:
    key = {"system": "LAB", "dump": "a", "interval_end": minute(9), "seconds": None}
    clock = {"lcupname": "LAB", "lcuppnum": 1, "lcutctod": CLOCK + 600 * TOD_SECOND}
    insert(con, "interval.sytcup", {**key, **clock})
    row = {"entry": 0, "lcupname": "LAB", "lcuppnum": 1, "lcucpuid": 0, "lcucwght": 1}
    insert(con, "interval.sytcup_cpu", {**key, **row, "lcucflgs": 0})
    assert partition(con, "LAB", 9)["seconds"] is None
