"""Questions by SQL: every type is printed, and what goes wrong is the user's error."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.config.formats import FORMATS
from tests.cli.answer import Cpmon
from tests.cli.test_xlsx import sheets

FAR = """SELECT n, DATE '12000-01-01' AS day, TIMESTAMP 'infinity' AS at,
    TIMESTAMPTZ '0044-03-15 (BC) 10:00:00+00' AS before FROM range(2) AS t(n)
    UNION ALL SELECT 2, DATE '2026-01-31', TIMESTAMP '2026-01-31 12:00:00', NULL"""
FAR_TEXTS = [
    *2 * [["12000-01-01", "infinity", "0044-03-15 (BC) 10:00:00"]],
    ["2026-01-31", "2026-01-31T12:00:00.000000Z", None],
]
ODD = """SELECT union_value(a := 1) AS u, [union_value(a := 'x')] AS list,
    {'size': 'POINT (1 2)'::GEOMETRY} AS place, [7::BIGNUM]::BIGNUM[1] AS fixed,
    MAP {'a': 12345678901234567890123::BIGNUM} AS big,
    '12:00:00+05'::TIMETZ AS hour, '0101'::BIT AS bits,
    340282366920938463463374607431768211455::UHUGEINT AS huge, 1 AS a, '0'::BIT AS a"""


@pytest.mark.parametrize("form", FORMATS)
def test_every_type_of_duckdb_is_printed(form: str, cpmon: Cpmon, perf: Path):
    answer = cpmon("query", "FROM test_all_types()", "--store", perf, "--format", form)
    assert answer.status is Status.DONE, answer.err
    assert answer.out


def test_values_that_arrow_has_no_type_for_are_texts(cpmon: Cpmon, perf: Path):
    answer = cpmon("query", ODD, "--store", perf, "--format", "json")
    assert answer.rows == [
        {
            "u": "1",
            "list": ["x"],
            "place": {"size": "POINT (1 2)"},
            "fixed": ["7"],
            "big": {"a": "12345678901234567890123"},
            "hour": "12:00:00+05",
            "bits": "0101",
            "huge": "340282366920938463463374607431768211455",
            "a": 1,
            "a_2": "0",
        }
    ]


def test_times_beyond_the_year_9999_are_texts(cpmon: Cpmon, perf: Path, tmp_path: Path):
    answer = cpmon("query", FAR, "--store", perf, "--format", "json")
    assert [list(row.values())[1:] for row in answer.rows] == FAR_TEXTS

    file = tmp_path / "far.xlsx"
    assert cpmon("query", FAR, "--store", perf, "-o", file).status is Status.DONE
    (rows,) = sheets(file).values()
    assert [row[1:] for row in rows[1:3]] == FAR_TEXTS[:2]
    assert rows[3][1:3] == [46053.0, 46053.5]  # days since 1899-12-30


def test_a_value_without_a_word_in_a_format_is_named_with_its_column(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    asked = "SELECT 1 AS a, TIMESTAMP_S 'infinity' AS last"
    answer = cpmon("query", asked, "--store", perf, "-o", tmp_path / "x.parquet")
    assert answer.status is Status.USAGE
    assert "column last cannot be written as parquet" in answer.err and "timestamp" in answer.err


@pytest.mark.parametrize("row", [0, 5000])
def test_an_error_in_any_row_is_that_of_the_query(row: int, cpmon: Cpmon, perf: Path):
    value = f"CASE WHEN x = {row} THEN 'a' ELSE '1' END"
    asked = f"SELECT CAST({value} AS INT) FROM range(10000) AS t(x)"
    answer = cpmon("query", asked, "--store", perf)
    assert answer.status is Status.USAGE
    assert "the query failed: Conversion Error: Could not convert string 'a'" in answer.err


@pytest.mark.parametrize(
    "asked",
    [
        "SELECT repeat('x', 2000000000) AS x",
        "SELECT string_agg(repeat('x', 1000000)) AS x FROM range(2000)",
        "SELECT repeat('x', 100000000) AS x",
    ],
)
def test_a_value_that_is_too_large_ends_as_an_error(asked: str, cpmon: Cpmon, perf: Path):
    before = resource.getrlimit(resource.RLIMIT_DATA)
    answer = cpmon("query", asked, "--store", perf, "--memory-limit", "100MB", "--format", "csv")
    assert answer.status is Status.USAGE, answer.err
    assert "needs more memory than there may be" in answer.err
    assert resource.getrlimit(resource.RLIMIT_DATA) == before


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("_diagnose_totals", ""),
        ("diagnose_total", "diagnoses_by_time"),
        ("sytrp", "monitor.sytrsp"),
        ("meta.dmp", "meta.dump"),
    ],
)
def test_a_table_that_is_missing_is_answered_with_one_that_can_be_asked(
    name: str, meant: str, cpmon: Cpmon, perf: Path
):
    answer = cpmon("query", f"FROM {name}X", "--store", perf)
    assert answer.status is Status.USAGE
    assert f"there is no table {name.rpartition('.')[2]}X" in answer.err
    assert meant in answer.err and "did you mean _" not in answer.err
