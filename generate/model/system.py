"""The model of a run: CP at work, and the state at one sample with the results cached for it.

The number of CP's services follows from the groups' rates, their distribution from the kind of
guest.
"""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from typing import Any, TypeVar

import numpy as np

from ...schemas import layout
from ..numeric import F64, I64, U64, around_one, floor_int
from ..scenario.scenario import UserGroup
from .measurement import TOD_PER_S, Allocation, Measurement, ModelClock, Timeline, moment
from .population import Demand, Linux, Population, Transactions, Users
from .presence import Presence, Stay
from .processors import Partitions, Processors
from .sampling import Sampling
from .storage import Flows, Levels, Volumes
from .virtual_devices import VirtualDevices


def entry_of(record: str, code: str) -> int:
    """Index of the entry with that code, in a record with one group."""
    return layout(record).groups[0].codes.index(code)


def _mix(record: str, services: str, rate: str, groups: tuple[UserGroup, ...]) -> F64:
    """(groups, entries): requests of one user of each group in a second at load 1.

    Args:
        services: section of `services.toml`. rate: key of a group with the number of them.
    """
    text = (files(__package__) / "services.toml").read_text(encoding="utf-8")
    weights_of = tomllib.loads(text)[services]
    mix = np.zeros((len(groups), len(layout(record).groups[0].codes)))
    for row, group in enumerate(groups):
        weights = weights_of[group.guest]
        for code, weight in weights.items():
            mix[row, entry_of(record, code)] = getattr(group, rate) * weight / sum(weights.values())
    return mix


def _activity(demand: Demand) -> dict[str, I64]:
    """(intervals,) counts of CP's work."""
    targets, counts = demand.measurement.targets, demand.allocation.counts
    slow, fast = demand.diagnose_44, demand.diagnose_44_fast
    return {
        "dispatches": counts("dispatches", demand.dispatches),
        "simulations": counts("simulations", demand.simulations),
        "diagnoses": counts("diagnoses", demand.diagnoses),
        "diagnose_44": counts("diagnose 44", slow, targets.diag44_rate),
        "diagnose_44_fast": counts("diagnose 44 fast", fast, targets.diag44_fast_rate),
        # New work is signalled to a waiting processor.
        "signals": counts("signals", demand.dispatches * 0.12),
    }


_FULLEST = 0.995
"""Utilization above which the length of the queue depends on the shortage only."""

_LONGEST = 20.0
"""Longest response as a multiple of that on an idle system; then users start no new work."""


class Lists:
    """Virtual processors at each sample, (intervals + 1,): those in the dispatch list, by state.

    Their running ones equal the busy real processors. running + waits + idle = dispatched; the
    others are eligible or dormant.

    `logged_on` are the users, `defined` their virtual processors.
    """

    def __init__(self, demand: Demand, processors: Processors) -> None:
        measurement, timeline = demand.measurement, demand.allocation.timeline
        rng, n, p = measurement.rng("scheduler"), measurement.intervals, measurement.processors
        groups, population = measurement.groups, demand.population

        def sampled(mean: F64, spread: float) -> I64:
            # Rounded up or down at random, so that small means are not always 0.
            return floor_int(mean * around_one(rng, n + 1, spread) + rng.random(n + 1))

        def of_groups(shares: list[float]) -> I64:
            active = np.minimum(demand.load, 1.0) * demand.users
            return sampled(_at_samples(active @ np.array(shares)), 0.02)

        every = np.ones(len(population.names), dtype=np.int64)
        self.logged_on = population.sums_at(every)
        rows = [int(population.processors.at(sample).sum()) for sample in range(n + 1)]
        self.defined = np.array(rows, dtype=np.int64)
        use = _at_samples(processors.busy.sum(axis=1) / np.maximum(p * timeline.tod, 1))
        use = np.minimum(use, _FULLEST)
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
    use = np.minimum(use, _FULLEST)
    return use * use / (1 - use) * shortage


def eligible_share(shortage: F64) -> F64:
    """Share of waiting virtual processors in the eligible list: half the work that is not done."""
    return (1.0 - 1.0 / shortage) * 0.5


def _response_stretch(timeline: Timeline, processors: Processors) -> F64:
    """(intervals,) response time / that on an idle system, by Little's law."""
    count = processors.working.sum(axis=1)
    use = processors.busy.sum(axis=1) / np.maximum(count * timeline.tod, 1)
    running = np.maximum(use, 1e-9) * np.maximum(count, 1)
    times: F64 = 1.0 + waiting_for_cpu(use, processors.shortage) / running
    return np.minimum(times, _LONGEST)


def allocate_shares(rng: np.random.Generator, shares: F64, totals: int | I64) -> I64:
    """(parts, columns) whole numbers that add up to totals; each has its share to within one.

    The mean over many calls is the exact share, so that rare states occur.

    Args:
        shares: (parts, columns), not negative; those of a column add up to 1.
        totals: one, or (columns,).
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


_IPL_LASTS = 75 * TOD_PER_S
"""Time from an IPL in the middle of a run to the first sample after it."""


class Model:
    """The model of a run. Interval k is between the samples k and k + 1.

    The parts are sums over the system for each interval or sample; activity of single users,
    volumes and processors is computed sample by sample, so that memory does not depend on the
    length of the run.
    """

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement
        self.timeline = timeline = Timeline(measurement)
        self.clock = ModelClock(measurement, timeline)
        self.population = Population(measurement, timeline)
        self.demand = demand = Demand(Allocation(measurement, timeline), self.population)
        transactions = Transactions.build(demand)
        self.processors = Processors.build(demand, transactions)
        stretch = _response_stretch(timeline, self.processors)
        self.transactions = replace(
            transactions,
            trivial_s=transactions.trivial_s * stretch,
            nontrivial_s=transactions.nontrivial_s * stretch,
        )
        self.partitions = Partitions(measurement, timeline)
        self.levels = Levels(demand)
        self.flows = Flows.build(demand)
        self.volumes = Volumes(demand, self.flows)
        self.users = Users(measurement, self.population)
        self.sampling = Sampling(measurement, timeline, self.users, self.volumes)
        self.linux = Linux(demand, self.users)
        self.virtual = VirtualDevices(self.users, self.population)
        self.lists = Lists(demand, self.processors)
        self.activity = _activity(demand)
        groups = measurement.groups
        self.diagnosis_mix = _mix("prcdia", "diagnoses", "diagnoses_per_s", groups)
        self.instruction_mix = _mix("prcins", "instructions", "simulations_per_s", groups)

    def ipl_tod(self, sample: int) -> int:
        """TOD clock at the IPL before a sample."""
        epoch = int(self.timeline.epoch[sample])
        if epoch == 0:
            hours = self.measurement.run.ipl_hours_before
            return self.clock.origin - int(hours * 3600) * TOD_PER_S
        return self.clock.end(int(np.searchsorted(self.timeline.epoch, epoch))) - _IPL_LASTS

    def logon_tod(self, sample: int, before: int | None = None) -> U64:
        """(users,) TOD clock at the last logon of each user up to a sample, or before a moment."""
        users = self.population.users
        since = users.since(sample) if before is None else users.begun(before)
        logon = self.users.logon
        if self.timeline.epoch[sample]:
            # After an IPL in the middle of a run all users log on within half a minute.
            logon = logon // (int(logon.max(initial=0)) // (_IPL_LASTS // 2) + 1)
        tod: U64 = np.uint64(self.ipl_tod(sample)) + logon.astype(np.uint64)
        tod[since >= 0] = np.uint64(self.clock.origin) + since[since >= 0].astype(np.uint64)
        return tod

    def added_mib(self, sample: int) -> int:
        """MiB of real storage that SET STORAGE has added up to a sample."""
        edge, events = self.timeline.edges[sample], self.measurement.events
        added = (e for e in events if e.kind == "storage-add" and moment(e.at_s) <= edge)
        return sum(each.storage_mib for each in added)

    def ages(self, sample: int) -> float:
        """Number of intervals since IPL, at a sample, in which counters increased."""
        interval = self.timeline.interval_of(sample)
        return (self.clock.end(sample) - self.ipl_tod(sample)) / int(self.timeline.tod[interval])


Result = TypeVar("Result")


class Sample:
    """State of the model at one sample: levels at its end, activity of the interval before it.

    The first sample after an IPL closes no interval; its interval is the following one, whose
    activity gives the counters' start values.

    Attributes:
        seconds: nominal length of the interval.
        users, rows, boots: existence of sessions, virtual processors and guests' systems.
        online, running: virtual processors that are online in the guest's system, and those of them
            that are defined.
        disks, adapters: of virtual disks and network adapters.
        processors, unparked, devices, measured: of processors, of those with work, of devices that
            are online, and of those that are measured.
        areas: of volumes for paging and spooling; others always exist.
        present: (users,) who is logged on at the sample.
        results, names: caches of `per_sample` functions, and of names in expressions.
    """

    def __init__(self, model: Model, number: int) -> None:
        self.model, self.number = model, number
        population, devices = model.population, model.volumes
        self.interval = k = model.timeline.interval_of(number)
        self.seconds = int(model.timeline.seconds[k])
        self.high_frequency_samples = model.sampling.high_frequency(k)
        self.users = self.during(population.users)
        self.rows = self.during(population.processors)
        self.boots = self.during(population.boots)
        self.online = self.during(population.online)
        self.running = self.during(population.running)
        self.disks = self.during(model.virtual.disks.presence)
        self.adapters = self.during(model.virtual.adapters.presence)
        self.present = self.users.now
        self.times = model.processors.at(k)
        self.processors = self.during(model.processors.online)
        self.unparked = self.during(model.processors.unparked)
        self.devices, self.measured = self.during(devices.online), self.during(devices.measured)
        self.areas = self.during(devices.attached)
        self.results: dict[Callable[[Sample], Any], Any] = {}
        self.names: dict[str, Any] = {}

    def during(self, presence: Presence) -> Stay:
        """Existence in the interval; at a first sample, which ends none, nothing begins or ends."""
        stay = presence.during(self.interval)
        if not self.model.timeline.starts(self.number):
            return stay
        now = presence.at(self.number)
        none = np.zeros_like(now)
        return Stay(now, now, stay.share, none, np.ones(len(now)))


def per_sample(function: Callable[[Sample], Result]) -> Callable[[Sample], Result]:
    """Caches the result of a function for each sample."""

    @functools.wraps(function)
    def cached(sample: Sample) -> Result:
        if function not in sample.results:
            sample.results[function] = function(sample)
        result: Result = sample.results[function]
        return result

    return cached
