"""Checks for counters that fall: their owner restarted, or the field is no counter."""

from __future__ import annotations

import numpy as np

from ...schemas.field import Field
from ..codec import Mask
from ..findings import Code, Tally
from .consecutive_samples import Pairs

WORD, DOUBLEWORD = 4, 8
"""Narrower counters wrap from sample to sample, so a fall means nothing."""
HALF, WORD_MASK = np.uint64(1 << 31), np.uint64((1 << 32) - 1)


def check_counters(pairs: Pairs, tally: Tally) -> None:
    """Notes falling counters and restarts between consecutive samples, by table and counter.

    A 32-bit counter that falls, but increased by less than half of its range modulo that range,
    has wrapped. Where most of an owner's moving counters fell together, the owner restarted.
    """
    table = pairs.layout.name
    falls: dict[Field, Mask] = {}
    moved, fallen = np.zeros((2, len(pairs)), np.int64)
    for counter in pairs.layout.columns:
        if not counter.is_cumulative or not counter.is_number or counter.of:
            continue
        if counter.length not in (WORD, DOUBLEWORD):
            continue
        before, now, both = pairs.values(counter)
        back = _backwards(pairs, counter)
        moved += both & (before != now) & (before != 0)
        if back.any():
            falls[counter] = back
            fallen += back
    restarted = (fallen > 0) & (2 * fallen >= moved)
    if restarted.any():
        detail = ": ".join(filter(None, [table, pairs.owner(int(np.argmax(restarted)))]))
        tally.note(Code.OWNER_RESTARTED, table, pairs.offset[restarted], detail)
    for counter, back in falls.items():
        later = np.flatnonzero(back & ~restarted)
        if len(later):
            first, (before, now, _) = int(later[0]), pairs.values(counter)
            values = f"{table}.{counter.name}: {now[first]} after {before[first]}"
            detail = ", ".join(filter(None, [values, pairs.owner(first)]))
            tally.note(Code.COUNTER_FELL, (table, counter.name), pairs.offset[later], detail)


def _backwards(pairs: Pairs, counter: Field) -> Mask:
    """(pairs,) whether a counter fell without a wrap."""
    low, high, both = pairs.ascending(counter)
    back = both & (high < low)
    if counter.length == WORD:
        back &= (high - low) & WORD_MASK >= HALF
    return np.asarray(back)
