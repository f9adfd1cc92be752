"""Transactions of an interval by user and by class of user: counts, and the time they took."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .measurement import TOD_PER_S
from .noise import F64, I64, partition

if TYPE_CHECKING:
    from .model import Sample

UNI, MULTI, QUICK = 0, 1, 2
"""Users with one virtual processor, with several, and servers (quick dispatch)."""

_CLASSES = 3

_LAST = 64
"""Nothing ends in the last part, one of so many, of an interval: the sample is being taken."""


@dataclass(frozen=True, slots=True)
class TransactionClasses:
    """Transactions that ended in one interval.

    Attributes:
        each, kind: (users,) how many each ended; the class of each user.
        trivial, nontrivial: (classes,) how many of each class.
        trivial_time, nontrivial_time: (classes,) how long they took together, TOD units.
    """

    each: I64
    kind: I64
    trivial: I64
    nontrivial: I64
    trivial_time: I64
    nontrivial_time: I64

    @classmethod
    def of(cls, sample: Sample) -> TransactionClasses:
        """The transactions of the interval before a sample, by user and class.

        Servers are quick-dispatch users, whatever processors they have. Where nobody is there who
        could have ended one, they are counted as those of uniprocessor guests.
        """
        model, k = sample.model, sample.interval
        work, users = model.transactions, model.users
        of_group = [
            QUICK if g.guest == "server" else MULTI if g.virtual_processors > 1 else UNI
            for g in users.groups
        ]
        kind = users.each(of_group)
        each = np.zeros(len(kind), dtype=np.int64)
        if not work.count[k]:
            none = np.zeros(_CLASSES, dtype=np.int64)
            return cls(each, kind, none, none, none, none)
        weights = ending_weights(sample)
        if weights.any():
            each = partition(int(work.count[k]), weights)
        count = np.bincount(kind, weights=each, minlength=_CLASSES).astype(np.int64)
        if not count.any():
            count[UNI] = work.count[k]
        trivial = partition(int(work.trivial[k]), count.astype(np.float64))
        nontrivial = count - trivial
        return cls(
            each,
            kind,
            trivial,
            nontrivial,
            np.floor(trivial * (work.trivial_s[k] * TOD_PER_S)).astype(np.int64),
            np.floor(nontrivial * (work.nontrivial_s[k] * TOD_PER_S)).astype(np.int64),
        )


def ending_weights(sample: Sample) -> F64:
    """(users,) how many transactions each ends, in relation to the others.

    Where no group has a rate of its own, they are those of everybody, by demand. Who has just
    logged on has not ended one.
    """
    model, k = sample.model, sample.interval
    users = model.users
    rates = users.transactions
    load = model.demand.load[k][model.roster.group]
    here = sample.active & ~sample.arriving
    weights: F64 = (rates if rates.any() else users.demand) * load * here
    stayed: F64 = room_for_ends(sample)[1] / float(model.timeline.tod[k])
    found: F64 = weights * stayed if weights.any() else here.astype(np.float64)
    return found


def room_for_ends(sample: Sample) -> tuple[I64, I64]:
    """(users,) TOD units in which transactions may end; and until logoff or the next sample."""
    model, k = sample.model, sample.interval
    begins = model.clock.end(k)
    whole = np.where(
        sample.leaving,
        model.change_tod(k) - begins,
        model.clock.end(k + 1) - begins,
    )
    return whole - whole // _LAST, whole
