"""Demand of the users over time, from their groups and workloads.

A target determines the total of a figure in a run, the demand its distribution over time.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from ..numeric import F64, I64, around_one, floor_int
from ..scenario.users import Workload
from .measurement import Measurement
from .population import Population
from .timeline import Allocation

FAST_DIAGNOSE_SINCE = "5.2.0"
"""From this level on CP handles most DIAGNOSE X'44' in a few instructions."""

MOVES_BELOW_UNTIL = "5.2.0"
"""Up to this level pages for I/O and for CP itself must be below 2 GB."""

TIMERS_ON_MASTER_UNTIL = "4.3.0"
"""Up to this level only the master processor serves timer requests."""

_FAST_SHARE = 0.92
_MOVED_SHARE = 0.3
_MIGRATED_SHARE = 0.5

_DAY_HOURS = (0.0, 6.0, 8.0, 10.5, 12.5, 15.0, 18.0, 22.0, 24.0)
_DAY_SHARES = (0.05, 0.0, 0.55, 1.0, 0.8, 0.95, 0.3, 0.1, 0.05)
"""Load by the hour, 0 for level to 1 for peak: two maxima, a dip at noon, quiet nights."""


def _loads(measurement: Measurement, seconds: I64) -> F64:
    """(intervals, groups) factor on the rates of each group, 0 or more."""
    loads = np.empty((len(seconds), len(measurement.groups)))
    for place, group in enumerate(measurement.groups):
        workload = measurement.scenario.workload_of(group)
        rng = measurement.rng(f"workload {workload.name} of {group.name}")
        course = _course(workload, measurement.run.start, seconds, rng)
        loads[:, place] = course * around_one(rng, len(seconds), workload.noise)
    return loads


def _course(workload: Workload, start: dt.datetime, seconds: I64, rng: np.random.Generator) -> F64:
    """(intervals,) load without noise."""
    n, span = len(seconds), workload.peak - workload.level
    match workload.kind:
        case "steady":
            return np.full(n, workload.level)
        case "ramp":
            return workload.level + span * np.arange(n) / max(n - 1, 1)
        case "daily":
            # The hour of the day in the middle of each interval, UTC.
            begin = start.hour + start.minute / 60 + start.second / 3600
            hours = (begin + (np.cumsum(seconds) - seconds / 2) / 3600) % 24
            return workload.level + span * np.interp(hours, _DAY_HOURS, _DAY_SHARES)
        case "bursts":
            share = workload.burst_share / workload.burst_intervals
            starts = (rng.random(n) < share).astype(np.int64)
            lasting = np.convolve(starts, np.ones(workload.burst_intervals))[:n] > 0
            return np.where(lasting, workload.peak, workload.level)


class Demand:
    """Demand of the users, (intervals,) each: events, pages or processor seconds a second.

    Attributes:
        measurement, allocation, population: its inputs.
        users, load: (intervals, groups) users logged on, and their load.
        virtual_processors: of the users logged on.
        emulation, cp, timer_cp: processors that the work keeps busy; the last is the part of `cp`
            that serves timers.
        volume_load: load of the users, weighted by their processor time.
        resident, expanded, slots: pages that the users hold in storage, expanded storage and on
            DASD, in this order of preference. A page keeps its slot for a while after it was read.
        xstor_pages, migrated, dasd_pages, moved_below_2g: pages a second between storage, expanded
            storage and DASD, and below 2 GB.
    """

    def __init__(self, allocation: Allocation, population: Population) -> None:
        self.allocation, self.population = allocation, population
        self.measurement = measurement = allocation.measurement
        level, machine, groups = measurement.run.cp_level, measurement.machine, measurement.groups
        self.load = _loads(measurement, allocation.timeline.seconds)
        self.users = population.counts(measurement.intervals)
        work = self.users * self.load

        def total(key: str) -> F64:
            summed: F64 = work @ np.array([getattr(group, key) for group in groups])
            return summed

        loops = [population.looping(k).sum() / 100 for k in range(measurement.intervals)]
        computing = work @ np.array([g.cpu_percent * g.weight / 100 for g in groups])
        self.emulation: F64 = computing + np.array(loops)
        self.virtual_processors = self.users @ np.array([g.virtual_processors for g in groups])
        timers, dispatches = total("timers_per_s"), total("dispatches_per_s")
        simulations = total("simulations_per_s")
        self.dispatches = timers + dispatches
        self.simulations = 2 * timers + simulations
        self.diagnoses = total("diagnoses_per_s")
        diagnose_44 = total("diagnose_44_per_s")
        fast = _FAST_SHARE if level >= FAST_DIAGNOSE_SINCE else 0.0
        self.diagnose_44, self.diagnose_44_fast = diagnose_44 * (1 - fast), diagnose_44 * fast
        self.transactions = total("transactions_per_s")
        self.volume_load = self._volume_load(work)
        # I/Os of all volumes except paging.
        volumes = [v for v in measurement.scenario.volumes if v.kind != "page"]
        ios = sum(v.io_per_s * v.count for v in volumes) * self.volume_load
        self._hold_pages()
        self._move_pages(ios)
        self.timer_cp = timers * (machine.dispatch_us + 2 * machine.simulation_us) / 1e6
        other_us = (
            (self.dispatches - timers) * machine.dispatch_us
            + (self.simulations - 2 * timers) * machine.simulation_us
            + ios * machine.io_us
            + (self.xstor_pages + self.dasd_pages) * machine.page_us
        )
        self.cp = self.timer_cp + other_us / 1e6

    def _volume_load(self, work: F64) -> F64:
        groups = self.measurement.groups
        weights = np.array([g.cpu_percent * g.weight * g.count for g in groups])
        counts = np.array([g.count for g in groups])
        share: F64 = (work / counts) @ (weights / max(float(weights.sum()), 1e-9))
        return share if weights.sum() else (work.sum(axis=1) / max(float(counts.sum()), 1.0))

    def _hold_pages(self) -> None:
        frames = self.measurement.frames
        sets = np.array([256 * g.working_set_mib for g in self.measurement.groups])
        pages = (self.users * (0.7 + 0.3 * np.minimum(self.load, 1.0))) @ sets
        self.resident: F64 = np.minimum(pages, 0.97 * frames.for_users)
        self.expanded: F64 = np.minimum(pages - self.resident, 0.95 * frames.expanded)
        paged = np.minimum(pages - self.resident - self.expanded, 0.9 * frames.slots)
        self.slots: F64 = paged + np.minimum(0.05 * pages, 0.05 * frames.slots)

    def _move_pages(self, ios: F64) -> None:
        measurement, storage = self.measurement, self.measurement.storage
        frames = measurement.frames
        bound = measurement.run.cp_level < MOVES_BELOW_UNTIL and frames.above > 0
        self.moved_below_2g = ios * frames.users_above_share * _MOVED_SHARE * bound
        paged = self.slots - np.minimum(self.slots, 0.05 * self.resident)
        self.dasd_pages = 2 * paged * storage.churn_per_s
        self.migrated = self.dasd_pages * _MIGRATED_SHARE / 2 * (frames.expanded > 0)
        self.xstor_pages = 2 * self.expanded * storage.churn_per_s + self.migrated


@dataclass(frozen=True, slots=True)
class Transactions:
    """Transactions that ended in each interval, (intervals,), and their response times (s)."""

    trivial: I64
    nontrivial: I64
    trivial_s: F64
    nontrivial_s: F64

    @classmethod
    def build(cls, demand: Demand) -> Transactions:
        """Build the transactions of a run; without a rate there are none."""
        measurement = demand.measurement
        rng, n = measurement.rng("transactions"), measurement.intervals
        settings = measurement.scenario.transactions
        spread = measurement.scenario.spread / 4
        target = measurement.targets.tx_rate
        count = demand.allocation.counts("transaction counts", demand.transactions, target, spread)
        share = settings.trivial_share * around_one(rng, n, 0.01)
        trivial = floor_int(count * np.minimum(share, 1.0))
        slow = around_one(rng, n, 0.05)
        return cls(
            trivial, count - trivial, settings.trivial_s * slow, settings.nontrivial_s * slow
        )

    @property
    def count(self) -> I64:
        """Number of transactions, (intervals,)."""
        return self.trivial + self.nontrivial
