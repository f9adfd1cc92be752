"""Transactions: how many ended in each interval, of what kind, and how long they took."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .course import Course
from .demand import Demand
from .measurement import Measurement
from .noise import F64, I64, around_one


@dataclass(frozen=True, slots=True)
class Transactions:
    """Transactions that ended in each interval, (intervals,), and their response times (s)."""

    trivial: I64
    nontrivial: I64
    trivial_s: F64
    nontrivial_s: F64

    @classmethod
    def of(cls, measurement: Measurement, course: Course, demand: Demand) -> Transactions:
        """The transactions of a run: none without a rate."""
        rng, n = measurement.rng("transactions"), measurement.intervals
        settings = measurement.scenario.transactions
        spread = measurement.scenario.spread / 4
        target = measurement.targets.tx_rate
        count = course.counts("transaction counts", demand.transactions, target, spread)
        share = settings.trivial_share * around_one(rng, n, 0.01)
        trivial = np.floor(count * np.minimum(share, 1.0)).astype(np.int64)
        slow = around_one(rng, n, 0.05)
        return cls(
            trivial, count - trivial, settings.trivial_s * slow, settings.nontrivial_s * slow
        )

    def stretched(self, times: F64) -> Transactions:
        """The same, where each lasts so many times longer than on an idle system.

        Args:
            times: (intervals,).
        """
        return replace(
            self, trivial_s=self.trivial_s * times, nontrivial_s=self.nontrivial_s * times
        )

    @property
    def count(self) -> I64:
        """All of them."""
        return self.trivial + self.nontrivial
