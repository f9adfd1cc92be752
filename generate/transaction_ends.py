"""When the transactions of an interval ended, one by one, and whose they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .clock import U64
from .measurement import TOD_PER_S
from .noise import F64, I64, partition, skewed
from .timeline import Bool

if TYPE_CHECKING:
    from .model import Sample

TEST_IDLE = 3 * TOD_PER_S // 10
"""A user without work stays in the dispatch list for so long: then the transaction has ended."""

_SLOT = 0.25
"""Share of its turn that a transaction lasts at least: those of one user follow each other."""

_LAST = 64
"""Nothing ends in the last part, one of so many, of an interval: the sample is being taken."""

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
        work = model.transactions
        trivial, count = int(work.trivial[k]), int(work.count[k])
        weights, seconds = ending_weights(sample), (work.trivial_s[k], work.nontrivial_s[k])
        if not weights.any():
            trivial = count = 0
        each = partition(count, weights)
        user = np.repeat(np.arange(len(each)), each)
        turn = np.arange(count) - np.repeat(np.cumsum(each) - each, each)
        done = (turn + _SLOT + (1 - _SLOT) * rng.random(count)) / each[user]
        chosen = np.zeros(count, dtype=np.bool_)
        chosen[np.argsort(rng.random(count), kind="stable")[:trivial]] = True
        length = np.empty(count, dtype=np.int64)
        for kind, mean in ((chosen, seconds[0]), (~chosen, seconds[1])):
            parts = skewed(rng, int(kind.sum()), _UNEQUAL)
            if len(parts):
                length[kind] = partition(int(len(parts) * mean * TOD_PER_S), parts)
        room, whole = _room(sample)
        after = np.floor(done * room[user]).astype(np.int64)
        tod = np.uint64(model.clock.end(sample.number - 1)) + after.astype(np.uint64)
        suspended = tod - np.uint64(TEST_IDLE)
        begun = suspended - length.astype(np.uint64)
        return cls(user, chosen, tod, suspended, begun, after / whole[user])


def ending_weights(sample: Sample) -> F64:
    """(users,) how many transactions each ends, in relation to the others.

    Where no group has a rate of its own, they are those of everybody, by demand. Who has just
    logged on has not ended one.
    """
    model, k = sample.model, sample.interval
    users, arriving = model.users, model.roster.arriving(k)
    rates = users.each_share([g.transactions_per_s for g in users.groups])
    load = model.demand.load[k][model.roster.group]
    here = sample.active & ~arriving
    weights: F64 = (rates if rates.any() else users.demand) * load * here
    if model.timeline.starts(sample.number):
        return weights
    stayed: F64 = _room(sample)[1] / float(model.timeline.tod[k])
    found: F64 = weights * stayed if weights.any() else here.astype(np.float64)
    return found


def _room(sample: Sample) -> tuple[I64, I64]:
    """(users,) TOD units in which transactions may end; and until logoff or the next sample."""
    model, number = sample.model, sample.number
    begins = model.clock.end(number - 1)
    whole = np.where(
        model.roster.leaving(sample.interval),
        model.change_tod(sample.interval) - begins,
        model.clock.end(number) - begins,
    )
    return whole - whole // _LAST, whole
