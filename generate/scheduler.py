"""The scheduler's lists and the states in which a sample finds the users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .demand import Demand
from .machine import Processors
from .measurement import Measurement
from .noise import F64, I64, around_one
from .timeline import Timeline

FULLEST = 0.995
"""Share of the processors in use from which on the queue grows with the shortage only."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Users at each sample, (intervals + 1,): those in the dispatch list, by state.

    running + cpu_wait + page_wait + io_wait + idle = dispatched; the others are dormant.
    """

    logged_on: I64
    dispatched: I64
    running: I64
    cpu_wait: I64
    page_wait: I64
    io_wait: I64

    @classmethod
    def of(
        cls,
        measurement: Measurement,
        timeline: Timeline,
        demand: Demand,
        processors: Processors,
        logged_on: I64,
    ) -> Lists:
        """The lists of a run: as many users run as processors are busy.

        Args:
            logged_on: (intervals + 1,) users at each sample.
        """
        rng, n, p = measurement.rng("scheduler"), measurement.intervals, measurement.processors
        groups = measurement.groups

        def share(of_group: list[float]) -> I64:
            asked = np.minimum(demand.load, 1.0) * demand.users @ np.array(of_group)
            return np.rint(_at_samples(asked) * around_one(rng, n + 1, 0.02)).astype(np.int64)

        use = _at_samples(processors.busy.sum(axis=1) / np.maximum(p * timeline.tod, 1))
        use = np.minimum(use, FULLEST)
        running = np.rint(np.minimum(use * around_one(rng, n + 1, 0.02), 1) * p).astype(np.int64)
        waiting = waiting_for_cpu(use, _at_samples(processors.shortage))
        queued = np.floor(waiting * around_one(rng, n + 1, 0.15)).astype(np.int64)
        wanted = share([g.dispatched_share for g in groups])
        dispatched = np.clip(np.maximum(wanted, running), 0, logged_on)
        running = np.minimum(running, dispatched)
        queued = np.minimum(queued, dispatched - running)
        left = dispatched - running - queued
        paging = np.minimum(share([g.page_wait_share for g in groups]), left)
        io = np.minimum(share([g.io_wait_share for g in groups]), left - paging)
        return cls(logged_on, dispatched, running, queued, paging, io)

    @property
    def idle(self) -> I64:
        """Dispatched users without work at the moment (test idle)."""
        return self.dispatched - self.running - self.cpu_wait - self.page_wait - self.io_wait


def waiting_for_cpu(use: F64, shortage: F64) -> F64:
    """How many wait behind processors of which a share is in use, random arrivals taken.

    Behind full ones there are the more, the more work was not done.
    """
    use = np.minimum(use, FULLEST)
    waiting: F64 = use * use / (1 - use) * shortage
    return waiting


def _at_samples(of_intervals: F64) -> F64:
    """A figure of each interval at the sample that ends it, and at the first of them."""
    return np.concatenate([of_intervals[:1], of_intervals])
