"""What CP does for the users: dispatches, simulated instructions, diagnoses, interrupts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .course import Course
from .demand import Demand
from .measurement import Measurement
from .noise import F64, I64, partition


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
    def of(cls, measurement: Measurement, course: Course, demand: Demand) -> Activity:
        """The work of a run."""
        targets = measurement.targets
        return cls(
            dispatches=course.counts("dispatches", demand.dispatches),
            simulations=course.counts("simulations", demand.simulations),
            diagnoses=course.counts("diagnoses", demand.diagnoses),
            diagnose_44=course.counts("diagnose 44", demand.diagnose_44, targets.diag44_rate),
            diagnose_44_fast=course.counts(
                "diagnose 44 fast", demand.diagnose_44_fast, targets.diag44_fast_rate
            ),
            # A waiting processor is told of new work by a signal.
            signals=course.counts("signals", demand.dispatches * 0.12),
        )

    def at(self, interval: int, weights: F64) -> Activity:
        """The work of one interval by processor, where CP is busy: (processors,) each.

        Args:
            weights: (processors,) CP time of each.
        """
        totals = np.array([getattr(self, name)[interval] for name in self.__dataclass_fields__])
        return Activity(*partition(totals, np.broadcast_to(weights, (len(totals), len(weights)))))
