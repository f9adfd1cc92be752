"""Processors: how much of each interval each of them spends on what."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .course import Course
from .demand import Demand
from .measurement import TOD_PER_US, Measurement
from .noise import F64, I64, around_one, bell, capped, partition
from .partitions import Partitions
from .timeline import Bool, Timeline
from .transactions import Transactions
from .utilization import FULL, Utilization, most

_SUSPENDED = 0.25
"""Share of its busy time that a processor loses when the machine beneath is full."""


@dataclass(frozen=True, slots=True)
class Times:
    """What processors spend their time on, TOD units; processor 0 is the master.

    (processors,) of one interval, or (intervals, processors) of a run.

    Busy time is emulation + charged + system; what is left of an interval is wait, apart from
    `suspended` time, in which the processor itself was given to another partition. Spinning is
    part of the CP time. An offline processor does nothing.

    Attributes:
        online: whether each took part in an interval.
    """

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


@dataclass(frozen=True, slots=True)
class Processors(Times):
    """The processors of a run.

    Attributes:
        shortage: (intervals,) work wanted over work done, 1 where all was done.
    """

    shortage: F64

    @classmethod
    def of(
        cls, measurement: Measurement, course: Course, demand: Demand, work: Transactions
    ) -> Processors:
        """The processors of a run, meeting its utilization and spin targets."""
        online, lost = _online(measurement, course.timeline), _suspension(measurement)
        most = _most_of_an_interval(measurement, lost)
        full = np.floor(online * course.timeline.tod[:, None] * most).astype(np.int64)
        use = Utilization(measurement, course, demand, work, online, full)
        busy, emulation = _times(use)
        rng, cp = measurement.rng("charged"), busy - emulation
        share = measurement.machine.charged_share * around_one(rng, cp.shape, 0.01)
        # CP's work for a virtual processor takes its time as well: the rest is nobody's.
        room = np.maximum(use.guests - emulation.sum(axis=1), 0) / np.maximum(cp.sum(axis=1), 1)
        share = np.minimum(share, np.minimum(room, 1.0)[:, None])
        charged = np.floor(cp * share).astype(np.int64)
        spins, spin_time = _spins(measurement, course, demand, cp)
        return cls(
            online=online,
            emulation=emulation,
            charged=charged,
            system=cp - charged,
            suspended=np.floor(busy * lost).astype(np.int64),
            spins=spins,
            spin_time=spin_time,
            shortage=use.shortage,
        )

    def at(self, interval: int) -> Times:
        """What they did in one interval."""
        names = Times.__dataclass_fields__
        return Times(**{name: getattr(self, name)[interval] for name in names})


def _online(measurement: Measurement, timeline: Timeline) -> Bool:
    """(intervals, processors) whether each was online; vary takes effect with its interval."""
    found = np.repeat(timeline.up[:, None], measurement.processors, axis=1)
    for one in measurement.disturbances:
        if one.processor is not None and one.kind in ("vary-off", "vary-on"):
            found[one.interval :, one.processor] = one.kind == "vary-on"
    return found & timeline.up[:, None]


def _suspension(measurement: Measurement) -> float:
    """Share of its busy time that a shared processor waits for a physical one."""
    if not measurement.machine.is_shared:
        return 0.0
    lpars = Partitions.of(measurement)
    rows = zip(lpars.counts, lpars.wanted, lpars.dedicated, strict=True)
    others = sum(count * wanted for count, wanted, alone in rows if not alone)
    load = min((measurement.processors + others) / max(lpars.shared, 1), 1.0)
    return _SUSPENDED * load * load


def _most_of_an_interval(measurement: Measurement, lost: float) -> float:
    """Share of an interval that a processor can be busy: what suspension or a cap leaves of it."""
    most = FULL / (1 + lost)
    if not measurement.machine.is_shared:
        return most
    lpars = Partitions.of(measurement)
    return min(most, FULL * lpars.limit(lpars.own) / measurement.processors)


def _times(use: Utilization) -> tuple[I64, I64]:
    """Busy and emulation time, (intervals, processors) each."""
    measurement, p = use.measurement, use.measurement.processors
    busy = use.busy()
    emulation = use.emulation(busy)
    if p == 1:
        return busy[:, None], emulation[:, None]
    rng = measurement.rng("machine")
    master, master_emulation = use.master(busy, emulation)
    rest, room = busy - master, use.room[:, 1:]
    free = 1.0 - rest / np.maximum(room.sum(axis=1), 1)
    # Dispatching spreads the work nearly evenly; a full processor has nothing left to vary.
    lasting = measurement.machine.imbalance * bell(rng, p - 1)
    passing = bell(rng, (len(rest), p - 1)) * (measurement.scenario.spread / 3)
    others = _shared_out(rest, use.online[:, 1:] * (1 + free[:, None] * (lasting + passing)), room)
    varied = others * around_one(rng, others.shape, 0.008)
    others_emulation = _shared_out(emulation - master_emulation, varied, most(others))
    return (
        np.concatenate([master[:, None], others], axis=1),
        np.concatenate([master_emulation[:, None], others_emulation], axis=1),
    )


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
    times[line.steady] = partition(total, weights.sum(axis=1)[line.steady])
    return spins, partition(times, weights)
