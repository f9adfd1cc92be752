"""The scheduler's lists and the states in which a sample finds the users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .machine import Processors
from .measurement import Measurement
from .noise import I64, around_one


@dataclass(frozen=True, slots=True)
class Lists:
    """Users at each sample, (intervals + 1,): those in the dispatch list, by state.

    running + cpu_wait + page_wait + idle = dispatched; the others are dormant.
    """

    dispatched: I64
    running: I64
    cpu_wait: I64
    page_wait: I64

    @classmethod
    def of(cls, measurement: Measurement, processors: Processors) -> Lists:
        """The lists of a run: as many users run as processors are busy."""
        rng, n, p = measurement.rng("scheduler"), measurement.intervals, measurement.processors
        share = sum(g.count * g.dispatched_share for g in measurement.groups)
        waiting = sum(g.count * g.page_wait_share for g in measurement.groups)
        use = processors.busy.sum(axis=1) / (p * measurement.interval_tod)
        # The first sample looks back on an interval that the dump does not hold.
        use = np.minimum(np.concatenate([use[:1], use]), 0.995)
        running = np.rint(np.minimum(use * around_one(rng, n + 1, 0.02), 1) * p).astype(np.int64)
        waiting_mean = use * use / (1 - use)
        queued = np.floor(waiting_mean * around_one(rng, n + 1, 0.15)).astype(np.int64)
        paging = np.rint(waiting * around_one(rng, n + 1, 0.1)).astype(np.int64)
        wanted = np.rint(share * around_one(rng, n + 1, 0.02)).astype(np.int64)
        dispatched = np.clip(np.maximum(wanted, running), 0, measurement.users)
        running = np.minimum(running, dispatched)
        queued = np.minimum(queued, dispatched - running)
        paging = np.clip(paging, 0, dispatched - running - queued)
        return cls(dispatched, running, queued, paging)

    @property
    def idle(self) -> I64:
        """Dispatched users without work at the moment (test idle)."""
        return self.dispatched - self.running - self.cpu_wait - self.page_wait
