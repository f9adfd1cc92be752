"""The name of an output file says its format; XLSX has numbers, units, zones, and no formulas."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import polars as pl
import pytest

from cpmon.cli.main import Status
from tests.cli.answer import Cpmon

MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def sheets(file: Path) -> dict[str, list[list[Any]]]:
    """Name of each sheet -> its rows; numbers as numbers, booleans as such, formulas refused."""
    with zipfile.ZipFile(file) as archive:
        book = ElementTree.fromstring(archive.read("xl/workbook.xml"))
        names = [sheet.attrib["name"] for sheet in book.iter(f"{MAIN}sheet")]
        parts = [archive.read(f"xl/worksheets/sheet{n + 1}.xml") for n in range(len(names))]
    return {name: rows(part) for name, part in zip(names, parts, strict=True)}


def rows(sheet: bytes) -> list[list[Any]]:
    found = []
    for row in ElementTree.fromstring(sheet).iter(f"{MAIN}row"):
        cells: list[Any] = []
        for cell in row.iter(f"{MAIN}c"):
            assert cell.find(f"{MAIN}f") is None, "a formula"
            letters = re.match("[A-Z]+", cell.attrib["r"])
            assert letters is not None
            column = sum((ord(c) - 64) * 26**n for n, c in enumerate(reversed(letters[0])))
            cells += [None] * (column - 1 - len(cells))
            text = cell.find(f"{MAIN}is/{MAIN}t")
            value = cell.find(f"{MAIN}v")
            if text is not None:
                cells.append(text.text or "")
            elif value is not None and value.text:
                boolean = cell.attrib.get("t") == "b"
                cells.append(value.text == "1" if boolean else float(value.text))
            else:
                cells.append(None)
        found.append(cells)
    return found


def test_the_format_follows_the_name_of_the_file_unless_it_is_given(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    sql = "SELECT 1 AS one, 'x' AS two"
    begins = {
        "a.csv": b"one,two\n1,x\n", "a.JSON": b'[{"one":1', "a.jsonl": b'{"one":1',
        "a.md": b"| one |", "a.parquet": b"PAR1", "a.xlsx": b"PK", "a.txt": b"one  two\n",
        "a": b"one  two\n",
    }  # fmt: skip
    for name, begin in begins.items():
        assert cpmon("query", sql, "--store", perf, "-o", tmp_path / name).status is Status.DONE
        assert (tmp_path / name).read_bytes().startswith(begin), name
    given = ("--format", "json", "-o", tmp_path / "b")
    cpmon("query", sql, "--store", perf, *given)
    assert (tmp_path / "b").read_bytes().startswith(b'[{"one":1')


@pytest.mark.parametrize("command", ["runs", "check", "list", "report", "exceptions"])
def test_every_command_with_a_format_takes_the_suffix(
    cpmon: Cpmon, perf: Path, dumps: list[Path], tmp_path: Path, command: str
):
    words = {
        "check": ["check", dumps[0]],
        "list": ["list", dumps[0]],
        "report": ["report", "user_resource_util", "--run", "2600NP", "--store", perf],
    }.get(command, [command, "--store", perf])
    for suffix in (".csv", ".xlsx") if command in ("runs", "list") else (".xlsx",):
        file = tmp_path / f"out{suffix}"
        assert cpmon(*words, "-o", file).status in (Status.DONE, Status.WARNINGS)
        if suffix == ".csv":
            pl.read_csv(file)
        else:
            assert all(sheet[0] for sheet in sheets(file).values())


def test_a_query_has_numbers_times_and_texts_that_are_no_formulas(
    cpmon: Cpmon, perf: Path, tmp_path: Path
):
    sql = (
        "SELECT 1.5 AS f, 7::UTINYINT AS i, 18446744073709551615::UBIGINT AS big, true AS b,"
        " '=1+1' AS formula, 'http://x' AS url, TIMESTAMP '2001-12-18 12:00:00' AS t,"
        " 'NaN'::DOUBLE AS nan, NULL AS gone, [1, 2] AS l, '\\x00'::BLOB AS raw"
    )
    cpmon("query", sql, "--store", perf, "-o", tmp_path / "q.xlsx")
    ((name, (head, row)),) = sheets(tmp_path / "q.xlsx").items()
    assert name == "result"
    assert head[6] == "t (UTC)", "a cell has no zone, so the heading says it"
    assert row[:6] == [1.5, 7, "18446744073709551615", True, "=1+1", "http://x"]
    assert row[6] == pytest.approx(37243.5), "days since 1899-12-30"
    assert row[7:] == [None, None, "[1,2]", "00"]


def test_a_report_is_a_sheet_with_units_zone_and_its_mean(cpmon: Cpmon, perf: Path, tmp_path: Path):
    names = ["system_summary2_by_time", "USER_RESOURCE_UTIL"]
    words = ["report", *names, "--run", "2600NP", "--store", perf, "--tz", "Europe/Vienna"]
    file = tmp_path / "r.xlsx"
    assert cpmon(*words, "-o", file).status is Status.DONE
    book = sheets(file)
    assert list(book) == ["SYSTEM_SUMMARY2_BY_TIME", "USER_RESOURCE_UTIL"]
    by_time = book["SYSTEM_SUMMARY2_BY_TIME"]
    assert by_time[1][0].endswith("Europe/Vienna, 3 intervals")
    assert by_time[2][:3] == ["End time (Europe/Vienna)", "T (s)", "Master Total Util (%)"]
    assert by_time[3][0] == pytest.approx(37208 + 15 / 24 + 1 / 1440, abs=1e-3), "local time"
    text = cpmon(*words[:2], *words[3:]).text.splitlines()
    printed = [line.split() for line in text if line.startswith("2001-")]
    for row, cells in zip(by_time[3:6], printed, strict=True):
        assert f"{row[2]:.1f}" == cells[3], "shares in percent, as the report prints them"
    assert by_time[6][0] == "Mean"
    assert isinstance(by_time[6][2], float)


def test_a_comparison_has_its_table_and_its_cells(cpmon: Cpmon, perf: Path, tmp_path: Path):
    words = ["compare", "--base", "2600NP", "--run", "3600P1", "--store", perf]
    assert cpmon(*words, "-o", tmp_path / "c.xlsx").status is Status.DONE
    book = sheets(tmp_path / "c.xlsx")
    assert list(book) == ["comparison", "cells"]
    assert sum(isinstance(cell, float) for row in book["comparison"] for cell in row) > 10
    assert any(isinstance(cell, float) for cell in book["cells"][1])


def test_several_reports_are_no_csv(cpmon: Cpmon, perf: Path):
    words = ["report", "events", "paging_by_time", "--run", "2600NP", "--store", perf]
    answer = cpmon(*words, "--format", "csv")
    assert answer.status is Status.USAGE
    assert "use xlsx, which has a sheet for each" in answer.err
    both = cpmon(*words).text
    assert "EVENTS  " in both and "PAGING_BY_TIME  " in both
