"""The model of a run, and its state at one sample with the results cached for it."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from ..numeric import U64
from .control_program import Activity, Lists, Mixes, response_stretch
from .measurement import TOD_PER_S, Allocation, Clock, Measurement, Timeline
from .population import Demand, Linux, Population, Transactions, Users
from .processors import Partitions, Processors
from .storage import Flows, Levels, Volumes

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
        self.clock = Clock(measurement, timeline)
        self.population = Population(measurement)
        self.demand = demand = Demand(Allocation(measurement, timeline), self.population)
        transactions = Transactions.build(demand)
        self.processors = Processors.build(demand, transactions)
        stretch = response_stretch(timeline, self.processors)
        self.transactions = replace(
            transactions,
            trivial_s=transactions.trivial_s * stretch,
            nontrivial_s=transactions.nontrivial_s * stretch,
        )
        self.partitions = Partitions(measurement)
        self.levels = Levels(demand)
        self.flows = Flows.build(demand)
        self.volumes = Volumes(demand, self.flows)
        self.users = Users(measurement, self.population)
        self.linux = Linux(demand, self.users)
        self.lists = Lists(demand, self.processors)
        self.activity = Activity.build(demand)
        self.mixes = Mixes(measurement.groups)

    def ipl_tod(self, sample: int) -> int:
        """TOD clock at the IPL before a sample."""
        epoch = int(self.timeline.epoch[sample])
        if epoch == 0:
            hours = self.measurement.run.ipl_hours_before
            return self.clock.origin - int(hours * 3600) * TOD_PER_S
        return self.clock.end(int(np.searchsorted(self.timeline.epoch, epoch))) - _IPL_LASTS

    def logon_tod(self, sample: int) -> U64:
        """(users,) TOD clock at the last logon of each user before a sample."""
        logon = self.users.logon
        if self.timeline.epoch[sample]:
            # After an IPL in the middle of a run all users log on within half a minute.
            logon = logon // (int(logon.max(initial=0)) // (_IPL_LASTS // 2) + 1)
        tod: U64 = np.uint64(self.ipl_tod(sample)) + logon.astype(np.uint64)
        for change in self.population.changes:
            if change.on and change.interval < sample:
                tod[change.users] = self.change_tod(change.interval)
        return tod

    def change_tod(self, interval: int) -> int:
        """TOD clock of early events of an interval."""
        return self.clock.end(interval) + int(self.timeline.tod[interval]) // 16

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
        model: of the whole run.
        number: of the sample.
        interval: number of its interval.
        seconds: nominal length of the interval.
        high_frequency_samples: in the interval.
        present: (users,) who is logged on at the sample.
        active: (users,) who was logged on during the interval or a part of it.
        arriving, leaving: (users,) who logged on or off in the interval.
        times: processor times of the interval.
        volumes_online, volumes_before: (volumes,) which were online in the interval, and in that
            of the sample before.
        varied: whether a processor or device was varied on or off, or parked, in the interval.
        results: cache of `per_sample` functions.
        names: cache of the values of names in expressions.
    """

    def __init__(self, model: Model, number: int) -> None:
        self.model, self.number = model, number
        measurement, timeline, population = model.measurement, model.timeline, model.population
        self.interval = k = timeline.interval_of(number)
        self.seconds = int(timeline.seconds[k])
        high_frequency_s = measurement.scenario.monitor.high_frequency_s
        self.high_frequency_samples = max(1, round(self.seconds / high_frequency_s))
        before, after = population.at(k), population.at(k + 1)
        self.present = population.at(number)
        self.active = before | after
        self.arriving, self.leaving = after & ~before, before & ~after
        self.times = model.processors.at(k)
        self.volumes_online = model.volumes.online(k)
        self.volumes_before = model.volumes.online(timeline.interval_of(max(number - 1, 0)))
        kinds = {each.kind for each in measurement.disturbances if each.interval == k}
        self.varied = not kinds.isdisjoint({"vary-on", "vary-off", "park", "unpark"})
        self.results: dict[Callable[[Sample], Any], Any] = {}
        self.names: dict[str, Any] = {}


def per_sample(function: Callable[[Sample], Result]) -> Callable[[Sample], Result]:
    """Caches the result of a function for each sample."""

    @functools.wraps(function)
    def cached(sample: Sample) -> Result:
        try:
            result: Result = sample.results[function]
        except KeyError:
            result = sample.results[function] = function(sample)
        return result

    return cached
