"""Wall time of contestants that take turns, so that other work on the machine hits all alike."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping

Contestant = Callable[[], object]


def best_seconds(contestants: Mapping[str, Contestant], repetitions: int) -> dict[str, float]:
    """The shortest of several times of each, in seconds.

    They run in rounds, one after the other; what they return is dropped before the next starts.
    The garbage collector waits meanwhile.
    """
    best = dict.fromkeys(contestants, float("inf"))
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(repetitions):
            for name, contestant in contestants.items():
                started = time.perf_counter()
                contestant()
                best[name] = min(best[name], time.perf_counter() - started)
            gc.collect()
    finally:
        if collecting:
            gc.enable()
    return best
