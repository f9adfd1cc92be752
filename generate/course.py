"""Run totals shared out over the intervals: a target fixes the total, demand its course."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .measurement import Measurement
from .noise import F64, I64, around_one, partition
from .timeline import Timeline


@dataclass(frozen=True, slots=True)
class Course:
    """Shares out over the intervals of a run."""

    measurement: Measurement
    timeline: Timeline

    def counts(
        self, noun: str, natural: F64, target: float | None = None, spread: float | None = None
    ) -> I64:
        """(intervals,) events: what the target says over the steady state, else what is natural.

        Before the steady state there is as much of it as there are transactions.

        Args:
            natural: (intervals,) events a second.
            target: events a second.
            spread: deviation from interval to interval; the scenario's by default.
        """
        line, rng = self.timeline, self.measurement.rng(noun)
        deviation = self.measurement.scenario.spread if spread is None else spread
        seconds = line.up_seconds * around_one(rng, len(natural), deviation)
        if target is None:
            return np.rint(natural * self.warming * seconds).astype(np.int64)
        varied = np.where(natural[line.steady].sum() > 0, natural, 1.0) * seconds
        found = np.rint(target * self.warming * seconds).astype(np.int64)
        found[line.steady] = partition(round(target * line.steady_seconds), varied[line.steady])
        return found

    @property
    def warming(self) -> F64:
        """(intervals,) 1 in the steady state, before it the share of its transactions."""
        return np.where(self.timeline.steady, 1.0, self.measurement.run.warmup_tx_share)

    def levels(self, noun: str, natural: F64, target: float | None, spread: float) -> I64:
        """(intervals + 1,) a level at each sample.

        With a target its mean over the samples that end a steady interval is the target, and so
        is the first sample's: a reader may count that one or not.

        Args:
            natural: (intervals,).
        """
        line = self.timeline
        varied = around_one(self.measurement.rng(noun), len(natural), spread)
        if target is None:
            course = np.rint(natural * varied)
            return np.concatenate([np.rint(natural[:1]), course]).astype(np.int64)
        found = np.full(len(natural) + 1, round(target), dtype=np.int64)
        later = np.concatenate([[False], line.steady])
        found[later] = partition(round(target * int(line.steady.sum())), varied[line.steady])
        return found
