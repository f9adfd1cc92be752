"""Blocks that guests write into application data records (domain 10)."""

from __future__ import annotations

import numpy as np

from .codec import I64
from .columns import Decoded

SYNC = ("sync_count_1", "sync_count_2")
"""Linux raises the first before it writes a block, and the second afterwards."""


def torn_blocks(block: Decoded) -> I64:
    """Rows whose two synchronisation counts differ: the guest was writing when CP sampled."""
    if not all(name in block.columns for name in SYNC):
        return np.empty(0, np.int64)
    first, second = (block.columns[name].to_numpy(zero_copy_only=False) for name in SYNC)
    known = block.columns[SYNC[1]].is_valid().to_numpy(zero_copy_only=False)
    return np.flatnonzero(known & (first != second))
