"""Blocks: how many pages one paging I/O moves, counted by size."""

from __future__ import annotations

import numpy as np

from .noise import I64

_SPREAD = 3
"""Blocks are at most so many pages larger or smaller than most of them."""


def blocks_by_size(pages: int, mean: float, largest: int) -> I64:
    """Blocks of 1 to `largest` pages that hold so many pages in all, exactly.

    Args:
        pages: 0 or more.
        mean: pages of a block on average; the blocks meet it as far as whole ones can.
        largest: 2 or more.

    Returns:
        (largest,) blocks of each size.
    """
    found = np.zeros(largest, dtype=np.int64)
    usual = _usual(pages, mean, largest)
    if not usual:
        return found
    least, most = -(-pages // (usual + 1)), pages // usual
    count = min(max(round(pages / mean), least), most)
    # As many are smaller by some pages as are larger by so many.
    width = min(_SPREAD, usual - 1, largest - 1 - usual)
    for away in range(1, width + 1):
        some = count // (4 * (away + 1))
        found[[usual - 1 - away, usual - 1 + away]] = some
    found[usual - 1] = count - found.sum()
    # The rest of the pages makes some blocks larger by one.
    larger = _shares(pages - usual * count, found)
    found -= larger
    found[1:] += larger[:-1]
    return found


def _usual(pages: int, mean: float, largest: int) -> int:
    """Size of most blocks; 0 where there are no pages."""
    sizes = np.arange(1, min(max(int(mean), 1), largest - 1) + 1)
    fit = -(-pages // (sizes + 1)) <= pages // sizes
    return int(sizes[fit].max(initial=0)) if pages else 0


def _shares(total: int, of: I64) -> I64:
    """Parts of some counts, in proportion: `total` in all, at most their sum."""
    climbing = np.cumsum(of) * total // max(int(of.sum()), 1)
    return np.diff(climbing, prepend=0)
