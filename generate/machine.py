"""Processors: how much of each interval each of them spends on what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .fit import others_util
from .measurement import TOD_PER_US, Measurement
from .noise import F64, I64, around_one, bell, over_intervals, partition


@dataclass(frozen=True, slots=True)
class Processors:
    """Times in TOD units, (intervals, processors); processor 0 is the master.

    Busy time is emulation + charged + system; what is left of an interval is wait. Spinning is
    part of the CP time.
    """

    emulation: I64
    charged: I64
    system: I64
    spins: I64
    spin_time: I64

    @classmethod
    def of(cls, measurement: Measurement) -> Processors:
        """The processors of a run, meeting its utilization and spin targets."""
        rng = measurement.rng("machine")
        total, emul = _run_totals(measurement, rng)
        n, p = measurement.intervals, measurement.processors
        span = measurement.intervals * measurement.interval_tod
        # Nearer to saturation there is less room to vary.
        room = 1.0 - total / span
        shared = bell(rng, (n, 1))
        own = bell(rng, (n, p)) / 3
        busy = over_intervals(total, 1.0 + measurement.scenario.spread * room * (shared + own))
        emulation = over_intervals(emul, busy * around_one(rng, (n, p), 0.008))
        cp = busy - emulation
        share = measurement.scenario.machine.charged_share * around_one(rng, (n, p), 0.01)
        charged = np.floor(cp * np.minimum(share, 1.0)).astype(np.int64)
        spins, spin_time = _spins(measurement, rng, cp)
        return cls(emulation, charged, cp - charged, spins, spin_time)

    @property
    def busy(self) -> I64:
        """Everything but wait."""
        return self.emulation + self.charged + self.system

    @property
    def weights(self) -> F64:
        """(intervals, processors): where CP's work is done."""
        return (self.charged + self.system).astype(np.float64)


def _run_totals(measurement: Measurement, rng: np.random.Generator) -> tuple[I64, I64]:
    """Busy and emulation time of each processor over the run, (processors,)."""
    targets, p = measurement.targets, measurement.processors
    span = measurement.intervals * measurement.interval_tod
    others, others_emul = others_util(targets, p)
    total = round(span * p * targets.total_util / 100)
    emul = round(span * p * targets.emul_util / 100)
    master = round(span * ((p * targets.total_util) - (p - 1) * others) / 100)
    master_emul = round(span * ((p * targets.emul_util) - (p - 1) * others_emul) / 100)
    if p == 1:
        return np.array([total]), np.array([emul])
    # Dispatching spreads the work nearly evenly; a full processor has nothing left to vary.
    uneven = measurement.scenario.machine.imbalance * (1.0 - others / 100)
    weights = around_one(rng, p - 1, uneven)
    return (
        np.concatenate([[master], partition(total - master, weights)]),
        np.concatenate([[master_emul], partition(emul - master_emul, weights)]),
    )


def _spins(measurement: Measurement, rng: np.random.Generator, cp: I64) -> tuple[I64, I64]:
    """Spins and the time spent in them, (intervals, processors) each."""
    targets = measurement.targets
    count = measurement.count(targets.spin_lock_rate)
    time = round(count * targets.spin_time_us * TOD_PER_US)
    weights = (cp * around_one(rng, cp.shape, 0.02)).ravel()
    spins = partition(count, weights)
    per_spin = around_one(rng, spins.shape, 0.015)
    return spins.reshape(cp.shape), partition(time, spins * per_spin).reshape(cp.shape)
