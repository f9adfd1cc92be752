"""Reports about disks and storage: every column worked out by hand on the rows of `lab`."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_text import render_report
from tests.reduce.catalogue import close, minute
from tests.reduce.rows import rows


def one(con: duckdb.DuckDBPyConnection, view: str, n: int, **wanted: Any) -> dict[str, Any]:
    """The only row of an interval with these values."""
    where = "".join(f" AND {name} IS NOT DISTINCT FROM ?" for name in wanted)
    (row,) = rows(con, view, f"interval_end = ?{where}", [minute(n), *wanted.values()])
    return row


def key(n: int, seconds: float) -> dict[str, Any]:
    return {"system": "LAB", "interval_end": minute(n), "seconds": seconds}


def test_times_of_a_disk_are_scaled_to_all_its_ios(con: duckdb.DuckDBPyConnection) -> None:
    # Timed: 300 of 600 I/Os, 1500 + 6000 + 3000 units: 0.64, 2.56 and 1.28 ms each.
    want = {
        **key(1, 60.0),
        **{"device": 0x400, "volser": "USER01", "device_type": "3390-9"},
        **{"control_unit": "3990-E9", "paths": "9A 2A 4A", "subchannel": 7},
        **{"ssch_rate": 10.0, "avoided_rate": 2.0},
        **{"pending_ms": 0.64, "disconnect_ms": 2.56, "connect_ms": 1.28, "service_ms": 4.48},
        # 0.2 I/Os wait in 60 s: 12 s of 600 I/Os.
        **{"response_ms": 24.48, "queue_length": 0.2, "busy_util": 0.0448},
        **{"unit_queue_ms": 0.32, "read_share": 2 / 3, "links": 3},
        **{"starts": 600, "avoided": 120, "reads": 400, "transfers": 600},
        **{"pending_seconds": 0.384, "disconnect_seconds": 1.536, "connect_seconds": 0.768},
        **{"active_seconds": None, "busy_seconds": 2.688, "unit_queue_seconds": 0.192},
        **{"response_seconds": 14.688, "queued_samples": 6, "queue_samples": 30},
    }
    close(one(con, "dasd_by_activity", 1, device=0x400), want)


def test_the_time_in_which_a_disk_alone_is_active_is_part_of_its_service(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.ioddev SET scmdatim = 750 WHERE seconds > 0 AND rdevdev = 1024")
    # 750 units more of the 300 timed I/Os: 0.32 ms each, of all 600 0.192 s.
    found = one(con, "dasd_by_activity", 1, device=0x400)
    assert found["active_seconds"] == pytest.approx(0.192)
    assert found["service_ms"] == pytest.approx(4.48 + 0.32)
    assert found["response_ms"] == pytest.approx(24.48 + 0.32)
    assert found["busy_util"] == pytest.approx((2.688 + 0.192) / 60)
    unit = one(con, "dasd_by_control_unit", 1, subsystem="001F")
    assert unit["service_ms"] == pytest.approx((4992 + 192) / 1800)


def test_an_idle_disk_without_a_label_has_no_times(con: duckdb.DuckDBPyConnection) -> None:
    idle = one(con, "dasd_by_activity", 2, device=0x401)
    assert (idle["volser"], idle["starts"], idle["busy_util"]) == (None, 0, 0.0)
    for unknown in ("service_ms", "response_ms", "queue_length"):
        assert idle[unknown] is None, unknown


def test_counts_of_16_bits_stand_in_for_those_not_kept(con: duckdb.DuckDBPyConnection) -> None:
    busy = one(con, "dasd_by_activity", 1, device=0x401)
    assert (busy["starts"], busy["ssch_rate"]) == (1200, 20.0)
    assert busy["service_ms"] == pytest.approx(18_000 * 0.128 / 1200)
    assert busy["response_ms"] is None  # no high-frequency samples


def test_ios_that_were_not_timed_leave_times_unknown(con: duckdb.DuckDBPyConnection) -> None:
    untimed = one(con, "dasd_by_activity", 2, device=0x402)
    assert (untimed["starts"], untimed["service_ms"], untimed["busy_util"]) == (300, None, None)


def test_a_device_is_known_from_when_it_was_varied_on(con: duckdb.DuckDBPyConnection) -> None:
    before, after = (one(con, "dasd_by_activity", n, device=0x402) for n in (1, 2))
    assert (before["device_type"], before["paths"]) == (None, None)
    assert (after["device_type"], after["paths"]) == ("3390-9", "")


def test_network_devices_are_no_disks(con: duckdb.DuckDBPyConnection) -> None:
    assert rows(con, "interval.ioddev", "rdevdev = ?", [0x900])
    assert not rows(con, "dasd_by_activity", "device = ?", [0x900])


def test_a_control_unit_is_the_mean_over_the_ios_of_its_disks(
    con: duckdb.DuckDBPyConnection,
) -> None:
    # 600 I/Os of 4.48 ms and 1200 of 1.92 ms; each disk has 0.192 s in the unit's queue.
    want = {
        **key(1, 60.0),
        **{"control_unit": "3990-E9", "subsystem": "001F", "paths": "9A 2A 4A", "devices": 2},
        "ssch_rate": 30.0,
        **{"pending_ms": 768 / 1800, "disconnect_ms": 2688 / 1800, "connect_ms": 1536 / 1800},
        **{"service_ms": 4992 / 1800, "unit_queue_ms": 384 / 1800, "busy_util": 4.992 / 120},
        **{"starts": 1800, "timed_starts": 1800, "busy_seconds": 4.992},
        **{"pending_seconds": 0.768, "disconnect_seconds": 2.688, "connect_seconds": 1.536},
        **{"unit_queue_seconds": 0.384, "device_seconds": 120.0},
    }
    close(one(con, "dasd_by_control_unit", 1, subsystem="001F"), want)


def test_a_control_unit_is_not_known_without_the_record_of_a_disk(
    con: duckdb.DuckDBPyConnection,
) -> None:
    """Of a missing disk not even the subchannel is known, by which it has its control unit."""
    con.execute(
        "UPDATE interval.ioddev SET scgssch = NULL, scmssch = NULL, rdevsid = NULL, seconds = NULL"
        " WHERE rdevdev = 1025"
    )
    unit = one(con, "dasd_by_control_unit", 1, subsystem="001F")
    assert (unit["starts"], unit["ssch_rate"]) == (None, None)
    assert unit["service_ms"] == pytest.approx(4.48)  # of the I/Os of the other disk


def test_ios_without_times_count_only_in_the_rate(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.ioddev SET scgcount = 0, scmcount = 0 WHERE rdevdev = 1024")
    unit = one(con, "dasd_by_control_unit", 1, subsystem="001F")
    assert (unit["starts"], unit["timed_starts"], unit["ssch_rate"]) == (1800, 1200, 30.0)
    assert unit["service_ms"] == pytest.approx(1.92)
    assert unit["busy_util"] == pytest.approx(2.304 / 60)


def test_disks_without_configuration_share_a_line(con: duckdb.DuckDBPyConnection) -> None:
    unknown = one(con, "dasd_by_control_unit", 1, subsystem=None)
    assert (unknown["control_unit"], unknown["paths"], unknown["devices"]) == (None, None, 4)


def test_a_spool_volume(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        **key(1, 60.0),
        **{"area_type": "SPOOL", "device": 0x210, "volser": "SPOL01", "used_share": 0.5},
        **{"page_read_rate": 0.0, "page_write_rate": 0.0, "total_rate": 2.0},
        **{"spool_read_rate": 1.5, "spool_write_rate": 0.5},
        **{"mload_ms": 1.5, "service_ms": 4.3, "block_pages": 3.0, "queue_length": 2},
        **{"slots": 500, "used_slots": 250, "page_reads": 0, "page_writes": 0},
        **{"spool_reads": 90, "spool_writes": 30, "pages": 120, "blocks": 40},
    }
    close(one(con, "dasd_system_areas_by_type", 1, device=0x210), want)


def test_page_volumes_and_such_with_both_kinds_of_space(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.stoasp SET expctsrd = 0, expctswr = 0 WHERE rdevdev = 512")
    page = one(con, "dasd_system_areas_by_type", 1, device=0x200)
    assert (page["area_type"], page["slots"], page["used_share"]) == ("PAGE", 500, 0.5)
    assert (page["page_read_rate"], page["page_write_rate"], page["total_rate"]) == (10, 5, 15)
    assert page["block_pages"] is None  # channel programs are not told
    con.execute("UPDATE interval.stoasp SET calspool = 500 WHERE rdevdev = 512")
    both = one(con, "dasd_system_areas_by_type", 1, device=0x200)
    assert (both["area_type"], both["slots"], both["used_share"]) == ("PAGE+SPOOL", 1000, 0.25)


def test_a_volume_without_space_is_left_out(con: duckdb.DuckDBPyConnection) -> None:
    assert not rows(con, "dasd_system_areas_by_type", "device = ?", [0x300])


def test_space_and_its_use(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        **key(1, 60.0),
        **{"page_slots": 1500, "page_used_share": 0.4, "spool_slots": 400},
        **{"spool_used_share": 0.25, "page_read_rate": 10.0, "page_write_rate": 2.0},
        **{"spool_read_rate": 0.2, "spool_write_rate": 0.1},
        # 600 pages in 120 blocks; 10 blocks of 1 page and 20 of 4.
        **{"read_block_pages": 5.0, "stolen_block_pages": 3.0},
        **{"page_reads": 600, "page_writes": 120, "spool_reads": 12, "spool_writes": 6},
        **{"paging_seconds": 60.0, "block_reads": 600, "blocks_read": 120},
        **{"block_steals": 90, "blocks_stolen": 30},
        **{"page_slots_used": 600, "spool_slots_used": 100},
    }
    close(one(con, "aux_storage_by_time", 1), want)


def test_pages_of_blocks_that_were_not_counted_are_left_out(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.stobpg_pgdbr_tbl SET pgdbr = NULL WHERE seconds = 30")
    assert one(con, "aux_storage_by_time", 2)["block_reads"] is None
    assert report(con, "AUX_STORAGE_BY_TIME").mean["read_block_pages"] == pytest.approx(5)


def test_frames_and_pages_that_moved(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        **key(1, 60.0),
        # Of 1,000 frames above 2 GB 20 are locked, 7 free storage, 3 otherwise CP's.
        **{"pageable_below_2g": 500_000, "pageable_above_2g": 970},
        **{"available_below_2g": 3_000, "available_above_2g": 310},
        **{"locked_below_2g": 40, "locked_above_2g": 20},
        **{"xstor_in_rate": 22.0, "xstor_out_rate": 18.0, "xstor_migration_rate": 0.7},
        **{"dasd_read_rate": 10.0, "dasd_write_rate": 2.0, "steal_rate": 2.2},
        **{"empty_below_2g_rate": 0.1, "empty_above_2g_rate": 0.2},
        **{"xstor_ins": 1320, "xstor_outs": 1080, "xstor_migrations": 42, "xstor_seconds": 60.0},
        **{"dasd_reads": 600, "dasd_writes": 120, "paging_seconds": 60.0, "steals": 132},
        **{"empty_below_2g": 6, "empty_above_2g": 12, "storage_seconds": 60.0},
    }
    close(one(con, "paging_by_time", 1), want)


@pytest.mark.parametrize(("frames", "want"), [(524_288, 0), (524_289, None)])
def test_levels_without_the_fields_know_only_that_nothing_is_above_2g(
    con: duckdb.DuckDBPyConnection, frames: int, want: int | None
) -> None:
    unknown = ("rsa2gavl", "rsacplkg", "rsafsa2g", "rsafsyua")
    con.execute(f"UPDATE interval.sytrsg SET {', '.join(f'{f} = NULL' for f in unknown)}")
    con.execute("UPDATE interval.sytrsp SET plsalemg = NULL")
    con.execute("UPDATE monitor.mtrmem SET rsagstor = ?", [frames * 4096])
    row = one(con, "paging_by_time", 2)
    above = [row[f"{kind}_above_2g"] for kind in ("pageable", "available", "locked")]
    assert above == [want] * 3
    assert row["empty_above_2g_rate"] == want


def test_the_minidisk_cache(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        **key(1, 60.0),
        **{"real_pages": 1000, "xstor_ideal_pages": 128, "read_rate": 10.0},
        **{"avoided_rate": 7.5, "hit_share": 0.75, "insert_rate": 4.0, "delete_rate": 4.0},
        **{"real_steal_rate": 0.2, "xstor_steal_rate": 0.05},
        **{"reads": 600, "avoided": 450, "read_hits": 450, "xstor_steals": 3},
        **{"xstor_seconds": 60.0, "inserts": 240, "deletes": 240, "real_steals": 12},
        "storage_seconds": 60.0,
    }
    close(one(con, "minidisk_cache_by_time", 1), want)


def test_a_cache_that_shrinks_takes_in_less_than_it_deletes(
    con: duckdb.DuckDBPyConnection,
) -> None:
    later = one(con, "minidisk_cache_by_time", 2)
    assert (later["inserts"], later["insert_rate"]) == (180, 6.0)
    assert (later["reads"], later["hit_share"], later["read_hits"]) == (None, None, None)
    assert later["avoided_rate"] == 15.0


def test_a_first_sample_has_sizes_but_no_rates(con: duckdb.DuckDBPyConnection) -> None:
    cache = one(con, "minidisk_cache_by_time", 0)
    assert (cache["real_pages"], cache["insert_rate"], cache["seconds"]) == (1000, None, None)
    disk = one(con, "dasd_by_activity", 0, device=0x400)
    assert (disk["volser"], disk["starts"], disk["busy_util"]) == ("USER01", None, None)
    area = one(con, "dasd_system_areas_by_type", 0, device=0x210)
    assert (area["used_share"], area["total_rate"]) == (0.5, None)
    assert one(con, "aux_storage_by_time", 0)["page_used_share"] == 0.4


VIEWS = (
    *("dasd_by_activity", "dasd_by_control_unit", "dasd_system_areas_by_type"),
    *("aux_storage_by_time", "paging_by_time", "minidisk_cache_by_time"),
)
TABLES = {
    **{"ioddev": "rdevdev, rdevsid, rdevser", "stoasp": "rdevdev, calvser, calpage, calspool"},
    **{"sytasg": "calslta1, calslti1", "sytrsg": "rsapgabl, tcmmain", "sytxsg": "tcmxidsz"},
    **{"sytsyp": "pfxcpuad", "sytxsp": "pfxcpuad", "sytrsp": "pfxcpuad"},
    **{"stobpg_pgdbr_tbl": "entry", "stobpg_pgdbs_tbl": "entry"},
}


def test_disks_over_the_span_are_sums_over_sums(con: duckdb.DuckDBPyConnection) -> None:
    lines = {line["device"]: line for line in report(con, "DASD_BY_ACTIVITY").table.to_pylist()}
    user, empty, late = lines[0x400], lines[0x401], lines[0x402]
    assert user["ssch_rate"] == pytest.approx(1500 / 90)
    assert user["avoided_rate"] == pytest.approx(150 / 90)
    # 2.688 s for 600 I/Os and 18,000 units, 2.304 s, for 900.
    assert user["service_ms"] == pytest.approx(4992 / 1500)
    assert user["response_ms"] == pytest.approx((4992 + 12_000) / 1500)
    assert user["queue_length"] == pytest.approx(6 / 45)
    assert user["busy_util"] == pytest.approx(4.992 / 90)
    assert empty["busy_util"] == pytest.approx(2.304 / 90)
    assert (late["device_type"], late["service_ms"]) == ("3390-9", None)
    rates = [line["ssch_rate"] for line in lines.values()]
    assert rates == sorted(rates, reverse=True)


def test_a_disk_can_be_followed(con: duckdb.DuckDBPyConnection) -> None:
    result = report(con, "DASD_BY_ACTIVITY", objects={"device": 0x400})
    assert result.table.column("ssch_rate").to_pylist() == [10.0, 30.0]
    assert result.mean["ssch_rate"] == pytest.approx(1500 / 90)
    assert "0400  USER01  3390-9" in render_report(result).decode()


def test_control_units_and_areas_over_the_span(con: duckdb.DuckDBPyConnection) -> None:
    units = report(con, "DASD_BY_CONTROL_UNIT").table.to_pylist()
    (unit,) = (line for line in units if line["subsystem"] == "001F")
    assert unit["devices"] == 2
    assert unit["ssch_rate"] == pytest.approx(2700 / 90)
    assert unit["service_ms"] == pytest.approx((4992 + 2304) / 2700)
    assert unit["busy_util"] == pytest.approx(7.296 / 180)
    areas = report(con, "DASD_SYSTEM_AREAS_BY_TYPE").table.to_pylist()
    (spool,) = (line for line in areas if line["area_type"] == "SPOOL")
    assert spool["total_rate"] == pytest.approx(240 / 90)
    assert spool["block_pages"] == pytest.approx(3)
    assert spool["used_share"] == pytest.approx(0.5)


def test_the_mean_lines_are_sums_over_sums(con: duckdb.DuckDBPyConnection) -> None:
    aux = report(con, "AUX_STORAGE_BY_TIME").mean
    assert aux["page_read_rate"] == pytest.approx(1200 / 90)
    assert aux["stolen_block_pages"] == pytest.approx(270 / 90)
    assert aux["page_used_share"] == pytest.approx(0.4)
    paging = report(con, "PAGING_BY_TIME").mean
    assert paging["xstor_in_rate"] == pytest.approx(2640 / 90)
    assert paging["empty_above_2g_rate"] == pytest.approx(24 / 90)
    assert paging["available_above_2g"] == pytest.approx((60 * 310 + 30 * 320) / 90)
    cache = report(con, "MINIDISK_CACHE_BY_TIME").mean
    assert cache["real_pages"] == pytest.approx((60 * 1000 + 30 * 940) / 90)
    assert cache["insert_rate"] == pytest.approx(420 / 90)
    assert cache["read_rate"] == pytest.approx(10)  # over the 60 s in which reads were counted
    assert cache["hit_share"] == pytest.approx(0.75)
