"""The record about users and their transactions, by class of user."""

from __future__ import annotations

import numpy as np

from .measurement import TOD_PER_S
from .model import Sample
from .noise import I64
from .record_type import Filled, SampleRecord, nothing, one
from .transaction_classes import MULTI, QUICK, UNI


def _sytusr(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    logged_on = int(model.lists.logged_on[sample.number])
    work, listed = model.transactions, sample.held.in_list | sample.held.held_back
    short, long = sample.transaction_classes.trivial, sample.transaction_classes.nontrivial
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
