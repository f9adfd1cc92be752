"""Prefetches the items of a generator on a thread of its own."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar, cast

Item = TypeVar("Item")


def prefetch(items: Iterable[Item], ahead: int = 1) -> Iterator[Item]:
    """Yields the items, computing up to `ahead` of them before they are asked for.

    An error of the generator is raised here. When the consumer stops early, so does the thread.
    """
    iterator, end = iter(items), object()
    executor = ThreadPoolExecutor(1, "prefetch")
    pending = deque(executor.submit(next, iterator, end) for _ in range(ahead))
    try:
        while (item := pending.popleft().result()) is not end:
            pending.append(executor.submit(next, iterator, end))
            yield cast("Item", item)
    finally:
        executor.shutdown(cancel_futures=True)
