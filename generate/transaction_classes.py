"""Whose transactions ended: those of guests with one processor, with several, and of servers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .noise import F64, I64, partition
from .transaction_ends import ending_weights
from .users import Users

if TYPE_CHECKING:
    from .model import Sample

UNI, MULTI, QUICK = 0, 1, 2


@dataclass(frozen=True, slots=True)
class TransactionClasses:
    """Transactions that ended in one interval, (classes,) each."""

    trivial: I64
    nontrivial: I64

    @classmethod
    def of(cls, sample: Sample) -> TransactionClasses:
        """All transactions of the interval, by class of the user."""
        work, k = sample.model.transactions, sample.interval
        count = np.zeros(3)
        if work.count[k]:
            weights = ending_weights(sample)
            count[UNI] = float(work.count[k])
            if weights.any():
                count = _by_class(sample.model.users, partition(int(work.count[k]), weights))
        trivial = partition(int(work.trivial[k]), count)
        return cls(trivial, count.astype(np.int64) - trivial)


def _by_class(users: Users, each: I64) -> F64:
    """(classes,) a sum over users. Servers are quick-dispatch users, however many processors."""
    of_group = [
        QUICK if g.guest == "server" else MULTI if g.virtual_processors > 1 else UNI
        for g in users.groups
    ]
    found: F64 = np.bincount(users.each(of_group), weights=each, minlength=3).astype(np.float64)
    return found
