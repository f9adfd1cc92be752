"""Counters that run backwards: a restart of their owner, or a figure that is no counter here."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..schemas.field import Field, Role
from .codec import U64
from .findings import Code, Finding, Findings
from .successive import Pairs

Mask = npt.NDArray[np.bool_]

WORD, DOUBLEWORD = 4, 8
"""Narrower counters wrap from sample to sample, so nothing can be said of them."""
HALF = np.uint64(1 << 31)


@dataclass
class _Tally:
    offset: int
    detail: str
    count: int = 0


@dataclass
class Counters:
    """What was met, by table and counter; told once a dump.

    A 32-bit counter that falls and grew by less than half of its range has wrapped. Where most of
    an owner's moving counters fell together, the owner started again.
    """

    _fell: dict[tuple[str, str], _Tally] = field(default_factory=dict)
    _restarted: dict[str, _Tally] = field(default_factory=dict)

    def take(self, pairs: Pairs) -> None:
        """Compare successive samples."""
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
            back = both & _backwards(counter, before, now)
            moved += both & (before != now) & (before != 0)
            if back.any():
                falls[counter] = back
                fallen += back
        anew = (fallen > 0) & (2 * fallen >= moved)
        self._note_restarts(pairs, anew)
        for counter, back in falls.items():
            self._note_falls(pairs, counter, back & ~anew)

    def finish(self, findings: Findings) -> None:
        """Tell what was met."""
        for table, tally in sorted(self._restarted.items()):
            findings.add(_finding(Code.OWNER_RESTARTED, table, tally))
        for (table, counter), tally in sorted(self._fell.items()):
            findings.add(_finding(Code.COUNTER_FELL, f"{table}.{counter}", tally))

    def _note_restarts(self, pairs: Pairs, anew: Mask) -> None:
        if anew.any():
            first = int(np.flatnonzero(anew)[0])
            tally = _Tally(int(pairs.offset[first]), pairs.owner(first))
            self._restarted.setdefault(pairs.layout.name, tally).count += int(anew.sum())

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


def _backwards(counter: Field, before: U64, now: U64) -> Mask:
    if counter.role is Role.COUNTDOWN:
        before, now = now, before
    back = now < before
    if counter.length == WORD:
        growth = (now + np.uint64(1 << 32) - before) & np.uint64(0xFFFFFFFF)
        back &= growth >= HALF
    return np.asarray(back)


def _finding(code: Code, what: str, tally: _Tally) -> Finding:
    detail = f"{what}: {tally.detail}" if tally.detail else what
    return Finding(code, tally.offset, detail, count=tally.count)
