"""Checks for counters that fall: their owner restarted, or the field is no counter."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...schemas.field import Field
from ..codec import Mask
from ..findings import Code, Findings, Tally
from .consecutive_samples import Pairs

WORD, DOUBLEWORD = 4, 8
"""Narrower counters wrap from sample to sample, so a fall means nothing."""
HALF, WORD_MASK = np.uint64(1 << 31), np.uint64((1 << 32) - 1)


@dataclass
class CounterChecks:
    """Counts falling counters and restarts by table and counter; reports them once a dump.

    A 32-bit counter that falls, but increased by less than half of its range modulo that range,
    has wrapped. Where most of an owner's moving counters fell together, the owner restarted.
    """

    _tally: Tally = field(default_factory=Tally)

    def take(self, pairs: Pairs) -> None:
        """Compare consecutive samples."""
        counters = [
            f
            for f in pairs.layout.columns
            if f.is_cumulative and f.is_number and not f.of and f.length in (WORD, DOUBLEWORD)
        ]
        falls: dict[Field, Mask] = {}
        moved = np.zeros(len(pairs), np.int64)
        fallen = np.zeros(len(pairs), np.int64)
        for counter in counters:
            before, now, both = pairs.values(counter)
            back = _backwards(pairs, counter)
            moved += both & (before != now) & (before != 0)
            if back.any():
                falls[counter] = back
                fallen += back
        restarted = (fallen > 0) & (2 * fallen >= moved)
        if restarted.any():
            table = pairs.layout.name
            detail = ": ".join(filter(None, [table, pairs.owner(int(np.argmax(restarted)))]))
            self._tally.note(Code.OWNER_RESTARTED, table, pairs.offset[restarted], detail)
        for counter, back in falls.items():
            self._note_falls(pairs, counter, back & ~restarted)

    def finish(self, findings: Findings) -> None:
        """Report what was counted."""
        self._tally.report(findings, Code.OWNER_RESTARTED, Code.COUNTER_FELL)

    def _note_falls(self, pairs: Pairs, counter: Field, back: Mask) -> None:
        if not back.any():
            return
        first, subject = int(np.argmax(back)), (pairs.layout.name, counter.name)
        before, now, _ = pairs.values(counter)
        values = f"{'.'.join(subject)}: {now[first]} after {before[first]}"
        detail = ", ".join(filter(None, [values, pairs.owner(first)]))
        self._tally.note(Code.COUNTER_FELL, subject, pairs.offset[back], detail)


def _backwards(pairs: Pairs, counter: Field) -> Mask:
    """(pairs,) whether a counter fell without a wrap."""
    low, high, both = pairs.ascending(counter)
    back = both & (high < low)
    if counter.length == WORD:
        back &= (high - low) & WORD_MASK >= HALF
    return np.asarray(back)
