"""Every column of SPIN_LOCKS, worked out by hand on the rows of `lab`."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from cpmon.reduce.reports.report import report
from tests.reduce.catalogue import TOD_SECOND, close, minute
from tests.reduce.rows import rows


def lock(con: duckdb.DuckDBPyConnection, name: str, n: int) -> dict[str, Any]:
    (found,) = rows(con, "spin_locks_by_time", "interval_end = ? AND lock = ?", [minute(n), name])
    return found


def test_a_lock_for_exclusive_and_shared_use(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "lock": "SRMSLOCK",
        "seconds": 60,
        "spin_rate": 900 / 60,
        "spin_us": 750_000 / 900,
        "spin_busy": 0.75 / 60,
        "exclusive_rate": 600 / 60,
        "exclusive_us": 1000,
        "exclusive_busy": 0.6 / 60,
        "shared_rate": 300 / 60,
        "shared_us": 500,
        "shared_busy": 0.15 / 60,
        "spins": 900,
        "spin_tod": round(0.75 * TOD_SECOND),
        "exclusive_spins": 600,
        "exclusive_tod": round(0.6 * TOD_SECOND),
        "shared_spins": 300,
        "shared_tod": round(0.15 * TOD_SECOND),
    }
    close(lock(con, "SRMSLOCK", 1), want)


def test_a_lock_that_nobody_shared_has_no_length_of_such_a_spin(
    con: duckdb.DuckDBPyConnection,
) -> None:
    found = lock(con, "RSAAVLLK", 2)
    assert found["exclusive_rate"] == pytest.approx(1)
    assert found["exclusive_us"] == pytest.approx(100)
    assert found["shared_rate"] == 0
    assert found["shared_us"] is None


def test_before_5_3_two_locks_are_known_without_telling_how_they_were_used(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("DELETE FROM interval.sytlck_lock")
    con.execute(
        "UPDATE interval.sytscg SET calslkct = 120, calslktm = ?, caltlkct = 30, caltlktm = ?"
        " WHERE seconds IS NOT NULL",
        [round(0.06 * TOD_SECOND), round(0.003 * TOD_SECOND)],
    )
    unknown = dict.fromkeys(
        f"{use}_{figure}"
        for use in ("exclusive", "shared")
        for figure in ("rate", "us", "busy", "spins", "tod")
    )
    key = {"system": "LAB", "interval_end": minute(2), "seconds": 30}
    scheduler = {"spin_rate": 4, "spin_us": 500, "spin_busy": 0.002, "spins": 120}
    want = {"lock": "SRMSLOCK", **key, **scheduler, "spin_tod": round(0.06 * TOD_SECOND)}
    close(lock(con, "SRMSLOCK", 2), {**want, **unknown})
    timer = {"spin_rate": 1, "spin_us": 100, "spin_busy": 0.0001, "spins": 30}
    want = {"lock": "HCPTRQLK", **key, **timer, "spin_tod": round(0.003 * TOD_SECOND)}
    close(lock(con, "HCPTRQLK", 2), {**want, **unknown})


def test_where_every_lock_is_told_the_scheduler_is_not_told_twice(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.sytscg SET calslkct = 120, caltlkct = 30 WHERE seconds > 0")
    found = rows(con, "spin_locks_by_time", "interval_end = ?", [minute(1)])
    assert sorted(row["lock"] for row in found) == ["RSAAVLLK", "SRMSLOCK"]


def test_locks_are_sorted_by_the_time_spent_in_them_over_the_span(
    con: duckdb.DuckDBPyConnection,
) -> None:
    lines = report(con, "SPIN_LOCKS", top=1).table.to_pylist()
    assert [line["lock"] for line in lines] == ["SRMSLOCK"]
    assert lines[0]["spin_rate"] == pytest.approx(1800 / 90)
    assert lines[0]["spin_busy"] == pytest.approx(1.5 / 90)
    assert lines[0]["shared_us"] == pytest.approx(500)
