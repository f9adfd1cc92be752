"""Transactions of one interval: by user, by class of user, and one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.measurement import TOD_PER_S
from ..model.system import Sample, per_sample
from ..numeric import F64, I64, U64, Bool, floor_int, partition, skewed

UNI, MULTI, QUICK = 0, 1, 2
"""Users with one virtual processor, with several, and servers (quick dispatch)."""

_SLOT = 0.25
"""Least length of a transaction as a share of its slot; a user's transactions do not overlap."""


class EndedTransactions(NamedTuple):
    """Transactions that ended in one interval.

    Attributes:
        counts, kind: (users,) number of transactions that ended; class of the user.
        trivial, nontrivial: (classes,) transactions of each class.
        trivial_time, nontrivial_time: (classes,) total length, TOD units.
    """

    counts: I64
    kind: I64
    trivial: I64
    nontrivial: I64
    trivial_time: I64
    nontrivial_time: I64


@per_sample
def ended_transactions(sample: Sample) -> EndedTransactions:
    """The transactions of the interval before a sample, by user and class.

    Servers are quick-dispatch users, whatever processors they have. If no user who could end a
    transaction is logged on, they are counted for uniprocessor guests.
    """
    model, k = sample.model, sample.interval
    work, users = model.transactions, model.users
    kinds = (
        QUICK if g.guest == "server" else MULTI if g.virtual_processors > 1 else UNI
        for g in users.groups
    )
    kind = users.each([*kinds])
    counts, weights = np.zeros(len(kind), dtype=np.int64), _ending_weights(sample)
    if weights.any():
        counts = partition(int(work.count[k]), weights)
    by_class = np.bincount(kind, weights=counts, minlength=3).astype(np.int64)
    if not by_class.any():
        by_class[UNI] = work.count[k]
    trivial = partition(int(work.trivial[k]), by_class.astype(np.float64))
    nontrivial = by_class - trivial
    return EndedTransactions(
        counts,
        kind,
        trivial,
        nontrivial,
        floor_int(trivial * (work.trivial_s[k] * TOD_PER_S)),
        floor_int(nontrivial * (work.nontrivial_s[k] * TOD_PER_S)),
    )


def _ending_weights(sample: Sample) -> F64:
    """(users,) weights by which transactions are distributed.

    If no group has a rate of its own, the weights are the demand of all users. A user who has
    just logged on has weight 0.
    """
    model, users, k = sample.model, sample.model.users, sample.interval
    rates = users.transactions
    load = model.demand.load[k][users.group]
    staying = sample.active & ~sample.arriving
    weights: F64 = (rates if rates.any() else users.demand) * load * staying
    stayed: F64 = _time_for_ends(sample)[1] / float(model.timeline.tod[k])
    return weights * stayed if weights.any() else staying.astype(np.float64)


def _time_for_ends(sample: Sample) -> tuple[I64, I64]:
    """(users,) TOD units in which transactions may end; and until logoff or the next sample."""
    clock, k = sample.model.clock, sample.interval
    begins = clock.end(k)
    until_logoff, until_end = sample.model.change_tod(k) - begins, clock.end(k + 1) - begins
    whole = np.where(sample.leaving, until_logoff, until_end)
    # No transaction ends in the last part, while CP takes the sample.
    return whole - whole // 64, whole


class EndingTimes(NamedTuple):
    """Transactions that ended in one interval, (transactions,), user after user.

    Attributes:
        user: index of the user.
        trivial: whether it was a trivial one.
        tod, suspended, begun: when it left the dispatch list, ran out of work, and began.
        share: share of the user's activity in the interval that was done by then.
    """

    user: I64
    trivial: Bool
    tod: U64
    suspended: U64
    begun: U64
    share: F64


def ending_times(sample: Sample) -> EndingTimes:
    """The transactions counted for an interval, one by one; their lengths add up to the totals."""
    k, ended = sample.interval, ended_transactions(sample)
    rng = sample.model.measurement.rng(f"transaction ends in interval {k}")
    counts, count = ended.counts, int(ended.counts.sum())
    user = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(count) - np.repeat(np.cumsum(counts) - counts, counts)
    done = (turn + _SLOT + (1 - _SLOT) * rng.random(count)) / counts[user]
    kind = ended.kind[user]
    trivial = _choose(rng, kind, ended.trivial)
    length = np.zeros(count, dtype=np.int64)
    for mask, times in ((trivial, ended.trivial_time), (~trivial, ended.nontrivial_time)):
        for number, time in enumerate(times.tolist()):
            chosen = np.flatnonzero(mask & (kind == number))
            if len(chosen):
                length[chosen] = partition(time, skewed(rng, len(chosen), 0.5))
    room, whole = _time_for_ends(sample)
    after = floor_int(done * room[user])
    tod = np.uint64(sample.model.clock.end(k)) + after.astype(np.uint64)
    # A user without work stays in the dispatch list for 0.3 s; then the transaction has ended.
    suspended = tod - np.uint64(3 * TOD_PER_S // 10)
    begun = suspended - length.astype(np.uint64)
    return EndingTimes(user, trivial, tod, suspended, begun, after / whole[user])


def _choose(rng: np.random.Generator, kind: I64, counts: I64) -> Bool:
    """(transactions,) which of each class's transactions are chosen: `counts`, at random."""
    order = np.lexsort((rng.random(len(kind)), kind))
    sizes = np.bincount(kind, minlength=len(counts))
    rank = np.arange(len(kind)) - (np.cumsum(sizes) - sizes)[kind[order]]
    chosen = np.zeros(len(kind), dtype=np.bool_)
    chosen[order] = rank < counts[kind[order]]
    return chosen
