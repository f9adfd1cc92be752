"""SYSTEM_CONFIG: every setting, worked out by hand on the rows of `lab`."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pytest

from cpmon.reduce.reports.report import report
from tests.reduce.catalogue import insert, minute
from tests.reduce.lab_configuration import SYSTEM
from tests.reduce.rows import rows

BEGAN = minute(-0.1)


def settings(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str | None, datetime]]:
    """Label, value and begin of the lines of the report."""
    lines = report(con, "SYSTEM_CONFIG").table.to_pylist()
    return [(line["label"], line["setting_value"], line["holds_from"]) for line in lines]


def test_every_column_of_a_setting(con: duckdb.DuckDBPyConnection) -> None:
    where = "interval_end = ? AND label = ?"
    (found,) = rows(con, "system_config", where, [minute(1), "Real storage"])
    assert found == {
        "system": "LAB",
        "interval_end": minute(1),
        "place": 810,
        "label": "Real storage",
        "setting_value": "2052 MB",  # 2 GB and 1000 frames of 4 KB
        "holds_from": BEGAN,
        "seconds": 60,
    }


def test_all_settings_in_their_order(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE monitor.mtrmem SET rsagstor = ?, sysgtors = ?", [4 << 30, 2 << 30])
    assert [(label, value) for label, value, _ in settings(con)] == [
        ("System", "LAB"),
        ("Machine type and model", "2094-716"),
        ("Machine serial number", "00000000000C1A2B"),
        ("Processor model", "2094"),
        ("Processor serial number", "0C1A2B"),
        ("Partition", "LAB"),
        ("Partition number", "1"),
        ("Processors of the partition", "shared, capped"),
        ("Processors online", "2"),
        ("Processors online, CP", "1"),
        ("Processors online, IFL", "1"),
        ("Processors configured", "2"),
        ("Processors in standby", "1"),
        ("Master processor", "1"),
        ("Real storage", "4096 MB"),
        ("Real storage used by CP", "2048 MB"),
        ("Expanded storage", "512 MB"),
        ("CP level", "5.2.0 (05020001)"),
        ("IPL", "2001-11-13 09:00:00 UTC"),
        ("Time zone offset", "3600 s"),
        ("Checkpoint volume", "VMRES1"),
        ("Warm start volume", "VMRES2"),
        ("Monitor sample interval", "60 s"),
        ("High-frequency sampling", "every 1.50 s"),
        ("Sample domains", "system, monitor, user"),
        ("Event domains", "monitor, I/O"),
        ("SRM IABIAS", "90 2"),
        ("SRM DSPSLICE", "5.000 ms"),
        ("SRM DSPBUF", "30 20 10"),
        ("SRM LDUBUF", "100 75 60"),
        ("SRM STORBUF", "125 105 95"),
        ("SRM MAXWSS", "9999 %"),
        ("SRM XSTORE", "0 %"),
    ]


def test_a_setting_that_changes_has_a_line_for_each_value(con: duckdb.DuckDBPyConnection) -> None:
    sample = {"system": "LAB", "hfrate": 150, "sdomsys": True, "sdommon": True, "sdomusr": True}
    insert(con, "monitor.mtrspr", {**sample, "tod": minute(1.5), "interval": 30})
    found = [line for line in settings(con) if line[0] == "Monitor sample interval"]
    assert found == [
        ("Monitor sample interval", "60 s", BEGAN),
        ("Monitor sample interval", "30 s", minute(1.5)),
    ]


def test_records_that_say_the_same_again_change_nothing(con: duckdb.DuckDBPyConnection) -> None:
    before = settings(con)
    insert(con, "monitor.mtrsys", {"system": "LAB", "tod": minute(1.5), **SYSTEM})
    told = {"sysxtsiz": 256 * 512, "xstotalb": 256 * 512}
    insert(con, "monitor.mtrxsg", {"system": "LAB", "tod": minute(1.5), **told})
    assert settings(con) == before


def test_a_processor_that_is_varied_off_is_not_online(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("DELETE FROM interval.sytprp WHERE pfxcpuad = 1 AND interval_end = ?", [minute(2)])
    found = [line for line in settings(con) if line[0].startswith("Processors online")]
    assert found == [
        ("Processors online", "2", minute(0)),
        ("Processors online", "1", minute(2)),
        ("Processors online, CP", "1", minute(0)),
        ("Processors online, IFL", "1", minute(0)),
        ("Processors online, IFL", "0", minute(2)),
    ]


def test_expanded_storage_ends_with_the_configuration_that_had_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    insert(con, "monitor.mtrsys", {"system": "LAB", "tod": minute(1.5), **SYSTEM})
    found = [line for line in settings(con) if line[0] == "Expanded storage"]
    assert found == [
        ("Expanded storage", "512 MB", BEGAN),
        ("Expanded storage", None, minute(1.5)),
    ]


def test_what_held_before_a_span_began_is_told(con: duckdb.DuckDBPyConnection) -> None:
    lines = report(con, "SYSTEM_CONFIG", since=minute(1)).table.to_pylist()
    (interval,) = [line for line in lines if line["label"] == "Monitor sample interval"]
    assert interval["holds_from"] == BEGAN


def test_a_single_sample_has_a_configuration(con: duckdb.DuckDBPyConnection) -> None:
    found = report(con, "SYSTEM_CONFIG", until=minute(0))
    assert found.intervals == 1
    assert ("System", "LAB") in {
        (line["label"], line["setting_value"]) for line in found.table.to_pylist()
    }


@pytest.mark.parametrize(
    ("recorded", "shown"),
    [
        ("04030000", "4.3.0 (04030000)"),
        ("07100000", "7.10.0 (07100000)"),
        ("z/VM 5.3", "z/VM 5.3"),
        ("", ""),
        (None, None),
    ],
)
def test_a_level_that_is_not_digits_is_shown_as_it_is(
    con: duckdb.DuckDBPyConnection, recorded: str | None, shown: str | None
) -> None:
    con.execute("UPDATE monitor.mtrsys SET hcpcpeid = ?", [recorded])
    assert ("CP level", shown, BEGAN) in settings(con)


def test_an_older_release_leaves_the_machine_blank_and_says_why(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE monitor.mtrsys SET sysmtype = NULL, sysmmodl = NULL, lparname = NULL")
    assert ("Machine type and model", None, BEGAN) in settings(con)
    assert ("Partition", None, BEGAN) in settings(con)
    notes = " ".join(report(con, "SYSTEM_CONFIG").notes)
    assert "Value: not known in" in notes
    assert "records of this release end before the field" in notes


def test_the_first_settings_of_each_hour_are_those_of_the_whole_time(
    con: duckdb.DuckDBPyConnection,
):
    first = [line["label"] for line in report(con, "SYSTEM_CONFIG", top=3).table.to_pylist()]
    found = report(con, "SYSTEM_CONFIG", by=timedelta(hours=1), top=3).table.to_pylist()
    assert len(first) == 3 and found
    assert {line["label"] for line in found} == set(first)
