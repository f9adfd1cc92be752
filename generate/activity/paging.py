"""Pages that moved in one interval and frames at a sample, by processor, list and size of block."""

from __future__ import annotations

import numpy as np

from ..model.storage import Flows
from ..numeric import I64, floor_int
from .sample import Sample, per_sample

_SPREAD = 3
"""Most pages by which a block differs from the usual size."""

_MOST_EMPTY = 20
"""Most times a second that a list is found empty."""


@per_sample
def pages_moved(sample: Sample) -> Flows:
    """Pages moved in the interval, by processor."""
    rng = sample.model.measurement.rng(f"paging in interval {sample.interval}")
    return sample.model.flows.at(sample.interval, sample.times.cp, rng)


def times_empty(taken: I64, available: int, seconds: int) -> I64:
    """(processors,) times that a list is found empty.

    CP refills it about once a second, so it is empty only if a second takes more pages than it has.
    """
    rate = taken / seconds
    beyond = np.maximum(rate.sum() / max(available, 1) - 1.0, 0.0)
    times = rate / max(float(rate.sum()), 1.0) * seconds * min(beyond, _MOST_EMPTY)
    return floor_int(times)


def blocks_by_size(pages: int, mean: float, largest: int) -> I64:
    """Blocks of 1 to `largest` pages, moved by one paging I/O each, that hold exactly `pages`.

    Args:
        pages: 0 or more.
        mean: mean pages of a block, met as far as whole blocks allow.
        largest: 2 or more.

    Returns:
        (largest,) blocks of each size.
    """
    counts = np.zeros(largest, dtype=np.int64)
    if not pages:
        return counts
    sizes = np.arange(1, min(max(int(mean), 1), largest - 1) + 1)
    # Most blocks have the mean size, or as many pages as there are.
    usual = int(sizes[-(-pages // (sizes + 1)) <= pages // sizes].max())
    least, most = -(-pages // (usual + 1)), pages // usual
    count = min(max(round(pages / mean), least), most)
    # For each smaller block there is one that is larger by the same number of pages.
    for away in range(1, min(_SPREAD, usual - 1, largest - 1 - usual) + 1):
        counts[[usual - 1 - away, usual - 1 + away]] = count // (4 * (away + 1))
    counts[usual - 1] = count - counts.sum()
    # The remaining pages enlarge some blocks by one, in proportion to their counts.
    rest = pages - usual * count
    larger = np.diff(np.cumsum(counts) * rest // max(int(counts.sum()), 1), prepend=0)
    counts -= larger
    counts[1:] += larger[:-1]
    return counts
