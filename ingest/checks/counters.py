"""Checks for counters that fall: their owner restarted, or the field is no counter."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ...schemas.field import Field
from ..codec import Mask
from ..findings import Code, Finding, Findings
from .consecutive_samples import Pairs

WORD, DOUBLEWORD = 4, 8
"""Narrower counters wrap from sample to sample, so a fall means nothing."""
HALF, WORD_MASK = np.uint64(1 << 31), np.uint64((1 << 32) - 1)


@dataclass
class _Tally:
    offset: int
    detail: str
    count: int = 0


@dataclass
class CounterChecks:
    """Counts falling counters and restarts by table and counter; reports them once a dump.

    A 32-bit counter that falls, but increased by less than half of its range modulo that range,
    has wrapped. Where most of an owner's moving counters fell together, the owner restarted.
    """

    _fell: dict[tuple[str, str], _Tally] = field(default_factory=dict)
    _restarted: dict[str, _Tally] = field(default_factory=dict)

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
        self._note_restarts(pairs, restarted)
        for counter, back in falls.items():
            self._note_falls(pairs, counter, back & ~restarted)

    def finish(self, findings: Findings) -> None:
        """Report what was counted."""
        for table, tally in sorted(self._restarted.items()):
            findings.add(_finding(Code.OWNER_RESTARTED, table, tally))
        for (table, counter), tally in sorted(self._fell.items()):
            findings.add(_finding(Code.COUNTER_FELL, f"{table}.{counter}", tally))

    def _note_restarts(self, pairs: Pairs, restarted: Mask) -> None:
        if restarted.any():
            first = int(np.flatnonzero(restarted)[0])
            tally = _Tally(int(pairs.offset[first]), pairs.owner(first))
            self._restarted.setdefault(pairs.layout.name, tally).count += int(restarted.sum())

    def _note_falls(self, pairs: Pairs, counter: Field, back: Mask) -> None:
        if not back.any():
            return
        first = int(np.flatnonzero(back)[0])
        before, now, _ = pairs.values(counter)
        detail = f"{now[first]} after {before[first]}"
        if owner := pairs.owner(first):
            detail += f", {owner}"
        tally = _Tally(int(pairs.offset[first]), detail)
        self._fell.setdefault((pairs.layout.name, counter.name), tally).count += int(back.sum())


def _backwards(pairs: Pairs, counter: Field) -> Mask:
    """(pairs,) whether a counter fell without a wrap."""
    low, high, both = pairs.ascending(counter)
    back = both & (high < low)
    if counter.length == WORD:
        back &= (high - low) & WORD_MASK >= HALF
    return np.asarray(back)


def _finding(code: Code, what: str, tally: _Tally) -> Finding:
    detail = f"{what}: {tally.detail}" if tally.detail else what
    return Finding(code, tally.offset, detail, count=tally.count)
