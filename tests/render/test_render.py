"""Tables to bytes: the same text for the same table, whatever the columns are."""

from __future__ import annotations

import csv
import io
import json
import re

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.core.errors import CpmonError
from cpmon.render.render import render

WIDE = """SELECT * FROM (VALUES
    (1::UTINYINT, TIMESTAMP '2001-11-13 10:00:00.25', 'a|b', 0.1::DOUBLE, '\\x01\\xAB'::BLOB, true),
    (NULL, NULL, '', 1234567.5, NULL, NULL)) AS t(n, at_utc, name, share, raw, flag)"""


def answer(sql: str) -> pa.Table:
    with duckdb.connect() as con:
        return con.sql(sql).to_arrow_table()


def wide() -> pa.Table:
    return answer(WIDE)


def test_text_is_aligned_with_numbers_to_the_right() -> None:
    assert render(wide(), "table").decode().splitlines() == [
        "n  at_utc                       name      share  raw   flag",
        "-  ---------------------------  ----  ---------  ----  ----",
        "1  2001-11-13T10:00:00.250000Z  a|b         0.1  01ab  true",
        "                                      1234567.5",
    ]


def test_csv_quotes_only_where_needed_and_leaves_null_empty() -> None:
    assert render(wide(), "csv").decode() == (
        "n,at_utc,name,share,raw,flag\n"
        "1,2001-11-13T10:00:00.250000Z,a|b,0.1,01ab,true\n"
        ',,"",1234567.5,,\n'
    )


def test_json_is_a_list_and_jsonl_a_line_a_row() -> None:
    rows = json.loads(render(wide(), "json"))
    assert rows[0] == {
        "n": 1,
        "at_utc": "2001-11-13T10:00:00.250000Z",
        "name": "a|b",
        "share": 0.1,
        "raw": "01ab",
        "flag": True,
    }
    assert rows[1]["n"] is None
    assert [json.loads(line) for line in render(wide(), "jsonl").splitlines()] == rows


def test_markdown_escapes_bars() -> None:
    assert render(wide(), "markdown").decode().splitlines()[2].startswith("| 1 | 2001-11-13T10")
    assert "| a\\|b |" in render(wide(), "markdown").decode()


def test_a_title_stands_above_text_only() -> None:
    assert render(wide(), "table", title="Runs").startswith(b"Runs\n\n")
    assert render(wide(), "markdown", title="Runs").startswith(b"## Runs\n")
    assert render(wide(), "csv", title="Runs").startswith(b"n,")


def test_parquet_is_the_table_itself() -> None:
    assert pq.read_table(pa.BufferReader(render(wide(), "parquet"))).equals(wide())


@pytest.mark.parametrize("format", ["table", "csv", "json", "jsonl", "markdown"])
def test_a_table_without_rows_is_still_a_table(format: str) -> None:
    empty = wide().slice(0, 0)
    out = render(empty, format).decode()
    assert json.loads(out) == [] if format == "json" else "n" in out or format == "jsonl"


def test_times_with_a_zone_become_utc() -> None:
    times = pa.array([0], pa.timestamp("us", tz="Europe/Berlin"))
    assert b"1970-01-01T00:00:00.000000Z" in render(pa.table({"t": times}), "csv")


def test_nested_values_are_json_text_where_a_format_has_no_word_for_them() -> None:
    table = answer("SELECT [1, 2] AS list, {'a': 1} AS struct")
    assert render(table, "csv").decode().splitlines()[1] == '"[1,2]","{""a"":1}"'
    assert json.loads(render(table, "json")) == [{"list": [1, 2], "struct": {"a": 1}}]


def test_what_json_has_no_word_for_is_null() -> None:
    table = pa.table({"x": [float("nan"), float("inf"), 1.5]})
    assert [row["x"] for row in json.loads(render(table, "json"))] == [None, None, 1.5]


@pytest.mark.parametrize(
    ("sql", "value"),
    [
        ("[1.5, 'nan'::DOUBLE, 'inf'::DOUBLE]", [1.5, None, None]),
        ("[[1.5, 'nan'::DOUBLE], NULL]", [[1.5, None], None]),
        ("['nan'::DOUBLE, 1.5]::DOUBLE[2]", [None, 1.5]),
        (
            "{'a \"b': 'nan'::DOUBLE, 'c': [{'d': '-inf'::FLOAT, 'e': 'NaN'}]}",
            {'a "b': None, "c": [{"d": None, "e": "NaN"}]},
        ),
        ("map {'k': 'nan'::DOUBLE, 'l': 1.5}", {"k": None, "l": 1.5}),
        ("NULL::STRUCT(a DOUBLE)", None),
        ("NULL::DOUBLE[]", None),
    ],
)
def test_what_json_has_no_word_for_is_null_at_any_depth(sql: str, value: object) -> None:
    table = answer(f"SELECT 1 AS n, {sql} AS x")
    (row,) = csv.DictReader(io.StringIO(render(table, "csv").decode()))
    (line,) = json.loads(render(table, "json"), parse_constant=pytest.fail)
    assert line["x"] == value
    assert json.loads(row["x"] or "null", parse_constant=pytest.fail) == value


@pytest.mark.parametrize("format", ["csv", "table", "jsonl", "parquet"])
def test_columns_of_one_name_all_appear(format: str) -> None:
    table = answer("SELECT 1 AS a, 2 AS a")
    assert b"a_2" in render(table, format)


@pytest.mark.parametrize("format", ["json", "jsonl"])
def test_json_keeps_every_name_a_column_can_have(format: str) -> None:
    table = answer("""SELECT 1 AS given, 2 AS a, 3 AS "A", 4 AS "it's" """)
    (row,) = json.loads(b"[" + render(table, format).strip(b"[]\n") + b"]")
    assert row == {"given": 1, "a": 2, "A": 3, "it's": 4}


def test_a_span_of_time_is_text_in_every_format() -> None:
    table = answer("SELECT TIMESTAMP '2001-11-14 00:00:05' - TIMESTAMP '2001-11-13' AS span")
    assert render(table, "csv") == b"span\n1 day 00:00:05\n"
    assert render(table, "table").splitlines()[-1] == b"1 day 00:00:05"
    assert json.loads(render(table, "json")) == [{"span": "1 day 00:00:05"}]
    read = pq.read_table(pa.BufferReader(render(table, "parquet")))
    assert read.to_pylist() == [{"span": "1 day 00:00:05"}]


@pytest.mark.parametrize("format", ["table", "csv", "json", "markdown"])
def test_a_time_of_day_reads_alike_everywhere(format: str) -> None:
    out = render(answer("SELECT TIME '10:00:00.25' AS at_utc"), format).decode()
    assert re.findall(r"10:[\d:.]*", out) == ["10:00:00.25"]


def test_a_line_break_does_not_break_a_table_for_people() -> None:
    table = answer("SELECT e'a\\nb' AS text, 1 AS n")
    assert render(table, "table").splitlines()[2:] == [b"a\\nb  1"]
    assert render(table, "markdown").splitlines()[2:] == [b"| a\\nb | 1 |"]
    assert json.loads(render(table, "json")) == [{"text": "a\nb", "n": 1}]


def test_an_unknown_format_is_named_with_those_there_are() -> None:
    with pytest.raises(CpmonError) as caught:
        render(wide(), "pdf")
    assert caught.value.found == "pdf"
    assert "parquet" in (caught.value.expected or "")


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r"))


@given(st.lists(st.tuples(TEXTS, st.integers(-(2**63), 2**63 - 1)), min_size=1))
def test_csv_reads_back_as_written(rows: list[tuple[str, int]]) -> None:
    names, numbers = [row[0] for row in rows], [row[1] for row in rows]
    out = render(pa.table({"name": names, "number": numbers}), "csv").decode()
    found = list(csv.reader(io.StringIO(out, newline="")))[1:]
    assert [(name, int(number)) for name, number in found] == rows
