"""The users of a run: logons and logoffs, and constant properties of each user."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from ..numeric import F64, I64, Bool, bell, skewed
from ..scenario.users import Disturbance, UserGroup
from .measurement import TOD_PER_S, Measurement

_WAITS = (
    *("io_wait_share", "page_wait_share", "simulation_wait_share", "console_wait_share"),
    "dispatched_share",
)
_MODES = {"ESA": 0x40, "XA": 0x20, "XC": 0x08, "Z": 0x44}
"""CALMODE: architecture of the virtual machine; Z is an ESA one that has entered z/Architecture."""

_SERVICE_MACHINE = 0x80
"""USELON_CALSTAT of a service machine."""

_IOS = ("console_ios_per_s", "unit_record_ios_per_s", "network_ios_per_s")


@dataclass(frozen=True, slots=True)
class Change:
    """Some users log on or off early in an interval."""

    interval: int
    users: Bool
    on: bool


class Population:
    """Users logged on over time. A user with a later logon is not logged on at the start.

    Attributes:
        names: (users,) user ids, group after group.
        group: (users,) index of the user's group.
        groups: number of groups.
        changes: by time.
        runaways: disturbances in which users loop, with the mask of these users.
    """

    def __init__(self, measurement: Measurement) -> None:
        groups = measurement.groups
        self.names = user_ids(groups)
        self.group = np.repeat(np.arange(len(groups)), [g.count for g in groups])
        self.groups = len(groups)
        self.changes: list[Change] = []
        self.runaways: list[tuple[Disturbance, Bool]] = []
        for each in measurement.disturbances:
            users = matching(self.names, each.users)
            if each.kind in ("logon", "logoff"):
                self.changes.append(Change(each.interval, users, each.kind == "logon"))
            elif each.kind == "runaway":
                self.runaways.append((each, users))

    def at(self, sample: int) -> Bool:
        """(users,) whether each is logged on at a sample."""
        present = np.ones(len(self.names), dtype=np.bool_)
        for change in reversed(self.changes):
            present = present & ~change.users if change.on else present | change.users
        for change in self.changes:
            if change.interval < sample:
                present = present | change.users if change.on else present & ~change.users
        return present

    def counts(self, intervals: int) -> F64:
        """(intervals, groups) users logged on in each interval, or in a part of it."""
        marks = sorted({0, *(c.interval + d for c in self.changes for d in (0, 1))})
        counts = np.zeros((intervals, self.groups))
        for mark in (m for m in marks if m < intervals):
            active = self.at(mark) | self.at(mark + 1)
            counts[mark:] = np.bincount(self.group[active], minlength=self.groups)
        return counts

    def sums_at(self, intervals: int, of_groups: list[int]) -> I64:
        """(intervals + 1,) sum of a figure over the users logged on at each sample.

        Args:
            of_groups: (groups,) the figure of each user of a group.
        """
        figures = np.array(of_groups, dtype=np.int64)[self.group]
        sums = np.full(intervals + 1, int(figures[self.at(0)].sum()), dtype=np.int64)
        for change in self.changes:
            sums[change.interval + 1 :] = int(figures[self.at(change.interval + 1)].sum())
        return sums

    def looping(self, interval: int) -> F64:
        """(users,) percent of a processor that users in a loop take."""
        percent = np.zeros(len(self.names))
        for runaway, users in self.runaways:
            if runaway.interval <= interval < runaway.interval + runaway.intervals:
                percent[users] = runaway.cpu_percent
        return percent


def matching(names: npt.NDArray[np.str_], patterns: str) -> Bool:
    """(users,) whether an id matches one of some ids or patterns, separated by blanks."""
    each = patterns.split()
    matches = [any(fnmatchcase(name, pattern) for pattern in each) for name in names.tolist()]
    return np.array(matches, dtype=np.bool_)


def user_ids(groups: tuple[UserGroup, ...]) -> npt.NDArray[np.str_]:
    """(users,) ids: a group's prefix and a number, eight characters."""
    ids = [
        np.char.add(
            g.prefix, np.char.zfill(np.arange(1, g.count + 1).astype(str), 8 - len(g.prefix))
        )
        for g in groups
    ]
    return np.concatenate([np.zeros(0, "U8"), *ids])


class Users:
    """Constant properties of each user; users log on in the first half of the time since IPL.

    Attributes:
        names, group, groups: (users,) see `Population`; the groups themselves.
        logon: (users,) TOD units from IPL to logon.
        demand, size: (users,) weights of the work and of the pages.
        restless: (users,) deviation of the demand from interval to interval.
        processors, share: (users,) virtual processors; relative share.
        modes, status, storage: (users,) CALMODE and CALSTAT; bytes of virtual storage.
        owner, address: (virtual processors,) index of the user; address of the processor.
        base: (users,) index of the user's first virtual processor.
        waits: (5, virtual processors) shares of time of the group: waits for I/Os, pages,
            simulation and the console, and presence in the dispatch list.
        ios: (3, users) I/Os a second to consoles, unit record devices and networks, at load 1.
        transactions: (users,) a second, at load 1.
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
        self.demand = np.concatenate([np.zeros(0), *weights])
        self.size = np.concatenate([np.zeros(0), *pages])
        self.restless = self._figures("interval_sigma")[0]
        self.processors = self.each([g.virtual_processors for g in self.groups])
        self.share = self.each([g.share for g in self.groups])
        self.modes = self.each([_MODES[g.architecture] for g in self.groups])
        self.status = self.each([_SERVICE_MACHINE * (g.guest == "server") for g in self.groups])
        self.storage = self.each([g.storage_mib << 20 for g in self.groups])
        self.base = np.cumsum(self.processors) - self.processors
        self.owner = np.repeat(np.arange(len(self.names)), self.processors)
        self.address = np.arange(len(self.owner)) - self.base[self.owner]
        self.waits = self._figures(*_WAITS)[:, self.owner]
        self.ios = self._figures(*_IOS)
        self.transactions = self._figures("transactions_per_s")[0]

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
