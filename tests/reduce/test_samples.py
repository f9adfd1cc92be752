"""Mean, deviation, differences and tests of samples; each number worked out beside it."""

from __future__ import annotations

from decimal import Decimal
from statistics import mean, pstdev

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.reduce.compare.samples import (
    MEASURES,
    confidence,
    difference,
    quotient,
    read_samples,
    statistic,
)


def numbers(*values: float | str) -> list[Decimal]:
    return [Decimal(str(value)) for value in values]


def test_the_deviation_divides_by_n():
    # mean 5; squares 9 + 1 + 1 + 1 + 0 + 0 + 4 + 16 = 32, over 8 = 4
    values = numbers(2, 4, 4, 4, 5, 5, 7, 9)
    assert (mean(values), pstdev(values)) == (5, 2)


@pytest.mark.parametrize(
    ("values", "padded", "text"),
    [
        # the squares of the ten deviations from 38.9 sum up to 18.9: the root of 1.89 is 1.37477
        ((37, 37, 38, 38, 39, 39, 39, 40, 41, 41), False, "10/38.9/1.375"),
        ((183, 183), False, "2/183/0"),  # no decimal of a whole mean
        ((1, 2), False, "2/1.5/0.5"),  # zeros at the end are dropped ...
        ((1, 2), True, "2/1.5/0.5000"),  # ... but not of a difference
        ((10000, 30000), False, "2/20000/10000"),  # never fewer digits than stand before the point
        ((100, 0, 0), False, "3/33.3/47.14"),
        ((0, "19.9999"), False, "2/10/10"),  # 9.99995 has four digits as 10.00
        ((7,), False, "1/7/0"),
    ],
)
def test_n_mean_and_deviation_print_by_rule_nine(
    values: tuple[float, ...], padded: bool, text: str
):
    assert statistic(numbers(*values), padded=padded).text == text


def test_scores_are_printed_as_integers():
    # mean 2902.5, half up; deviations 42.5
    printed = statistic(numbers(2860, 2945), whole=True)
    assert (printed.text, printed.value) == ("2/2903/43", Decimal(2903))


def test_the_mean_is_what_arithmetic_goes_on_with():
    assert statistic(numbers(1, 2, 2)).value == Decimal("1.7")


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30))
def test_ten_times_the_variance_of_integers_is_exact(values: list[int]):
    n = len(values)
    want = n * sum(v * v for v in values) - sum(values) ** 2  # n squared times the variance
    got = pstdev(numbers(*values)) ** 2 * n * n
    assert got == pytest.approx(want, rel=1e-25)


def test_differences_and_rates_are_taken_pair_by_pair():
    of = {1: Decimal(30), 2: Decimal(50)}
    less = {1: Decimal(20), 2: Decimal(10)}
    assert difference(of, less) == {1: 10, 2: 40}
    assert quotient(of, {1: Decimal(4), 2: Decimal(0)}) == {1: Decimal("7.5")}


@pytest.mark.parametrize(
    ("these", "those", "level"),
    [
        # Welch: means 2 and 3, variances 1 and 1, t = 1.2247 with 4 degrees: p = 0.288
        ((1, 2, 3), (2, 3, 4), None),
        # means 2 and 5, variances 1 and 1, t = 3.6742 with 4 degrees: p = 0.0213
        ((1, 2, 3), (4, 5, 6), 97),
        ((1, 2, 3), (101, 102, 103), 99),
        # means 2 and 5, variances 1 and 0, t = 5.1962 with 2 degrees: p = 0.0351
        ((1, 2, 3), (5, 5, 5), 96),
        ((5, 5), (5, 5, 5), None),
        ((5, 5), (6, 6), 99),
    ],
)
def test_a_level_of_confidence_is_cut_to_whole_percent(
    these: tuple[int, ...], those: tuple[int, ...], level: int | None
):
    assert confidence(numbers(*these), numbers(*those)) == level
    assert confidence(numbers(*those), numbers(*these)) == level


def test_the_measures_that_a_spec_may_name_are_those_of_the_view(
    laboratory: duckdb.DuckDBPyConnection,
):
    found = laboratory.sql("SELECT DISTINCT measure FROM run_samples").fetchall()
    assert {measure for (measure,) in found} == set(MEASURES)


def test_samples_are_read_by_run_and_measure(laboratory: duckdb.DuckDBPyConnection):
    found = read_samples(laboratory, ["R1", "R2"], ["cp_cpu_cs", "read_s"])
    # 4000 KB and 8000 KB at 800 KB/s
    assert found == {
        ("R1", "cp_cpu_cs"): {1: 30, 2: 50},
        ("R1", "read_s"): {1: 5, 2: 10},
    }
    assert read_samples(laboratory, ["R1"], []) == {}
