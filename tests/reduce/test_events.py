"""EVENTS: the words for each kind of record, and to which interval, user and device it belongs."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from cpmon.reduce.reports.report import report
from tests.reduce.catalogue import empty_catalogue, insert, minute
from tests.reduce.lab_events import at, fill, fill_sessions, fill_suspension
from tests.reduce.rows import rows

SRM_TEXT = (
    "IABIAS 90 2, DSPSLICE 5.000 ms, LDUBUF 100 75 60, STORBUF 125 105 95,"
    " DSPBUF 30 20 10, MAXWSS 9999, XSTORE 0"
)


@pytest.fixture(scope="session")
def laboratory() -> duckdb.DuckDBPyConnection:
    """Two intervals of system LAB, run R1, and one event of each kind."""
    con = empty_catalogue()
    key = {"system": "LAB", "dump": "a", "gap": False, "restart": False}
    for n in range(3):
        insert(con, "meta.interval", {**key, "interval_end": minute(n), "seconds": 60.0})
    run = {"run_id": "R1", "system": "LAB", "since": minute(0), "until": minute(2)}
    insert(con, "meta.run", run)
    fill(con)
    fill_sessions(con)
    return con


def log(con: duckdb.DuckDBPyConnection, where: str = "true") -> list[tuple[Any, ...]]:
    """Kind, object and text of the events under a condition, in order of time."""
    found = con.execute(
        f"SELECT kind, object, event_text FROM events WHERE system = 'LAB' AND {where}"
        " ORDER BY event_at, kind, object"
    )
    return found.fetchall()


def test_every_column_of_an_event(con: duckdb.DuckDBPyConnection) -> None:
    (found,) = rows(con, "events", "kind = ?", ["logon"])
    assert found == {
        "system": "LAB",
        "interval_end": minute(1),
        "event_at": minute(0.7),
        "kind": "logon",
        "object": "ANNA",
        "userid": "ANNA",
        "device": None,
        "cpu": None,
        "event_text": "storage 256 MB, share relative 200, 2 virtual processors",
    }


def test_what_happens_to_the_system_and_its_monitoring(con: duckdb.DuckDBPyConnection) -> None:
    fill_suspension(con)
    assert log(con, "object = 'LAB'") == [
        ("monitor", "LAB", "MONITOR START"),
        ("data loss", "LAB", "17 event records lost"),
        ("data loss", "LAB", "recording of events suspended"),
        ("SET SRM", "LAB", SRM_TEXT),
        ("capability", "LAB", "CPU capability 450"),
        ("storage", "LAB", "standby 1024 MB, reserved 0 MB"),
        ("storage", "LAB", "central storage added: 0 MB"),
        ("storage", "LAB", "central storage is about to be added or removed"),
    ]


def test_what_happens_to_a_user(con: duckdb.DuckDBPyConnection) -> None:
    assert [(kind, text) for kind, _, text in log(con, "userid = 'ANNA'")] == [
        ("logon", "storage 256 MB, share relative 200, 2 virtual processors"),
        ("virtual processor", "processor 2 defined"),
        ("virtual processor", "processor 2 is now 3"),
        ("virtual processor", "processor 3 detached"),
        ("guest system", "LINUX 4.4"),
        ("SET SHARE", "share absolute 25.0 %"),
        ("SET QUICKDSP", "quick dispatch on"),
        ("SET IOPRIORITY", "I/O priority 1 to 9"),
        ("CPU affinity", "on"),
        # Two virtual processors of 10 and 7.5 seconds each, logged on for a minute.
        ("logoff", "CPU 20.00 s, virtual 15.00 s, session of 1 min"),
    ]


def test_what_happens_to_a_device(con: duckdb.DuckDBPyConnection) -> None:
    found = log(con, f"device = {0x0A1F}")
    assert {name for _, name, _ in found} == {"device 0A1F"}
    assert [(kind, text) for kind, _, text in found] == [
        ("vary off", "varied off"),
        ("vary on", "subchannel varied on"),
        ("vary off", "subchannel varied off"),
        ("attach", "attached to the system"),
        ("attach", "attached as shared"),
        ("detach", "detached"),
        ("measurement", "measurement set on"),
        ("measurement", "measurement set off"),
        ("device", "deleted"),
        ("device", "paths changed"),
        ("throttle", "throttle set on"),
        ("throttle", "throttle set off"),
        ("QDIO", "QDIO ended"),
        ("vary on", "varied on, volume WORK01"),
        ("device", "state changed, volume WORK01"),
    ]


def test_what_happens_to_a_processor(con: duckdb.DuckDBPyConnection) -> None:
    assert log(con, "cpu = 0") == [
        ("vary off", "processor 0", "varied off"),
        ("vary on", "processor 0", "varied on"),
        ("crypto", "processor 0", "crypto facility on"),
        ("crypto", "processor 0", "crypto facility off"),
    ]


def test_what_happens_to_things_with_a_name(con: duckdb.DuckDBPyConnection) -> None:
    other = f"userid IS DISTINCT FROM 'ANNA' AND device IS DISTINCT FROM {0x0A1F} AND cpu IS NULL"
    assert log(con, f"object <> 'LAB' AND {other}") == [
        ("saved segment", "CMSPIPES", "saved"),
        ("saved segment", "CMSPIPES", "loaded"),
        ("saved segment", "CMSPIPES", "unloaded"),
        ("saved segment", "CMSPIPES", "purged"),
        ("address space", "DATA", "created by BERT"),
        ("address space", "DATA", "deleted by BERT"),
        ("CP volume", "VOL300", "PAGE area attached"),
        ("QDIO", "device F000", "QDIO started by BERT"),
        ("terminal", "subchannel 001B", "enabled"),
        ("terminal", "subchannel 001B", "disabled"),
        ("channel path", "path 1A", "deleted"),
        ("minidisk cache", "BERT 0191", "setting changed by CP"),
        ("virtual switch", "VSW1", "failed at device F000"),
        ("virtual switch", "VSW1", "recovered at device F000"),
        ("guest link", "BERT", "link to LAN1 up"),
        ("guest link", "BERT", "link to LAN1 down"),
        ("CPU pool", "POOL1", "set"),
        ("cluster", "LAB2", "state of the member changed"),
    ]


def test_gaps_and_ipls_are_told_by_the_intervals(con: duckdb.DuckDBPyConnection) -> None:
    key = {"system": "LAB", "dump": "a"}
    gap = {"interval_end": minute(5), "seconds": 180.0, "gap": True, "restart": False}
    ipl = {"interval_end": minute(65), "seconds": 3600.0, "gap": True, "restart": True}
    insert(con, "meta.interval", {**key, **gap}, {**key, **ipl})
    assert log(con, f"event_at > '{minute(2)}'") == [
        ("gap", "LAB", "no samples for 180 s"),
        ("IPL", "LAB", "CP was loaded since the previous sample"),
        ("gap", "LAB", "no samples for 60 min"),
    ]


def test_two_dumps_that_hold_the_same_records_tell_them_once(
    con: duckdb.DuckDBPyConnection,
) -> None:
    once = log(con)
    for table in ("uselof", "prcvof", "iodvon", "stoshs", "mtrsus"):
        con.execute(
            f"INSERT INTO monitor.{table} SELECT * REPLACE ('b' AS dump) FROM monitor.{table}"
        )
    assert log(con) == once


def test_sessions_of_a_user_in_one_interval_are_two(con: duckdb.DuckDBPyConnection) -> None:
    who = {**at(1.9), "vmduser": "ANNA", "vmdcpuad": 0}
    insert(con, "monitor.uselof", {**who, "vmdttime": 0, "vmdvtime": 0})
    texts = [text for kind, _, text in log(con) if kind == "logoff"]
    assert texts == ["CPU 20.00 s, virtual 15.00 s, session of 1 min", "CPU 0.00 s, virtual 0.00 s"]


def test_what_follows_the_last_sample_belongs_to_no_interval(
    con: duckdb.DuckDBPyConnection,
) -> None:
    insert(con, "monitor.mtrecm", {**at(7), "calcmd": "MONITOR STOP"})
    (found,) = rows(con, "events", "event_text = ?", ["MONITOR STOP"])
    assert (found["interval_end"], found["event_at"]) == (minute(7), minute(7))


@pytest.mark.parametrize(
    ("objects", "count"), [({"user": "ANNA"}, 10), ({"cpu": 0}, 4), ({"device": 0x0A1F}, 15)]
)
def test_the_report_follows_one_user_processor_or_device(
    con: duckdb.DuckDBPyConnection, objects: dict[str, Any], count: int
) -> None:
    found = report(con, "EVENTS", objects=objects)
    assert found.table.num_rows == count
    times = found.table.column("event_at").to_pylist()
    assert times == sorted(times)


def test_the_report_keeps_to_a_run_and_to_the_first_lines(con: duckdb.DuckDBPyConnection) -> None:
    fill_suspension(con)
    insert(con, "monitor.mtrecm", {**at(7), "calcmd": "MONITOR STOP"})
    assert (
        "MONITOR STOP" not in report(con, "EVENTS", run="R1").table.column("event_text").to_pylist()
    )
    assert report(con, "EVENTS", top=3).table.column("event_text").to_pylist() == [
        "MONITOR START",
        "17 event records lost",
        "recording of events suspended",
    ]
