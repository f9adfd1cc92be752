"""CP's work for the guests: totals of a run, and which DIAGNOSEs and instructions guests use.

How many of them there are follows from the groups' rates; which ones, from the kind of guest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...schemas import layout
from ..numeric import F64, I64, partition
from ..scenario.users import Guest, UserGroup
from .demand import Demand

_DIAGNOSES: dict[Guest, str] = {
    "cms": "A4 40, 58 14, 08 9, A8 6, 18 5, 64 5, 270 5, 0C 3, 24 3, 8C 2, 14 2, D8 1.5, 10 1, "
    "00 1, 5C 1, 60 0.5, BC 0.5, C8 0.5",
    "linux": "258 40, 250 24, 10 12, DC 10, 08 8, 0C 4, 260 1, 210 1",
    "vse": "58 24, 18 22, 20 20, A8 16, 08 6, 0C 6, 24 3, 14 2, 64 1",
    "server": "A8 30, 98 20, 08 12, DC 8, D8 6, 14 6, 0C 6, D4 4, 88 3, 84 1, 7C 2, 68 2",
}
"""DIAGNOSE codes, hexadecimal, and their weights; X'44' is counted for itself."""

_INSTRUCTIONS: dict[Guest, str] = {
    "cms": "SSM 30, LPSW 24, SVC 8, STOSM 8, STNSM 6, SSCH 6, IUCV 5, LCTL 4, SSKE 3, ISKE 2, "
    "STIDP 1, TPROT 1, STCTL 1, PTLB 1",
    "linux": "SSCH 34, LPSWE 14, SIGP 14, STOSM 6, STNSM 6, LCTLG 6, STCTG 4, PTLB 5, SSKE 4, "
    "ISKE 2, IDTE 2, TPROT 1, RSCH 1, STIDP 0.5, STSI 0.5",
    "vse": "SSCH 28, LPSW 22, SSM 14, SVC 6, LCTL 6, STOSM 6, STNSM 6, SSKE 4, ISKE 3, RRB 2, "
    "STCTL 2, PTLB 1",
    "server": "IUCV 34, SSM 18, LPSW 18, SSCH 10, STOSM 6, STNSM 6, LCTL 3, SSKE 2, TPROT 2, "
    "STIDP 1",
}
"""Instructions by mnemonic that hardware leaves to CP, and their weights."""


@dataclass(frozen=True, slots=True)
class Activity:
    """CP's work, counted: (intervals,), or (processors,) of one interval."""

    dispatches: I64
    simulations: I64
    diagnoses: I64
    diagnose_44: I64
    diagnose_44_fast: I64
    signals: I64

    @classmethod
    def build(cls, demand: Demand) -> Activity:
        """The work of a run."""
        targets, counts = demand.measurement.targets, demand.allocation.counts
        return cls(
            dispatches=counts("dispatches", demand.dispatches),
            simulations=counts("simulations", demand.simulations),
            diagnoses=counts("diagnoses", demand.diagnoses),
            diagnose_44=counts("diagnose 44", demand.diagnose_44, targets.diag44_rate),
            diagnose_44_fast=counts(
                "diagnose 44 fast", demand.diagnose_44_fast, targets.diag44_fast_rate
            ),
            # A waiting processor learns of new work by a signal.
            signals=counts("signals", demand.dispatches * 0.12),
        )

    def at(self, interval: int, weights: F64) -> Activity:
        """The work of one interval by processor, where CP is busy: (processors,) each.

        Args:
            weights: (processors,) CP time of each.
        """
        totals = np.array([getattr(self, name)[interval] for name in self.__dataclass_fields__])
        return Activity(*partition(totals, np.broadcast_to(weights, (len(totals), len(weights)))))


class Mixes:
    """What one user of each group asks for in a second at load 1.

    Attributes:
        diagnoses, instructions: (groups, entries of PRCDIA or PRCINS).
    """

    def __init__(self, groups: tuple[UserGroup, ...]) -> None:
        self.diagnoses = _mix("prcdia", [(_DIAGNOSES[g.guest], g.diagnoses_per_s) for g in groups])
        self.instructions = _mix(
            "prcins", [(_INSTRUCTIONS[g.guest], g.simulations_per_s) for g in groups]
        )


def entry_of(record: str, code: str) -> int:
    """Index of the entry with that code, in a record with one group."""
    return layout(record).groups[0].codes.index(code)


def _mix(record: str, rates: list[tuple[str, float]]) -> F64:
    mixes = np.zeros((len(rates), len(layout(record).groups[0].codes)))
    for row, (text, rate) in enumerate(rates):
        weights = _weights(text)
        for code, weight in weights.items():
            mixes[row, entry_of(record, code)] = rate * weight / sum(weights.values())
    return mixes


def _weights(text: str) -> Mapping[str, float]:
    """Weight of each code in a list "code weight, code weight"."""
    pairs = (each.split() for each in text.split(","))
    return {code: float(weight) for code, weight in pairs}
