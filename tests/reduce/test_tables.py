"""The engine on the published absolute values must print the published ratio blocks and claims."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpmon.core.errors import CpmonError
from cpmon.reduce.compare import compare, load_spec, parse_spec, render_comparison, spec_names
from cpmon.reduce.reductions.reductions import reduction
from cpmon.store.sql.landed_views import macros

PUBLISHED = Path(__file__).parents[1] / "published"
FILES = {
    "timer_t1": "timer.csv",
    "timer_t2": "timer.csv",
    "large_storage_t1": "large_storage.csv",
    "linux_dasd_mdc_t1": "linux_dasd_mdc.csv",
    "pfault_t1": "pfault.csv",
    "cp_regression_apache_params": "cp_regression.csv",
    "cp_regression_mixed_5g": "cp_regression.csv",
    "cp_regression_nonpaging_2094": "cp_regression.csv",
    "cp_regression_summary": "cp_regression.csv",
    "cp_regression_workload_params": "cp_regression.csv",
    "cp_regression_xstor_3g": "cp_regression.csv",
}
UNROUNDED = {("2900P", "Xstor Page Rate"): 100950.0}
"""Printed as 101k; from the ratio of 98322 to it, it lies from 100895 to 100998."""
LEVELS = {"2600NP": "4.2.0", "2600P": "4.2.0", "2900P": "4.2.0", "E12187E0": "4.2.0"}


def published(name: str) -> list[tuple[str, ...]]:
    """The lines of a published table and of its ratios and claims, in order."""
    with (PUBLISHED / FILES[name]).open(encoding="utf-8", newline="") as lines:
        rows = [tuple(row.values()) for row in csv.DictReader(lines)]
    claims = f"{name.removesuffix('_t1')}_claims"
    return [row for row in rows if row[0] in (name, f"{name}_ratios", claims)]


def measured(name: str) -> duckdb.DuckDBPyConnection:
    """A catalogue whose run_summary holds what the published table prints, before printing."""
    spec = load_spec(name)
    con = duckdb.connect()
    con.execute(macros())
    con.execute("CREATE SCHEMA meta")
    con.execute(
        """CREATE TABLE meta.run (run_id VARCHAR, system VARCHAR, base_run_id VARCHAR,
           cp_level VARCHAR, users BIGINT, processors BIGINT,
           attributes MAP(VARCHAR, VARCHAR), steady_since TIMESTAMP, steady_until TIMESTAMP);
           CREATE TABLE meta.interval (system VARCHAR, interval_end TIMESTAMP,
           seconds DOUBLE, usual_s DOUBLE, previous_end TIMESTAMP, gap BOOLEAN, restart BOOLEAN,
           clock_set BOOLEAN)"""
    )
    measures = {row.label: row for row in spec.rows if row.measure}
    names = [row.measure for row in measures.values()]
    columns = ", ".join(f"{name} DOUBLE" for name in names)
    con.execute(
        f"CREATE TABLE run_summary (run_id VARCHAR, system VARCHAR, base_run_id VARCHAR, {columns})"
    )
    con.execute("CREATE TABLE _run_interval (run_id VARCHAR, is_steady BOOLEAN, doubts VARCHAR)")
    values = {(row[1], row[2]): row[3] for row in published(name) if row[0] == name}
    for run in spec.runs:
        given = [
            UNROUNDED.get((run, label)) or float(values[run, label]) / row.scale
            for label, row in measures.items()
        ]
        marks = ", ".join("?" for _ in range(3 + len(given)))
        con.execute(f"INSERT INTO run_summary VALUES ({marks})", [run, "S", spec.runs[0], *given])
        con.execute(
            "INSERT INTO meta.run VALUES (?, 'S', ?, ?, 600, 7, MAP {'machine': '2064-109'},"
            " '2001-12-18 10:00', '2001-12-18 11:00')",
            [run, spec.runs[0], LEVELS.get(run, "4.3.0")],
        )
    return con


def long_form(table: Any) -> list[tuple[str, ...]]:
    return [tuple(row.values()) for row in table.to_arrow().to_pylist()]


@pytest.mark.parametrize("name", ["timer_t1", "large_storage_t1"])
def test_every_published_cell_is_printed_in_the_published_order(name: str) -> None:
    assert long_form(compare(measured(name), name)) == published(name)


def test_timer_t2_prints_as_published_and_its_ratios_follow_from_the_rules() -> None:
    table = compare(measured("timer_t2"), "timer_t2")
    rows = long_form(table)
    assert [row for row in rows if row[0] == "timer_t2"] == published("timer_t2")
    ratios = {key: cell.text for key, cell in table.block("timer_t2_ratios").items()}
    assert ratios["Pct Spin Time", "3600P1"] == "1.500"
    assert ratios["Pct Spin Time", "3900P1"] == "0.443"
    assert ratios["Xstor Page Rate", "3900P1"] == "0.974"
    assert ratios["Xstor Page Rate", "2900P"] == "1.000"
    assert ratios["DASD Page Rate", "3600P1"] == "-"
    assert ratios["DASD Page Rate", "3900P1"] == "0.079"


def test_csv_is_the_long_form_of_the_published_files() -> None:
    out = render_comparison(compare(measured("large_storage_t1"), "large_storage_t1"), "csv")
    assert out.decode() == (PUBLISHED / "large_storage.csv").read_text(encoding="utf-8")


def test_shipped_specs_name_the_rows_and_tags_of_the_published_tables() -> None:
    others = [name for name in spec_names() if name not in FILES]
    assert all(name.startswith("cp_regression_") for name in others)  # test_cp_regression.py
    for name in FILES:
        spec = load_spec(name)
        lines = [row for row in published(name) if row[0] == name and row[1] == spec.columns[0]]
        assert [(row.label, row.source_tag) for row in spec.rows] == [(r[2], r[4]) for r in lines]


def test_a_run_that_is_not_in_the_store_is_blank_with_a_footnote() -> None:
    con = measured("timer_t1")
    con.execute("DELETE FROM run_summary WHERE run_id = '3900NP1'")
    table = compare(con, "timer_t1")
    mine = [cell for cell in table.cells if cell.run_id == "3900NP1"]
    assert {cell.text for cell in mine} == {""}
    assert {cell.reason for cell in mine} == {"run 3900NP1 is not in the store"}
    assert "(1) run 3900NP1 is not in the store\n" in render_comparison(table).decode()
    assert ",3900NP1,Total Util/Proc,,v\n" in render_comparison(table, "csv").decode()


def test_what_is_not_known_of_a_steady_state_is_noted() -> None:
    con = measured("timer_t1")
    con.execute(
        "INSERT INTO _run_interval VALUES"
        " ('3600NP1', true, 'SYTPRP is missing, USEACT began anew'),"
        " ('3600NP1', true, 'SYTPRP is missing'), ('3600NP1', false, 'SYTSYP is missing')"
    )
    con.execute(
        "UPDATE meta.run SET system = 'T' WHERE run_id <> '3600NP1';"
        " INSERT INTO meta.interval VALUES"
        " ('S', '2001-12-18 10:00', NULL, 60, NULL, true, false, false),"  # before the run
        " ('S', '2001-12-18 10:01', 60, 60, NULL, false, false, false),"  # the first sample
        " ('S', '2001-12-18 10:02', 60, 60, '2001-12-18 10:01', false, false, false),"
        " ('S', '2001-12-18 10:09', 420, 60, NULL, true, false, false)"
    )
    assert compare(con, "timer_t1").notes == (
        "3600NP1: Blank, left out of sums, or a lower bound: SYTPRP is missing (2),"
        " USEACT began anew (1).",
        "3600NP1: 1 interval left out, behind a gap, an IPL or a clock that was set.",
        "3600NP1: no interval in 1 minute at its begin.",
        "3600NP1: no interval in 51 minutes at its end.",
    )


def test_a_measure_without_records_is_blank_and_so_is_what_follows_from_it() -> None:
    con = measured("timer_t1")
    con.execute("UPDATE run_summary SET emul_util = NULL WHERE run_id = '3600NP1'")
    table = compare(con, "timer_t1")
    cells = table.block("timer_t1")
    assert cells["Total Util/Proc", "3600NP1"].text == "68.5"
    assert cells["CP Util/Proc", "3600NP1"].text == ""
    assert cells["CP Util/Proc", "3600NP1"].reason.startswith("Emul Util/Proc: not known without")
    assert table.block("timer_t1_ratios")["CP Util/Proc", "3600NP1"].text == ""
    assert table.block("timer_t1_ratios")["CP Util/Proc", "3900NP1"].text == "2.104"


def test_no_run_at_all_is_an_error_that_names_the_runs_there_are() -> None:
    con = measured("timer_t1")
    with pytest.raises(CpmonError) as caught:
        compare(con, "timer_t2")
    assert caught.value.expected == "2600P, 3600P1, 2900P, 3900P1"
    assert caught.value.found == "2600NP, 3600NP1, 3900NP1"


def test_a_run_of_two_systems_is_an_error() -> None:
    con = measured("timer_t1")
    con.execute("INSERT INTO run_summary SELECT * REPLACE ('T' AS system) FROM run_summary")
    with pytest.raises(CpmonError, match="more than once"):
        compare(con, "timer_t1")


MINE = """
name = "mine"
runs = ["2600NP", "3600NP1"]
header = ["cp_level", "machine"]

[[groups]]
rows = [{ label = "Util", source = "v", measure = "total_util", scale = 100, digits = 1 }]

[[claims]]
label = "Util change"
row = "Util"
run = "3600NP1"
base = "2600NP"
"""
TEXT = """\
mine: mine

Run          2600NP    3600NP1
CP level      4.2.0      4.3.0
Machine    2064-109   2064-109

Util (v)       47.8       68.5

Ratio to base run
Base run     2600NP     2600NP

Util          1.000      1.433

Util change, 2600NP to 3600NP1: 43% increase
"""
MARKDOWN = """\
## mine: mine

| Run | 2600NP | 3600NP1 |
|:--|--:|--:|
| CP level | 4.2.0 | 4.3.0 |
| Machine | 2064-109 | 2064-109 |
| Util (v) | 47.8 | 68.5 |

### Ratio to base run

| Run | 2600NP | 3600NP1 |
|:--|--:|--:|
| Base run | 2600NP | 2600NP |
| Util | 1.000 | 1.433 |

Util change, 2600NP to 3600NP1: 43% increase
"""


def test_text_and_markdown_have_runs_across_and_groups_down() -> None:
    table = compare(measured("timer_t1"), parse_spec(MINE, "mine.toml"))
    assert render_comparison(table, "text").decode() == TEXT
    assert render_comparison(table, "markdown").decode() == MARKDOWN


def test_json_and_parquet_hold_the_same_cells() -> None:
    table = compare(measured("timer_t1"), parse_spec(MINE, "mine.toml"))
    document = json.loads(render_comparison(table, "json"))
    assert document["runs"][1] == {
        "run_id": "3600NP1",
        "base_run_id": "2600NP",
        "cp_level": "4.3.0",
        "machine": "2064-109",
    }
    cells = [tuple(cell.values()) for cell in document["cells"]]
    assert cells == long_form(table)
    buffer = pa.BufferReader(render_comparison(table, "parquet"))
    assert pq.read_table(buffer).equals(table.to_arrow())


def test_an_unknown_format_is_named() -> None:
    table = compare(measured("timer_t1"), parse_spec(MINE, "mine.toml"))
    with pytest.raises(CpmonError) as caught:
        render_comparison(table, "pdf")
    assert caught.value.found == "pdf"


def test_a_ratio_needs_a_base_run() -> None:
    con = measured("timer_t1")
    con.execute("UPDATE run_summary SET base_run_id = NULL WHERE run_id = '3600NP1'")
    cell = compare(con, parse_spec(MINE, "mine.toml")).block("mine_ratios")["Util", "3600NP1"]
    assert (cell.text, cell.reason) == ("", "run 3600NP1 names no base run")
    con.execute("UPDATE run_summary SET base_run_id = 'OTHER' WHERE run_id = '3600NP1'")
    cell = compare(con, parse_spec(MINE, "mine.toml")).block("mine_ratios")["Util", "3600NP1"]
    assert cell.reason == "base run OTHER is not in this table"


def test_measures_of_shipped_specs_say_what_null_means() -> None:
    for name in spec_names():
        for row in load_spec(name).rows:
            if row.measure:
                assert reduction("run_summary").column(row.measure).absence.startswith("without")
