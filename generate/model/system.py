"""The whole system during one run: all parts of the model, built in the order of dependencies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..numeric import U64
from .demand import Demand, Transactions
from .linux import Linux
from .measurement import TOD_PER_S, Measurement
from .partitions import Partitions
from .population import Population, Users
from .processors import Processors
from .scheduler import Lists, response_stretch
from .services import Activity, Mixes
from .storage import Flows, Levels
from .timeline import Allocation, Clock, Timeline
from .volumes import Volumes

IPL_LASTS = 75 * TOD_PER_S
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
        return self.clock.end(int(np.searchsorted(self.timeline.epoch, epoch))) - IPL_LASTS

    def logon_tod(self, sample: int) -> U64:
        """(users,) TOD clock at the last logon of each user before a sample."""
        logon = self.users.logon
        if self.timeline.epoch[sample]:
            # After an IPL in the middle of a run all users log on within half a minute.
            logon = logon // (int(logon.max(initial=0)) // (IPL_LASTS // 2) + 1)
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
