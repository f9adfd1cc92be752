"""The print rules, each with the published number that proves it."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.config.values import Text
from cpmon.reduce.compare.spec import ChangeStatement
from cpmon.render.printing import (
    DASH,
    Format,
    Printed,
    Style,
    blank,
    exact,
    fixed,
    percentage,
    ratio,
    show,
    significant,
)

KEPT, THOUSANDS = Format(style=Style.KEPT), Format(style=Style.THOUSANDS)
MINUTES, HUNDREDTHS = Format(style=Style.MINUTES), Format(style=Style.HUNDREDTHS)


def printed(text: str) -> Printed:
    return Printed(text, Decimal(text))


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (47.79999999999, 1, "47.8"),
        (1.005, 2, "1.01"),  # the double lies below 1.005
        (0.1 + 0.2, 1, "0.3"),
        (1.4874999999999998, 3, "1.488"),
        (2.5, 0, "3"),
        (-2.5, 0, "-3"),
        (-0.02, 1, "0.0"),
        (0, 2, "0.00"),
        (33816.49999, 0, "33816"),
        (33816.499999999996, 0, "33817"),
        (1e300, 0, "1" + "0" * 300),
        (5e-324, 3, "0.000"),
    ],
)
def test_fixed_digits_round_half_up_in_decimal(value: float, digits: int, text: str) -> None:
    assert show(value, Format(digits)).text == text


def test_a_share_becomes_percent_before_it_is_rounded() -> None:
    assert show(0.66505, Format(2), scale=100).text == "66.51"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0885, "0.089"),
        (7.2539, "7.254"),
        (9.9994, "9.999"),
        (9.9996, "10.00"),
        (16.2999, "16.30"),
        (20.61, "20.61"),
        (99.996, "100.0"),
        (12345.6, "12346"),
    ],
)
def test_pct_spin_time_keeps_five_characters(value: float, text: str) -> None:
    assert show(value, KEPT).text == text


@pytest.mark.parametrize(
    ("value", "text", "meant"),
    [
        (98322.4, "98322", 98322),
        (99999.4, "99999", 99999),
        (99999.5, "100k", 100000),
        (100950.4, "101k", 100950),
        (9999499, "9999k", 9999499),
        (9999500, "10M", 9999500),
        (12345678, "12M", 12345678),
    ],
)
def test_an_abbreviated_value_keeps_its_full_integer(value: float, text: str, meant: int) -> None:
    assert show(value, THOUSANDS) == Printed(text, Decimal(meant))


def test_abbreviation_is_a_property_of_the_column() -> None:
    assert show(110271.2, Format(0)).text == "110271"


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        ("0.003", "0.002", "1.500"),
        ("0.039", "0.088", "0.443"),
        ("20.61", "7.254", "2.841"),
        ("0.119", "0.080", "1.488"),  # exactly 1.4875; binary division gives 1.487
        ("0", "33", "0.000"),
        ("5", "5", "1.000"),
    ],
)
def test_ratios_are_of_printed_values(value: str, base: str, text: str) -> None:
    assert ratio(printed(value), printed(base)).text == text


def test_the_ratio_to_an_abbreviated_value_uses_its_integer() -> None:
    assert ratio(show(98322, THOUSANDS), show(100950, THOUSANDS)).text == "0.974"


def test_a_zero_base_prints_a_dash_in_every_column() -> None:
    assert ratio(printed("4"), printed("0")) is DASH
    assert ratio(printed("0"), printed("0")) is DASH


def test_what_is_missing_is_blank_and_says_why() -> None:
    missing = show(None, Format(1), reason="no records")
    assert missing == blank("no records")
    assert ratio(missing, printed("0")) == blank("no records")
    assert ratio(printed("1"), missing) == blank("no records")
    assert show(float("nan"), Format(1)).text == ""
    assert show(float("inf"), Format(1)).text == ""


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        ("6.503", "6.874", "5% decrease"),
        ("6.874", "6.503", "6% increase"),
        ("5.01", "5.00", "no change"),
        ("-30", "-40", "25% increase"),
        ("1", "0", "-"),
    ],
)
def test_a_change_in_words_is_whole_percent(value: str, base: str, text: str) -> None:
    statement = ChangeStatement(Text("l"), Text("r"), Text("a"), Text("b"))
    assert statement.cell(printed(value), printed(base)).text == text


@pytest.mark.parametrize(
    ("seconds", "form", "text"),
    [
        (606, MINUTES, "10:06"),
        (599, MINUTES, "9:59"),
        (599.5, MINUTES, "10:00"),
        (45, MINUTES, "0:45"),
        (4500, MINUTES, "75:00"),
        (605.75, HUNDREDTHS, "10:05.75"),
        (266.05, HUNDREDTHS, "4:26.05"),
        (600, HUNDREDTHS, "10:00.00"),
        (59.995, HUNDREDTHS, "1:00.00"),
        (0.2, HUNDREDTHS, "0.20"),
        (2.12, HUNDREDTHS, "2.12"),
        (-61.5, HUNDREDTHS, "-1:01.50"),
    ],
)
def test_a_duration_has_minutes_without_leading_zero(seconds: float, form: Format, text: str):
    assert show(seconds, form).text == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("1426.4", "1426"),
        ("79475.3", "79475"),
        ("23.615", "23.62"),
        ("1.2207", "1.221"),
        ("9.9999", "10.00"),
        ("0.012345", "0.01235"),
        ("-39.1708", "-39.17"),
        ("0", "0"),
    ],
)
def test_significant_digits_are_never_fewer_than_stand_before_the_point(value: str, text: str):
    assert f"{significant(Decimal(value), 4):f}" == text


@pytest.mark.parametrize(
    ("value", "base", "text"),
    [
        ("60.564", "67.860", "-11"),
        ("57.004", "55.487", "2.7"),
        ("27010", "27016", "0.0"),  # -0.02 %: no negative zero
        ("1099.5", "1000", "10"),  # 9.95 has one decimal as 10.0, so none is left
        ("1094", "1000", "9.4"),
        ("1", "0", "-"),
    ],
)
def test_percentages_have_two_digits(value: str, base: str, text: str):
    assert percentage(printed(value), printed(base)).text == text


@given(st.decimals(-(10**8), 10**8, places=3), st.integers(0, 3))
def test_a_float_prints_as_the_decimal_it_was_written_as(number: Decimal, digits: int) -> None:
    step = Decimal(1).scaleb(-digits)
    want = number.quantize(step, rounding=ROUND_HALF_UP)
    assert show(float(number), Format(digits)).value == want


@given(
    st.lists(st.decimals(0, 10**6, places=3), min_size=1, max_size=50),
    st.integers(0, 3),
)
def test_a_sum_of_floats_prints_as_the_exact_sum(numbers: list[Decimal], digits: int) -> None:
    # The documented guard: 12 significant digits. 50 values below 10**6 with 3 places fit.
    total = sum(float(number) for number in numbers)
    want = fixed(sum(numbers, Decimal(0)), digits)
    assert show(total, Format(digits)).value == want


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_any_float_prints_as_plain_digits(value: float) -> None:
    text = show(value, Format(2)).text
    assert "e" not in text.lower()
    assert len(text.split(".")[1]) == 2
    assert text != "-0.00"


@given(st.floats(0, 1e9))
def test_narrow_columns_stay_narrow(value: float) -> None:
    assert len(show(value, THOUSANDS).text) <= 5


@given(st.integers() | st.decimals(allow_nan=False, allow_infinity=False))
def test_integers_and_decimals_are_taken_as_they_are(value: int | Decimal) -> None:
    assert exact(value) == value
