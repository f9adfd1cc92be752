"""Blocks of pages: counts by size that hold the pages exactly and meet their mean size."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.generate.activity.dispatching import blocks_by_size

pytestmark = pytest.mark.generator


@given(
    st.integers(0, 10_000_000),
    st.floats(1, 64, allow_nan=False),
    st.sampled_from([2, 20, 40]),
)
def test_blocks_hold_the_pages_exactly(pages: int, mean: float, largest: int):
    blocks = blocks_by_size(pages, mean, largest)
    assert blocks.shape == (largest,)
    assert (blocks >= 0).all()
    assert int(blocks @ np.arange(1, largest + 1)) == pages


@pytest.mark.parametrize("mean", [1.0, 1.4, 4.0, 5.5, 12.25, 19.0])
def test_blocks_have_the_mean_size_that_is_asked_for(mean: float):
    blocks = blocks_by_size(100_000, mean, 20)
    assert 100_000 / blocks.sum() == pytest.approx(mean, rel=1e-4)


def test_blocks_of_several_sizes_are_moved():
    assert blocks_by_size(6000, 6.0, 20).tolist() == [
        *(0, 0, 62, 83, 125, 460, 125, 83, 62),
        *([0] * 11),
    ]
