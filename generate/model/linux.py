"""Linux guests that write APPLDATA blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..numeric import F64, I64, bell, floor_int
from ..scenario.users import FileSystem, GuestProcess, UserGroup
from .demand import Demand
from .measurement import TOD_PER_S
from .population import Users

BUSY = ("user", "nice", "system", "irq", "softirq")
"""Uses of a guest's virtual time."""

_BUSY_SHARES = np.array([0.72, 0.01, 0.2, 0.02, 0.05])
_LOAD_MINUTES = (1, 5, 15)


@dataclass(frozen=True)
class Reported:
    """An item that daemons of some guests report: a file system, a process or a process summary.

    Attributes:
        owner: (guests,) index of the user of each guest that has the item.
        level: number of its buffer (modification level of the product).
        of: the file system or process of the scenario; the group for the summary.
    """

    owner: I64
    level: int
    of: FileSystem | GuestProcess | UserGroup


def _reported(
    users: Users, listed: Callable[[UserGroup], Sequence[FileSystem | GuestProcess | UserGroup]]
) -> list[Reported]:
    """All items of the groups, with the users of the group; buffers have even numbers."""
    group = users.each(list(range(len(users.groups))))
    return [
        Reported(np.flatnonzero(group == place), 2 * number, item)
        for place, each in enumerate(users.groups)
        for number, item in enumerate(listed(each))
    ]


class Linux:
    """The guests of a run whose groups have `appldata`.

    Attributes:
        owner: (guests,) index of the user.
        processors: (guests,) virtual processors.
        by_processors: indices of guests by number of processors, fewest first.
        memory, swap, working_set: (guests,) KiB of memory, of swap space, and of the working set.
        modes: (5, guests) shares of the busy time, in the order of `BUSY`.
        cached, packet: (guests,) share of used memory that caches files; factor on the size of
            packets.
        threads: (guests,) threads of an idle guest.
        lag: (guests,) TOD units from the time a block is written to the sample.
        averages: (3, intervals, groups) load averages over 1, 5, 15 minutes / current load.
        file_systems, processes, summaries: items of guests that run mon_fsstatd or mon_procd.
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
        self.averages = _averages(demand.load, demand.allocation.timeline.seconds)
        self.file_systems = _reported(users, lambda group: group.file_systems)
        self.processes = _reported(users, lambda group: group.processes)
        self.summaries = _reported(users, lambda group: (group,) if group.processes else ())
        counts = sorted(set(self.processors.tolist()))
        self.by_processors = [np.flatnonzero(self.processors == count) for count in counts]

    def virtual_processors(self, chosen: I64) -> I64:
        """(chosen, processors) indices of the guests' virtual processors.

        Args:
            chosen: indices of guests, all with the same number of processors.
        """
        count = int(self.processors[chosen[0]]) if len(chosen) else 0
        return self._base[chosen, None] + np.arange(count)


def _averages(load: F64, seconds: I64) -> F64:
    """(3, intervals, groups) load averages / current load."""
    averages = np.empty((len(_LOAD_MINUTES), *load.shape))
    for place, minutes in enumerate(_LOAD_MINUTES):
        decay = 60.0 * minutes / (60.0 * minutes + seconds)
        average: F64 = load[0]
        for k in range(len(load)):
            average = average * decay[k] + load[k] * (1.0 - decay[k])
            averages[place, k] = average
    return averages / np.maximum(load, 1e-9)
