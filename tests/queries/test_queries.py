"""The shipped queries on literal rows, and the registry that finds them."""

from __future__ import annotations

import re

import duckdb
import pytest

from cpmon.core.errors import CpmonError
from cpmon.queries import parse, queries, query, query_names
from tests.reduce import conftest as shared
from tests.reduce.catalogue import TOD_SECOND, insert, minute

con, laboratory = shared.con, shared.laboratory
empty, nothing = shared.empty, shared.nothing


@pytest.fixture
def measured(con: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """The laboratory with times and I/Os of its users."""
    con.execute(
        f"""UPDATE interval.useact SET
              vmdttime = CASE vmduser WHEN 'ANNA' THEN 6 ELSE 3 END * {TOD_SECOND}::BIGINT,
              vmdvtime = 2 * {TOD_SECOND}::BIGINT,
              vmdvdsct = 30, vmdvusct = 0, vmdvtsct = 0, vmdvcsct = 15, vmdvosct = 0
            WHERE seconds IS NOT NULL"""
    )
    return con


def run(con: duckdb.DuckDBPyConnection, name: str, **given: str | float) -> list[dict[str, object]]:
    asked = query(name)
    found = con.execute(asked.sql, asked.bind(given))
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def test_queries_are_shipped_with_title_description_and_documented_parameters() -> None:
    assert query_names() == [
        "busiest_users",
        "cache_by_volume",
        "disk_response",
        "disk_times",
        "interval_gaps",
        "io_processors",
        "logical_processors",
        "messages_by_user",
        "moves_2g_by_processor",
        "page_volumes_by_busy",
        "processor_balance",
        "saved_segments",
        "top_users",
    ]
    for q in queries():
        assert q.title
        assert not q.title.endswith(".")
        assert len(q.description) > 40
        used = set(re.findall(r"\$(\w+)", q.sql))
        assert used == {param.name for param in q.params}


@pytest.mark.parametrize("name", query_names())
def test_a_query_is_of_the_systems_and_the_span_that_are_named(
    measured: duckdb.DuckDBPyConnection, name: str
) -> None:
    everything = run(measured, name)
    assert run(measured, name, system="L*", since="2000-01-01", until="2100-01-01") == everything
    for nothing in ({"system": "OTHER"}, {"until": "1950-01-01"}, {"since": "2100-01-01 10:00"}):
        assert run(measured, name, **nothing) == []


def test_busiest_users_of_a_part_of_the_time(measured: duckdb.DuckDBPyConnection) -> None:
    anna, *_ = run(measured, "busiest_users", since=str(minute(1)))
    assert (anna["measured_s"], anna["total_cpu_s"]) == (30.0, 12.0)


def test_busiest_users_add_their_virtual_cpus_but_not_their_time(
    measured: duckdb.DuckDBPyConnection,
) -> None:
    anna, bert, dora, *_ = run(measured, "busiest_users")
    assert anna == {
        "system": "LAB",
        "user": "ANNA",
        "cpu_percent": 26.67,  # two virtual CPUs, 12 s each, in 90 s
        "total_cpu_s": 24.0,
        "virtual_cpu_s": 8.0,
        "tv_ratio": 3.0,
        "virtual_io_per_s": 2.0,  # 4 records of 45
        "resident_pages": 113,  # 110 for 60 s, 120 for 30 s
        "measured_s": 90.0,
    }
    assert (bert["user"], bert["cpu_percent"], bert["resident_pages"]) == ("BERT", 6.67, 300)
    assert (dora["user"], dora["total_cpu_s"], dora["measured_s"]) == ("DORA", 3.0, 15.0)


def test_rates_and_their_seconds_are_of_the_intervals_that_are_known(
    measured: duckdb.DuckDBPyConnection,
) -> None:
    """In one of two intervals a counter of one processor fell."""
    last = minute(2)
    for table, column, key in (
        ("useact", "vmdttime", "vmdcpuad = 1"),
        ("useact", "vmdx98ct", "vmdcpuad = 1"),
        ("sytrsp", "plsmvb2g", "pfxcpuad = 1"),
        ("sytprp", "pfxutime", "pfxcpuad = 1"),
        ("stoasp", "expctprd", "true"),
    ):
        measured.execute(
            f"UPDATE interval.{table} SET {column} = NULL WHERE {key} AND interval_end = ?", [last]
        )
    anna = run(measured, "busiest_users")[0]
    whole = {"user": "ANNA", "cpu_percent": 20.0, "total_cpu_s": 12.0, "measured_s": 60.0}
    assert anna | whole == anna
    assert {row["measured_s"] for row in run(measured, "moves_2g_by_processor")} == {60.0}
    rates = {row["cpu"]: row["measured_s"] for row in run(measured, "processor_balance")}
    assert rates == {0: 90.0, 1: 60.0}
    volumes = run(measured, "page_volumes_by_busy")
    assert [row["pages_read_per_s"] for row in volumes] == [10.0, 10.0]


def test_busiest_users_of_a_run_and_only_the_first(measured: duckdb.DuckDBPyConnection) -> None:
    assert [row["user"] for row in run(measured, "busiest_users", top=1, run="R1")] == ["ANNA"]
    assert run(measured, "busiest_users", run="NONE") == []


def test_top_users_have_a_list_for_each_kind(laboratory: duckdb.DuckDBPyConnection) -> None:
    rows = run(laboratory, "top_users", top=2)
    assert [(r["kind"], r["rank"], r["user"], r["amount"]) for r in rows] == [
        ("processors", 1, "ANNA", 0.5),  # 42 and 3 s of 90, of both her processors
        ("processors", 2, "DORA", 0.2),  # 3 s of the 15 to her logoff
        ("I/Os a second", 1, "ANNA", 10.333),  # 930 in 90 s
        ("I/Os a second", 2, "DORA", 1.733),
        ("pages a second", 1, "ANNA", 4.333),  # 390 in 90 s
        ("pages a second", 2, "DORA", 1.0),
        ("share of time waiting", 1, "ANNA", 0.094),  # 8, 2, 6 and 1 of 180 samples
    ]
    assert run(laboratory, "top_users", run="NONE") == []


@pytest.mark.parametrize("name", ["busiest_users", "moves_2g_by_processor", "processor_balance"])
def test_an_interval_belongs_to_the_run_in_which_it_ends(
    name: str, con: duckdb.DuckDBPyConnection
) -> None:
    for table in ("useact", "sytrsp", "sytprp"):
        con.execute(f"UPDATE interval.{table} SET tod = tod - INTERVAL 2 SECOND")
    # Samples were taken two seconds before the interval ended; the run begins in between, and with
    # the grace period half a second before the end.
    con.execute("UPDATE meta.run SET since = ?", [minute(1 - 1.5 / 60)])
    assert max(row["measured_s"] for row in run(con, name, run="R1")) == 90.0


def test_processor_balance_names_the_master_and_the_distance_from_the_mean_of_its_type(
    con: duckdb.DuckDBPyConnection,
) -> None:
    of_two_types = run(con, "processor_balance", run="R1")
    assert [row["from_mean_percent"] for row in of_two_types] == [0, 0]
    con.execute("UPDATE interval.sytprp SET pfxcputy = 0")
    first, second = run(con, "processor_balance", run="R1")
    assert (first["total_percent"], second["total_percent"]) == (43.3, 76.7)
    assert (first["is_master"], second["is_master"]) == (False, True)
    assert (first["from_mean_percent"], second["from_mean_percent"]) == (-16.7, 16.7)
    assert second["emulation_percent"] == 40.0
    assert second["cp_percent"] == 36.7
    assert second["wait_percent"] == 23.3


def test_page_volumes_come_busiest_first_and_others_not_at_all(
    measured: duckdb.DuckDBPyConnection,
) -> None:
    first, second = run(measured, "page_volumes_by_busy")
    assert first == {
        "system": "LAB",
        "device": "0200",
        "volume": "VOL200",
        "busy_percent": 50.0,
        "service_ms": 22.5,  # 45 s of 2000 I/Os
        "pages_read_per_s": 13.3,
        "pages_written_per_s": 6.7,
        "slots_used_percent": 50.0,
    }
    assert (second["device"], second["busy_percent"]) == ("0201", 20.0)


def test_moves_below_2g_by_processor(measured: duckdb.DuckDBPyConnection) -> None:
    first, second = run(measured, "moves_2g_by_processor")
    assert first == {
        "system": "LAB",
        "cpu": 0,
        "moves_2g_per_s": 0.7,
        "share_percent": 50.0,
        "steals_per_s": 1.5,
        "list_empty_per_s": 0.067,
        "measured_s": 90.0,
    }
    assert second["cpu"] == 1


def test_a_gap_is_found_within_and_between_dumps(con: duckdb.DuckDBPyConnection) -> None:
    assert run(con, "interval_gaps") == []
    for dump, n, seconds in (("a", 6, 240.0), ("b", 7, 60.0), ("b", 8, 60.0)):
        row = {"system": "LAB", "dump": dump, "interval_end": minute(n), "usual_s": 60.0}
        insert(con, "meta.interval", {**row, "seconds": seconds})
    (gap,) = run(con, "interval_gaps")
    assert gap == {
        "system": "LAB",
        "last_before": minute(2),
        "first_after": minute(6),
        "gap_s": 240.0,
        "usual_s": 60.0,
        "intervals_missing": 3,
    }
    assert run(con, "interval_gaps", factor=4.5) == []


def test_an_interval_as_long_as_monitor_was_set_to_is_no_gap(
    con: duckdb.DuckDBPyConnection,
) -> None:
    for n, usual, minutes in ((3, 1, 1), (4, 1, 1), (9, 5, 5), (14, 5, 5), (34, 5, 20)):
        row = {"system": "LAB", "interval_end": minute(n), "usual_s": 60.0 * usual}
        insert(con, "meta.interval", {**row, "seconds": 60.0 * minutes})
    (gap,) = run(con, "interval_gaps")
    assert (gap["last_before"], gap["usual_s"]) == (minute(14), 300.0)
    assert gap["intervals_missing"] == 3


def test_a_name_or_parameter_that_is_unknown_suggests_the_nearest() -> None:
    assert query("Busiest-Users").name == "busiest_users"
    with pytest.raises(CpmonError) as caught:
        query("bussiest_users")
    assert caught.value.remedy == "did you mean busiest_users?"
    with pytest.raises(CpmonError) as caught:
        query("busiest_users").bind({"tops": 3})
    assert caught.value.remedy == "did you mean top?"


def test_a_value_of_another_type_is_named() -> None:
    with pytest.raises(CpmonError) as caught:
        query("busiest_users").bind({"top": "many"})
    assert caught.value.found == "'many'"
    given = query("busiest_users").bind({"top": "3"})
    assert (given["top"], given["run"]) == (3, "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SELECT 1", "does not say what it answers"),
        ("-- Title\nSELECT 1", "does not say what it answers"),
        ("-- Title\n-- Words.\n-- param: top\nSELECT $top", "cannot be read"),
    ],
)
def test_a_file_without_its_comments_is_an_error(text: str, problem: str) -> None:
    with pytest.raises(CpmonError, match=problem) as caught:
        parse("mine.sql", text)
    assert str(caught.value.place).startswith("mine.sql")


def sampled(con: duckdb.DuckDBPyConnection, table: str, *counted: dict[str, object]) -> None:
    """Insert an interval without deltas, then intervals of 60 s with these."""
    for n, row in enumerate(({}, *counted)):
        key = {"system": "LAB", "interval_end": minute(n), "seconds": 60.0 if n else None}
        insert(con, f"interval.{table}", {**key, **row})


def test_hits_of_a_cache_are_those_of_the_volume_behind_a_subchannel(
    empty: duckdb.DuckDBPyConnection,
) -> None:
    reads = {"nr_read_normal": 300, "nr_read_normal_hits": 240, "nr_read_seq": 0}
    writes = {"nr_write_normal": 200, "nr_write_seq": 100, "nr_write_fast_normal_hits": 150}
    rest = {"rdevsid": 7, "nr_read_seq_hits": 0, "nr_write_fast_seq_hits": 75}
    sampled(empty, "iodcad", {**reads, **writes, **rest}, {**reads, **writes, **rest})
    disk = {"rdevsid": 7, "rdevdev": 0x400, "rdevser": "USER01"}
    sampled(empty, "ioddev", disk, disk)
    (row,) = run(empty, "cache_by_volume")
    assert (row["device"], row["volume"], row["requests_per_s"]) == ("0400", "USER01", 10.0)
    assert (row["read_hit_percent"], row["write_hit_percent"]) == (80.0, 75.0)
    assert (row["sequential_hit_percent"], row["measured_s"]) == (None, 120.0)


def test_an_io_processor_is_busy_as_often_as_it_was_found_so(
    empty: duckdb.DuckDBPyConnection,
) -> None:
    found = {"csciopid": 1, "cscmdbc": 25, "cscmdic": 75, "cscmdsc": 600, "cscmdpi": 300}
    met = {"cscmdcb": 6, "cscmdsb": 0, "cscmdub": 60, "cscmddb": 3}
    sampled(empty, "prciop", {**found, **met})
    assert list(run(empty, "io_processors")[0].values())[1:] == [
        *(1, 25.0, 10.0, 5.0, 1.0, 0.0, 10.0, 0.5, 60.0)
    ]


def test_a_logical_processor_is_busy_while_it_is_dispatched(
    empty: duckdb.DuckDBPyConnection,
) -> None:
    about = {"lcupname": "PROD", "lcucpuid": 2, "lcxcptyp": "CP", "lcucwght": 70}
    sampled(empty, "sytcup_cpu", {**about, "lcucactm": 30_000_000, "lcuclptm": 29_400_000})
    assert run(empty, "logical_processors") == [
        {
            **{"system": "LAB", "partition_name": "PROD", "address": 2, "type": "CP"},
            **{"weight": 70, "busy_percent": 50.0, "overhead_percent": 1.0, "measured_s": 60.0},
        }
    ]


def test_messages_are_those_of_all_virtual_processors(empty: duckdb.DuckDBPyConnection) -> None:
    kinds = ("vmdisevm", "vmdistvm", "vmdisuvm", "vmdvsevm", "vmdvstvm", "vmdvsuvm", "vmdx98ct")
    for cpu in (0, 1):
        counts = dict(zip(kinds, (10, 20, 30, 6, 0, 0, 3), strict=True))
        sampled(empty, "useact", {"vmduser": "TCPIP", "vmdcpuad": cpu, **counts})
    sampled(empty, "useact", {"vmduser": "SILENT", "vmdcpuad": 0, **dict.fromkeys(kinds, 0)})
    assert [list(row.values()) for row in run(empty, "messages_by_user")] == [
        ["LAB", "TCPIP", 2.0, 0.2, 0.1, 60.0],
        ["LAB", "SILENT", 0.0, 0.0, 0.0, 60.0],
    ]


def test_a_segment_has_the_levels_of_its_last_sample(empty: duckdb.DuckDBPyConnection) -> None:
    about = {"sntname": "CMS", "sdfidnum": 12, "sntusrex": 0, "sntstrct": 500, "asccspst": 0}
    sampled(
        empty,
        "stoshr",
        {**about, "sntusrsh": 5, "ascctprs": 90, "ascctpgs": 10, "asccspgr": 120},
        {**about, "sntusrsh": 7, "ascctprs": 80, "ascctpgs": 20, "asccspgr": 0},
    )
    (row,) = run(empty, "saved_segments")
    assert (row["segment"], row["shared_users"], row["resident_pages_below_2g"]) == ("CMS", 7, 80)
    assert (row["dasd_pages"], row["page_reads_per_s"]) == (20, 1.0)


def test_parts_of_a_response_are_of_the_ios_that_were_timed(
    empty: duckdb.DuckDBPyConnection,
) -> None:
    disk = {"rdevdev": 0x400, "rdevser": "USER01", "scgssch": 600, "scgcount": 300}
    times = {"scmirtim": 750, "scmcqtim": 1500, "scmdbtim": None, "scmssch": 0, "scmcount": 0}
    sampled(empty, "ioddev", {**disk, **times, "pavuses": 30, "pavinelg": 6})
    assert [list(row.values()) for row in run(empty, "disk_times")] == [
        ["LAB", "0400", "USER01", 10.0, 0.32, 0.64, None, 0.5, 0.1, 60.0]
    ]


def test_the_response_of_all_disks_is_blank_where_one_is_not_known(
    con: duckdb.DuckDBPyConnection,
) -> None:
    assert [list(row.values())[2:] for row in run(con, "disk_response")] == [
        [6, 85.0, None, None],  # of device 0402 no I/O was timed
        [6, 140.0, None, None],
    ]
    con.execute("DELETE FROM interval.ioddev WHERE rdevdev = 1026")
    first, second = run(con, "disk_response")
    assert (first["disks"], first["io_per_s"], first["response_ms"]) == (5, 80.0, None)
    assert first["service_ms"] == pytest.approx(
        1e3 * (30 + 12 + 54 + 2.688 + 2.304) / 4800, abs=5e-3
    )
    assert second["service_ms"] == pytest.approx(1e3 * (15 + 6 + 27 + 2.304) / 3900, abs=5e-3)
