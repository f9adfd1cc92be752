"""CP at work in a run: services by processor, the scheduler's lists, response times.

The number of services follows from the groups' rates, their distribution from the kind of guest.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib.resources import files

import numpy as np

from ...schemas import layout
from ..numeric import F64, I64, around_one, floor_int, partition
from ..scenario.scenario import UserGroup
from .measurement import Timeline
from .population import Demand
from .processors import Processors


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


FULLEST = 0.995
"""Utilization above which the length of the queue depends on the shortage only."""

_ELIGIBLE_SHARE = 0.5
_LONGEST = 20.0
"""Longest response as a multiple of that on an idle system; then users start no new work."""


class Lists:
    """Virtual processors at each sample, (intervals + 1,): those in the dispatch list, by state.

    Their running ones equal the busy real processors. running + waits + idle = dispatched; the
    others are eligible or dormant.

    Attributes:
        logged_on: users.
        defined: virtual processors of these users.
        eligible: virtual processors in the eligible list.
    """

    def __init__(self, demand: Demand, processors: Processors) -> None:
        measurement, timeline = demand.measurement, demand.allocation.timeline
        rng, n, p = measurement.rng("scheduler"), measurement.intervals, measurement.processors
        groups, population = measurement.groups, demand.population

        def sampled(mean: F64, spread: float) -> I64:
            # Rounded up or down at random, so that small means are not always 0.
            numbers = mean * around_one(rng, n + 1, spread) + rng.random(n + 1)
            return floor_int(numbers)

        def of_groups(shares: list[float]) -> I64:
            active = np.minimum(demand.load, 1.0) * demand.users
            return sampled(_at_samples(active @ np.array(shares)), 0.02)

        self.logged_on = population.sums_at(n, [1 for _ in groups])
        self.defined = population.sums_at(n, [g.virtual_processors for g in groups])
        use = _at_samples(processors.busy.sum(axis=1) / np.maximum(p * timeline.tod, 1))
        use = np.minimum(use, FULLEST)
        running = np.minimum(sampled(use * p, 0.02), p)
        shortage = _at_samples(processors.shortage)
        queued = sampled(waiting_for_cpu(use, shortage), 0.15)
        demanded = of_groups([g.dispatched_share for g in groups])
        dispatched = np.clip(np.maximum(demanded, running), 0, self.defined)
        self.running = np.minimum(running, dispatched)
        share = eligible_share(shortage)
        self.eligible = floor_int((dispatched - self.running) * share)
        self.dispatched = dispatched - self.eligible
        self.cpu_wait = np.minimum(queued, self.dispatched - self.running)
        left = self.dispatched - self.running - self.cpu_wait
        waits = []
        for kind in ("page", "io", "simulation", "console"):
            waiting = of_groups([getattr(g, f"{kind}_wait_share") for g in groups])
            waits.append(np.minimum(waiting, left))
            left = left - waits[-1]
        self.page_wait, self.io_wait, self.simulation_wait, self.console_wait = waits
        self.idle = left


def waiting_for_cpu(use: F64, shortage: F64) -> F64:
    """Length of the queue for processors at a utilization, assuming random arrivals.

    At full utilization it is in proportion to the work that was not done.
    """
    use = np.minimum(use, FULLEST)
    waiting: F64 = use * use / (1 - use) * shortage
    return waiting


def eligible_share(shortage: F64) -> F64:
    """Share of waiting virtual processors that are in the eligible list.

    It is a part of the work that the processors cannot do.
    """
    return (1.0 - 1.0 / shortage) * _ELIGIBLE_SHARE


def response_stretch(timeline: Timeline, processors: Processors) -> F64:
    """(intervals,) response time / that on an idle system, by Little's law."""
    count = processors.working.sum(axis=1)
    use = processors.busy.sum(axis=1) / np.maximum(count * timeline.tod, 1)
    running = np.maximum(use, 1e-9) * np.maximum(count, 1)
    times: F64 = 1.0 + waiting_for_cpu(use, processors.shortage) / running
    return np.minimum(times, _LONGEST)


def allocate_shares(rng: np.random.Generator, shares: F64, totals: int | I64) -> I64:
    """Whole numbers that add up to a total; each has its share of it to within one.

    The mean over many calls is the exact share, so that rare states occur.

    Args:
        shares: (parts, columns), not negative; those of a column add up to 1.
        totals: one, or (columns,).

    Returns:
        (parts, columns).
    """
    edges = np.add.accumulate(shares, axis=0)
    edges *= totals
    edges += rng.random(shares.shape[1])
    np.floor(edges, out=edges)
    whole = np.minimum(edges, totals, out=edges).astype(np.int64)
    whole[-1] = totals
    whole[1:] -= whole[:-1].copy()
    return whole


def _at_samples(of_intervals: F64) -> F64:
    """Values of intervals at the samples that end them; the first sample has the first value."""
    return np.concatenate([of_intervals[:1], of_intervals])
