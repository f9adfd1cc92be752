"""What CP does for the users: dispatches, simulated instructions, interrupts, transactions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .dasd import Volumes
from .machine import Processors
from .measurement import Measurement
from .noise import F64, I64, around_one, partition


@dataclass(frozen=True, slots=True)
class Activity:
    """CP's work, counted: (intervals, processors)."""

    dispatches: I64
    simulations: I64
    diagnoses: I64
    signals: I64
    io_starts: I64

    @classmethod
    def of(cls, measurement: Measurement, processors: Processors, volumes: Volumes) -> Activity:
        """The work of a run, on the processors that are busy with CP."""
        rng, groups = measurement.rng("activity"), measurement.groups
        weights = processors.weights
        spread = measurement.scenario.spread

        def flow(rate: float) -> I64:
            total = measurement.count(rate)
            varied = weights * around_one(rng, (measurement.intervals, 1), spread)
            return partition(total, varied.ravel()).reshape(weights.shape)

        dispatches = sum(g.count * g.dispatches_per_s for g in groups)
        return cls(
            dispatches=flow(dispatches),
            simulations=flow(sum(g.count * g.simulations_per_s for g in groups)),
            diagnoses=flow(sum(g.count * g.diagnoses_per_s for g in groups)),
            # A waiting processor is told of new work by a signal.
            signals=flow(dispatches * 0.12),
            io_starts=partition(volumes.starts.sum(axis=1), weights),
        )


@dataclass(frozen=True, slots=True)
class Transactions:
    """Transactions that ended in each interval, (intervals,), and their response times (s)."""

    trivial: I64
    nontrivial: I64
    trivial_s: F64
    nontrivial_s: F64

    @classmethod
    def of(cls, measurement: Measurement, processors: Processors) -> Transactions:
        """The transactions of a run: none without a rate."""
        rng, n = measurement.rng("transactions"), measurement.intervals
        settings, rate = measurement.scenario.transactions, measurement.targets.tx_rate or 0.0
        work = processors.busy.sum(axis=1) * around_one(rng, n, 0.004)
        count = partition(measurement.count(rate), work)
        share = settings.trivial_share * around_one(rng, n, 0.01)
        trivial = np.floor(count * np.minimum(share, 1.0)).astype(np.int64)
        slow = around_one(rng, n, 0.05)
        return cls(
            trivial, count - trivial, settings.trivial_s * slow, settings.nontrivial_s * slow
        )

    @property
    def count(self) -> I64:
        """All of them."""
        return self.trivial + self.nontrivial
