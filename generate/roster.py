"""Who is logged on when: the users of a run, their logons and logoffs."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
import numpy.typing as npt

from .measurement import Measurement
from .noise import F64, I64
from .population import UserGroup
from .timeline import Bool


@dataclass(frozen=True, slots=True)
class Change:
    """Some users log on or off early in an interval."""

    interval: int
    users: Bool
    on: bool


@dataclass(frozen=True, slots=True)
class Runaway:
    """Some users loop: from an interval on, for some, percent of a processor each."""

    users: Bool
    first: int
    behind: int
    cpu_percent: float


@dataclass(frozen=True, slots=True)
class Roster:
    """The users of a run, group after group.

    Attributes:
        names: (users,) user ids.
        group: (users,) index of each one's group.
        groups: how many groups there are.
    """

    names: npt.NDArray[np.str_]
    group: I64
    groups: int
    changes: tuple[Change, ...]
    runaways: tuple[Runaway, ...]

    @classmethod
    def of(cls, measurement: Measurement) -> Roster:
        """The users of a run. Who is to log on later is not there at first."""
        groups = measurement.groups
        names = user_ids(groups)
        changes, runaways = [], []
        for one in measurement.disturbances:
            if one.kind in ("logon", "logoff"):
                changes.append(
                    Change(one.interval, matching(names, one.users), one.kind == "logon")
                )
            elif one.kind == "runaway":
                behind = one.interval + one.intervals
                found = matching(names, one.users)
                runaways.append(Runaway(found, one.interval, behind, one.cpu_percent))
        return cls(
            names,
            np.repeat(np.arange(len(groups)), [g.count for g in groups]),
            len(groups),
            tuple(changes),
            tuple(runaways),
        )

    @property
    def users(self) -> int:
        """All of them, logged on or not."""
        return len(self.names)

    def at(self, sample: int) -> Bool:
        """(users,) whether each is logged on at a sample."""
        here = np.ones(self.users, dtype=np.bool_)
        for change in reversed(self.changes):
            if change.on:
                here &= ~change.users
            else:
                here |= change.users
        for change in self.changes:
            if change.interval < sample:
                here = here | change.users if change.on else here & ~change.users
        return here

    def active(self, interval: int) -> Bool:
        """(users,) who is logged on in that interval, or in a part of it."""
        return self.at(interval) | self.at(interval + 1)

    def counts(self, intervals: int) -> F64:
        """(intervals, groups) users logged on in each interval, or in a part of it."""
        marks = sorted({0, *(c.interval + d for c in self.changes for d in (0, 1))})
        found = np.zeros((intervals, self.groups))
        for mark in (m for m in marks if m < intervals):
            active = self.active(mark)
            found[mark:] = np.bincount(self.group[active], minlength=self.groups)
        return found

    def counts_at(self, intervals: int, each: I64 | None = None) -> I64:
        """(intervals + 1,) users logged on at each sample, or a sum over them.

        Args:
            each: (groups,) what is summed up: a figure of each user of a group.
        """
        figures = np.ones(self.users, dtype=np.int64) if each is None else each[self.group]
        found = np.full(intervals + 1, int(figures[self.at(0)].sum()), dtype=np.int64)
        for change in self.changes:
            found[change.interval + 1 :] = int(figures[self.at(change.interval + 1)].sum())
        return found

    def looping(self, interval: int) -> F64:
        """(users,) percent of a processor that users in a loop take."""
        taken = np.zeros(self.users)
        for one in self.runaways:
            if one.first <= interval < one.behind:
                taken[one.users] = one.cpu_percent
        return taken


def matching(names: npt.NDArray[np.str_], patterns: str) -> Bool:
    """(users,) whose id is one of some ids or patterns, separated by blanks."""
    wanted = patterns.split()
    found = [any(fnmatchcase(name, pattern) for pattern in wanted) for name in names.tolist()]
    return np.array(found, dtype=np.bool_)


def user_ids(groups: tuple[UserGroup, ...]) -> npt.NDArray[np.str_]:
    """(users,) ids: a group's prefix and a number, eight characters."""
    return np.concatenate([np.zeros(0, "U8"), *map(_names, groups)])


def _names(group: UserGroup) -> npt.NDArray[np.str_]:
    """(users,) ids of a group: its prefix and a number, eight characters."""
    numbers = np.arange(1, group.count + 1).astype(str)
    return np.char.add(group.prefix, np.char.zfill(numbers, 8 - len(group.prefix)))
