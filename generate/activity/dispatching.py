"""CP's work in one interval by processor and partition: dispatching, paging, services, locks."""

from __future__ import annotations

from importlib.resources import files

import numpy as np

from ..model.measurement import TOD_PER_US
from ..model.processors import CONTENDED_US, SPIN_US, Partitions
from ..model.storage import Flows
from ..model.system import Model, Sample, allocate_shares, entry_of, per_sample
from ..numeric import F64, I64, around_one, capped, floor_int, partition

_LOCKS = np.genfromtxt(
    (files(__package__) / "locks.csv").read_text(encoding="utf-8").splitlines(),
    delimiter=",",
    names=True,
    dtype=None,
    encoding="utf-8",
)
"""CP's formal spin locks in the order of MRSYTLCK (5.3.0): share of all spins, length of a spin,
and share of its spins for shared use; only the scheduler's lock can be shared."""

LOCK_NAMES = _LOCKS["name"]

_OVERHEAD = 0.006
"""Share of a shared processor's dispatch time that the machine needs for dispatching."""

_MANAGEMENT = 0.004
"""Share of a busy physical processor's time that belongs to no partition."""


@per_sample
def processor_activity(sample: Sample) -> dict[str, I64]:
    """CP's work in the interval by processor, in proportion to CP time."""
    activity = sample.model.activity
    totals = np.array([counts[sample.interval] for counts in activity.values()])
    weights = np.broadcast_to(sample.times.cp, (len(totals), len(sample.times.cp)))
    return dict(zip(activity, partition(totals, weights), strict=True))


@per_sample
def service_counts(sample: Sample) -> tuple[I64, I64]:
    """Counts of services that guests requested; sums over the entries equal CP's activity.

    Returns:
        (processors, entries of PRCDIA) and (processors, entries of PRCINS).
    """
    activity, model, k = processor_activity(sample), sample.model, sample.interval
    work = model.demand.users[k] * model.demand.load[k]
    rng = model.measurement.rng(f"services in interval {k}")
    diagnoses = _by_entry(rng, work @ model.diagnosis_mix, activity["diagnoses"])
    diagnoses[:, entry_of("prcdia", "44")] += activity["diagnose_44"]
    return diagnoses, _by_entry(rng, work @ model.instruction_mix, activity["simulations"])


def _by_entry(rng: np.random.Generator, weights: F64, totals: I64) -> I64:
    """(processors, entries): each processor's total distributed by (entries,) weights."""
    total = float(np.add.accumulate(weights)[-1])
    shares = weights / total if total else np.full(len(weights), 1 / len(weights))
    columns = np.repeat(shares[:, None], len(totals), axis=1)
    return np.ascontiguousarray(allocate_shares(rng, columns, totals).T)


@per_sample
def lock_spins(sample: Sample) -> tuple[I64, I64]:
    """The spins of all processors by lock; sums and times equal those of the processors.

    Returns:
        (2, locks) spins for exclusive and for shared use; the time spent in them, TOD units.
    """
    times, k = sample.times, sample.interval
    longer = np.zeros(len(LOCK_NAMES))
    for name, processors in sample.model.demand.contention.items():
        longer += (name == LOCK_NAMES) * processors[k] * sample.seconds * 1e6 / CONTENDED_US
    usual = int(times.spins.sum()) - longer.sum()
    spins = partition(int(times.spins.sum()), _LOCKS["share"] + longer / max(usual, 1))
    shared = floor_int(np.maximum(spins - longer, 0) * _LOCKS["shared"])
    kinds = np.stack([spins - shared, shared])
    weights: F64 = kinds * _LOCKS["length"]
    weights[0] += longer * (CONTENDED_US / SPIN_US)
    spent = partition(int(times.spin_time.sum()), weights.reshape(-1))
    return kinds, spent.reshape(kinds.shape)


def collected_tod(model: Model, sample: int) -> int:
    """TOD clock, whole microseconds, of a sample's data about partitions, 900 us before its end."""
    return (model.clock.end(sample) // TOD_PER_US - 900) * TOD_PER_US


@per_sample
def dispatch_times(sample: Sample) -> tuple[I64, I64, I64]:
    """Microseconds for which processors were dispatched in an interval.

    Their sum fits the physical processors. This system's times follow from its own work; the
    other partitions take what they demand of the rest. Processors of a type that are not
    dedicated are one pool.

    Returns:
        (logical processors of all partitions,) with and without the time that the machine needed
        for dispatching; (physical processors,) time that belongs to no partition.
    """
    model, lpars, number = sample.model, sample.model.partitions, sample.number
    span = int(model.timeline.tod[sample.interval]) // TOD_PER_US
    if not model.timeline.starts(number):
        span = (collected_tod(model, number) - collected_tod(model, number - 1)) // TOD_PER_US
    rng = model.measurement.rng(f"partitions in interval {sample.interval}")
    own = _own_us(sample, span)
    room = {k: float(n * span) * (1 - 2 * _MANAGEMENT) for k, n in lpars.shared.items()}
    if not lpars.dedicated[lpars.own]:
        room[lpars.types[lpars.own]] -= float(own.sum()) * (1 + _OVERHEAD)
    begin, end = (int(edge) for edge in model.timeline.edges[sample.interval :][:2])
    limits, there = lpars.limits(begin, end), sample.during(lpars.active).share
    demanded = [
        _demanded_us(lpars, place, span, rng, float(limits[place])) * there[place]
        for place in range(len(lpars.counts))
    ]
    rows = list(zip(demanded, lpars.dedicated, lpars.types, strict=True))
    granted = {}
    for kind, most in room.items():
        total = sum(float(us.sum()) for us, alone, of in rows if of == kind and not alone)
        granted[kind] = min(1.0, max(most, 0.0) / max(total * (1 + _OVERHEAD), 1.0))
    effective = [us if alone else us * granted[kind] for us, alone, kind in rows]
    effective[lpars.own] = own
    net = floor_int(np.concatenate(effective))
    gross = np.minimum(net + np.floor(net * _OVERHEAD), span)
    active = np.where(lpars.by_processor(lpars.dedicated), net, gross).astype(np.int64)
    return active, net, _management_us(lpars, int(active.sum()), span)


def _own_us(sample: Sample, span: int) -> F64:
    """(cores,) of this system: time that cores are busy, or dispatched where they are dedicated.

    A core is busy while any of its threads is; threads are busy independently of each other.
    """
    lpars, times = sample.model.partitions, sample.times
    threads = sample.model.measurement.machine.threads
    if lpars.dedicated[lpars.own]:
        return times.working[::threads] * span
    busy = np.minimum(times.busy // TOD_PER_US, span).astype(np.float64)
    if threads == 1:
        return busy
    idle: F64 = np.multiply.reduce(1.0 - busy.reshape(-1, threads) / span, axis=1)
    return (1.0 - idle) * span


def _demanded_us(
    lpars: Partitions, place: int, span: int, rng: np.random.Generator, limit: float
) -> F64:
    """(logical processors,) time that another partition demands; a dedicated one has all.

    `limit`: most physical processors that it may use.
    """
    count = lpars.counts[place]
    if place == lpars.own:
        return np.zeros(count)
    if lpars.dedicated[place]:
        return np.full(count, float(span))
    use = around_one(rng, count, 0.06) * around_one(rng, 1, 0.06) * lpars.demanded[place]
    return np.asarray(np.minimum(use, min(limit / count, 0.99)) * span)


def _management_us(lpars: Partitions, active: int, span: int) -> I64:
    """(physical processors,) time that belongs to no partition; it grows with utilization."""
    total = len(lpars.physical) * span
    demanded = round(total * _MANAGEMENT * (0.2 + 0.8 * min(active / total, 1.0)))
    # The first processors have slightly more of it.
    weights = 1.0 + 1.0 / np.arange(1, len(lpars.physical) + 1)
    caps = np.full(len(lpars.physical), span, dtype=np.int64)
    return capped(min(demanded, max(total - active, 0)), weights, caps)


def others_ios(sample: Sample) -> int:
    """I/Os of the other partitions, 150 in a second of their processor time."""
    lpars = sample.model.partitions
    if not lpars.names:
        return 0
    _, used, _ = dispatch_times(sample)
    others = int(used.sum()) - int(used[lpars.processors(lpars.own)].sum())
    return round(others / 1e6 * 150)


@per_sample
def pages_moved(sample: Sample) -> Flows:
    """Pages moved in the interval, by processor, roughly in proportion to CP time."""
    rng = sample.model.measurement.rng(f"paging in interval {sample.interval}")
    totals = np.array([pages[sample.interval] for pages in sample.model.flows])
    shape = (len(totals), len(sample.times.cp))
    return Flows(*partition(totals, sample.times.cp * around_one(rng, shape, 0.01)))


def times_empty(taken: I64, available: int, seconds: int) -> I64:
    """(processors,) times that a list is found empty.

    CP refills it about once a second, so it is empty only if a second takes more pages than it has;
    then it is found so at most 20 times.
    """
    rate = taken / seconds
    beyond = np.maximum(rate.sum() / max(available, 1) - 1.0, 0.0)
    return floor_int(rate / max(float(rate.sum()), 1.0) * seconds * min(beyond, 20))


def blocks_by_size(pages: int, mean: float, largest: int) -> I64:
    """(largest,) blocks of 1 to `largest` pages, 2 or more, that hold exactly `pages` together.

    A block is moved by one paging I/O. The mean is met as far as whole blocks allow.
    """
    counts = np.zeros(largest, dtype=np.int64)
    if not pages:
        return counts
    sizes = np.arange(1, min(max(int(mean), 1), largest - 1) + 1)
    # Most blocks have the mean size, or as many pages as there are.
    usual = int(sizes[-(-pages // (sizes + 1)) <= pages // sizes].max())
    least, most = -(-pages // (usual + 1)), pages // usual
    count = min(max(round(pages / mean), least), most)
    # For each smaller block there is one that is larger by the same number of pages, at most 3.
    for away in range(1, min(3, usual - 1, largest - 1 - usual) + 1):
        counts[[usual - 1 - away, usual - 1 + away]] = count // (4 * (away + 1))
    counts[usual - 1] = count - counts.sum()
    # The remaining pages enlarge some blocks by one, in proportion to their counts.
    rest = pages - usual * count
    larger = np.diff(np.cumsum(counts) * rest // max(int(counts.sum()), 1), prepend=0)
    counts -= larger
    counts[1:] += larger[:-1]
    return counts
