"""CP's work for the guests: totals of a run, and which DIAGNOSEs and instructions guests use.

Their number follows from the groups' rates, their distribution from the kind of guest.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ...schemas import layout
from ..numeric import F64, I64, partition
from ..scenario.users import UserGroup
from .demand import Demand


@dataclass(frozen=True, slots=True)
class Activity:
    """Counts of CP's work: (intervals,), or (processors,) of one interval."""

    dispatches: I64
    simulations: I64
    diagnoses: I64
    diagnose_44: I64
    diagnose_44_fast: I64
    signals: I64

    @classmethod
    def build(cls, demand: Demand) -> Activity:
        """Build the counts of a run."""
        targets, counts = demand.measurement.targets, demand.allocation.counts
        return cls(
            dispatches=counts("dispatches", demand.dispatches),
            simulations=counts("simulations", demand.simulations),
            diagnoses=counts("diagnoses", demand.diagnoses),
            diagnose_44=counts("diagnose 44", demand.diagnose_44, targets.diag44_rate),
            diagnose_44_fast=counts(
                "diagnose 44 fast", demand.diagnose_44_fast, targets.diag44_fast_rate
            ),
            # New work is signalled to a waiting processor.
            signals=counts("signals", demand.dispatches * 0.12),
        )

    def at(self, interval: int, weights: F64) -> Activity:
        """The counts of one interval by processor, in proportion to CP time: (processors,) each.

        Args:
            weights: (processors,) CP time of each.
        """
        totals = np.array([getattr(self, name)[interval] for name in self.__dataclass_fields__])
        return Activity(*partition(totals, np.broadcast_to(weights, (len(totals), len(weights)))))


class Mixes:
    """Requests of one user of each group in a second at load 1.

    Attributes:
        diagnoses, instructions: (groups, entries of PRCDIA or PRCINS).
    """

    def __init__(self, groups: tuple[UserGroup, ...]) -> None:
        text = (files(__package__) / "services.toml").read_text(encoding="utf-8")
        weights = tomllib.loads(text)
        diagnoses = [(weights["diagnoses"][g.guest], g.diagnoses_per_s) for g in groups]
        instructions = [(weights["instructions"][g.guest], g.simulations_per_s) for g in groups]
        self.diagnoses = _mix("prcdia", diagnoses)
        self.instructions = _mix("prcins", instructions)


def entry_of(record: str, code: str) -> int:
    """Index of the entry with that code, in a record with one group."""
    return layout(record).groups[0].codes.index(code)


def _mix(record: str, rates: list[tuple[dict[str, float], float]]) -> F64:
    mixes = np.zeros((len(rates), len(layout(record).groups[0].codes)))
    for row, (weights, rate) in enumerate(rates):
        for code, weight in weights.items():
            mixes[row, entry_of(record, code)] = rate * weight / sum(weights.values())
    return mixes
