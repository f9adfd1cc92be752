"""Every column of the reports about users, worked out by hand on the rows of `lab_users`."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_text import render_reports
from tests.reduce.catalogue import TOD_SECOND, close, insert, minute
from tests.reduce.rows import rows


@pytest.fixture(autouse=True)
def _quiet(con: duckdb.DuckDBPyConnection) -> None:
    """ANNA neither comes nor goes, and her share is set by the rows of `lab_users` alone."""
    con.execute("DELETE FROM monitor.uselon WHERE vmduser = 'ANNA'")
    con.execute("DELETE FROM monitor.uselof WHERE vmduser = 'ANNA'")
    con.execute("DELETE FROM monitor.sclshr WHERE vmdabssh <> 0")


def of_user(con: duckdb.DuckDBPyConnection, view: str, userid: str, n: int) -> dict[str, Any]:
    """The one row of a user in an interval."""
    (found,) = rows(con, view, "userid = ? AND interval_end = ?", [userid, minute(n)])
    return found


def test_a_user_over_both_virtual_processors(con: duckdb.DuckDBPyConnection) -> None:
    sets = ("cpu_util_mt1", "cpu_mt1_tod", "mt1_seconds")
    sets += ("cpu_util_prorated", "cpu_prorated_tod", "prorated_seconds")
    want = {
        **dict.fromkeys(sets),
        "system": "LAB",
        "interval_end": minute(1),
        "userid": "ANNA",
        "seconds": 60,
        "system_seconds": 60 * 2,
        "system_util": 42 / 120,
        "cpu_util": (30 + 12) / 60,
        "cpu_s": 42,
        "virtual_s": 24 + 11,
        "tv_ratio": 42 / 35,
        "dasd_io_rate": 10,
        "unit_record_io_rate": 1,
        "tape_io_rate": 0.5,
        "console_io_rate": 2,
        "other_io_rate": 1.5,
        "io_rate": 15,
        "page_read_rate": 4,
        "page_write_rate": 1,
        "page_rate": 5,
        "xstor_in_rate": 3,
        "xstor_out_rate": 2,
        "migration_rate": 0.6,
        "steal_rate": 0.1,
        "resident_pages": 110,
        "locked_pages": 7,
        "working_set_pages": 80,
        "xstor_pages": 40,
        "dasd_pages": 200,
        "resident_above_pages": None,
        "relative_share": 100,
        "absolute_share": None,
        "storage_mib": 32,
        "cpu_tod": 42 * TOD_SECOND,
        "virtual_tod": 35 * TOD_SECOND,
        "dasd_ios": 600,
        "unit_record_ios": 60,
        "tape_ios": 30,
        "console_ios": 120,
        "other_ios": 90,
        "page_reads": 240,
        "page_writes": 60,
        "xstor_ins": 180,
        "xstor_outs": 120,
        "migrations": 36,
        "steals": 6,
        "ios": 900,
        "pages_moved": 300,
    }
    close(of_user(con, "users_by_time", "ANNA", 1), want)


def test_a_first_sample_has_levels_and_no_rates(con: duckdb.DuckDBPyConnection) -> None:
    first = of_user(con, "users_by_time", "ANNA", 0)
    assert first["seconds"] is None and first["cpu_util"] is None and first["ios"] is None
    assert first["resident_pages"] == 100


def test_a_share_that_was_set_anew_leaves_the_storage_as_it_was(
    con: duckdb.DuckDBPyConnection,
) -> None:
    later = of_user(con, "users_by_time", "ANNA", 2)
    assert (later["relative_share"], later["storage_mib"]) == (300, 32)
    half = of_user(con, "users_by_time", "BERT", 2)
    assert (half["relative_share"], half["absolute_share"], half["storage_mib"]) == (None, 0.5, 64)


def test_settings_that_say_nothing_new_are_no_change(con: duckdb.DuckDBPyConnection) -> None:
    found = rows(con, "_user_configuration", "userid = 'ANNA' ORDER BY valid_from", [])
    assert [(row["valid_from"], row["valid_until"]) for row in found] == [
        (minute(-0.1), minute(1.5)),
        (minute(1.5), None),
    ]


def test_a_logoff_brings_what_no_sample_shows(con: duckdb.DuckDBPyConnection) -> None:
    last = of_user(con, "users_by_time", "DORA", 1)
    assert (last["seconds"], last["cpu_s"], last["virtual_s"]) == (15, 3, 2)
    assert last["cpu_util"] == pytest.approx(3 / 15)
    assert last["dasd_ios"] == 26  # from 4294967290 over 2^32 to 20
    assert (last["page_reads"], last["page_writes"]) == (15, 0)
    assert last["resident_pages"] is None


def test_a_session_between_two_samples_counts_whole(con: duckdb.DuckDBPyConnection) -> None:
    whole = of_user(con, "users_by_time", "EMIL", 2)
    assert (whole["seconds"], whole["cpu_s"], whole["virtual_s"]) == (15, 1.5, 1)


def test_a_session_of_two_processors_is_as_long_as_one(con: duckdb.DuckDBPyConnection) -> None:
    """Their records at logoff have times that differ by microseconds."""
    con.execute(
        "INSERT INTO monitor.uselof SELECT * REPLACE (1 AS vmdcpuad, tod_us + 1 AS tod_us)"
        " FROM monitor.uselof WHERE vmduser = 'EMIL'"
    )
    whole = of_user(con, "users_by_time", "EMIL", 2)
    assert whole["seconds"] == pytest.approx(15, abs=1e-5)
    assert whole["cpu_s"] == 3


def test_who_logs_on_again_within_the_interval_has_both(con: duckdb.DuckDBPyConnection) -> None:
    again = {"system": "LAB", "interval_end": minute(1), "vmduser": "DORA", "vmdcpuad": 0}
    counted = {"seconds": 20.0, "vmdttime": 4_096_000_000, "vmdvdsct": 4, "vmdctpvr": 70}
    counted |= {"vmdvtime": 0, "calcppgr": 0}
    insert(con, "interval.useact", {**again, **counted})
    both = of_user(con, "users_by_time", "DORA", 1)
    assert (both["seconds"], both["cpu_s"], both["virtual_s"]) == (15 + 20, 3 + 1, 2)
    assert (both["dasd_ios"], both["page_reads"], both["resident_pages"]) == (26 + 4, 15, 70)


def test_a_logoff_behind_a_gap_has_no_growth(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM monitor.useact WHERE vmduser = 'DORA'")
    assert rows(con, "users_by_time", "userid = 'DORA'", []) == []


def test_what_two_dumps_hold_of_a_logoff_counts_once(con: duckdb.DuckDBPyConnection) -> None:
    once = of_user(con, "users_by_time", "DORA", 1)
    con.execute("INSERT INTO monitor.uselof SELECT * REPLACE ('b' AS dump) FROM monitor.uselof")
    con.execute("INSERT INTO monitor.useact SELECT * REPLACE ('b' AS dump) FROM monitor.useact")
    insert(
        con,
        "meta.interval",
        {"system": "LAB", "dump": "b", "interval_end": minute(1), "previous_end": minute(0)},
    )
    assert of_user(con, "users_by_time", "DORA", 1) == once


def test_users_are_sorted_by_processor_time_over_the_span(con: duckdb.DuckDBPyConnection) -> None:
    found = report(con, "USER_RESOURCE_UTIL").table.to_pylist()
    assert [line["userid"] for line in found] == [
        "ANNA",
        "BERT",
        "DORA",
        "EMIL",
    ]
    anna = found[0]
    assert anna["cpu_util"] == pytest.approx(45 / 90)  # of lines it would be 0.4
    assert (anna["cpu_s"], anna["virtual_s"]) == pytest.approx((45, 38))
    assert anna["tv_ratio"] == pytest.approx(45 / 38)
    assert anna["io_rate"] == pytest.approx(930 / 90)
    assert anna["resident_pages"] == pytest.approx((2 * 110 + 120) / 3)  # over 60 and 30 s
    assert anna["relative_share"] == 300


def test_one_user_is_followed_over_time(con: duckdb.DuckDBPyConnection) -> None:
    found = report(con, "USER_PAGING", objects={"user": "ANNA"})
    assert found.table.column("page_rate").to_pylist() == [5, 3]
    assert found.mean["page_rate"] == pytest.approx(390 / 90)
    assert "Resid >2G: not known while its place in USEACT records is not known." in found.notes


def test_a_class_is_the_sum_of_its_members(con: duckdb.DuckDBPyConnection) -> None:
    key = ["STAFF", minute(1)]
    (found,) = rows(con, "user_classes_by_time", "class = ? AND interval_end = ?", key)
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "class": "STAFF",
        "seconds": 60,
        "members": 2,
        "cpu_util": 48 / 60,
        "cpu_util_per_member": 48 / 120,
        "system_util": 48 / 120,
        "system_seconds": 120,
        "cpu_s": 48,
        "virtual_s": 38,
        "tv_ratio": 48 / 38,
        "io_rate": 15,
        "io_rate_per_member": 7.5,
        "page_rate": 5,
        "page_rate_per_member": 2.5,
        "xstor_rate": 5,
        "working_set_per_member": (80 + 20) / 2,
        "resident_per_member": (110 + 300) / 2,
        "xstor_per_member": (40 + 60) / 2,
        "dasd_per_member": (200 + 100) / 2,
        "share_per_member": 100,
        "storage_per_member": (32 + 64) / 2,
        "member_seconds": 120,
        "cpu_tod": 48 * TOD_SECOND,
        "virtual_tod": 38 * TOD_SECOND,
        "ios": 900,
        "pages_moved": 300,
        "xstor_moves": 300,
        "working_set_pages": 100,
        "resident_pages": 410,
        "xstor_pages": 100,
        "dasd_pages": 300,
        "share_sum": 100,
        "sharers": 1,
        "storage_sum": 96,
        "storage_members": 2,
        "storage_mib_seconds": 96 * 60,
        "resident_page_seconds": None,  # pages above 2 GB are not known
    }
    close(found, want)


PAGES_UNKNOWN = "pages of users above 2 GB are not known"


def test_a_class_is_charged_for_what_its_members_used(con: duckdb.DuckDBPyConnection) -> None:
    key = ["STAFF", minute(1)]
    (found,) = rows(con, "charges_by_time", "class = ? AND interval_end = ?", key)
    want = {
        "cpu_s": 48,
        "virtual_s": 38,
        "connect_h": 120 / 3600,
        "io_count": 900,
        "pages_paged": 300,
        "storage_gib_months": 96 / 1024 * 60 / (30 * 86400),
    }
    close({name: found[name] for name in want}, want)
    assert (found["page_months"], found["doubts"]) == (None, PAGES_UNKNOWN)
    notes = report(con, "CHARGEBACK").notes
    assert any("left out of sums" in note and PAGES_UNKNOWN in note for note in notes)


def test_page_months_are_of_pages_below_and_above_2_gb(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.useact SET vmdctpvg = 1000 WHERE vmduser = 'ANNA'")
    key = ["STAFF", minute(1)]
    (found,) = rows(con, "charges_by_time", "class = ? AND interval_end = ?", key)
    assert found["page_months"] is None, "those of BERT are not known"
    con.execute("UPDATE interval.useact SET vmdctpvg = 500 WHERE vmduser = 'BERT'")
    (found,) = rows(con, "charges_by_time", "class = ? AND interval_end = ?", key)
    assert found["doubts"] is None
    assert found["resident_page_seconds"] == (410 + 1500) * 60
    assert found["page_months"] == pytest.approx((410 + 1500) * 60 / (30 * 86400))


def test_who_has_just_logged_off_is_no_member_but_counts(con: duckdb.DuckDBPyConnection) -> None:
    lines = {line["class"]: line for line in report(con, "UCLASS_RESOURCE_UTIL").table.to_pylist()}
    assert (lines["OTHER"]["members"], lines["OTHER"]["cpu_s"]) == (0, 4.5)
    assert lines["OTHER"]["resident_per_member"] is None
    assert lines["STAFF"]["cpu_util"] == pytest.approx(51 / 90)
    assert lines["STAFF"]["cpu_util_per_member"] == pytest.approx(51 / 180)


def test_the_total_of_all_objects_is_over_the_time_that_they_share(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """51 s of STAFF and 4.5 s of others in 60 and 30 s, on two processors."""
    want = {"cpu_s": 55.5, "cpu_util": 55.5 / 90, "system_util": 55.5 / 180}
    users = report(con, "USER_RESOURCE_UTIL", top=1)
    close({name: users.total[name] for name in want}, want)
    classes = report(con, "UCLASS_RESOURCE_UTIL")
    close({name: classes.total[name] for name in want}, want)
    assert classes.total["members"] == 2
    (staff,) = [line for line in classes.table.to_pylist() if line["class"] == "STAFF"]
    assert staff["system_util"] == pytest.approx(51 / 180)
    text = render_reports([classes]).decode()
    assert [line.split()[:4] for line in text.splitlines() if line.startswith("Total")] == [
        ["Total", "2.0", "61.67", "30.83"]
    ]


def test_a_total_leaves_out_the_time_of_which_a_part_is_not_known(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Without processors at minute 2 the share of all is that of minute 1 alone."""
    con.execute("DELETE FROM interval.sytprp WHERE interval_end = ?", [minute(2)])
    users = report(con, "USER_RESOURCE_UTIL")
    used = list(rows(con, "users_by_time", "interval_end = ?", [minute(1)]))
    amount = sum(line["cpu_tod"] for line in used if line["cpu_tod"] is not None) / TOD_SECOND
    assert users.total["cpu_s"] == 55.5
    assert users.total["system_util"] == pytest.approx(amount / 120)


def test_sums_of_a_user_over_time_are_no_mean(con: duckdb.DuckDBPyConnection) -> None:
    result = report(con, "USER_RESOURCE_UTIL", objects={"user": "ANNA"})
    assert result.total.keys() == {"cpu_s", "virtual_s"}
    assert "cpu_util" in result.mean and not result.mean.keys() & result.total.keys()
    names = [line.split()[0] for line in render_reports([result]).decode().splitlines() if line]
    assert names.index("Total") == names.index("Mean") + 1


def test_pages_above_2_gb_are_those_of_a_page_that_places_them(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.useact SET vmdctpvg = 70 WHERE vmduser = 'ANNA'")
    assert of_user(con, "users_by_time", "ANNA", 1)["resident_above_pages"] == 70


def test_states_of_both_virtual_processors(con: duckdb.DuckDBPyConnection) -> None:
    counts = {
        "running": 30,
        "cpu_wait": 8,
        "page_wait": 2,
        "io_wait": 6,
        "simulation_wait": 4,
        "console_wait": 2,
        "svm_wait": 5,
        "loading": 8,
        "eligible": 1,
        "idle": 12,
        "other": 2,
        "io_active": 6,
        "page_active": 4,
    }
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "userid": "ANNA",
        "seconds": 60,
        "samples": 120,
        "active_share": 80 / 120,
        **{f"{state}_share": count / 120 for state, count in counts.items()},
        **{"dormant_share": 40 / 120, "dormant_svm_share": 2 / 120, "dormant_svm_samples": 2},
        **{"limit_list_share": None, "limit_list_samples": None},
        "in_queue_samples": 80,
        **{f"{state}_samples": count for state, count in counts.items()},
        "dormant_samples": 40,
    }
    close(of_user(con, "user_states_by_time", "ANNA", 1), want)


def test_states_over_a_span_are_sums_over_sums(con: duckdb.DuckDBPyConnection) -> None:
    (line,) = report(con, "USER_STATES").table.to_pylist()
    assert line["samples"] == 180
    assert line["running_share"] == pytest.approx(50 / 180)
    assert line["dormant_share"] == pytest.approx(80 / 180)


def test_who_was_in_no_queue_did_nothing(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM interval.useint WHERE vmdcpuad = 1")
    asleep = of_user(con, "user_states_by_time", "ANNA", 2)
    assert (asleep["running_share"], asleep["active_share"], asleep["dormant_share"]) == (
        0,
        0,
        1,
    )


def test_transactions_by_kind(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        "UPDATE interval.sytusr SET caluptct = 60, calupnct = 30, calmptct = 12, calmpnct = 6,"
        " calqdnct = 0, caluptrv = ?, calupntr = ?, calmptrv = ?, calmpntr = ?, calqdntr = 0"
        " WHERE interval_end = ?",
        [*(n * TOD_SECOND for n in (6, 45, 3, 9)), minute(1)],
    )
    (found,) = rows(con, "transactions_by_time", "interval_end = ?", [minute(1)])
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "seconds": 60,
        "transactions": 108,
        "rate": 1.8,
        "response_s": 63 / 108,
        "trivial_uni_rate": 1,
        "trivial_uni_response_s": 0.1,
        "nontrivial_uni_rate": 0.5,
        "nontrivial_uni_response_s": 1.5,
        "trivial_multi_rate": 0.2,
        "trivial_multi_response_s": 0.25,
        "nontrivial_multi_rate": 0.1,
        "nontrivial_multi_response_s": 1.5,
        "quick_rate": 0,
        "quick_response_s": None,
        "response_tod": 63 * TOD_SECOND,
        "trivial_uni_count": 60,
        "trivial_uni_tod": 6 * TOD_SECOND,
        "nontrivial_uni_count": 30,
        "nontrivial_uni_tod": 45 * TOD_SECOND,
        "trivial_multi_count": 12,
        "trivial_multi_tod": 3 * TOD_SECOND,
        "nontrivial_multi_count": 6,
        "nontrivial_multi_tod": 9 * TOD_SECOND,
        "quick_count": 0,
        "quick_tod": 0,
    }
    close(found, want)
    result = report(con, "TRANSACTIONS")
    mean = result.mean
    assert result.total == {"transactions": 108 + 30}
    assert mean["trivial_uni_response_s"] == pytest.approx(9 / 66)


def test_a_linux_guest(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "userid": "LINUX1",
        "seconds": 60,
        "processors": 2,
        "cpu_util": 2 * 19.2 / 60,
        "user_util": 2 * 12 / 60,
        "nice_util": 2 * 0.6 / 60,
        "system_util": 2 * 6 / 60,
        "irq_util": 2 * 0.3 / 60,
        "softirq_util": 2 * 0.3 / 60,
        "iowait_util": 2 * 1.2 / 60,
        "steal_util": 2 * 3 / 60,
        "runnable": 4,
        "threads": 70,
        "load_1": 1,
        "load_5": 0.5,
        "load_15": 0.25,
        "memory_mib": 500,
        "free_mib": 100,
        "buffer_mib": 50,
        "cache_mib": 200,
        "used_mib": 150,
        "swap_used_mib": 1,
        "swap_in_rate": 0.5,
        "swap_out_rate": 1,
        "disk_read_kib_rate": 10,
        "disk_write_kib_rate": 20,
        "fault_rate": 15,
        "major_fault_rate": 0.25,
        "received_kib_rate": 1,
        "sent_kib_rate": 2,
        "received_packet_rate": 2,
        "sent_packet_rate": 3,
        "network_error_rate": 0.5,
        "busy_ticks": 3840,
        "user_ticks": 2400,
        "nice_ticks": 120,
        "system_ticks": 1200,
        "irq_ticks": 60,
        "softirq_ticks": 60,
        "iowait_ticks": 240,
        "steal_ticks": 600,
        "cpu_seconds": 60,
        "swap_ins": 30,
        "swap_outs": 60,
        "disk_reads_kib": 600,
        "disk_writes_kib": 1200,
        "faults": 900,
        "major_faults": 15,
        "memory_seconds": 60,
        "received_bytes": 61_440,
        "sent_bytes": 122_880,
        "received_packets": 120,
        "sent_packets": 180,
        "network_errors": 30,
        "network_seconds": 60,
    }
    close(of_user(con, "linux_guests_by_time", "LINUX1", 1), want)


def test_a_guest_over_the_span(con: duckdb.DuckDBPyConnection) -> None:
    (line,) = report(con, "LINUX_GUESTS").table.to_pylist()
    assert line["cpu_util"] == pytest.approx((38.4 + 18) / 90)
    assert line["load_1"] == pytest.approx((2 * 1 + 2) / 3)  # over 60 and 30 s
    assert line["received_kib_rate"] == pytest.approx(120 / 90)


def test_a_block_that_a_guest_does_not_write_is_blank(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM interval.aplsdt_net")
    row = of_user(con, "linux_guests_by_time", "LINUX1", 1)
    assert (row["sent_kib_rate"], row["network_seconds"]) == (None, None)
    assert row["user_util"] == pytest.approx(0.4)


def test_a_user_that_is_not_there_is_named(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CpmonError, match="there is no user NOBODY"):
        report(con, "USER_RESOURCE_UTIL", objects={"user": "NOBODY"})
