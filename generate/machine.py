"""Processors: how much of each interval each of them spends on what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .course import Course
from .demand import TIMERS_ON_MASTER_UNTIL, Demand
from .measurement import TOD_PER_US, Measurement
from .noise import F64, I64, around_one, bell, capped, over_intervals, partition
from .timeline import Bool, Timeline
from .transactions import Transactions

_FULL = 0.999
"""No processor is busy for more of an interval than this, and no more of that is emulation."""

_SUSPENDED = 0.25
"""Share of its busy time that a processor loses when the machine beneath is full."""


@dataclass(frozen=True, slots=True)
class Processors:
    """Times in TOD units, (intervals, processors); processor 0 is the master.

    Busy time is emulation + charged + system; what is left of an interval is wait, apart from
    `suspended` time, in which the processor itself was given to another partition. Spinning is
    part of the CP time. An offline processor does nothing.

    Attributes:
        online: whether each took part in an interval.
        shortage: (intervals,) work wanted over work done, 1 where all was done.
    """

    online: Bool
    emulation: I64
    charged: I64
    system: I64
    suspended: I64
    spins: I64
    spin_time: I64
    shortage: F64

    @classmethod
    def of(
        cls, measurement: Measurement, course: Course, demand: Demand, work: Transactions
    ) -> Processors:
        """The processors of a run, meeting its utilization and spin targets."""
        online = _online(measurement, course.timeline)
        busy, emulation, shortage = _times(measurement, course, demand, work, online)
        rng, cp = measurement.rng("charged"), busy - emulation
        share = measurement.machine.charged_share * around_one(rng, cp.shape, 0.01)
        charged = np.floor(cp * np.minimum(share, 1.0)).astype(np.int64)
        spins, spin_time = _spins(measurement, course, demand, cp)
        lost = _suspension(measurement)
        return cls(
            online=online,
            emulation=emulation,
            charged=charged,
            system=cp - charged,
            suspended=np.floor(busy * lost).astype(np.int64),
            spins=spins,
            spin_time=spin_time,
            shortage=shortage,
        )

    @property
    def busy(self) -> I64:
        """Everything but wait and suspension."""
        return self.emulation + self.charged + self.system

    def at(self, interval: int) -> Times:
        """What they did in one interval."""
        names = Times.__dataclass_fields__
        return Times(**{name: getattr(self, name)[interval] for name in names})


@dataclass(frozen=True, slots=True)
class Times:
    """The processors in one interval, (processors,) each: see `Processors`."""

    online: Bool
    emulation: I64
    charged: I64
    system: I64
    suspended: I64
    spins: I64
    spin_time: I64

    @property
    def busy(self) -> I64:
        """Everything but wait and suspension."""
        return self.emulation + self.charged + self.system

    @property
    def cp(self) -> F64:
        """CP time: where CP's work is done."""
        return (self.charged + self.system).astype(np.float64)


def _online(measurement: Measurement, timeline: Timeline) -> Bool:
    """(intervals, processors) whether each was online; vary takes effect with its interval."""
    found = np.repeat(timeline.up[:, None], measurement.processors, axis=1)
    for one in measurement.disturbances:
        if one.processor is not None and one.kind in ("vary-off", "vary-on"):
            found[one.interval :, one.processor] = one.kind == "vary-on"
    return found & timeline.up[:, None]


def _suspension(measurement: Measurement) -> float:
    """Share of its busy time that a shared processor waits for a physical one."""
    machine, others = measurement.machine, measurement.scenario.partitions
    if not machine.is_shared:
        return 0.0
    wanted = machine.processors + sum(o.processors * o.busy_percent / 100 for o in others)
    load = min(wanted / machine.physical_processors, 1.0)
    return _SUSPENDED * load * load


def _times(
    measurement: Measurement, course: Course, demand: Demand, work: Transactions, online: Bool
) -> tuple[I64, I64, F64]:
    """Busy and emulation time, (intervals, processors) each, and the shortage, (intervals,)."""
    rng, span = measurement.rng("machine"), course.timeline.tod
    full = online * span[:, None] * (_FULL / (1 + _suspension(measurement)))
    cap = np.floor(full).astype(np.int64)
    wanted = demand.emulation + demand.cp
    room = cap.sum(axis=1)
    busy = _busy(measurement, course, work, wanted, room, online)
    emulation = _emulation(measurement, course, work, demand, busy, online)
    shortage = np.maximum(wanted * span / np.maximum(room, 1), 1.0)
    p = measurement.processors
    if p == 1:
        return busy[:, None], emulation[:, None], shortage
    master, master_emul = _master(measurement, course, demand, busy, emulation, online, cap[:, 0])
    rest = busy - master
    free = 1.0 - rest / np.maximum(cap[:, 1:].sum(axis=1), 1)
    # Dispatching spreads the work nearly evenly; a full processor has nothing left to vary.
    lasting = measurement.machine.imbalance * bell(rng, p - 1)
    passing = bell(rng, (len(rest), p - 1)) * (measurement.scenario.spread / 3)
    others = _shared_out(
        rest, online[:, 1:] * (1 + free[:, None] * (lasting + passing)), cap[:, 1:]
    )
    varied = others * around_one(rng, others.shape, 0.008)
    others_emul = _shared_out(emulation - master_emul, varied, _most(others))
    return (
        np.concatenate([master[:, None], others], axis=1),
        np.concatenate([master_emul[:, None], others_emul], axis=1),
        shortage,
    )


def _busy(  # noqa: PLR0913 - each is a noun of its own
    measurement: Measurement,
    course: Course,
    work: Transactions,
    wanted: F64,
    room: I64,
    online: Bool,
) -> I64:
    """(intervals,) busy time of all processors."""
    rng, span, targets = measurement.rng("busy"), course.timeline.tod, measurement.targets
    deviation = bell(rng, len(span)) * measurement.scenario.spread
    natural = np.rint(wanted * course.warming * span * (1.0 + deviation))
    if targets.total_util is None:
        return np.minimum(natural, room).astype(np.int64)
    # Nearer to saturation there is less room to vary.
    calm = 1.0 + deviation * (1.0 - targets.total_util / 100)
    per_tx = None
    if targets.cp_us_per_tx is not None and targets.emul_us_per_tx is not None:
        per_tx = targets.cp_us_per_tx + targets.emul_us_per_tx
    shape = np.where(wanted.any(), wanted, 1.0) * calm * span
    return _met(course, work, targets.total_util, per_tx, shape, room, online)


def _emulation(  # noqa: PLR0913 - each is a noun of its own
    measurement: Measurement,
    course: Course,
    work: Transactions,
    demand: Demand,
    busy: I64,
    online: Bool,
) -> I64:
    """(intervals,) emulation time of all processors, a part of their busy time."""
    targets, rng = measurement.targets, measurement.rng("emulation")
    varied = around_one(rng, len(busy), 0.004)
    if targets.emul_util is None:
        wanted = demand.emulation + demand.cp
        share = demand.emulation / np.maximum(wanted, 1e-9) * varied
        return np.minimum(np.floor(busy * share), _most(busy)).astype(np.int64)
    shape = busy * varied
    return _met(course, work, targets.emul_util, targets.emul_us_per_tx, shape, _most(busy), online)


def _met(  # noqa: PLR0913 - each is a figure of its own
    course: Course,
    work: Transactions,
    percent: float,
    us_per_tx: float | None,
    shape: F64,
    caps: I64,
    online: Bool,
) -> I64:
    """(intervals,) processor time that meets a utilization in the steady state.

    Before it there is what is left of the time for all transactions, or a share of the steady one.
    """
    line = course.timeline
    steady, early = line.steady, line.up & ~line.steady
    processor_tod = (online * line.tod[:, None]).sum(axis=1)
    found = np.zeros(len(shape), dtype=np.int64)
    total = round(int(processor_tod[steady].sum()) * percent / 100)
    found[steady] = capped(total, shape[steady], caps[steady])
    if us_per_tx is not None and early.any():
        whole = round(us_per_tx * int(work.count.sum()) * TOD_PER_US)
        found[early] = capped(max(whole - total, 0), shape[early], caps[early])
    else:
        level = processor_tod * (percent / 100) * course.warming
        found[early] = np.minimum(level, caps)[early].astype(np.int64)
    return found


def _master(  # noqa: PLR0913 - each is a noun of its own
    measurement: Measurement,
    course: Course,
    demand: Demand,
    busy: I64,
    emulation: I64,
    online: Bool,
    cap: I64,
) -> tuple[I64, I64]:
    """(intervals,) busy and emulation time of the master processor.

    It does its share like any other, unless serving timers alone takes more than that.
    """
    line, targets = course.timeline, measurement.targets
    count = np.maximum(online.sum(axis=1), 1)
    alone = measurement.run.cp_level < TIMERS_ON_MASTER_UNTIL
    timers = demand.timer_cp * line.tod * alone
    even = busy / count
    rng = measurement.rng("master")
    calm = 1.0 + bell(rng, len(busy)) * measurement.scenario.spread * (
        1 - even / np.maximum(cap, 1)
    )
    mine = np.minimum(np.minimum(np.maximum(even, timers) * calm, cap), busy)
    if targets.master_total_util is not None:
        mine = _fixed(course, targets.master_total_util, mine, np.minimum(cap, busy))
    share = (mine - timers * (timers > even)) / np.maximum(busy, 1)
    theirs = np.clip(emulation * share, 0, mine * _FULL)
    if targets.master_emul_util is not None:
        theirs = _fixed(course, targets.master_emul_util, theirs, _most(np.floor(mine)))
    elif targets.master_total_util is not None or targets.emul_util is None:
        theirs = np.minimum(theirs, emulation)
    # What the others are left with must fit into their busy time.
    least = emulation - _most(busy - np.floor(mine).astype(np.int64))
    return np.floor(mine).astype(np.int64), np.maximum(np.floor(theirs), least).astype(np.int64)


def _fixed(course: Course, percent: float, shape: F64, caps: F64 | I64) -> F64:
    """(intervals,) time of one processor that meets a percentage over the steady state."""
    line = course.timeline
    found = np.minimum(line.tod * (percent / 100) * course.warming, caps)
    total = round(int(line.tod[line.steady].sum()) * percent / 100)
    limits = np.floor(caps).astype(np.int64)
    found[line.steady] = capped(total, shape[line.steady], limits[line.steady])
    return found


def _most(busy: F64 | I64) -> I64:
    """The most of some busy time that can be emulation."""
    return np.floor(busy * _FULL).astype(np.int64)


def _shared_out(totals: I64, weights: F64, caps: I64) -> I64:
    """Each total shared out over its row, no part above its cap.

    Args:
        totals: (rows,). weights, caps: (rows, parts).
    """
    parts = partition(totals, weights)
    for row in np.flatnonzero((parts > caps).any(axis=1)).tolist():
        parts[row] = capped(int(totals[row]), weights[row], caps[row])
    return parts


def _spins(measurement: Measurement, course: Course, demand: Demand, cp: I64) -> tuple[I64, I64]:
    """Spins and the time spent in them, (intervals, processors) each."""
    targets, rng, p = measurement.targets, measurement.rng("spins"), measurement.processors
    line = course.timeline
    cp_share = cp.sum(axis=1) / np.maximum(p * line.tod, 1)
    natural, natural_us = demand.spins(cp_share, p)
    count = course.counts("spin counts", natural, targets.spin_lock_rate)
    spins = partition(count, cp * around_one(rng, cp.shape, 0.02))
    weights = spins * around_one(rng, spins.shape, 0.015)
    if targets.spin_time_us is None:
        return spins, np.floor(weights * natural_us[:, None] * TOD_PER_US).astype(np.int64)
    times = np.rint(count * targets.spin_time_us * TOD_PER_US).astype(np.int64)
    total = round(int(count[line.steady].sum()) * targets.spin_time_us * TOD_PER_US)
    times[line.steady] = over_intervals(np.array([total]), weights.sum(axis=1)[line.steady, None])[
        :, 0
    ]
    return spins, partition(times, weights)
