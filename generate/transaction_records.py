"""The record about users and their transactions, by class of user."""

from __future__ import annotations

import numpy as np

from .measurement import TOD_PER_S
from .model import Sample
from .noise import I64, partition
from .record_type import Filled, SampleRecord, nothing, one
from .transaction_ends import ending_weights

UNI, MULTI, QUICK = 0, 1, 2


def by_class(sample: Sample) -> tuple[I64, I64]:
    """(classes,) trivial and other transactions of the interval by class of the user.

    Servers are quick-dispatch users, whatever processors they have.
    """
    model, k = sample.model, sample.interval
    work, users = model.transactions, model.users
    of_group = [
        QUICK if g.guest == "server" else MULTI if g.virtual_processors > 1 else UNI
        for g in users.groups
    ]
    weights = ending_weights(sample)
    each = partition(int(work.count[k]), weights) if weights.any() else np.zeros(0)
    kinds = users.each(of_group) if len(each) else np.zeros(0, dtype=np.int64)
    count = np.bincount(kinds, weights=each, minlength=3).astype(np.float64)
    if not count.any():
        count[UNI] = float(work.count[k])
    trivial = partition(int(work.trivial[k]), count)
    return trivial, count.astype(np.int64) - trivial


def _sytusr(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    logged_on = int(model.lists.logged_on[sample.number])
    work, listed = model.transactions, sample.held.in_list | sample.held.held_back
    short, long = by_class(sample)
    short_time = np.floor(short * (work.trivial_s[k] * TOD_PER_S)).astype(np.int64)
    long_time = np.floor(long * (work.nontrivial_s[k] * TOD_PER_S)).astype(np.int64)
    return Filled(
        {"sysusrs": logged_on, "srmcdorm": logged_on - int(listed.sum())},
        {
            "calmptct": short[MULTI],
            "calmptrv": short_time[MULTI],
            "calmpnct": long[MULTI],
            "calmpntr": long_time[MULTI],
            "caluptct": short[UNI],
            "caluptrv": short_time[UNI],
            "calupnct": long[UNI],
            "calupntr": long_time[UNI],
            "calqdnct": short[QUICK] + long[QUICK],
            "calqdntr": short_time[QUICK] + long_time[QUICK],
        },
    )


SYTUSR = SampleRecord("sytusr", one, nothing, _sytusr)
