"""Resources that each user used in one interval and holds at a sample."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric import F64, I64, Bool, capped, floor_int, partition, skewed
from .sample import Sample, per_sample
from .volume_work import user_ios


@dataclass(frozen=True, slots=True)
class Usage:
    """Resources used in one interval: CPU times in TOD units, counts.

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


@per_sample
def usage(sample: Sample) -> Usage:
    """Usage of all users; its sums equal the totals of processors, storage and volumes."""
    users, flows, k = sample.model.users, sample.model.flows, sample.interval
    rng = sample.model.measurement.rng(f"users in interval {k}")
    n, owner = len(users.demand), users.owner
    load = sample.model.demand.load[k][users.group]
    demand = users.demand * load * skewed(rng, n, users.restless) * sample.active
    paging = (demand + 0.02 * users.size) * sample.active * (0.5 + rng.random(n))
    writing = paging * (0.8 + 0.4 * rng.random(n))
    totals = [
        flows.fast_in[k] + flows.slow_in[k],
        flows.out[k],
        flows.migrated[k],
        flows.stolen[k],
        flows.dasd_in[k],
        flows.dasd_out[k],
        user_ios(sample),
    ]
    weights = np.stack([paging, writing, writing, paging, paging, paging, demand])
    virtual = _virtual(sample, demand)
    between = 0.5 + rng.random(len(owner))
    cp = _charged(sample, virtual, np.maximum(virtual, 1) * between * sample.active[owner])
    return Usage(virtual, cp, *partition(np.array(totals), weights))


def _virtual(sample: Sample, demand: F64) -> I64:
    """(virtual processors,) virtual CPU time: first that of looping users, the rest by demand.

    No virtual processor runs for longer than the interval.
    """
    users = sample.model.users
    total, span = int(sample.times.emulation.sum()), int(sample.model.timeline.tod[sample.interval])
    looping = sample.model.population.looping(sample.interval) * sample.active
    most = 0.9 * total / max(int((looping > 0).sum()), 1)
    taken = floor_int(np.minimum(looping / 100 * span, most))
    loops = users.on_base(taken)
    each = np.bincount(users.owner, minlength=len(demand))
    weights = (demand * (looping == 0) / each)[users.owner]
    # The first virtual processor of a guest has most of its work.
    weights = weights * np.where(users.address == 0, 1.6, 1.0)
    caps = np.where(weights > 0, span * 999 // 1000, 0)
    return loops + capped(total - int(loops.sum()), weights, caps)


def _charged(sample: Sample, virtual: I64, weights: F64) -> I64:
    """(virtual processors,) CP time, if possible in the time that virtual time leaves."""
    total = int(sample.times.charged.sum())
    room = np.maximum(int(sample.model.timeline.tod[sample.interval]) * 999 // 1000 - virtual, 0)
    fits = int(room[weights > 0].sum()) >= total
    return capped(total, weights, room) if fits else partition(total, weights)


@dataclass(frozen=True, slots=True)
class Holdings:
    """Pages that each user holds at one sample, (users,), and the users in the lists.

    Attributes:
        dispatched, eligible: (virtual processors,) which are in the dispatch or eligible list.
        in_list: (users,) who has one in the dispatch list.
        eligible_only: (users,) who has one in the eligible list and none in the dispatch list.
    """

    resident_below: I64
    resident_above: I64
    expanded: I64
    slots: I64
    dispatched: Bool
    eligible: Bool
    in_list: Bool
    eligible_only: Bool

    @property
    def working_set(self) -> I64:
        """(users,) pages that the scheduler estimates."""
        return (self.resident_below + self.resident_above) * 19 // 20


@per_sample
def holdings(sample: Sample) -> Holdings:
    """Holdings of all users; sums equal those of storage and of the scheduler's lists."""
    users, levels, number = sample.model.users, sample.model.levels, sample.number
    rng = sample.model.measurement.rng(f"users at sample {number}")
    n = len(users.size)
    size = users.size * (0.985 + 0.03 * rng.random(n))
    other = np.maximum(2.0 * users.size - 0.5 * size, 0.0)
    dispatched, eligible = _listed(sample, rng)
    in_list = np.bincount(users.owner[dispatched], minlength=n) > 0
    eligible_only = (np.bincount(users.owner[eligible], minlength=n) > 0) & ~in_list
    pages = [levels.resident_below, levels.resident_above, levels.expanded, levels.slots]
    weights = np.stack([size, size, other, other]) * sample.present
    totals = np.array([int(level[number]) for level in pages])
    below, above, expanded, slots = partition(totals, weights)
    return Holdings(below, above, expanded, slots, dispatched, eligible, in_list, eligible_only)


def _listed(sample: Sample, rng: np.random.Generator) -> tuple[Bool, Bool]:
    """(virtual processors,) which are in the dispatch and in the eligible list: the busiest."""
    users, lists, number = sample.model.users, sample.model.lists, sample.number
    in_dispatch = int(lists.dispatched[number])
    in_both = in_dispatch + int(lists.eligible[number])
    rank = rng.random(len(users.owner)) / (users.demand[users.owner] + 1e-9)
    rank[~sample.present[users.owner]] = np.inf
    places = np.zeros(len(rank), dtype=np.int64)
    lasts = [last - 1 for last in sorted({in_dispatch, in_both}) if last > 0]
    order = np.argpartition(rank, lasts) if lasts else np.arange(len(rank))
    places[order] = np.arange(len(rank))
    return places < in_dispatch, (places >= in_dispatch) & (places < in_both)


@per_sample
def virtual_ios(sample: Sample) -> I64:
    """(3, users) virtual I/Os of one interval to consoles, unit record devices and networks.

    They follow the rates of the groups, rounded up or down at random.
    """
    users, k = sample.model.users, sample.interval
    rng = sample.model.measurement.rng(f"virtual I/Os in interval {k}")
    load = sample.model.demand.load[k] * sample.seconds
    expected = users.ios * load[users.group] * sample.active
    return floor_int(expected + rng.random(expected.shape))


@per_sample
def dispatch_classes(sample: Sample) -> dict[str, I64]:
    """(3,) users in the dispatch list by class, and pages of their working sets.

    Busier users stay longer in the list and have a higher class.
    """
    held = holdings(sample)
    count = int(held.in_list.sum())
    classes = np.full(count, 2, dtype=np.int64)
    if count <= int(sample.model.lists.logged_on[sample.number]) // 2:
        order = np.argsort(sample.model.users.demand[held.in_list], kind="stable")
        classes[order[: count * 6 // 10]] = 0
        classes[order[count * 6 // 10 : count * 9 // 10]] = 1
    pages = np.bincount(classes, weights=held.working_set[held.in_list], minlength=3)
    return {"users": np.bincount(classes, minlength=3), "pages": pages.astype(np.int64)}
