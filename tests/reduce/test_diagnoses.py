"""Every column of DIAGNOSE_RATES, worked out by hand on the rows of `lab`."""

from __future__ import annotations

import duckdb
import pytest

from cpmon.reduce.reports.report import report
from tests.reduce.catalogue import close, insert, minute
from tests.reduce.rows import rows


def by_code(con: duckdb.DuckDBPyConnection, n: int) -> dict[str, dict[str, object]]:
    found = rows(con, "diagnoses_by_time", "interval_end = ?", [minute(n)])
    return {str(row["code"]): row for row in found}


def test_a_code_of_all_processors(con: duckdb.DuckDBPyConnection) -> None:
    want = {
        "system": "LAB",
        "interval_end": minute(1),
        "code": "08",
        "seconds": 60,
        "diagnose_rate": (120 + 60) / 60,
        "diagnoses": 180,
    }
    close(by_code(con, 1)["08"], want)


def test_a_counter_of_32_bits_that_wraps_goes_on(con: duckdb.DuckDBPyConnection) -> None:
    assert by_code(con, 1)["44"]["diagnoses"] == 60 + 90
    assert by_code(con, 2)["44"]["diagnoses"] == 30 + 30


def test_codes_that_were_never_used_have_no_line(con: duckdb.DuckDBPyConnection) -> None:
    assert set(by_code(con, 1)) == {"08", "44", "44 fast"}


def test_a_code_has_lines_from_the_beginning_of_the_day_of_its_first_use(
    con: duckdb.DuckDBPyConnection,
) -> None:
    for n, count in ((0, 0), (1, 0), (2, 6)):
        key = {"system": "LAB", "dump": "a", "interval_end": minute(n), "pfxcpuad": 0}
        code = {"entry": 60, "code": "F0", "diagnoses": count}
        insert(con, "monitor.prcdia_diagnose", {**key, **code})
    assert by_code(con, 1)["F0"]["diagnoses"] == 0
    lines = {line["code"]: line for line in report(con, "DIAGNOSE_RATES").table.to_pylist()}
    # 6 uses in the intervals of 60 and 30 seconds.
    assert (lines["F0"]["seconds"], lines["F0"]["diagnoses"]) == (90, 6)
    assert lines["F0"]["diagnose_rate"] == pytest.approx(6 / 90)


def test_a_first_sample_has_no_rates(con: duckdb.DuckDBPyConnection) -> None:
    first = by_code(con, 0)["08"]
    assert (first["seconds"], first["diagnose_rate"], first["diagnoses"]) == (None, None, None)


def test_the_fast_path_counts_from_5_2_on(con: duckdb.DuckDBPyConnection) -> None:
    want = {"diagnoses": 2 * 1800, "diagnose_rate": 3600 / 30, "seconds": 30}
    key = {"system": "LAB", "interval_end": minute(2), "code": "44 fast"}
    close(by_code(con, 2)["44 fast"], {**key, **want})
    con.execute("UPDATE monitor.mtrsys SET hcpcpeid = '05010001'")
    assert "44 fast" not in by_code(con, 2)


def test_the_counter_of_the_fast_path_itself_wins_where_records_have_it(
    con: duckdb.DuckDBPyConnection,
) -> None:
    con.execute("UPDATE interval.sytprp SET pfxfst44 = 300 WHERE seconds IS NOT NULL")
    assert by_code(con, 2)["44 fast"]["diagnoses"] == 2 * 300  # calfstph: 1800 a processor


def test_a_record_without_the_one_before_it_has_no_growth(con: duckdb.DuckDBPyConnection) -> None:
    con.execute("UPDATE interval.prcdia SET seconds = NULL WHERE interval_end = ?", [minute(2)])
    assert by_code(con, 2)["08"]["diagnoses"] is None


def test_codes_are_sorted_by_rate_over_the_span(con: duckdb.DuckDBPyConnection) -> None:
    found = report(con, "DIAGNOSE_RATES").table.to_pylist()
    assert [line["code"] for line in found] == ["44 fast", "44", "08"]
    assert found[1]["diagnoses"] == 150 + 60
    assert found[1]["diagnose_rate"] == pytest.approx(210 / 90)
