"""A generator on a thread of its own."""

from __future__ import annotations

import gc
import queue
import weakref
from collections.abc import Iterator

import numpy as np
import pytest

from cpmon.ingest.container.windows import prefetch


def test_items_come_in_their_order_and_an_error_behind_them():
    def items() -> Iterator[int]:
        yield from (1, 2)
        raise ValueError("three")

    stream = prefetch(items())
    assert [next(stream), next(stream)] == [1, 2]
    with pytest.raises(ValueError, match="three"):
        next(stream)


@pytest.mark.parametrize("ahead", [1, 2])
def test_no_more_items_are_made_than_may_wait(ahead: int):
    made = queue.SimpleQueue[int]()

    def items() -> Iterator[int]:
        for number in range(5):
            made.put(number)
            yield number

    stream = prefetch(items(), ahead)
    assert next(stream) == 0
    assert [made.get(timeout=10) for _ in range(1 + ahead)] == list(range(1 + ahead))
    with pytest.raises(queue.Empty):
        made.get(timeout=0.1)
    stream.close()


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
