"""Reports: which lines, the mean line by sums, what is missing, and the text as it is read."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.reductions.reductions import reduction
from cpmon.reduce.reports.report import report
from cpmon.reduce.reports.report_names import find_report, report_names
from cpmon.reduce.reports.report_text import render_report
from tests.reduce.catalogue import empty_catalogue, insert, minute


def test_the_mean_line_is_sums_over_sums(con: duckdb.DuckDBPyConnection) -> None:
    mean = report(con, "SYSTEM_SUMMARY_BY_TIME").mean
    assert mean["total_util"] == pytest.approx(108 / 180)  # the mean of the lines is 0.525
    assert mean["tv_ratio"] == pytest.approx(108 / 49.5)
    assert mean["xstor_page_rate"] == pytest.approx(4800 / 90)
    assert mean["transaction_rate"] == pytest.approx(60 / 90)
    assert mean["response_s"] == pytest.approx(0.5)
    assert mean["users_logged_on"] == pytest.approx((2 * 11 + 12) / 3)  # over 60 and 30 s
    assert mean["seconds"] == pytest.approx(45)


@pytest.mark.parametrize("top", [0, -1])
def test_fewer_objects_than_one_cannot_be_shown(con: duckdb.DuckDBPyConnection, top: int) -> None:
    with pytest.raises(CpmonError, match="number of objects"):
        report(con, "USER_PAGING", top=top)


def test_the_mean_line_agrees_with_the_run_summary(con: duckdb.DuckDBPyConnection) -> None:
    for name in ("SYSTEM_SUMMARY_BY_TIME", "SYSTEM_SUMMARY2_BY_TIME"):
        mean = report(con, name, run="R1").mean
        shared = [c.name for c in reduction("run_summary").columns if c.name in mean]
        shared.remove("seconds")
        (row,) = con.execute(f"SELECT {', '.join(shared)} FROM run_summary").fetchall()
        assert len(shared) > 5
        for column, value in zip(shared, row, strict=True):
            assert mean[column] == pytest.approx(value), column


def test_the_mean_of_processors_is_over_all_that_are_shown(con: duckdb.DuckDBPyConnection) -> None:
    both = report(con, "PROCESSORS_BY_TIME")
    assert both.mean["total_util"] == pytest.approx(108 / 180)
    assert both.table.num_rows == 4
    one = report(con, "PROCESSORS_BY_TIME", objects={"cpu": 1})
    assert one.mean["total_util"] == pytest.approx((54 + 15) / 90)
    assert one.mean["suspended_util"] == pytest.approx(0, abs=1e-12)
    assert one.table.column("cpu").to_pylist() == [1, 1]
    assert "cpu" not in one.mean


def test_the_first_sample_is_left_out_and_counted(con: duckdb.DuckDBPyConnection) -> None:
    result = report(con, "SYSTEM_SUMMARY_BY_TIME")
    assert (result.intervals, result.starts, result.ends) == (2, minute(0), minute(2))
    assert result.notes[0].startswith("1 interval left out")


def test_a_span_is_half_open_at_its_start(con: duckdb.DuckDBPyConnection) -> None:
    late = report(con, "SYSTEM_SUMMARY_BY_TIME", since=minute(1))
    assert late.table.column("interval_end").to_pylist() == [minute(2)]
    early = report(con, "SYSTEM_SUMMARY_BY_TIME", until=minute(1).replace(tzinfo=UTC))
    assert early.table.column("interval_end").to_pylist() == [minute(1)]


def test_a_run_narrows_the_span_and_a_span_narrows_the_run(con: duckdb.DuckDBPyConnection) -> None:
    assert report(con, "SYSTEM_SUMMARY_BY_TIME", run="R1").run_id == "R1"
    both = report(con, "SYSTEM_SUMMARY_BY_TIME", run="R1", since=minute(1), until=minute(9))
    assert both.intervals == 1


EXPECTED = (
    "SYSTEM_CONFIG",
    "SYSTEM_SUMMARY_BY_TIME",
    "SYSTEM_SUMMARY2_BY_TIME",
    "AVAILABLE_LIST_BY_TIME",
    "CHANNELS",
    "PROCESSORS",
    "USER_CONFIG",
    "VIRTUAL_ADAPTERS",
    "VIRTUAL_DISKS",
    "VIRTUAL_SWITCHES",
    "STORAGE_BY_TIME",
    "PROCESSORS_BY_TIME",
    "LPAR",
    "DASD_BY_ACTIVITY",
    "DASD_BY_CONTROL_UNIT",
    "DASD_SYSTEM_AREAS_BY_TYPE",
    "AUX_STORAGE_BY_TIME",
    "PAGING_BY_TIME",
    "USER_RESOURCE_UTIL",
    "UCLASS_RESOURCE_UTIL",
    "CHARGEBACK",
    "USER_PAGING",
    "USER_STATES",
    "SPIN_LOCKS",
    "MINIDISK_CACHE_BY_TIME",
    "LINUX_FILE_SYSTEMS",
    "LINUX_GUESTS",
    "LINUX_PROCESSES",
    "LINUX_TASKS",
    "TRANSACTIONS",
    "DIAGNOSE_RATES",
    "PHYSICAL_PROCESSORS",
    "PRIVILEGED_OPERATIONS",
    "EVENTS",
)


def test_names_are_found_in_any_case_with_dashes() -> None:
    assert find_report("processors-by-time").name == "PROCESSORS_BY_TIME"
    assert report_names() == sorted(EXPECTED)


def test_an_unknown_name_suggests_the_nearest(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CpmonError) as caught:
        report(con, "PROCESORS_BY_TIME")
    assert caught.value.remedy == "did you mean PROCESSORS_BY_TIME?"
    with pytest.raises(CpmonError) as caught:
        report(con, "PROCESSORS_BY_TIME", run="R2")
    assert caught.value.remedy == "did you mean R1?"
    with pytest.raises(CpmonError) as caught:
        report(con, "PROCESSORS_BY_TIME", system="LAP")
    assert caught.value.remedy == "did you mean LAB?"


def test_several_systems_need_a_choice(con: duckdb.DuckDBPyConnection) -> None:
    insert(con, "meta.interval", {"system": "OTHER", "interval_end": minute(1), "seconds": 60.0})
    with pytest.raises(CpmonError) as caught:
        report(con, "SYSTEM_SUMMARY_BY_TIME")
    assert caught.value.found == "LAB, OTHER"
    assert report(con, "SYSTEM_SUMMARY_BY_TIME", system="LAB").intervals == 2


def test_a_run_of_another_system_says_which_it_was_measured_on(
    con: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(CpmonError, match="not measured on that system") as caught:
        report(con, "PROCESSORS_BY_TIME", run="R1", system="OTHER")
    assert (caught.value.expected, caught.value.found) == ("LAB", "OTHER")


def test_a_processor_that_is_not_there_is_named(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CpmonError, match="there is no processor 9"):
        report(con, "PROCESSORS_BY_TIME", objects={"cpu": 9})


def test_an_empty_store_says_so() -> None:
    with pytest.raises(CpmonError, match="no interval is in the store") as caught:
        report(empty_catalogue(), "SYSTEM_SUMMARY_BY_TIME")
    assert caught.value.remedy == "ingest a dump first"


def test_the_mean_leaves_out_the_time_of_records_that_lack_the_counter(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.sytrsp SET plsmvb2g = NULL WHERE interval_end = ?", [minute(1)])
    mean = report(con, "SYSTEM_SUMMARY2_BY_TIME").mean
    assert mean["move_2g_rate"] == pytest.approx(66 / 30)  # over all 90 s it would be 0.73
    assert mean["steal_rate"] == pytest.approx(4 * 66 / 90)


def test_nothing_to_report_says_what_there_is(con: duckdb.DuckDBPyConnection) -> None:
    later = datetime(2030, 1, 1, tzinfo=UTC)
    with pytest.raises(CpmonError) as caught:
        report(con, "SYSTEM_SUMMARY_BY_TIME", since=later)
    assert "2001-11-13 10:01:00 to 2001-11-13 10:02:00" in (caught.value.expected or "")


def test_a_report_without_processors_refuses_one(con: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(CpmonError, match="no line per processor"):
        report(con, "SYSTEM_SUMMARY_BY_TIME", objects={"cpu": 1})


def test_missing_records_are_blank_and_named_with_their_columns(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("DELETE FROM interval.useact")
    con.execute("DELETE FROM interval.sytrsp WHERE interval_end = ?", [minute(2)])
    result = report(con, "SYSTEM_SUMMARY2_BY_TIME")
    assert (
        "Resid pages/ user, Xstor pages/ user, DASD pages/ user: not known without USEACT records."
        in result.notes
    )
    assert any("in 1 of 2 lines without SYTRSP deltas" in note for note in result.notes)
    assert result.mean["resident_pages_per_user"] is None


def test_the_connection_is_free_again_after_a_report(con: duckdb.DuckDBPyConnection) -> None:
    # DuckDB 2 refuses sql() while a result of execute() has rows left to fetch.
    report(con, "SYSTEM_SUMMARY_BY_TIME")
    assert len(con.sql("SELECT 1").fetchall()) == 1


def test_every_column_of_a_report_is_a_column_of_its_reduction() -> None:
    for name in report_names():
        shown = find_report(name)
        known = {column.name for column in reduction(shown.reduction).columns}
        assert {column.name for column in shown.columns} <= known


SUMMARY2 = """\
SYSTEM_SUMMARY2_BY_TIME  Master processor, lock spinning, 2 GB moves and pages per user
System LAB, run R1, 2001-11-13 10:00:00 to 2001-11-13 10:02:00 UTC, 2 intervals
"""


def test_the_text_has_heading_lines_mean_and_notes(con: duckdb.DuckDBPyConnection) -> None:
    text = render_report(report(con, "SYSTEM_SUMMARY2_BY_TIME", run="R1")).decode()
    assert text.startswith(SUMMARY2)
    lines = text.splitlines()
    first = next(line for line in lines if line.startswith("2001-11-13 10:01:00"))
    assert first.split()[2:] == [
        *("60.0", "90.0", "50.0", "40.0", "1500", "20.000", "1.500"),
        *("1.1", "2.2", "205", "50", "150"),
    ]
    mean = next(line for line in lines if line.startswith("Mean"))
    assert mean.split()[1:] == [
        *("45.0", "76.7", "40.0", "36.7", "1333", "17.500", "1.167"),
        *("1.5", "2.9", "207", "50", "150"),
    ]
    assert any(line.startswith("* The master processor is told by") for line in lines)


def test_machine_formats_hold_the_reduction_unrounded(con: duckdb.DuckDBPyConnection) -> None:
    out = render_report(
        report(con, "PROCESSORS_BY_TIME", run="R1", objects={"cpu": 0}), "csv"
    ).decode()
    head, first, *_ = out.splitlines()
    assert head.startswith("interval_end,cpu,cpu_type,seconds,total_util")
    assert head.endswith(",system,begin,end,measured_s")
    end = "2001-11-13T10:01:00.000000Z"
    assert first.startswith(f"{end},0,CP,60.0,0.6,0.2,")
    assert first.endswith(f",LAB,2001-11-13T10:00:00.000000Z,{end},60.0")


def test_programs_get_system_begin_end_and_measured_seconds_of_a_line(
    con: duckdb.DuckDBPyConnection,
) -> None:
    day, zone = timedelta(days=1), "Europe/Vienna"
    by_day = report(con, "PROCESSORS_BY_TIME", run="R1", by=day, zone=zone).for_programs
    (begin,), (end,) = (set(by_day.column(name).to_pylist()) for name in ("begin", "end"))
    assert (f"{begin}", f"{end}") == ("2001-11-12 23:00:00", "2001-11-13 23:00:00")
    of_span = report(con, "PROCESSORS", run="R1")
    table = of_span.for_programs
    assert table.column_names[-4:] == ["system", "begin", "end", "measured_s"]
    assert set(table.column("begin").to_pylist()) == {of_span.starts}
    assert set(table.column("end").to_pylist()) == {of_span.ends}
    assert max(table.column("measured_s").to_pylist()) <= of_span.intervals * 60
    log = report(con, "EVENTS", run="R1").for_programs
    assert log.column_names[-1] == "system" and "begin" not in log.column_names
