"""Every column of run_summary, worked out by hand: sums over sums, never means of means."""

from __future__ import annotations

import duckdb
import pytest

from tests.reduce.catalogue import close, insert, minute


def summary(con: duckdb.DuckDBPyConnection, run: str = "R1") -> dict[str, object]:
    found = con.execute("SELECT * FROM run_summary WHERE run_id = ?", [run])
    names = [column[0] for column in found.description or ()]
    (values,) = found.fetchall()
    return dict(zip(names, values, strict=True))


def window(con: duckdb.DuckDBPyConnection, since: float, until: float) -> None:
    """Set the times of every run, all of it steady; minutes."""
    con.execute(
        "UPDATE meta.run SET since = $1, steady_since = $1, until = $2, steady_until = $2",
        [minute(since), minute(until)],
    )


def test_a_run_of_two_unequal_intervals(laboratory: duckdb.DuckDBPyConnection) -> None:
    busy, emulation, elapsed = 90 + 18, 42 + 7.5, 90
    tx = (600 + 750) / 90
    want = {
        "run_id": "R1",
        "system": "LAB",
        "since": minute(0),
        "until": minute(2),
        "base_run_id": "R1",
        "cp_level": "4.3.0",
        "users": 2,
        "processors": 2,
        "intervals": 2,
        "seconds": 90,
        "processors_measured": 2,
        "total_util": busy / 180,
        "emul_util": emulation / 180,
        "cp_util": (busy - emulation) / 180,
        "tv_ratio": busy / emulation,
        "master_total_util": (54 + 15) / 90,
        "master_emul_util": (30 + 6) / 90,
        "master_cp_util": (24 + 9) / 90,
        "spin_lock_rate": 120_000 / 90,
        "spin_time_us": 2.1e6 / 120_000,
        "pct_spin": 2.1 / 180,
        "xstor_page_rate": 4 * 1200 / 90,
        "xstor_migration_rate": 4 * 21 / 90,
        "dasd_page_rate": 4 * 360 / 90,
        "dasd_read_rate": 4 * 300 / 90,
        "dasd_write_rate": 4 * 60 / 90,
        "spool_rate": 4 * 9 / 90,
        "ssch_rate": 4 * 300 / 90,
        "move_2g_rate": 4 * 33 / 90,
        "steal_rate": 4 * 66 / 90,
        "diag44_rate": 2 * (450 + 900) / 90,
        "diag44_fast_rate": 0,  # CP 4.3.0 has no fast path for it
        "users_measured": 2,
        "resident_pages_per_user": (2 * 410 + 420) / 3 / 2,  # over 60 and 30 s
        "xstor_pages_per_user": 50,
        "dasd_pages_per_user": 150,
        "total_pages_per_user": (2 * 410 + 420) / 3 / 2 + 200,
        "resident_below_2g": (2 * 410 + 420) / 3,
        "resident_above_2g": (2 * (1000 - 310 - 100) + (1000 - 320 - 100)) / 3,
        "users_logged_on": (2 * 11 + 12) / 3,
        "users_active": (2 * 7 + 8) / 3,
        "transaction_rate": 60 / 90,
        "response_s": 30 / 60,
        "page_volumes": 2,
        "page_volume_busy": (0.5 + 0.2) / 2,
        "tx_rate": tx,
        "cpu_per_tx_ms": 1000 * busy / elapsed / tx,
        "cp_per_tx_ms": 1000 * (busy - emulation) / elapsed / tx,
        "emul_per_tx_ms": 1000 * emulation / elapsed / tx,
        "dasd_pages_per_tx": 16 / tx,
        "hw_total_util_per_user": 117 / 90 / 2 / 2,
        "hw_emul_util_per_user": 36 / 90 / 2 / 2,
        "hw_cp_util_per_user": 81 / 90 / 2 / 2,
    }
    close(summary(laboratory), want, rel=1e-5)


def test_an_interval_belongs_to_the_run_in_which_it_ends(con: duckdb.DuckDBPyConnection) -> None:
    insert(
        con,
        "meta.run",
        {"run_id": "LATE", "system": "LAB", "since": minute(1), "until": minute(2)},
    )
    late = summary(con, "LATE")
    assert (late["intervals"], late["seconds"]) == (1, 30)
    assert late["total_util"] == pytest.approx(18 / 60)
    assert late["tx_rate"] is None
    assert late["cpu_per_tx_ms"] is None
    assert late["hw_total_util_per_user"] is None


def test_figures_are_of_the_steady_state_and_time_per_transaction_is_of_the_whole_run(
    con: duckdb.DuckDBPyConnection,
) -> None:
    whole = summary(con)
    con.execute("UPDATE meta.run SET steady_since = ?", [minute(1)])
    steady = summary(con)
    assert (steady["intervals"], steady["seconds"]) == (1, 30)
    assert steady["total_util"] == pytest.approx(18 / 60)
    assert steady["xstor_page_rate"] == pytest.approx(2 * 1200 / 30)
    assert steady["resident_below_2g"] == 420
    assert steady["page_volumes"] == 2
    assert steady["tx_rate"] == pytest.approx(750 / 30)
    assert steady["dasd_pages_per_tx"] == pytest.approx(2 * 360 / 750)
    assert steady["hw_total_util_per_user"] == pytest.approx(27 / 30 / 2 / 2)
    for name in ("cpu_per_tx_ms", "cp_per_tx_ms", "emul_per_tx_ms"):
        assert steady[name] == whole[name], name
    assert steady["cpu_per_tx_ms"] == pytest.approx(1000 * 108 / 1350)


def test_a_steady_state_that_ends_early_leaves_out_what_comes_behind_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE meta.run SET steady_until = ?", [minute(1)])
    got = summary(con)
    assert got["total_util"] == pytest.approx(90 / 120)
    assert got["tx_rate"] == pytest.approx(600 / 60)
    assert got["cpu_per_tx_ms"] == pytest.approx(1000 * 108 / 1350)


@pytest.mark.parametrize("level", ["5.2.0", "6.1.0", None])
def test_from_5_2_on_and_at_an_unknown_level_fast_entries_are_diagnoses_44(
    level: str | None, con: duckdb.DuckDBPyConnection
) -> None:
    con.execute("UPDATE meta.run SET cp_level = ?", [level])
    assert summary(con)["diag44_fast_rate"] == pytest.approx(2 * (900 + 1800) / 90)


@pytest.mark.parametrize("level", ["4.2.0 + VM62840", "5.1.0"])
def test_before_5_2_no_diagnose_44_takes_the_fast_path(
    level: str, con: duckdb.DuckDBPyConnection
) -> None:
    con.execute("UPDATE meta.run SET cp_level = ?", [level])
    assert summary(con)["diag44_fast_rate"] == 0


def test_pages_above_2_gb_are_not_known_without_size_or_available_list(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.sytrsg SET rsa2gavl = NULL, rsacplkg = NULL")  # before 5.2.0
    assert summary(con)["resident_above_2g"] is None
    con.rollback()
    con.begin()
    con.execute("DELETE FROM monitor.mtrmem")
    assert summary(con)["resident_above_2g"] is None


def test_no_page_is_above_2_gb_where_no_storage_is(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE monitor.mtrmem SET rsagstor = ?", [1 << 31])
    con.execute("UPDATE interval.sytrsg SET rsa2gavl = NULL, rsacplkg = NULL")
    assert summary(con)["resident_above_2g"] == 0


def test_the_size_of_storage_in_force_is_the_latest_before_the_interval_ended(
    con: duckdb.DuckDBPyConnection,
) -> None:
    grown = (524_288 + 5000) * 4096
    insert(con, "monitor.mtrmem", {"system": "LAB", "tod": minute(1.5), "rsagstor": grown})
    assert summary(con)["resident_above_2g"] == (2 * (1000 - 410) + (5000 - 420)) / 3


def test_the_first_sample_adds_nothing_even_where_the_window_holds_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    before = summary(con)
    con.execute("UPDATE meta.run SET since = $1, steady_since = $1", [minute(-5)])
    after = summary(con)
    close(after, {**before, "since": minute(-5)})


def test_companion_lines_outside_the_window_do_not_count(con: duckdb.DuckDBPyConnection) -> None:
    window(con, 1, 2)
    assert summary(con)["tx_rate"] == pytest.approx(750 / 30)
    window(con, 0, 1)
    assert summary(con)["tx_rate"] == pytest.approx(600 / 60)
    assert summary(con)["cpu_per_tx_ms"] == pytest.approx(1000 * 90 / 600)


def test_a_companion_clock_that_is_milliseconds_late_keeps_its_last_line(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE meta.throughput SET interval_end = interval_end + INTERVAL 5 MILLISECOND")
    assert summary(con)["tx_rate"] == pytest.approx(1350 / 90)


def test_a_companion_clock_that_is_late_adds_no_line_at_the_start(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE meta.throughput SET interval_end = interval_end + INTERVAL 5 MILLISECOND")
    window(con, 1, 2)
    assert summary(con)["tx_rate"] == pytest.approx(750 / 30)


def test_a_companion_line_of_a_later_measurement_does_not_count(
    con: duckdb.DuckDBPyConnection,
) -> None:
    window(con, 0, 2.1)  # a little room, as run files have
    after = {"run_id": "R1", "interval_end": minute(60), "seconds": 60.0}
    insert(con, "meta.throughput", {**after, "transactions": 9999})
    insert(con, "meta.hardware", {**after, "busy_s": 99.0, "emulation_s": 99.0})
    got = summary(con)
    assert got["tx_rate"] == pytest.approx(1350 / 90)
    assert got["hw_total_util_per_user"] == pytest.approx(117 / 90 / 2 / 2)


def test_a_companion_line_longer_than_the_run_counts(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM meta.throughput")
    hour = {"run_id": "R1", "interval_end": minute(30), "seconds": 3600.0, "transactions": 7200}
    insert(con, "meta.throughput", hour)
    assert summary(con)["tx_rate"] == pytest.approx(2)


def test_a_run_without_any_data_is_there_and_all_null(con: duckdb.DuckDBPyConnection) -> None:
    insert(
        con,
        "meta.run",
        {"run_id": "NONE", "system": "NOWHERE", "since": minute(0), "until": minute(9)},
    )
    none = summary(con, "NONE")
    assert none.pop("intervals") == 0
    given = {"run_id", "system", "since", "until"}
    assert all(value is None for name, value in none.items() if name not in given)


def test_without_expanded_storage_users_have_the_other_pages(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.useact SET vmdctxbk = NULL")
    assert summary(con)["total_pages_per_user"] is None  # no record says of which level they are
    system = {"system": "LAB", "tod": minute(0), "hcpcpeid": "06030000"}
    insert(con, "monitor.mtrsys", system)
    found = summary(con)
    assert found["xstor_pages_per_user"] is None
    assert found["total_pages_per_user"] == pytest.approx((2 * 410 + 420) / 3 / 2 + 150)
    con.execute("UPDATE monitor.mtrsys SET hcpcpeid = '06020000'")
    assert summary(con)["total_pages_per_user"] is None


def test_a_volume_is_busy_with_the_ios_that_were_not_timed_too(
    con: duckdb.DuckDBPyConnection,
) -> None:
    # Most I/Os of one volume were timed, and the disk alone was active a tenth of the time.
    con.execute(
        "UPDATE interval.ioddev SET scgcount = 0.8 * scgssch, scmdatim = 0.1 * seconds / 128e-6"
        " WHERE rdevdev = 512 AND seconds > 0"
    )
    assert summary(con)["page_volume_busy"] == pytest.approx((0.6 / 0.8 + 0.2) / 2, rel=1e-5)


def test_a_volume_is_not_busy_for_longer_than_the_interval(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.ioddev SET scgssch = 3 * scgssch WHERE rdevdev = 512")
    got = summary(con)
    assert got["page_volumes"] == 1
    assert got["page_volume_busy"] == pytest.approx(0.2, rel=1e-5)


def test_a_volume_whose_ios_were_not_timed_in_an_interval_counts_in_the_other(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.ioddev SET scgcount = 0 WHERE rdevdev = 512 AND seconds = 30")
    assert summary(con)["page_volume_busy"] == pytest.approx((0.5 + 0.2) / 2, rel=1e-5)


def test_a_volume_that_is_silent_is_left_out_of_the_mean(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM interval.ioddev WHERE rdevdev = ?", [0x201])
    got = summary(con)
    assert got["page_volumes"] == 1
    assert got["page_volume_busy"] == pytest.approx(0.5, rel=1e-5)
