"""What a page shows of an answer: rows and cells up to a size, whatever the answer has."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

from cpmon.core.errors import CpmonError
from cpmon.serve.answer import MOST_CELL, MOST_SHOWN, MOST_TEXT, draw_answer, read_answer


def go_on() -> None:
    """The reader stays."""


def test_cells_are_cut_and_the_page_reports_it():
    answer = read_answer([pa.table({"a": ["x" * MOST_CELL, "y" * (MOST_CELL + 1)]})], go_on)
    assert answer.rows == (("x" * MOST_CELL,), ("y" * MOST_CELL + "…",))
    assert answer.is_cut
    assert not read_answer([pa.table({"a": ["x" * MOST_CELL]})], go_on).is_cut


@pytest.mark.parametrize(
    "wide",
    [
        pa.array(["x" * 2**20]),
        pa.array([b"x" * 2**20]),
        pa.array([["x" * 2**20]]),
        pa.array([{"a": "x" * 2**20}]),
    ],
    ids=["text", "bytes", "list", "struct"],
)
def test_a_cell_of_any_type_is_cut(wide: pa.Array):
    (row,) = read_answer([pa.table({"a": wide, "b": [1]})], go_on).rows
    assert (len(row[0]), row[1]) == (MOST_CELL + 1, "1")


def test_rows_are_shown_up_to_a_size_and_all_are_counted():
    def parts() -> Iterator[pa.Table]:
        for _ in range(400):
            yield pa.table({"a": ["x" * MOST_CELL] * 2})

    answer = read_answer(parts(), go_on)
    assert (answer.count, answer.is_complete, answer.is_cut) == (800, True, False)
    assert 0 <= sum(len(row[0]) for row in answer.rows) - MOST_TEXT < MOST_CELL
    many = read_answer([pa.table({"a": range(MOST_SHOWN)})] * 3, go_on)
    assert (len(many.rows), many.count) == (MOST_SHOWN, 3 * MOST_SHOWN)


def test_names_that_repeat_and_answers_without_rows_have_a_table():
    schema = pa.schema([("a", pa.int64()), ("a", pa.string())])
    answer = read_answer([schema.empty_table()], go_on)
    assert answer.columns == (("a", False), ("a_2", True))
    assert answer.rows == ()


def test_a_chart_has_the_numbers_over_the_first_times():
    times = pa.array([0, 60, 120], pa.timestamp("s"))
    table = pa.table({"n": [1, 2, 3], "t": times, "name": ["a", "b", "c"], "m": [3.0, 2.0, 1.0]})
    assert "n, m over t" in read_answer([table.slice(0, 2), table.slice(2)], go_on).chart
    assert read_answer([table.select(["n", "name"])], go_on).chart == ""


def test_keys_and_flags_are_no_measures_and_objects_have_lines_of_their_own():
    times = pa.array([0, 0, 60, 60], pa.timestamp("s"))
    rows = {"t": times, "cpu": [0, 1] * 2, "calmode": [1] * 4, "total_util": [0.1, 0.9, 0.2, 0.8]}
    assert read_answer([pa.table(rows).select(["t", "cpu", "calmode"])], go_on).chart == ""
    assert "1, 0 over t" in read_answer([pa.table(rows)], go_on).chart
    alone = pa.table({"t": times, "n": [1.0, 2.0, 3.0, 4.0]})
    assert "n over t" in read_answer([alone], go_on).chart


def test_measures_of_other_units_have_panels_of_their_own():
    times = pa.array([0, 60], pa.timestamp("s"))
    rows = pa.table({"t": times, "total_util": [0.1, 0.2], "users_logged_on": [400, 401]})
    both = read_answer([rows], go_on).chart
    one = read_answer([rows.select(["t", "total_util"])], go_on).chart
    assert both.count("mark-line") == 2 * one.count("mark-line")
    assert draw_answer([rows], go_on)[1:4] == b"PNG"
    with pytest.raises(CpmonError, match="no chart"):
        draw_answer([rows.select(["t"])], go_on)


def test_cells_that_name_objects_lead_to_their_day():
    times = pa.array(["2001-11-13T14:01:00"]).cast(pa.timestamp("us"))
    names = {"interval_end": times, "userid": ["A&B"], "device": [0x7C04], "system": ["VM"]}
    answer = read_answer([pa.table(names)], go_on)
    [row] = answer.rows
    day = "system=VM&since=2001-11-13&until=2001-11-14"
    assert answer.href(row, 1) == f"object?kind=user&name=A%26B&{day}"
    assert answer.href(row, 2) == f"object?kind=device&name=7C04&{day}"
    assert answer.href(row, 0) == ""
    texts = read_answer([pa.table({"device": ["7C04"]})], go_on)
    assert texts.href(texts.rows[0], 0) == "object?kind=device&name=7C04"


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_infinite_times_are_texts_in_rows_and_no_places_in_a_chart(unit: str):
    infinite = [2**63 - 1, 1 - 2**63]
    times = pa.array([0, 60, 120], pa.timestamp("s")).cast(pa.timestamp(unit))
    odd = pa.array([*times.cast(pa.int64()).to_pylist(), *infinite], pa.timestamp(unit))
    answer = read_answer([pa.table({"t": odd, "n": [1.0, 2.0, 3.0, 9e9, -9e9]})], go_on)
    assert [row[0] for row in answer.rows[3:]] == ["infinity", "-infinity"]
    plain = read_answer([pa.table({"t": times, "n": [1.0, 2.0, 3.0]})], go_on)
    assert answer.chart == plain.chart and "<svg" in plain.chart
