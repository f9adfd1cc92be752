"""What guests ask CP for: which DIAGNOSE codes they use, which instructions CP simulates for them.

How many there are follows from the groups' rates; which ones, from the kind of guest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..schemas import Group, layout
from .noise import F64, I64
from .population import Guest, UserGroup
from .states import shared_out

if TYPE_CHECKING:
    from .model import Sample

_Mix = Mapping[str, float]

_DIAGNOSES: dict[Guest, _Mix] = {
    "cms": {
        **{"A4": 40, "58": 14, "08": 9, "A8": 6, "18": 5, "64": 5, "270": 5, "0C": 3, "24": 3},
        **{"8C": 2, "14": 2, "D8": 1.5, "10": 1, "00": 1, "5C": 1, "60": 0.5, "BC": 0.5, "C8": 0.5},
    },
    "linux": {"258": 40, "250": 24, "10": 12, "DC": 10, "08": 8, "0C": 4, "260": 1, "210": 1},
    "vse": {"58": 24, "18": 22, "20": 20, "A8": 16, "08": 6, "0C": 6, "24": 3, "14": 2, "64": 1},
    "server": {
        **{"A8": 30, "98": 20, "08": 12, "DC": 8, "D8": 6, "14": 6, "0C": 6, "D4": 4},
        **{"88": 3, "84": 1, "7C": 2, "68": 2},
    },
}
"""DIAGNOSE codes, hexadecimal; X'44' is counted for itself."""

_INSTRUCTIONS: dict[Guest, _Mix] = {
    "cms": {
        **{
            "SSM": 30,
            "LPSW": 24,
            "SVC": 8,
            "STOSM": 8,
            "STNSM": 6,
            "SSCH": 6,
            "IUCV": 5,
            "LCTL": 4,
        },
        **{"SSKE": 3, "ISKE": 2, "STIDP": 1, "TPROT": 1, "STCTL": 1, "PTLB": 1},
    },
    "linux": {
        **{"SSCH": 34, "LPSWE": 14, "SIGP": 14, "STOSM": 6, "STNSM": 6, "LCTLG": 6, "STCTG": 4},
        **{"PTLB": 5, "SSKE": 4, "ISKE": 2, "IDTE": 2, "TPROT": 1, "RSCH": 1, "STIDP": 0.5},
        **{"STSI": 0.5},
    },
    "vse": {
        **{"SSCH": 28, "LPSW": 22, "SSM": 14, "SVC": 6, "LCTL": 6, "STOSM": 6, "STNSM": 6},
        **{"SSKE": 4, "ISKE": 3, "RRB": 2, "STCTL": 2, "PTLB": 1},
    },
    "server": {
        **{"IUCV": 34, "SSM": 18, "LPSW": 18, "SSCH": 10, "STOSM": 6, "STNSM": 6, "LCTL": 3},
        **{"SSKE": 2, "TPROT": 2, "STIDP": 1},
    },
}
"""Instructions by mnemonic that hardware leaves to CP."""


@dataclass(frozen=True, slots=True)
class Mixes:
    """What one user of each group asks for in a second at load 1, (groups, entries)."""

    diagnoses: F64
    instructions: F64

    @classmethod
    def of(cls, groups: tuple[UserGroup, ...]) -> Mixes:
        """The mixes that go with the groups' guests, at the groups' rates."""
        return cls(
            _mix("prcdia", [(_DIAGNOSES[g.guest], g.diagnoses_per_s) for g in groups]),
            _mix("prcins", [(_INSTRUCTIONS[g.guest], g.simulations_per_s) for g in groups]),
        )


@dataclass(frozen=True, slots=True)
class Services:
    """Counts of one interval by processor and entry of the record that lists them.

    Attributes:
        diagnoses: (processors, entries of PRCDIA). instructions: (processors, entries of PRCINS).
    """

    diagnoses: I64
    instructions: I64

    @classmethod
    def of(cls, sample: Sample) -> Services:
        """What was asked for; sums over the entries are those of CP's activity."""
        activity, mixes = sample.activity, sample.model.mixes
        demand, k = sample.model.demand, sample.interval
        work = demand.users[k] * demand.load[k]
        rng = sample.model.measurement.rng(f"services in interval {k}")
        diagnoses = _by_entry(rng, work @ mixes.diagnoses, activity.diagnoses)
        diagnoses[:, entry_of("prcdia", "44")] += activity.diagnose_44
        instructions = _by_entry(rng, work @ mixes.instructions, activity.simulations)
        return cls(diagnoses, instructions)


def _by_entry(rng: np.random.Generator, weights: F64, totals: I64) -> I64:
    """(processors, entries) counts that add up to each processor's total.

    Args:
        weights: (entries,). totals: (processors,).
    """
    every = float(np.add.accumulate(weights)[-1])
    shares = weights / every if every else np.full(len(weights), 1 / len(weights))
    return np.ascontiguousarray(
        shared_out(rng, np.repeat(shares[:, None], len(totals), axis=1), totals).T
    )


def entry_of(record: str, code: str) -> int:
    """Index of the entry with that code, in a record with one group."""
    return _table(record).codes.index(code)


def _table(record: str) -> Group:
    return layout(record).groups[0]


def _mix(record: str, rates: list[tuple[_Mix, float]]) -> F64:
    codes = _table(record).codes
    found = np.zeros((len(rates), len(codes)))
    for row, (mix, rate) in enumerate(rates):
        for code, weight in mix.items():
            found[row, codes.index(code)] = rate * weight / sum(mix.values())
    return found
