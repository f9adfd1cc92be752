"""The scheduler's lists and the states in which a sample finds the users."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .demand import Demand
from .machine import Processors
from .measurement import Measurement
from .noise import F64, I64, around_one
from .roster import Roster
from .timeline import Timeline

FULLEST = 0.995
"""Share of the processors in use from which on the queue grows with the shortage only."""

_HELD_BACK = 0.5
_LONGEST = 20.0
"""No response takes so many times as long as on an idle system: users begin nothing new then."""


@dataclass(frozen=True, slots=True)
class Lists:
    """Virtual processors at each sample, (intervals + 1,): those in the dispatch list, by state.

    running + the waits + idle = dispatched; the others are eligible or dormant.

    Attributes:
        logged_on: users.
        defined: virtual processors of these users.
        eligible: those that the scheduler holds back from the dispatch list.
    """

    logged_on: I64
    defined: I64
    dispatched: I64
    eligible: I64
    running: I64
    cpu_wait: I64
    page_wait: I64
    io_wait: I64
    simulation_wait: I64
    console_wait: I64

    @classmethod
    def of(
        cls,
        measurement: Measurement,
        timeline: Timeline,
        demand: Demand,
        processors: Processors,
        roster: Roster,
    ) -> Lists:
        """The lists of a run: as many virtual processors run as real ones are busy."""
        rng, n, p = measurement.rng("scheduler"), measurement.intervals, measurement.processors
        groups, logged_on = measurement.groups, roster.counts_at(n)
        defined = roster.counts_at(n, np.array([g.virtual_processors for g in groups]))

        def found(mean: F64, spread: float) -> I64:
            # A sample finds some, or one more of them: few of them are not always none.
            return np.floor(mean * around_one(rng, n + 1, spread) + rng.random(n + 1)).astype(
                np.int64
            )

        def share(of_group: list[float]) -> I64:
            asked = np.minimum(demand.load, 1.0) * demand.users @ np.array(of_group)
            return found(_at_samples(asked), 0.02)

        use = _at_samples(processors.busy.sum(axis=1) / np.maximum(p * timeline.tod, 1))
        use = np.minimum(use, FULLEST)
        running = np.minimum(found(use * p, 0.02), p)
        shortage = _at_samples(processors.shortage)
        waiting = waiting_for_cpu(use, shortage)
        queued = found(waiting, 0.15)
        wanted = share([g.dispatched_share for g in groups])
        dispatched = np.clip(np.maximum(wanted, running), 0, defined)
        running = np.minimum(running, dispatched)
        eligible = np.floor((dispatched - running) * held_back(shortage)).astype(np.int64)
        dispatched -= eligible
        queued = np.minimum(queued, dispatched - running)
        left = dispatched - running - queued
        waits = []
        for of_group in (
            [g.page_wait_share for g in groups],
            [g.io_wait_share for g in groups],
            [g.simulation_wait_share for g in groups],
            [g.console_wait_share for g in groups],
        ):
            waits.append(np.minimum(share(of_group), left))
            left = left - waits[-1]
        return cls(logged_on, defined, dispatched, eligible, running, queued, *waits)

    @property
    def idle(self) -> I64:
        """Dispatched without work at the moment (test idle)."""
        waiting = self.page_wait + self.io_wait + self.simulation_wait + self.console_wait
        return self.dispatched - self.running - self.cpu_wait - waiting


def waiting_for_cpu(use: F64, shortage: F64) -> F64:
    """How many wait behind processors of which a share is in use, random arrivals taken.

    Behind full ones there are the more, the more work was not done.
    """
    use = np.minimum(use, FULLEST)
    waiting: F64 = use * use / (1 - use) * shortage
    return waiting


def held_back(shortage: F64) -> F64:
    """Share of those who want to be in the dispatch list, but do not run, that must stay eligible.

    Of the work that the processors cannot do, a part does not even get into the list.
    """
    return (1.0 - 1.0 / shortage) * _HELD_BACK


def stretch(timeline: Timeline, processors: Processors) -> F64:
    """(intervals,) how many times longer work takes than on an idle system, by Little's law."""
    count = processors.online.sum(axis=1)
    use = processors.busy.sum(axis=1) / np.maximum(count * timeline.tod, 1)
    running = np.maximum(use, 1e-9) * np.maximum(count, 1)
    times: F64 = 1.0 + waiting_for_cpu(use, processors.shortage) / running
    return np.minimum(times, _LONGEST)


def _at_samples(of_intervals: F64) -> F64:
    """A figure of each interval at the sample that ends it, and at the first of them."""
    return np.concatenate([of_intervals[:1], of_intervals])
