"""Random numbers: partitions that keep their total, series that keep their mean."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.generate.numeric import (
    around_one,
    bell,
    capped,
    partition,
    random_stream,
    skewed,
    varied_levels,
)

pytestmark = pytest.mark.generator

weights = st.lists(st.floats(0, 1e6, allow_nan=False), min_size=1, max_size=60)


@given(total=st.integers(0, 2**52), shares=weights)
def test_a_partition_adds_up_to_its_total_and_follows_the_weights(total: int, shares: list[float]):
    parts = partition(total, np.array(shares))
    assert parts.sum() == total
    assert (parts >= 0).all()
    if sum(shares) > 1e-3:
        ideal = total * (np.array(shares) / sum(shares))
        assert np.abs(parts - ideal).max() <= 1 + total * 1e-12


@given(total=st.integers(0, 10**9), parts=st.integers(1, 50))
def test_a_partition_without_weights_is_even(total: int, parts: int):
    made = partition(total, np.zeros(parts))
    assert made.sum() == total
    assert made.max() - made.min() <= 2


def test_a_partition_of_many_totals_works_row_by_row():
    made = partition(np.array([10, 0, 7]), np.array([[1.0, 1.0], [3.0, 1.0], [0.0, 1.0]]))
    assert made.tolist() == [[5, 5], [0, 0], [0, 7]]


@given(st.integers(0, 10**6), st.lists(st.integers(0, 10**5), min_size=1, max_size=20))
def test_capped_parts_keep_their_caps_and_add_up_if_they_can(total: int, caps: list[int]):
    room = np.array(caps, dtype=np.int64)
    made = capped(total, np.arange(1.0, len(caps) + 1), room)
    assert (made <= room).all()
    assert made.sum() == min(total, sum(caps))


@given(intervals=st.integers(1, 200), mean=st.integers(0, 10**7), seed=st.integers(0, 10))
def test_a_level_has_its_mean_with_and_without_the_first_sample(
    intervals: int, mean: int, seed: int
):
    made = varied_levels(random_stream(seed, "x"), mean, intervals, 0.01)
    assert len(made) == intervals + 1
    assert made[0] == mean
    assert made[1:].sum() == mean * intervals


def test_bell_numbers_have_mean_zero_and_deviation_one():
    made = bell(random_stream(1, "x"), 100_000)
    assert abs(made.mean()) < 0.02
    assert made.std() == pytest.approx(1, abs=0.02)


def test_factors_and_weights_are_positive():
    assert around_one(random_stream(1, "x"), 10_000, 0.28).min() > 0
    assert skewed(random_stream(1, "x"), 10_000, 2.0).min() > 0


def test_streams_differ_by_seed_and_noun_and_are_repeatable():
    first = random_stream(1, "timer", "users").random(4).tolist()
    assert random_stream(1, "timer", "users").random(4).tolist() == first
    assert random_stream(2, "timer", "users").random(4).tolist() != first
    assert random_stream(1, "timer", "volumes").random(4).tolist() != first
    assert random_stream(1, "timeru", "sers").random(4).tolist() != first
