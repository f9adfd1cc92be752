"""Prefetches the items of a generator on a thread of its own."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

LOOK_S = 0.1
"""Seconds between two checks, by a thread whose queue is full, whether the consumer stopped."""


class _End:
    """The last item of the queue: the end of the items, or the error that ended them."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def prefetch(items: Iterable[Item]) -> Iterator[Item]:
    """Yields the items, computing each while the previous one is in use; at most one is queued.

    An error of the generator is raised here. When the consumer stops early, so does the thread.
    """
    waiting: queue.Queue[Item | _End] = queue.Queue(maxsize=1)
    stop = threading.Event()

    def put(item: Item | _End) -> None:
        while not stop.is_set():
            try:
                return waiting.put(item, timeout=LOOK_S)
            except queue.Full:
                continue

    def work() -> None:
        end = _End()
        try:
            for item in items:
                put(item)
                if stop.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised on the other side
            end = _End(error)
        put(end)
        del end  # an error holds this frame, and that of every window behind it

    thread = threading.Thread(target=work, name="prefetch", daemon=True)
    thread.start()
    item: Item | _End | None = None
    try:
        while not isinstance(item := waiting.get(), _End):
            yield item
        if item.error is not None:
            raise item.error
    finally:
        item = None  # the same here: a cycle would keep a window's memory for long
        stop.set()
        thread.join()
