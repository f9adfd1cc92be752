"""Users, Linux guests and volumes in one interval: usage, states at a sample, transactions.

The counters of Linux are consistent with those of CP: a guest's processors were busy for the
virtual time that CP gave it; its memory is its virtual storage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.measurement import SCM_PER_S, TOD_PER_S
from ..model.population import BUSY
from ..model.storage import Volumes
from ..model.system import Sample, allocate_shares, eligible_share, per_sample, waiting_for_cpu
from ..numeric import F64, I64, U64, Bool, around_one, capped, floor_int, partition, skewed

_AT_ONCE = 51
"""SYTCPC counts samples by the number of busy paths, 0 to 50."""


class VolumeWork(NamedTuple):
    """Activity of the volumes in one interval, (volumes,).

    Attributes:
        reads, writes: pages. starts, avoided: I/Os, and those that the minidisk cache avoided.
        pending, disconnect, connect: time in units of 128 us.
        use, queue: utilization, 0..1; mean number of I/Os waiting.
    """

    reads: I64
    writes: I64
    starts: I64
    avoided: I64
    pending: I64
    disconnect: I64
    connect: I64
    use: F64
    queue: F64

    @property
    def busy(self) -> I64:
        """(volumes,) time in use, units of 128 us."""
        return self.pending + self.disconnect + self.connect


@per_sample
def volume_work(sample: Sample) -> VolumeWork:
    """Activity of the volumes in the interval before a sample."""
    volumes, flows, k = sample.model.volumes, sample.model.flows, sample.interval
    online = sample.devices.share
    span_scm = sample.seconds * SCM_PER_S * online
    rng = sample.model.measurement.rng(f"volumes in interval {k}")
    varied = volumes.lasting * around_one(rng, len(online), 0.03) * online
    attached = sample.areas.share
    paging = volumes.slots * volumes.is_page * varied * attached
    rates = volumes.rates * varied * attached
    begin = int(sample.model.timeline.edges[k])
    shared = [
        (flows.dasd_in[k], paging),
        (flows.dasd_out[k], paging * ~volumes.filled(begin)),
        (volumes.user_ios[k], rates * ~volumes.is_cp),
        (volumes.spool_ios[k], rates * volumes.is_spool),
        (volumes.avoided[k], volumes.avoided_rate * varied),
    ]
    totals, weights = zip(*shared, strict=True)
    reads, writes, users, spool, avoided = partition(np.array(totals), np.stack(weights))
    page_starts = np.ceil((reads + writes) / volumes.pages_per_io).astype(np.int64)
    # Beyond this utilization of a volume fewer I/Os start.
    service, parts = volumes.times_of_io(k)
    most = np.floor(0.98 * span_scm / np.maximum(service, 1e-9))
    demanded = page_starts + users + spool
    starts = np.minimum(demanded, np.maximum(most, page_starts)).astype(np.int64)
    busy = _busy(volumes, starts, service, k, span_scm)
    pending, disconnect = floor_int(busy * parts[:2])
    use = np.minimum(busy / np.maximum(span_scm, 1.0), 0.99)
    # Random arrivals and service: Little's law holds with a mean wait of service * use / (1 - use).
    queue = use * use / (1 - use)
    connect = busy - pending - disconnect
    return VolumeWork(reads, writes, starts, avoided, pending, disconnect, connect, use, queue)


@per_sample
def slots_used(sample: Sample) -> I64:
    """(volumes,) page slots in use at a sample: the users' pages, and all of a full volume."""
    model, volumes = sample.model, sample.model.volumes
    slots = volumes.slots * sample.areas.now * volumes.is_page
    used = partition(int(model.levels.slots[sample.number]), slots)
    return np.where(volumes.filled(int(model.timeline.edges[sample.number])), slots, used)


@per_sample
def measured_work(sample: Sample) -> VolumeWork:
    """The part of it that the channel subsystem measured."""
    work, online = volume_work(sample), sample.devices.share
    share = np.minimum(sample.measured.share / np.maximum(online, 1e-9), 1.0)
    return work._replace(
        starts=floor_int(work.starts * share),
        pending=floor_int(work.pending * share),
        disconnect=floor_int(work.disconnect * share),
        connect=floor_int(work.connect * share),
    )


def _busy(volumes: Volumes, starts: I64, service: F64, interval: int, span_scm: F64) -> I64:
    """(volumes,) I/Os times service time, or the target; never more than the interval."""
    busy = np.minimum(np.rint(starts * service), np.floor(span_scm)).astype(np.int64)
    if volumes.page_busy is not None and volumes.is_page.any():
        io = starts[volumes.is_page]
        target = volumes.measurement.targets.page_volume_busy or 0.0
        # A saturated volume is busy all the time, whatever its number of I/Os.
        weights = 1.0 + (1.0 - target / 100) * (io / max(float(io.mean()), 1.0) - 1.0)
        busy[volumes.is_page] = partition(int(volumes.page_busy[interval]), weights)
    return busy


def user_ios(sample: Sample) -> int:
    """Virtual I/Os to disks in the interval, with those that the minidisk cache avoided."""
    work = volume_work(sample)
    return int((work.starts + work.avoided)[~sample.model.volumes.is_cp].sum())


@per_sample
def path_samples(sample: Sample) -> tuple[I64, I64]:
    """High-frequency samples of the interval that found channel paths busy.

    Devices spread their I/Os evenly over their paths.

    Returns:
        (256,) samples that found the path busy; (51,) samples by the number of busy paths.
    """
    volumes, end = sample.model.volumes, int(sample.model.timeline.edges[sample.interval + 1])
    count = sample.high_frequency_samples
    ids = volumes.path_ids * volumes.paths_at(end)
    connect = volume_work(sample).connect / np.maximum((ids > 0).sum(axis=1), 1)
    weights = np.repeat(connect, ids.shape[1])
    moved = np.bincount(ids.reshape(-1), weights=weights, minlength=256)
    moved[0] = 0.0  # 0 stands for no path
    use = np.minimum(moved / (sample.seconds * SCM_PER_S), 1.0)
    busy = np.rint(use * count).astype(np.int64)
    used = busy[busy > 0]
    rng = sample.model.measurement.rng(f"channel paths in interval {sample.interval}")
    order = np.argsort(rng.random((count, len(used))), axis=0, kind="stable")
    is_busy = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(is_busy, order, np.arange(count)[:, None] < used, axis=0)
    at_once = np.minimum(is_busy.sum(axis=1), _AT_ONCE - 1)
    return busy, np.bincount(at_once, minlength=_AT_ONCE)


class Usage(NamedTuple):
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
    n, owner, there = len(users.demand), users.owner, sample.users.share
    load = sample.model.demand.load[k][users.group]
    demand = users.demand * load * skewed(rng, n, users.restless) * there
    paging = (demand + 0.02 * users.size) * there * (0.5 + rng.random(n))
    writing = paging * (0.8 + 0.4 * rng.random(n))
    shared = [
        (flows.fast_in[k] + flows.slow_in[k], paging),
        (flows.out[k], writing),
        (flows.migrated[k], writing),
        (flows.stolen[k], paging),
        (flows.dasd_in[k], paging),
        (flows.dasd_out[k], paging),
        (user_ios(sample), demand),
    ]
    totals, weights = zip(*shared, strict=True)
    virtual = _virtual(sample, demand)
    share = sample.running.share
    weights_of_cp = np.maximum(virtual, 1) * (0.5 + rng.random(len(owner))) * share
    # CP time charged to users runs, if possible, in the time that virtual time leaves.
    charged, span = int(sample.times.charged.sum()), int(sample.model.timeline.tod[k])
    room = np.maximum(floor_int(span * 999 // 1000 * share) - virtual, 0)
    fits = int(room[weights_of_cp > 0].sum()) >= charged
    cp = capped(charged, weights_of_cp, room) if fits else partition(charged, weights_of_cp)
    return Usage(virtual, cp, *partition(np.array(totals), np.stack(weights)))


def _virtual(sample: Sample, demand: F64) -> I64:
    """(virtual processors,) virtual CPU time: first that of looping users, the rest by demand.

    No virtual processor runs for longer than the interval.
    """
    users = sample.model.users
    total, span = int(sample.times.emulation.sum()), int(sample.model.timeline.tod[sample.interval])
    looping = sample.model.population.looping(sample.interval) * sample.users.share
    most = 0.9 * total / max(int((looping > 0).sum()), 1)
    taken = floor_int(np.minimum(looping / 100 * span, most))
    loops = users.on_base(taken)
    share = sample.running.share
    each = np.bincount(users.owner, share, len(demand))
    weights = (demand * (looping == 0) / np.maximum(each, 1e-9))[users.owner] * share
    # The first virtual processor of a guest has most of its work.
    weights = weights * np.where(users.address == 0, 1.6, 1.0)
    caps = np.where(weights > 0, floor_int(span * 999 // 1000 * share), 0)
    return loops + capped(total - int(loops.sum()), weights, caps)


class Holdings(NamedTuple):
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
    # The busiest virtual processors are in the dispatch list, the next ones in the eligible list.
    in_dispatch = int(sample.model.lists.dispatched[number])
    in_both = in_dispatch + int(sample.model.lists.eligible[number])
    rank = rng.random(len(users.owner)) / (users.demand[users.owner] + 1e-9)
    rank[~sample.rows.now] = np.inf
    places = np.zeros(len(rank), dtype=np.int64)
    lasts = [last - 1 for last in sorted({in_dispatch, in_both}) if last > 0]
    order = np.argpartition(rank, lasts) if lasts else np.arange(len(rank))
    places[order] = np.arange(len(rank))
    dispatched, eligible = places < in_dispatch, (places >= in_dispatch) & (places < in_both)
    in_list = np.bincount(users.owner[dispatched], minlength=n) > 0
    eligible_only = (np.bincount(users.owner[eligible], minlength=n) > 0) & ~in_list
    pages = [levels.resident_below, levels.resident_above, levels.expanded, levels.slots]
    weights = np.stack([size, size, other, other]) * sample.present
    totals = np.array([int(level[number]) for level in pages])
    below, above, expanded, slots = partition(totals, weights)
    return Holdings(below, above, expanded, slots, dispatched, eligible, in_list, eligible_only)


@per_sample
def virtual_ios(sample: Sample) -> I64:
    """(3, users) virtual I/Os of one interval to consoles, unit record devices and networks.

    They follow the rates of the groups, rounded up or down at random.
    """
    users, k = sample.model.users, sample.interval
    rng = sample.model.measurement.rng(f"virtual I/Os in interval {k}")
    load = sample.model.demand.load[k] * sample.seconds
    expected = users.ios * load[users.group] * sample.users.share
    counts = floor_int(expected + rng.random(expected.shape))
    return counts * (sample.users.share > 0)


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


_SHORT, _LONG = np.array([0.6, 0.3, 0.1]), np.array([0.0, 0.0, 1.0])
"""Shares of the dispatch classes of users rarely in the list, and of those mostly in it."""


@per_sample
def _processor_states(sample: Sample) -> dict[str, F64]:
    """Shares of the interval by state, (virtual processors,) each; they add up to 1.

    In the states up to `idle` a virtual processor is in the dispatch list. Running time is
    processor time; the wait for a processor is in proportion to it. Other waits follow from the
    group of the user and are divided among the user's virtual processors in proportion to their
    running time.
    """
    model, used = sample.model, usage(sample)
    span = int(model.timeline.tod[sample.interval])
    shortage = model.processors.shortage[sample.interval]
    there = np.maximum(span * sample.rows.share, 1.0)
    running = np.minimum((used.virtual + used.cp) / there, 1.0)
    *waits, in_list = _group_shares(sample, running)
    waiting = np.add.accumulate(waits)[-1]
    use = np.array(sample.times.busy.sum() / max(len(sample.times.cp) * span, 1))
    # The sum is the same on every machine, and never zero.
    total = float(np.add.accumulate(running)[-1]) + 1e-9 if len(running) else 1.0
    cpu_wait = float(waiting_for_cpu(use, shortage)) * running / total
    listed = np.minimum(np.maximum(in_list, running + cpu_wait + waiting), 1.0)
    eligible = (listed - running) * eligible_share(shortage)
    left = listed - running - eligible
    cpu_wait = np.minimum(cpu_wait, left)
    left -= cpu_wait
    fit = np.minimum(left / np.maximum(waiting, 1e-9), 1.0)
    io, page, simulation, console = (wait * fit for wait in waits)
    idle = np.maximum(left - waiting * fit, 0.0)
    return {
        "running": running,
        "cpu_wait": cpu_wait,
        "io_wait": io,
        "page_wait": page,
        "simulation_wait": simulation,
        "console_wait": console,
        "idle": idle,
        "eligible": eligible,
        "dormant": 1.0 - listed,
    }


@per_sample
def samples_of(sample: Sample) -> I64:
    """(virtual processors,) high-frequency samples of the interval that found each defined."""
    return floor_int(sample.high_frequency_samples * sample.rows.share)


@per_sample
def state_counts(sample: Sample) -> tuple[dict[str, I64], I64]:
    """High-frequency samples of the interval, by the state that they found.

    Returns:
        (virtual processors,) by state; (3, virtual processors) by class in the dispatch list.
    """
    states, samples = _processor_states(sample), samples_of(sample)
    rng = sample.model.measurement.rng(f"states in interval {sample.interval}")
    every = np.stack([*states.values()])
    counts = dict(zip(states, allocate_shares(rng, every, samples), strict=True))
    shares: F64 = np.where(states["dormant"] < 0.5, _LONG[:, None], _SHORT[:, None])
    dispatched = samples - counts["eligible"] - counts["dormant"]
    return counts, allocate_shares(rng, shares, dispatched)


def _group_shares(sample: Sample, running: F64) -> F64:
    """(5, virtual processors) shares of their groups: four waits, and all of the dispatch list.

    A user's shares are divided among the virtual processors in proportion to their running time;
    if none runs, the first one has them.
    """
    users, load = sample.model.users, sample.model.demand.load[sample.interval]
    shares: F64 = users.waits * np.minimum(load, 1.0)[users.group[users.owner]]
    of_user = np.bincount(users.owner, weights=running, minlength=len(users.base))
    idle_base = (of_user[users.owner] <= 0) & (users.address == 0)
    parts: F64 = np.where(idle_base, 1.0, running / np.maximum(of_user, 1e-30)[users.owner])
    return shares * parts


def processor_jiffies(sample: Sample, chosen: I64, elapsed: I64) -> dict[str, I64 | F64]:
    """(chosen, processors) jiffies by use; the rest of the time is idle.

    Steal time is time in which CP works for the guest or makes it wait.

    Args:
        chosen: indices of guests, all with the same number of processors.
        elapsed: (chosen,) TOD units, less when the guest was logged on for a part of them, and for
            processors that are online in its system for a part.
    """
    linux, used, states = sample.model.linux, usage(sample), _processor_states(sample)
    logged_on, at = sample.users.share[linux.owner[chosen]], linux.virtual_processors(chosen)
    elapsed = floor_int(elapsed * logged_on)
    online = sample.online.share[at] / np.where(logged_on > 0, logged_on, 1.0)[:, None]
    span = elapsed[:, None] * online
    names = (*BUSY, "steal", "iowait", "idle")
    spent = np.empty((len(names), *at.shape))
    np.multiply(used.virtual[at], linux.modes[:, chosen, None], out=spent[: len(BUSY)])
    spent[-3] = used.cp[at] + states["cpu_wait"][at] * span
    spent[-2] = states["io_wait"][at] * span
    total = np.add.accumulate(spent[:-1])[-1]
    spent[-1] = np.maximum(span - total, 0.0)
    spent /= np.maximum(total + spent[-1], 1e-9)
    rng = sample.model.measurement.rng(
        f"{at.shape[1]} processors of linux in interval {sample.interval}"
    )
    # A jiffy, the unit of processor times in Linux, is 0.01 s.
    jiffies = floor_int(elapsed / (TOD_PER_S // 100) + rng.random(len(chosen)))
    shares = spent.reshape(len(spent), -1)
    totals = floor_int(jiffies[:, None] * online).reshape(-1)
    parts = allocate_shares(rng, shares, totals).reshape(spent.shape)
    return dict(zip(names, parts, strict=True))


def run_queue(sample: Sample, chosen: I64) -> dict[str, I64 | F64]:
    """(chosen,) threads of each guest at the sample; (3, chosen) its load averages, 1/2048."""
    linux, states = sample.model.linux, _processor_states(sample)
    at = linux.virtual_processors(chosen)
    rng = sample.model.measurement.rng(f"{at.shape[1]} queues of linux at sample {sample.number}")
    runnable = np.add.accumulate((states["running"] + states["cpu_wait"])[at], axis=1)[:, -1]
    waiting = np.add.accumulate(states["io_wait"][at], axis=1)[:, -1]
    by_chance = rng.random((3, len(chosen)))
    group = sample.model.users.group[linux.owner[chosen]]
    loads = (runnable + waiting) * linux.averages[:, sample.interval, group]
    # The thread that collects the data is running, too.
    running = 1 + floor_int(runnable + by_chance[0])
    return {
        "running": running,
        "threads": linux.threads[chosen] + running + np.floor(6 * by_chance[1]),
        "waiting": np.floor(waiting + by_chance[2]),
        "loads": np.rint(loads * 2048),
    }


UNI, MULTI, QUICK = 0, 1, 2
"""Users with one virtual processor, with several, and servers (quick dispatch)."""

_SLOT = 0.25
"""Least length of a transaction as a share of its slot; a user's transactions do not overlap."""


class EndedTransactions(NamedTuple):
    """Transactions that ended in one interval.

    Attributes:
        counts, kind: (users,) number of transactions that ended; class of the user.
        trivial, nontrivial: (classes,) transactions of each class.
        trivial_time, nontrivial_time: (classes,) total length, TOD units.
    """

    counts: I64
    kind: I64
    trivial: I64
    nontrivial: I64
    trivial_time: I64
    nontrivial_time: I64


@per_sample
def ended_transactions(sample: Sample) -> EndedTransactions:
    """The transactions of the interval before a sample, by user and class.

    Servers are quick-dispatch users, whatever processors they have. If no user who could end a
    transaction is logged on, they are counted for uniprocessor guests.
    """
    model, k = sample.model, sample.interval
    work, users = model.transactions, model.users
    kinds = (
        QUICK if g.guest == "server" else MULTI if g.virtual_processors > 1 else UNI
        for g in users.groups
    )
    kind = users.each([*kinds])
    counts, weights = np.zeros(len(kind), dtype=np.int64), _ending_weights(sample)
    if weights.any():
        counts = partition(int(work.count[k]), weights)
    by_class = np.bincount(kind, weights=counts, minlength=3).astype(np.int64)
    if not by_class.any():
        by_class[UNI] = work.count[k]
    trivial = partition(int(work.trivial[k]), by_class.astype(np.float64))
    nontrivial = by_class - trivial
    return EndedTransactions(
        counts,
        kind,
        trivial,
        nontrivial,
        floor_int(trivial * (work.trivial_s[k] * TOD_PER_S)),
        floor_int(nontrivial * (work.nontrivial_s[k] * TOD_PER_S)),
    )


def _ending_weights(sample: Sample) -> F64:
    """(users,) weights by which transactions are distributed.

    If no group has a rate of its own, the weights are the demand of all users. A user who has
    just logged on has weight 0.
    """
    model, users, k = sample.model, sample.model.users, sample.interval
    rates = users.transactions
    load = model.demand.load[k][users.group]
    staying = sample.users.before & (sample.users.share > 0)
    weights: F64 = (rates if rates.any() else users.demand) * load * staying
    stayed: F64 = _time_for_ends(sample)[1] / float(model.timeline.tod[k])
    return weights * stayed if weights.any() else staying.astype(np.float64)


def _time_for_ends(sample: Sample) -> tuple[I64, I64]:
    """(users,) TOD units in which transactions may end; and until logoff or the next sample."""
    clock, k = sample.model.clock, sample.interval
    begins = clock.end(k)
    whole = np.full(len(sample.present), clock.end(k + 1) - begins)
    for ending in reversed(sample.users.ends):
        left = ending.objects & ~ending.fresh
        whole[left] = clock.origin + ending.moment - begins
    # No transaction ends in the last part, while CP takes the sample.
    return whole - whole // 64, whole


class EndingTimes(NamedTuple):
    """Transactions that ended in one interval, (transactions,), user after user.

    Attributes:
        user, trivial: index of the user; whether it was a trivial one.
        tod, suspended, begun: when it left the dispatch list, ran out of work, and began.
        share: share of the user's activity in the interval that was done by then.
    """

    user: I64
    trivial: Bool
    tod: U64
    suspended: U64
    begun: U64
    share: F64


def ending_times(sample: Sample) -> EndingTimes:
    """The transactions counted for an interval, one by one; their lengths add up to the totals."""
    k, ended = sample.interval, ended_transactions(sample)
    rng = sample.model.measurement.rng(f"transaction ends in interval {k}")
    counts, count = ended.counts, int(ended.counts.sum())
    user = np.repeat(np.arange(len(counts)), counts)
    turn = np.arange(count) - np.repeat(np.cumsum(counts) - counts, counts)
    done = (turn + _SLOT + (1 - _SLOT) * rng.random(count)) / counts[user]
    kind = ended.kind[user]
    trivial = _choose(rng, kind, ended.trivial)
    length = np.zeros(count, dtype=np.int64)
    for mask, times in ((trivial, ended.trivial_time), (~trivial, ended.nontrivial_time)):
        for number, time in enumerate(times.tolist()):
            chosen = np.flatnonzero(mask & (kind == number))
            if len(chosen):
                length[chosen] = partition(time, skewed(rng, len(chosen), 0.5))
    room, whole = _time_for_ends(sample)
    after = floor_int(done * room[user])
    tod = np.uint64(sample.model.clock.end(k)) + after.astype(np.uint64)
    # A user without work stays in the dispatch list for 0.3 s; then the transaction has ended.
    suspended = tod - np.uint64(3 * TOD_PER_S // 10)
    begun = suspended - length.astype(np.uint64)
    done_by = after / whole[user] * sample.users.first[user]
    return EndingTimes(user, trivial, tod, suspended, begun, done_by)


def _choose(rng: np.random.Generator, kind: I64, counts: I64) -> Bool:
    """(transactions,) which of each class's transactions are chosen: `counts`, at random."""
    order = np.lexsort((rng.random(len(kind)), kind))
    sizes = np.bincount(kind, minlength=len(counts))
    rank = np.arange(len(kind)) - (np.cumsum(sizes) - sizes)[kind[order]]
    chosen = np.zeros(len(kind), dtype=np.bool_)
    chosen[order] = rank < counts[kind[order]]
    return chosen
