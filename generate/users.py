"""Users: what each of them uses in an interval and holds at a sample, by virtual processor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from .measurement import TOD_PER_S, Measurement
from .noise import F64, I64, bell, capped, partition, skewed
from .population import UserGroup
from .roster import Roster
from .timeline import Bool

if TYPE_CHECKING:
    from .model import Sample


_WAITS = (
    *("io_wait_share", "page_wait_share", "simulation_wait_share", "console_wait_share"),
    "dispatched_share",
)
_IOS = ("console_ios_per_s", "unit_record_ios_per_s", "network_ios_per_s")


@dataclass(frozen=True, slots=True)
class Users:
    """The users of a run.

    Attributes:
        logon: (users,) TOD units from IPL to logon.
        demand: (users,) share of the work, in relation to the others.
        size: (users,) share of the pages, likewise.
        restless: (users,) deviation of the demand from interval to interval.
        owner, address: (virtual processors,) whose each is, index of the user; and its address.
        base: (users,) index of each one's first virtual processor.
        waits: (5, virtual processors) what shares of their groups say: of the time that each waits
            for I/Os, pages, simulation and the console, and is in the dispatch list.
        ios: (3, users) I/Os a second to consoles, unit record devices and networks, at load 1.
        transactions: (users,) a second, likewise.
        share: (users,) relative share.
    """

    measurement: Measurement
    roster: Roster
    logon: I64
    demand: F64
    size: F64
    restless: F64
    owner: I64
    address: I64
    base: I64
    waits: F64
    ios: F64
    transactions: F64
    share: I64

    @classmethod
    def of(cls, measurement: Measurement, roster: Roster) -> Users:
        """The users of a run; they log on during the first half of the time since IPL."""
        rng, groups = measurement.rng("users"), measurement.groups
        counts = [g.count for g in groups]
        uptime = measurement.run.ipl_hours_before * 3600 * TOD_PER_S
        n = roster.users
        processors = np.repeat([g.virtual_processors for g in groups], counts).astype(np.int64)
        base = np.cumsum(processors) - processors
        owner = np.repeat(np.arange(n), processors)
        weights = [g.cpu_percent * g.weight * skewed(rng, g.count, g.weight_sigma) for g in groups]
        pages = [g.working_set_mib * (1.0 + 0.08 * bell(rng, g.count)) for g in groups]
        return cls(
            measurement=measurement,
            roster=roster,
            logon=np.sort(np.floor((0.05 + 0.45 * rng.random(n)) * uptime).astype(np.int64)),
            demand=np.concatenate([np.zeros(0), *weights]),
            size=np.concatenate([np.zeros(0), *pages]),
            restless=np.repeat([g.interval_sigma for g in groups], counts),
            owner=owner,
            address=np.arange(len(owner)) - base[owner],
            base=base,
            waits=_of_groups(groups, _WAITS)[:, roster.group[owner]],
            ios=_of_groups(groups, _IOS)[:, roster.group],
            transactions=_of_groups(groups, ("transactions_per_s",))[0][roster.group],
            share=np.array([g.share for g in groups], dtype=np.int64)[roster.group],
        )

    @property
    def names(self) -> npt.NDArray[np.str_]:
        """(users,) user ids."""
        return self.roster.names

    @property
    def groups(self) -> tuple[UserGroup, ...]:
        """The groups that they belong to."""
        return self.measurement.groups

    def each(self, of_groups: list[int]) -> I64:
        """(users,) a figure of each group, for its users."""
        return np.array(of_groups, dtype=np.int64)[self.roster.group]

    def on_base(self, of_users: I64) -> I64:
        """(virtual processors,) a figure of each user, on the first one; 0 on the others."""
        found = np.zeros(len(self.owner), dtype=np.int64)
        found[self.base] = of_users
        return found


def _of_groups(groups: tuple[UserGroup, ...], keys: tuple[str, ...]) -> F64:
    """(keys, groups) what the scenario says under some keys."""
    return np.array([[getattr(g, key) for g in groups] for key in keys], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Used:
    """What was used in one interval: CPU times in TOD units, counts.

    `virtual` and `cp` are (virtual processors,), everything else (users,).
    """

    virtual: I64
    cp: I64
    page_ins: I64
    page_outs: I64
    migrated: I64
    stolen: I64
    dasd_reads: I64
    dasd_writes: I64
    disk_ios: I64
    diagnoses: I64

    @classmethod
    def of(cls, sample: Sample) -> Used:
        """What they used; sums are those of processors, storage and volumes."""
        users, flows, k = sample.model.users, sample.model.flows, sample.interval
        rng = users.measurement.rng(f"users in interval {k}")
        n, owner = len(users.demand), users.owner
        load = sample.model.demand.load[k][users.roster.group]
        demand = users.demand * load * skewed(rng, n, users.restless) * sample.active
        paging = (demand + 0.02 * users.size) * sample.active * (0.5 + rng.random(n))
        writing = paging * (0.8 + 0.4 * rng.random(n))
        totals = np.array(
            [
                flows.fast_in[k] + flows.slow_in[k],
                flows.out[k],
                flows.migrated[k],
                flows.stolen[k],
                flows.dasd_in[k],
                flows.dasd_out[k],
                sample.user_ios,
                sample.model.activity.diagnoses[k],
            ]
        )
        weights = np.stack([paging, writing, writing, paging, paging, paging, demand, demand])
        virtual = _virtual(sample, demand)
        between = 0.5 + rng.random(len(owner))
        share = np.maximum(virtual, 1) * between * sample.active[owner]
        cp = _charged(sample, virtual, share)
        return cls(virtual, cp, *partition(totals, weights))


def _virtual(sample: Sample, demand: F64) -> I64:
    """(virtual processors,) virtual CPU time: of users in a loop what they take, then by demand.

    No virtual processor runs for longer than the interval.
    """
    users = sample.model.users
    total, span = int(sample.times.emulation.sum()), int(sample.model.timeline.tod[sample.interval])
    looping = sample.model.roster.looping(sample.interval) * sample.active
    taken = np.floor(
        np.minimum(looping / 100 * span, 0.9 * total / max(int((looping > 0).sum()), 1))
    )
    loops = users.on_base(taken.astype(np.int64))
    each = np.bincount(users.owner, minlength=len(demand))
    weights = (demand * (looping == 0) / each)[users.owner]
    # The first virtual processor of a guest does most of its work.
    weights = weights * np.where(users.address == 0, 1.6, 1.0)
    most = np.where(weights > 0, span * 999 // 1000, 0)
    return loops + _capped(total - int(loops.sum()), weights, most)


def _charged(sample: Sample, virtual: I64, weights: F64) -> I64:
    """(virtual processors,) CP time, in what their own work leaves of the interval if it can be."""
    total = int(sample.times.charged.sum())
    room = np.maximum(int(sample.model.timeline.tod[sample.interval]) * 999 // 1000 - virtual, 0)
    fits = int(room[weights > 0].sum()) >= total
    return _capped(total, weights, room) if fits else partition(total, weights)


def _capped(total: int, weights: F64, most: I64) -> I64:
    parts = partition(total, weights)
    return capped(total, weights, most) if (parts > most).any() else parts


@dataclass(frozen=True, slots=True)
class Held:
    """What every user holds at one sample, (users,): pages; and who is dispatched.

    Attributes:
        dispatched, eligible: (virtual processors,) which are in the dispatch or eligible list.
        in_list: (users,) who has one in the dispatch list.
        held_back: (users,) who has one in the eligible list only.
    """

    resident_below: I64
    resident_above: I64
    expanded: I64
    slots: I64
    dispatched: Bool
    eligible: Bool
    in_list: Bool
    held_back: Bool

    @classmethod
    def of(cls, sample: Sample) -> Held:
        """What they hold; sums are those of storage and the scheduler's lists."""
        users, levels, number = sample.model.users, sample.model.levels, sample.number
        rng = users.measurement.rng(f"users at sample {number}")
        n, present = len(users.size), sample.present
        size = users.size * (0.985 + 0.03 * rng.random(n))
        other = np.maximum(2.0 * users.size - 0.5 * size, 0.0)
        dispatched, eligible = _chosen(sample, rng)
        in_list = np.bincount(users.owner[dispatched], minlength=n) > 0
        held_back = (np.bincount(users.owner[eligible], minlength=n) > 0) & ~in_list
        totals = [
            int(of[number])
            for of in (levels.resident_below, levels.resident_above, levels.expanded, levels.slots)
        ]
        weights = np.stack([size, size, other, other]) * present
        below, above, expanded, slots = partition(np.array(totals), weights)
        return cls(below, above, expanded, slots, dispatched, eligible, in_list, held_back)

    @property
    def working_set(self) -> I64:
        """(users,) pages that the scheduler expects each to need."""
        return (self.resident_below + self.resident_above) * 19 // 20


def _chosen(sample: Sample, rng: np.random.Generator) -> tuple[Bool, Bool]:
    """(virtual processors,) which are in the dispatch and in the eligible list: the busiest."""
    users, lists, number = sample.model.users, sample.model.lists, sample.number
    in_dispatch = int(lists.dispatched[number])
    in_both = in_dispatch + int(lists.eligible[number])
    eager = rng.random(len(users.owner)) / (users.demand[users.owner] + 1e-9)
    eager[~sample.present[users.owner]] = np.inf
    places = np.zeros(len(eager), dtype=np.int64)
    lasts = [last - 1 for last in sorted({in_dispatch, in_both}) if last > 0]
    order = np.argpartition(eager, lasts) if lasts else np.arange(len(eager))
    places[order] = np.arange(len(eager))
    return places < in_dispatch, (places >= in_dispatch) & (places < in_both)
