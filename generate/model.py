"""The whole system during one run: every noun of the model, built in the order of its causes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .activity import Activity
from .cache import Cache
from .clock import U64, Clock
from .course import Course
from .dasd import Volumes, VolumeWork
from .demand import Demand
from .disks import DiskWork
from .linux import Linux
from .locks import Locks
from .machine import Processors, Times
from .measurement import SCM_PER_S, TOD_PER_S, Measurement
from .messages import Messages, Traffic
from .noise import I64, partition
from .partitions import Dispatched, Partitions
from .roster import Roster
from .scheduler import Lists, stretch
from .services import Mixes, Services
from .states import States
from .storage import Flows, Levels, Moved
from .timeline import Bool, Timeline
from .transaction_classes import TransactionClasses
from .transactions import Transactions
from .users import Held, Used, Users
from .virtual_ios import VirtualIos

IPL_LASTS = 75 * TOD_PER_S
"""From IPL to the first sample after it, when the system comes up in the middle of a run."""


@dataclass(frozen=True, slots=True)
class Model:
    """What happens in a run. Interval k lies between the samples k and k + 1.

    Here are sums over the system, one figure an interval or sample; what single users, volumes
    and processors do is worked out sample by sample, so that memory does not grow with the run.
    """

    measurement: Measurement
    timeline: Timeline
    clock: Clock
    roster: Roster
    demand: Demand
    transactions: Transactions
    partitions: Partitions
    processors: Processors
    levels: Levels
    flows: Flows
    volumes: Volumes
    users: Users
    linux: Linux
    lists: Lists
    activity: Activity
    mixes: Mixes

    @classmethod
    def of(cls, measurement: Measurement) -> Model:
        """The system of a run."""
        timeline = Timeline.of(measurement)
        roster, course = Roster.of(measurement), Course(measurement, timeline)
        demand = Demand.of(measurement, timeline, roster)
        transactions = Transactions.of(measurement, course, demand)
        processors = Processors.of(measurement, course, demand, transactions)
        flows = Flows.of(measurement, course, demand)
        users = Users.of(measurement, roster)
        return cls(
            measurement=measurement,
            timeline=timeline,
            clock=Clock.of(measurement, timeline),
            roster=roster,
            demand=demand,
            transactions=transactions.stretched(stretch(timeline, processors)),
            partitions=Partitions.of(measurement),
            processors=processors,
            levels=Levels.of(measurement, course, demand),
            flows=flows,
            volumes=Volumes.of(measurement, course, demand, flows),
            users=users,
            linux=Linux.of(measurement, timeline, demand, users),
            lists=Lists.of(measurement, timeline, demand, processors, roster),
            activity=Activity.of(measurement, course, demand),
            mixes=Mixes.of(measurement.groups),
        )

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
            # After an IPL in the middle of a run everybody is back within half a minute.
            logon = logon // (int(logon.max(initial=0)) // (IPL_LASTS // 2) + 1)
        found: U64 = np.uint64(self.ipl_tod(sample)) + logon.astype(np.uint64)
        for change in self.roster.changes:
            if change.on and change.interval < sample:
                found[change.users] = self.change_tod(change.interval)
        return found

    def change_tod(self, interval: int) -> int:
        """TOD clock at which what happens early in an interval happens."""
        return self.clock.end(interval) + int(self.timeline.tod[interval]) // 16

    def ages(self, sample: int) -> float:
        """Intervals during which counters have grown since IPL, at a sample."""
        interval = self.timeline.interval_of(sample)
        return (self.clock.end(sample) - self.ipl_tod(sample)) / int(self.timeline.tod[interval])


class Sample:
    """What one sample sees: levels at its end, and what the interval before it brought.

    The first sample after an IPL closes no interval; its interval is the one that follows, from
    whose activity the counters' start values are drawn.
    """

    def __init__(self, model: Model, number: int) -> None:
        self.model = model
        self.number = number
        self.interval = model.timeline.interval_of(number)

    @cached_property
    def present(self) -> Bool:
        """(users,) who is logged on at the sample."""
        return self.model.roster.at(self.number)

    @cached_property
    def everybody(self) -> bool:
        """Whether all users are logged on at the sample."""
        return bool(self.present.all())

    @cached_property
    def _at_ends(self) -> tuple[Bool, Bool]:
        """(users,) who is logged on where the interval begins, and where it ends."""
        roster, k = self.model.roster, self.interval
        return roster.at(k), roster.at(k + 1)

    @cached_property
    def active(self) -> Bool:
        """(users,) who was logged on during the interval or a part of it."""
        before, behind = self._at_ends
        return before | behind

    @cached_property
    def arriving(self) -> Bool:
        """(users,) who logged on in the interval."""
        before, behind = self._at_ends
        return behind & ~before

    @cached_property
    def leaving(self) -> Bool:
        """(users,) who logged off in the interval."""
        before, behind = self._at_ends
        return before & ~behind

    @cached_property
    def times(self) -> Times:
        """What the processors did in the interval."""
        return self.model.processors.at(self.interval)

    @cached_property
    def all_online(self) -> bool:
        """Whether all processors were online in the interval."""
        return bool(self.times.online.all())

    @cached_property
    def volumes_online(self) -> Bool:
        """(volumes,) which were online in the interval."""
        return self.model.volumes.online(self.interval)

    @cached_property
    def dispatched(self) -> Dispatched:
        """For how long the machine dispatched the processors of its partitions."""
        return Dispatched.of(self)

    @cached_property
    def locks(self) -> Locks:
        """Spins of the interval by lock."""
        return Locks.of(self.times)

    @cached_property
    def services(self) -> Services:
        """What guests asked CP for in the interval, by processor."""
        return Services.of(self)

    @cached_property
    def paging(self) -> Moved:
        """Pages moved in the interval, by processor."""
        rng = self.model.measurement.rng(f"paging in interval {self.interval}")
        return self.model.flows.at(self.interval, self.times.cp, rng)

    @cached_property
    def activity(self) -> Activity:
        """CP's work in the interval, by processor."""
        return self.model.activity.at(self.interval, self.times.cp)

    @cached_property
    def volumes(self) -> VolumeWork:
        """What the volumes did in the interval."""
        model = self.model
        scm = float(model.timeline.seconds[self.interval] * SCM_PER_S)
        return VolumeWork.of(model.volumes, model.flows, self.interval, scm, self.volumes_online)

    @cached_property
    def disks(self) -> DiskWork:
        """What kind of I/Os the volumes did in the interval."""
        return DiskWork.of(self)

    @cached_property
    def io_starts(self) -> I64:
        """(processors,) I/Os started in the interval."""
        return partition(int(self.volumes.starts.sum()), self.times.cp)

    @cached_property
    def cache(self) -> Cache:
        """What the minidisk cache did in the interval."""
        return Cache.of(self)

    @property
    def user_ios(self) -> int:
        """Virtual I/Os to disks in the interval: those done and those the cache saved."""
        mine = ~self.model.volumes.is_cp
        return int((self.volumes.starts + self.volumes.avoided)[mine].sum())

    @cached_property
    def transaction_classes(self) -> TransactionClasses:
        """Transactions of the interval by class of user."""
        return TransactionClasses.of(self)

    @cached_property
    def used(self) -> Used:
        """What the users used in the interval."""
        return Used.of(self)

    @cached_property
    def messages(self) -> Messages:
        """Messages that virtual machines sent each other in the interval, by processor."""
        return Messages.of(self)

    @cached_property
    def traffic(self) -> Traffic:
        """What the users sent and spooled in the interval."""
        return Traffic.of(self)

    @cached_property
    def virtual_ios(self) -> VirtualIos:
        """The users' I/Os in the interval, disks excepted."""
        return VirtualIos.of(self)

    @cached_property
    def states(self) -> States:
        """The states of the virtual processors in the interval."""
        return States.of(self)

    @cached_property
    def blocks_written(self) -> tuple[U64, I64]:
        """When each Linux guest wrote its blocks, TOD, and how often it had by then."""
        return self.model.linux.blocks(self)

    @cached_property
    def held(self) -> Held:
        """What the users hold at the sample."""
        return Held.of(self)

    @property
    def high_frequency_samples(self) -> int:
        """High-frequency samples in the interval."""
        rate = self.model.measurement.scenario.monitor.high_frequency_s
        return max(1, round(int(self.model.timeline.seconds[self.interval]) / rate))
