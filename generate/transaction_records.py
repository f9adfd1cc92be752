"""The record about users and their transactions, by class of user."""

from __future__ import annotations

from .model import Sample
from .record_type import Filled, SampleRecord, nothing, one
from .transaction_classes import MULTI, QUICK, UNI


def _sytusr(sample: Sample) -> Filled:
    logged_on = int(sample.model.lists.logged_on[sample.number])
    listed, ended = sample.held.in_list | sample.held.held_back, sample.transaction_classes
    short, long = ended.trivial, ended.nontrivial
    short_time, long_time = ended.trivial_time, ended.nontrivial_time
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
