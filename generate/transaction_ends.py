"""When the transactions of an interval ended, one by one, and whose they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .clock import U64
from .measurement import TOD_PER_S
from .noise import F64, I64, partition, skewed
from .timeline import Bool
from .transaction_classes import room_for_ends

if TYPE_CHECKING:
    from .model import Sample

TEST_IDLE = 3 * TOD_PER_S // 10
"""A user without work stays in the dispatch list for so long: then the transaction has ended."""

_SLOT = 0.25
"""Share of its turn that a transaction lasts at least: those of one user follow each other."""

_UNEQUAL = 0.5


@dataclass(frozen=True, slots=True)
class TransactionEnds:
    """Transactions that ended in one interval, (transactions,), user after user.

    Attributes:
        user: index of the user.
        trivial: whether it was a trivial one.
        tod, suspended, begun: when it left the dispatch list, ran out of work, and began.
        share: of what the user did in the interval, that which was done by then.
    """

    user: I64
    trivial: Bool
    tod: U64
    suspended: U64
    begun: U64
    share: F64

    @classmethod
    def of(cls, sample: Sample) -> TransactionEnds:
        """The transactions that are counted for an interval; their times add up to those told."""
        model, k = sample.model, sample.interval
        rng = model.measurement.rng(f"transaction ends in interval {k}")
        classes = sample.transaction_classes
        each, count = classes.each, int(classes.each.sum())
        user = np.repeat(np.arange(len(each)), each)
        turn = np.arange(count) - np.repeat(np.cumsum(each) - each, each)
        done = (turn + _SLOT + (1 - _SLOT) * rng.random(count)) / each[user]
        kind = classes.kind[user]
        trivial = _some(rng, kind, classes.trivial)
        length = np.zeros(count, dtype=np.int64)
        for wanted, times in ((trivial, classes.trivial_time), (~trivial, classes.nontrivial_time)):
            for number, time in enumerate(times.tolist()):
                chosen = np.flatnonzero(wanted & (kind == number))
                if len(chosen):
                    length[chosen] = partition(time, skewed(rng, len(chosen), _UNEQUAL))
        room, whole = room_for_ends(sample)
        after = np.floor(done * room[user]).astype(np.int64)
        tod = np.uint64(model.clock.end(k)) + after.astype(np.uint64)
        suspended = tod - np.uint64(TEST_IDLE)
        begun = suspended - length.astype(np.uint64)
        return cls(user, trivial, tod, suspended, begun, after / whole[user])


def _some(rng: np.random.Generator, kind: I64, counts: I64) -> Bool:
    """(transactions,) of each class as many as wanted, by chance."""
    order = np.lexsort((rng.random(len(kind)), kind))
    sizes = np.bincount(kind, minlength=len(counts))
    rank = np.arange(len(kind)) - (np.cumsum(sizes) - sizes)[kind[order]]
    found = np.zeros(len(kind), dtype=np.bool_)
    found[order] = rank < counts[kind[order]]
    return found
