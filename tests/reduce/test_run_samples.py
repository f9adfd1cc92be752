"""Samples of companions in long form, and taken together."""

from __future__ import annotations

import duckdb
import pytest

from tests.reduce.catalogue import empty_catalogue, insert


def test_every_companion_gives_its_measures(laboratory: duckdb.DuckDBPyConnection):
    found = laboratory.sql("SELECT measure, value FROM run_samples WHERE sample = 2").fetchall()
    # users ANNA and BERT each did 100 I/Os, 2 reads and hold 200 and 90 pages
    assert dict(found) == {
        "duration_s": 12,
        "virtual_cpu_cs": 210,
        "cp_cpu_cs": 50,
        "total_cpu_cs": 260,
        "virtual_ios": 200,
        "page_reads": 4,
        "page_writes": 0,
        "resident_pages": 400,
        "working_set_pages": 180,
        "read_kb_per_s": 800,
        "read_kb": 8000,
        "read_s": 10,
        "write_kb_per_s": 400,
        "write_kb": 8000,
        "write_s": 20,
        "thrasher_score": 14,
        "burner_score": 14,
    }


def test_a_rate_of_zero_has_no_seconds():
    con = empty_catalogue()
    for measure, value in (("read_kb_per_s", 0), ("read_kb", 4)):
        row = {"run_id": "R1", "sample": 1, "measure": measure, "value": value}
        insert(con, "meta.run_sample", row)
    found = dict(con.sql("SELECT measure, value FROM run_samples").fetchall())
    assert found == {"read_kb_per_s": 0, "read_kb": 4, "read_s": None}
    assert con.sql("FROM run_sample_summary WHERE measure = 'read_s'").fetchall() == []


def test_samples_are_taken_together_with_a_deviation_that_divides_by_n(
    laboratory: duckdb.DuckDBPyConnection,
):
    row = laboratory.sql(
        "SELECT samples, total, mean, sd FROM run_sample_summary WHERE measure = 'cp_cpu_cs'"
    )
    # 30 and 50: deviations of 10 each
    assert row.fetchall() == [(2, 80, 40, pytest.approx(10))]
