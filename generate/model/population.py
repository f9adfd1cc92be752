"""The users of a run: who is logged on, their demand over time, and Linux in guests.

A target determines the total of a figure in a run, the demand its distribution over time.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..numeric import F64, I64, Bool, around_one, bell, floor_int, skewed
from ..scenario.scenario import (
    Event,
    FileSystem,
    GuestInterface,
    GuestProcess,
    UserGroup,
    Workload,
)
from .measurement import TOD_PER_S, Allocation, Measurement, Timeline, moment
from .presence import Presence, Switch

_WAITS = ("io_wait_share", "page_wait_share", "simulation_wait_share", "console_wait_share")
_MODES = {"ESA": 0x40, "XA": 0x20, "XC": 0x08, "Z": 0x44}
"""CALMODE: architecture of the virtual machine; Z is an ESA one that has entered z/Architecture."""


class Population:
    """Users logged on over time. A user whose first event is a logon is not logged on before it.

    Attributes:
        names, group: (users,) user ids, group after group; index of the user's group.
        owner, address: (virtual processors,) index of the user; address of the processor.
        users, processors, boots: existence of the users' sessions, of their virtual processors, and
            of the systems that run in them.
        online, running: when virtual processors are online in the system of a guest, while its user
            is logged on, and while they are defined, too.
        shares: share of some users from a moment on, in order.
    """

    def __init__(self, measurement: Measurement, line: Timeline) -> None:
        groups, self._line, self._events = measurement.groups, line, measurement.events
        self.names = user_ids(groups)
        self.group = np.repeat(np.arange(len(groups)), [g.count for g in groups])
        self.groups = len(groups)
        counts = np.repeat([g.virtual_processors for g in groups], [g.count for g in groups])
        self.owner = np.repeat(np.arange(len(self.names)), counts)
        self.address = np.arange(len(self.owner)) - (np.cumsum(counts) - counts)[self.owner]
        self._runaways: list[tuple[Event, Bool]] = []
        shares: list[tuple[int, Bool, int]] = []
        self._clocks: list[tuple[int, Bool, int]] = []
        sessions, defined, boots = list[Switch](), list[Switch](), list[Switch]()
        online = list[Switch]()
        for each in measurement.events:
            users, at = matching(self.names, each.users), moment(each.at_s)
            match each.kind:
                case "logon" | "logoff":
                    sessions.append(Switch(at, users, each.kind == "logon"))
                case "define-cpu" | "detach-cpu":
                    rows = users[self.owner] & (self.address == each.processor)
                    defined.append(Switch(at, rows, each.kind == "define-cpu"))
                case "cpu-online" | "cpu-offline":
                    rows = users[self.owner] & (self.address == each.processor)
                    online.append(Switch(at, rows, each.kind == "cpu-online"))
                case "reboot":
                    down = moment(each.at_s + each.lasts_s)
                    boots += [Switch(at, users, False), Switch(down, users, True)]
                case "share":
                    shares.append((at, users, each.share))
                case "guest-clock":
                    self._clocks.append((at, users, each.clock_s))
                case "runaway":
                    self._runaways.append((each, users))
        boots.sort(key=lambda switch: switch.moment)
        of_rows = [Switch(s.moment, s.objects[self.owner], s.on) for s in sessions]
        self.users = Presence(line, len(self.names), sessions)
        self.processors = Presence(line, len(self.owner), of_rows, defined)
        self.online = Presence(line, len(self.owner), of_rows, online)
        self.running = Presence(line, len(self.owner), of_rows, defined, online)
        self.boots = Presence(line, len(self.names), sessions, boots)
        self._systems = sessions, boots
        # SET SHARE is for users who are logged on.
        self.shares = [(at, users & self.users.states(at), share) for at, users, share in shares]

    def items(self, begin: str, end: str, name: str) -> Presence:
        """Existence of an item in guests, which two kinds of events begin and end by its name.

        It is there while the system of its guest is.
        """
        named = (e for e in self._events if e.kind in (begin, end) and e.name == name)
        switches = [
            Switch(moment(each.at_s), matching(self.names, each.users), each.kind == begin)
            for each in named
        ]
        return Presence(self._line, len(self.names), *self._systems, switches)

    def devices(self, owner: I64, numbers: I64, begin: str, end: str) -> Presence:
        """Existence of virtual devices, which two kinds of events begin and end by their number.

        They are there while their user is logged on. `owner`, `numbers`: (devices,) index of the
        user, and number of the device.
        """
        switches = [
            Switch(
                moment(each.at_s),
                matching(self.names, each.users)[owner] & (numbers == int(each.device, 16)),
                each.kind == begin,
            )
            for each in self._events
            if each.kind in (begin, end)
        ]
        sessions = [Switch(s.moment, s.objects[owner], s.on) for s in self._systems[0]]
        return Presence(self._line, len(owner), sessions, switches)

    def counts(self) -> F64:
        """(intervals, groups) users logged on in each interval, a part of it as a part of one."""
        shares = [self.users.during(k).share for k in range(len(self._line.tod))]
        return np.array([np.bincount(self.group, each, self.groups) for each in shares])

    def sums_at(self, of_users: I64) -> I64:
        """(intervals + 1,) sum of a figure of users over those logged on at each sample."""
        sums = [int(of_users[self.users.at(n)].sum()) for n in range(len(self._line.tod) + 1)]
        return np.array(sums, dtype=np.int64)

    def looping(self, interval: int) -> F64:
        """(users,) percent of a processor that users in a loop take, mean over an interval."""
        percent = np.zeros(len(self.names))
        for runaway, users in self._runaways:
            percent[users] += runaway.cpu_percent * self._line.covered(runaway)[interval]
        return percent

    def clock_offset(self, sample: int) -> I64:
        """(users,) TOD units by which the clocks of guests are fast at a sample."""
        offset: I64 = np.zeros(len(self.names), dtype=np.int64)
        for at, users, seconds in self._clocks:
            if at <= self._line.edges[sample]:
                offset[users] += seconds * TOD_PER_S
        return offset


def matching(names: npt.NDArray[np.str_], patterns: str) -> Bool:
    """(users,) whether an id matches one of some ids or patterns, separated by blanks."""
    each = patterns.split()
    matches = [any(fnmatchcase(name, pattern) for pattern in each) for name in names.tolist()]
    return np.array(matches, dtype=np.bool_)


def user_ids(groups: tuple[UserGroup, ...]) -> npt.NDArray[np.str_]:
    """(users,) ids: a group's prefix and a number, eight characters."""
    ids = [
        f"{group.prefix}{number:0{8 - len(group.prefix)}d}"
        for group in groups
        for number in range(1, group.count + 1)
    ]
    return np.array(ids, dtype=np.str_)


class Users:
    """Constant properties of each user; users log on in the first half of the time since IPL.

    Attributes:
        logon: (users,) TOD units from IPL to logon.
        demand, size, restless: (users,) weights of the work and of the pages; deviation of the
            demand from interval to interval.
        modes, status, storage: (users,) CALMODE and CALSTAT; bytes of virtual storage.
        owner, address: (virtual processors,) index of the user; address of the processor.
        base: (users,) index of the user's first virtual processor.
        waits: (5, virtual processors) shares of time of the group: waits for I/Os, pages,
            simulation and the console, and presence in the dispatch list.
        ios: (3, users) I/Os a second to consoles, unit record devices and networks, at load 1.
    """

    def __init__(self, measurement: Measurement, population: Population) -> None:
        rng, self.groups = measurement.rng("users"), measurement.groups
        self.names, self.group = population.names, population.group
        uptime = measurement.run.ipl_hours_before * 3600 * TOD_PER_S
        weights = [
            g.cpu_percent * g.weight * skewed(rng, g.count, g.weight_sigma) for g in self.groups
        ]
        pages = [g.working_set_mib * (1.0 + 0.08 * bell(rng, g.count)) for g in self.groups]
        logon = np.floor((0.05 + 0.45 * rng.random(len(self.names))) * uptime).astype(np.int64)
        self.logon = np.sort(logon)
        self.demand, self.size = (np.concatenate([np.zeros(0), *p]) for p in (weights, pages))
        self.restless = self._figures("interval_sigma")[0]
        self.processors = self.each([g.virtual_processors for g in self.groups])
        self._share, self._shares = self.each([g.share for g in self.groups]), population.shares
        self.modes = self.each([_MODES[g.architecture] for g in self.groups])
        # USELON_CALSTAT of a service machine is X'80'.
        self.status = self.each([0x80 * (g.guest == "server") for g in self.groups])
        self.storage = self.each([g.storage_mib << 20 for g in self.groups])
        self.base = np.cumsum(self.processors) - self.processors
        self.owner, self.address = population.owner, population.address
        self.waits = self._figures(*_WAITS, "dispatched_share")[:, self.owner]
        self.ios = self._figures("console_ios_per_s", "unit_record_ios_per_s", "network_ios_per_s")
        self.transactions = self._figures("transactions_per_s")[0]

    def share(self, at: int) -> I64:
        """(users,) relative share of each at a moment of the run."""
        share = self._share.copy()
        for since, users, value in self._shares:
            if since <= at:
                share[users] = value
        return share

    def _figures(self, *keys: str) -> F64:
        """(keys, users) values of some keys of the users' groups."""
        of_groups = [[getattr(g, key) for g in self.groups] for key in keys]
        return np.array(of_groups, dtype=np.float64)[:, self.group]

    def each(self, of_groups: list[int]) -> I64:
        """(users,) the value of the user's group."""
        return np.array(of_groups, dtype=np.int64)[self.group]

    def on_base(self, of_users: I64) -> I64:
        """(virtual processors,) the value of the user on the first processor; 0 on the others."""
        of_processors = np.zeros(len(self.owner), dtype=np.int64)
        of_processors[self.base] = of_users
        return of_processors


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
        users, load: (intervals, groups) users logged on, and their load.
        contention: lock -> (intervals,) processors that spin for it, beside the usual ones.
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
        self.users = population.counts()
        work = self.users * self.load

        def total(key: str) -> F64:
            return np.asarray(work @ np.array([getattr(group, key) for group in groups]))

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
        # From 5.2.0 on CP handles most DIAGNOSE X'44' in a few instructions.
        fast = 0.92 if level >= "5.2.0" else 0.0
        self.diagnose_44, self.diagnose_44_fast = diagnose_44 * (1 - fast), diagnose_44 * fast
        self.transactions = total("transactions_per_s")
        weights = np.array([g.cpu_percent * g.weight * g.count for g in groups])
        counts = np.array([g.count for g in groups])
        if weights.sum():
            self.volume_load: F64 = (work / counts) @ (weights / max(float(weights.sum()), 1e-9))
        else:
            self.volume_load = work.sum(axis=1) / max(float(counts.sum()), 1.0)
        # I/Os of all volumes except paging.
        volumes = [v for v in measurement.scenario.volumes if v.kind != "page"]
        ios = sum(v.io_per_s * v.count for v in volumes) * self.volume_load
        self._page(ios)
        self.timer_cp = timers * (machine.dispatch_us + 2 * machine.simulation_us) / 1e6
        other_us = (
            (self.dispatches - timers) * machine.dispatch_us
            + (self.simulations - 2 * timers) * machine.simulation_us
            + ios * machine.io_us
            + (self.xstor_pages + self.dasd_pages) * machine.page_us
        )
        self.contention = {
            each.name: each.cpu_percent / 100 * allocation.timeline.covered(each)
            for each in measurement.events
            if each.kind == "contention"
        }
        spinning = sum(self.contention.values(), np.zeros(measurement.intervals))
        self.cp = self.timer_cp + other_us / 1e6 + spinning

    def _page(self, ios: F64) -> None:
        """Set the pages that the users hold, and those that move."""
        measurement, storage = self.measurement, self.measurement.storage
        frames = measurement.frames
        sets = np.array([256 * g.working_set_mib for g in measurement.groups])
        pages = (self.users * (0.7 + 0.3 * np.minimum(self.load, 1.0))) @ sets
        self.resident: F64 = np.minimum(pages, 0.97 * frames.for_users)
        self.expanded: F64 = np.minimum(pages - self.resident, 0.95 * frames.expanded)
        paged = np.minimum(pages - self.resident - self.expanded, 0.9 * frames.slots)
        self.slots: F64 = paged + np.minimum(0.05 * pages, 0.05 * frames.slots)
        # Before 5.2.0 pages for I/O and for CP itself must be below 2 GB.
        bound = measurement.run.cp_level < "5.2.0" and frames.above > 0
        self.moved_below_2g = ios * frames.users_above_share * 0.3 * bound
        paged = self.slots - np.minimum(self.slots, 0.05 * self.resident)
        self.dasd_pages = 2 * paged * storage.churn_per_s
        self.migrated = self.dasd_pages * 0.5 / 2 * (frames.expanded > 0)
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


BUSY = ("user", "nice", "system", "irq", "softirq")
"""Uses of a guest's virtual time."""

_BUSY_SHARES = np.array([0.72, 0.01, 0.2, 0.02, 0.05])


class Reported(NamedTuple):
    """An item that some guests report: a file system, a process, an interface, a process summary.

    `owner` is (guests,) the index of the user of each guest that can have the item, `level` the
    number of its buffer (modification level of the product), `of` the group for a summary.
    `presence` is that of the item in all users.
    """

    owner: I64
    level: int
    of: FileSystem | GuestProcess | GuestInterface | UserGroup
    presence: Presence


def _reported(
    users: Users,
    listed: Callable[[UserGroup], Sequence[FileSystem | GuestProcess | GuestInterface | UserGroup]],
    presence: Callable[[Any], Presence],
) -> list[Reported]:
    """All items of the groups, with the users of the group; buffers have even numbers."""
    return [
        Reported(np.flatnonzero(users.group == place), 2 * number, item, presence(item))
        for place, each in enumerate(users.groups)
        for number, item in enumerate(listed(each))
    ]


class Processors(NamedTuple):
    """A form of the system block: guests with as many processors, and which of these are online."""

    guests: I64
    numbers: I64


class Linux:
    """The guests of a run whose groups have `appldata`.

    Attributes:
        owner: (guests,) index of the user.
        blocks: the forms of their system blocks, fewest processors first.
        memory, swap, working_set: (guests,) KiB of memory, of swap space, and of the working set.
        modes: (5, guests) shares of the busy time, in the order of `BUSY`.
        cached, packet: (guests,) share of used memory that caches files; factor on the size of
            packets.
        threads: (guests,) threads of an idle guest.
        lag: (guests,) TOD units from the time a block is written to the sample.
        averages: (3, intervals, groups) load averages over 1, 5, 15 minutes / current load.
        file_systems, processes, summaries: items of guests that run mon_fsstatd or mon_procd.
        interfaces: those beside loopback and the first one.
    """

    def __init__(self, demand: Demand, users: Users) -> None:
        groups, rng = users.groups, demand.measurement.rng("linux")
        self.owner = np.flatnonzero(users.each([g.appldata for g in groups]))
        kib = users.each([g.storage_mib << 10 for g in groups])[self.owner]
        n = len(self.owner)
        modes = _BUSY_SHARES[:, None] * (1.0 + 0.15 * bell(rng, (len(BUSY), n)))
        self.processors = users.processors[self.owner]
        self._base = users.base[self.owner]
        # The kernel does not count itself and its page tables.
        self.memory = np.maximum(kib - kib // 64 - 4096, kib // 2)
        self.swap = kib // 2
        self.working_set = users.each([int(g.working_set_mib * 1024) for g in groups])[self.owner]
        self.modes: F64 = modes / modes.sum(axis=0)
        self.cached = 0.25 + 0.3 * rng.random(n)
        self.packet = 0.6 + 0.8 * rng.random(n)
        self.threads = 55 + floor_int(60 * rng.random(n))
        self.lag = floor_int((0.1 + 0.9 * rng.random(n)) * TOD_PER_S)
        seconds = demand.allocation.timeline.seconds
        self.averages = np.empty((3, *demand.load.shape))
        for place, minutes in enumerate((1, 5, 15)):
            decay = 60.0 * minutes / (60.0 * minutes + seconds)
            average: F64 = demand.load[0]
            for k, load in enumerate(demand.load):
                average = average * decay[k] + load * (1.0 - decay[k])
                self.averages[place, k] = average
        self.averages /= np.maximum(demand.load, 1e-9)
        items, boots = demand.population.items, demand.population.boots
        self.file_systems = _reported(
            users,
            lambda group: group.file_systems,
            lambda item: items("mount", "unmount", item.directory),
        )
        self.processes = _reported(
            users,
            lambda group: group.processes,
            lambda item: items("process-start", "process-end", item.command),
        )
        self.summaries = _reported(
            users, lambda group: (group,) if group.processes else (), lambda _: boots
        )
        self.interfaces = _reported(
            users,
            lambda group: group.interfaces,
            lambda item: items("interface-up", "interface-down", item.name),
        )
        self._online, self._users = demand.population.online, users.owner
        counts = sorted(set(self.processors.tolist()))
        samples = len(demand.allocation.timeline.edges)
        self.blocks = [
            Processors(guests, np.array(numbers))
            for guests in (np.flatnonzero(self.processors == count) for count in counts)
            for numbers in self._online_sets(guests, samples)
        ]

    def _online_sets(self, guests: I64, samples: int) -> list[tuple[int, ...]]:
        """Processors that are online together in one of some guests at a sample; all first."""
        at = self.virtual_processors(guests)
        sets = {tuple(range(at.shape[1]))}
        for sample in range(samples):
            online = self._online.at(sample)[at]
            sets |= {tuple(np.flatnonzero(each).tolist()) for each in online if each.any()}
        return sorted(sets, key=lambda each: (-len(each), each))

    def shows(self, block: Processors, sample: int) -> Bool:
        """(guests,) whether the processors that are online at a sample are those of a block."""
        at = self.virtual_processors(block.guests)
        of_block = np.isin(np.arange(at.shape[1]), block.numbers)
        shown: Bool = (self._online.at(sample)[at] == of_block).all(axis=1)
        return shown

    def online(self, owner: I64, sample: int) -> I64:
        """(owner,) number of processors that are online in some users' guests at a sample."""
        of_users = np.bincount(self._users, self._online.at(sample), int(owner.max(initial=0)) + 1)
        counts: I64 = of_users[owner].astype(np.int64)
        return counts

    def interfaces_at(self, sample: int) -> I64:
        """(guests,) number of interfaces, beside loopback and the first one, at a sample."""
        counts: I64 = np.zeros(len(self.owner), dtype=np.int64)
        for each in self.interfaces:
            counts += np.isin(self.owner, each.owner) & each.presence.at(sample)[self.owner]
        return counts

    def running(self, owner: I64, sample: int) -> I64:
        """(owner,) number of processes that run in some guests at a sample."""
        counts: I64 = np.zeros(len(owner), dtype=np.int64)
        for each in self.processes:
            counts += np.isin(owner, each.owner) & each.presence.at(sample)[owner]
        return counts

    def virtual_processors(self, chosen: I64) -> I64:
        """(chosen, processors) indices of virtual processors of guests with as many processors."""
        count = int(self.processors[chosen[0]]) if len(chosen) else 0
        return self._base[chosen, None] + np.arange(count)
