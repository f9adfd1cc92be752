"""Users: who they are, and what each of them used in an interval and holds at a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .dasd import Volumes
from .machine import Processors
from .measurement import TOD_PER_S, Measurement
from .noise import F64, I64, bell, partition, skewed
from .storage import Flows, Levels


@dataclass(frozen=True, slots=True)
class Used:
    """What every user used in one interval, (users,): CPU times in TOD units, counts."""

    virtual: I64
    cp: I64
    page_ins: I64
    page_outs: I64
    dasd_reads: I64
    dasd_writes: I64
    disk_ios: I64


@dataclass(frozen=True, slots=True)
class Held:
    """What every user holds at one sample, (users,): pages, and whether it is dispatched."""

    resident_below: I64
    resident_above: I64
    expanded: I64
    slots: I64
    dispatched: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Users:
    """The users of a run, group after group.

    Attributes:
        names: (users,) user ids.
        group: (users,) index of each one's group.
        logon: (users,) TOD units from IPL to logon.
        demand: (users,) share of the work, in relation to the others.
        size: (users,) share of the pages, likewise.
        restless: (users,) deviation of the demand from interval to interval.
    """

    measurement: Measurement
    names: npt.NDArray[np.str_]
    group: I64
    logon: I64
    demand: F64
    size: F64
    restless: F64

    @classmethod
    def of(cls, measurement: Measurement) -> Users:
        """The users of a run; they log on during the first half of the time since IPL."""
        rng, groups = measurement.rng("users"), measurement.groups
        counts = [g.count for g in groups]
        names = [
            np.char.add(
                g.prefix,
                np.char.zfill(np.arange(1, g.count + 1).astype(str), 8 - len(g.prefix)),
            )
            for g in groups
        ]
        uptime = measurement.run.ipl_hours_before * 3600 * TOD_PER_S
        n = measurement.users
        return cls(
            measurement=measurement,
            names=np.concatenate(names),
            group=np.repeat(np.arange(len(groups)), counts),
            logon=np.sort(np.floor((0.05 + 0.45 * rng.random(n)) * uptime).astype(np.int64)),
            demand=np.concatenate(
                [g.weight * skewed(rng, g.count, g.weight_sigma) for g in groups]
            ),
            size=1.0 + 0.08 * bell(rng, n),
            restless=np.repeat([g.interval_sigma for g in groups], counts),
        )

    def each(self, of_groups: list[int]) -> I64:
        """(users,) a figure of each group, for its users."""
        return np.array(of_groups, dtype=np.int64)[self.group]

    def ages(self) -> F64:
        """(users,) intervals from logon to the first sample: how long counters have grown."""
        uptime = self.measurement.run.ipl_hours_before * 3600 * TOD_PER_S
        return (uptime - self.logon) / self.measurement.interval_tod

    def used(self, interval: int, processors: Processors, flows: Flows, volumes: Volumes) -> Used:
        """What they used in an interval; sums are those of processors, storage and volumes."""
        rng = self.measurement.rng(f"users in interval {interval}")
        n = len(self.demand)
        demand = self.demand * skewed(rng, n, self.restless)
        paging = demand * (0.5 + rng.random(n))
        user_disks = (volumes.is_page | volumes.is_spool) == 0
        ios = (volumes.starts + volumes.avoided)[interval][user_disks]

        def share(total: I64, weights: F64) -> I64:
            return partition(int(total.sum()), weights)

        page_ins = flows.fast_in[interval] + flows.slow_in[interval]
        return Used(
            virtual=share(processors.emulation[interval], demand),
            cp=share(processors.charged[interval], demand * (0.9 + 0.2 * rng.random(n))),
            page_ins=share(page_ins, paging),
            page_outs=share(flows.out[interval], paging * (0.8 + 0.4 * rng.random(n))),
            dasd_reads=share(flows.dasd_in[interval], paging),
            dasd_writes=share(flows.dasd_out[interval], paging),
            disk_ios=share(ios, demand),
        )

    def held(self, sample: int, levels: Levels, dispatched: int) -> Held:
        """What they hold at a sample; sums are those of storage and the scheduler's lists."""
        rng = self.measurement.rng(f"users at sample {sample}")
        n = len(self.size)
        size = self.size * (0.985 + 0.03 * rng.random(n))
        other = 2.0 - size * 0.5

        chosen = np.zeros(n, dtype=np.bool_)
        if dispatched > 0:
            eager = rng.random(n) / (self.demand + 1e-9)
            chosen[np.argpartition(eager, dispatched - 1)[:dispatched]] = True
        return Held(
            resident_below=partition(int(levels.resident_below[sample]), size),
            resident_above=partition(int(levels.resident_above[sample]), size),
            expanded=partition(int(levels.expanded[sample]), other),
            slots=partition(int(levels.slots[sample]), other),
            dispatched=chosen,
        )
