"""Columns print as their cells would one by one."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.reduce.metrics.metric import HEX, ReportColumn
from cpmon.reduce.reports.cells import UTC_ZONE, cell_text, column_texts
from cpmon.render.printing import Format, Style

FORMS = [
    *(Format(digits) for digits in range(5)),
    *(Format(style=style) for style in Style if style is not Style.FIXED),
]
NUMBERS = st.one_of(
    st.floats(),
    st.integers(-(10**7), 10**7).map(lambda n: n / 2000),  # ties, and what binary makes of them
    st.integers(-(10**9), 10**9).map(lambda n: n / 10**5 * 1.1),
    st.floats(-1e6, 1e6),
    st.none(),
)


def column(form: Format, scale: int = 1, base: int = 10) -> ReportColumn:
    return ReportColumn("value", "Value", form=form, scale=scale, base=base)


def one_by_one(said: ReportColumn, values: list[object], zone: ZoneInfo = UTC_ZONE) -> list[str]:
    return [cell_text(said, v, zone).replace("\r", "\\r").replace("\n", "\\n") for v in values]


def at_once(said: ReportColumn, values: list[object], kind: pa.DataType) -> list[str]:
    return column_texts(said, pa.chunked_array([pa.array(values, kind)]), UTC_ZONE).to_pylist()


@pytest.mark.parametrize("scale", [1, 100, 1000])
@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.style}-{form.digits}")
@given(values=st.lists(NUMBERS, max_size=40))
def test_floats_print_as_cell_by_cell(form: Format, scale: int, values: list[object]):
    said = column(form, scale)
    assert at_once(said, values, pa.float64()) == one_by_one(said, values)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: f"{form.style}-{form.digits}")
@given(values=st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), max_size=40))
def test_whole_numbers_print_as_cell_by_cell(form: Format, values: list[object]):
    said = column(form)
    assert at_once(said, values, pa.int64()) == one_by_one(said, values)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (1.4875, 3, "1.488"),
        (0.285, 2, "0.29"),
        (-0.004, 2, "0.00"),
        (-0.005, 2, "-0.01"),
        (2.5, 0, "3"),
        (1e22, 1, "10000000000000000000000.0"),
    ],
)
def test_ties_are_those_of_the_decimal_number(value: float, digits: int, text: str):
    assert at_once(column(Format(digits)), [value], pa.float64()) == [text]


def test_names_times_flags_and_addresses():
    zone = ZoneInfo("Europe/Zurich")
    time = datetime(2001, 7, 1, 12, 0, 0, 600_000)  # noqa: DTZ001 - UTC
    for said, kind, values in [
        (column(Format()), pa.string(), ["A\nB", None, "C\r"]),
        (column(Format()), pa.bool_(), [True, None, False]),
        (column(Format(), base=HEX), pa.int64(), [0x500, None, 0x1FFFF]),
        (column(Format()), pa.timestamp("us"), [time, None, time]),
    ]:
        whole = pa.chunked_array([pa.array(values, kind)])
        expected = [one_by_one(said, [v], zone)[0] if v is not None else "" for v in values]
        assert column_texts(said, whole, zone).to_pylist() == expected


def test_a_column_without_rows_has_no_texts():
    empty = pa.chunked_array([], pa.float64())
    assert column_texts(column(Format(1)), empty, UTC_ZONE).to_pylist() == []
