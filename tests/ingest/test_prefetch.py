"""A generator on a thread of its own."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from cpmon.ingest.prefetch import prefetch


def test_items_come_in_their_order_and_an_error_behind_them():
    def items() -> Iterator[int]:
        yield from (1, 2)
        raise ValueError("three")

    stream = prefetch(items())
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(ValueError, match="three"):
        next(stream)


def test_what_a_failed_generator_held_is_free_as_soon_as_its_error_is():
    held: list[weakref.ref[object]] = []

    def items() -> Iterator[int]:
        window = np.zeros(1000)
        held.append(weakref.ref(window))
        yield len(window)
        raise ValueError("damaged")

    gc.disable()
    try:
        with pytest.raises(ValueError, match="damaged") as found:
            list(prefetch(items()))
        assert held[0]() is not None  # the error's traceback leads to it
        del found
        assert held[0]() is None
    finally:
        gc.enable()
