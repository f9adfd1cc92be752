"""Logical and physical processors of a run: partitions, and processor time of each interval."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..numeric import F64, I64, around_one, bell, capped, floor_int, partition
from ..scenario.scenario import Machine, Partition
from .measurement import TOD_PER_US, Measurement, Timeline, moment
from .population import Demand, Transactions
from .presence import Presence, Switch

MOST_PARTITIONS = 60
"""Upper bound of the number of partitions of a machine."""


_OF_PARTITIONS = ("partition-off", "partition-on", "weight", "cap", "uncap")
"""Kinds of events of partitions."""


class PartitionRecord(NamedTuple):
    """One of the records about a partition, with the addresses of its logical processors.

    `place` is the index of its entry, `times` are the indices of the processors among the logical
    processors of all partitions.
    """

    place: int
    name: str
    number: int
    processors: range
    times: slice


class Partitions:
    """The partitions of a machine by number, none in basic mode; one is that of this system.

    A partition has consecutive entries, one for each type of its processors. Weights and caps are
    those before the first event.

    Attributes:
        active: when each entry's partition is active.
        counts: logical processors of each entry.
        dedicated, capped: whether its processors are dedicated; whether its weight is a limit.
        demanded: share of its processors' time that each demands; unused for `own`.
        own, physical: index of this system's entry; types of the physical processors.
        shared, shared_weight: by type, number of processors that are not dedicated, and weight of
            all partitions that share them.
    """

    def __init__(self, measurement: Measurement, line: Timeline) -> None:
        machine = measurement.machine
        own, usual = machine.partition_number, machine.processor_type
        rows: list[tuple[int, str, str, Partition | Machine]] = []
        if machine.mode == "lpar":
            free = (n for n in range(1, MOST_PARTITIONS + 2) if n != own)
            others = measurement.scenario.partitions
            number = dict(zip(dict.fromkeys(p.name for p in others), free, strict=False))
            rows = [
                *((number[p.name], p.name, p.processor_type or usual, p) for p in others),
                (own, machine.partition, usual, machine),
            ]
            rows.sort(key=itemgetter(0))
        self.numbers = [row[0] for row in rows]
        self.names = [row[1] for row in rows]
        self.types = [row[2] for row in rows]
        given = [row[3] for row in rows]
        self.weights = [each.weight for each in given]
        self.counts = [each.processors for each in given]
        self.dedicated = [each.dedicated for each in given]
        self.capped = [each.capped for each in given]
        self.demanded = [
            each.busy_percent / 100 if isinstance(each, Partition) else 0.0 for each in given
        ]
        self.own = self.numbers.index(own) if rows else 0
        self.physical = [kind for kind, count in machine.physical.items() for _ in range(count)]
        self.total = len(set(self.numbers))
        self._machine = machine
        self._events = [e for e in measurement.events if e.kind in _OF_PARTITIONS]
        switches = [
            Switch(moment(e.at_s), np.array(self.names) == e.name, e.kind == "partition-on")
            for e in self._events
            if e.kind in ("partition-off", "partition-on")
        ]
        self.active = Presence(line, len(self.names), switches)
        self.shared: dict[str, int] = {}
        self.shared_weight: dict[str, int] = {}
        for kind, count in machine.physical.items():
            mine = [each for each, of in zip(given, self.types, strict=True) if of == kind]
            alone = sum(each.processors for each in mine if each.dedicated)
            self.shared[kind] = max(count - alone, 0)
            self.shared_weight[kind] = sum(each.weight for each in mine if not each.dedicated)

    @property
    def records(self) -> list[PartitionRecord]:
        """The records of all partitions; a partition can continue in a second record."""
        rows, most = [], self._machine.processors_per_record
        for number in dict.fromkeys(self.numbers):
            place = self.numbers.index(number)
            first = self.processors(place).start
            count = sum(c for c, n in zip(self.counts, self.numbers, strict=True) if n == number)
            for at in range(0, count, most or count):
                some = range(at, min(at + (most or count), count))
                times = slice(first + at, first + some.stop)
                rows.append(PartitionRecord(place, self.names[place], number, some, times))
        return rows

    def weights_at(self, at: int) -> list[int]:
        """Weight of each entry at a moment of the run."""
        weights = list(self.weights)
        for each in self._events:
            if each.kind == "weight" and moment(each.at_s) <= at:
                weights = [
                    each.weight if name == each.name else weight
                    for name, weight in zip(self.names, weights, strict=True)
                ]
        return weights

    def capped_at(self, at: int) -> list[bool]:
        """Whether the weight of each entry is a limit at a moment of the run."""
        capped = list(self.capped)
        for each in self._events:
            if each.kind in ("cap", "uncap") and moment(each.at_s) <= at:
                capped = [
                    each.kind == "cap" if name == each.name else value
                    for name, value in zip(self.names, capped, strict=True)
                ]
        return capped

    def defined(self, at: int) -> int:
        """Number of partitions that are active at a moment."""
        states = self.active.states(at).tolist()
        return len({n for n, on in zip(self.numbers, states, strict=True) if on})

    def limits(self, begin: int, end: int) -> F64:
        """(entries,) most physical processors that each may use, mean over a time."""
        return self._mean(begin, end, self._limits_at)

    def entitled(self, begin: int, end: int) -> F64:
        """(entries,) shared processors by weight, mean over a time; 0 of one that is not active."""
        return self._mean(begin, end, self._shares_at)

    def _mean(self, begin: int, end: int, of: Callable[[int], F64]) -> F64:
        moments = (moment(each.at_s) for each in self._events)
        marks = [begin, *sorted({at for at in moments if begin < at < end}), end]
        return sum(
            (of(since) * ((until - since) / (end - begin)) for since, until in pairwise(marks)),
            np.zeros(len(self.names)),
        )

    def _shares_at(self, at: int) -> F64:
        weights, active = np.array(self.weights_at(at)), self.active.states(at)
        weights = weights * active * ~np.array(self.dedicated, dtype=np.bool_)
        types = np.array(self.types)
        sums = np.array([weights[types == kind].sum() for kind in self.types])
        shared = np.array([self.shared[kind] for kind in self.types])
        return np.asarray(weights * shared / np.maximum(sums, 1))

    def _limits_at(self, at: int) -> F64:
        counts = np.array(self.counts, dtype=np.float64)
        by_weight = np.minimum(self._shares_at(at), counts)
        is_bound = np.array(self.capped_at(at)) & ~np.array(self.dedicated, dtype=np.bool_)
        return np.where(is_bound, by_weight, counts)

    def by_processor(self, values: Sequence[object]) -> npt.NDArray[Any]:
        """(logical processors of all partitions,) the value of the processor's entry."""
        return np.repeat(np.array(values), self.counts)

    @property
    def adjustment(self) -> int:
        """LPARCAF: share of the machine that this system is entitled to, 1/1000."""
        if not self.names:
            return 0
        granted = self.limit(self.own)
        if not self._machine.dedicated:
            granted = min(granted, self._share(self.own))
        return round(1000 * granted / self._machine.physical_processors)

    def limit(self, place: int) -> float:
        """Most physical processors that the entry at an index may use: all, or by its weight."""
        if self.dedicated[place] or not self.capped[place]:
            return float(self.counts[place])
        return min(self._share(place), float(self.counts[place]))

    def _share(self, place: int) -> float:
        """Shared physical processors in proportion to the weight of an entry."""
        kind = self.types[place]
        return self.shared[kind] * self.weights[place] / self.shared_weight[kind]

    def processors(self, place: int) -> slice:
        """Slice of an entry's logical processors in those of all entries."""
        first = sum(self.counts[:place])
        return slice(first, first + self.counts[place])


_FULL = 0.999
"""Most utilization of a processor, and most share of emulation in its busy time."""

SPIN_US, _SPINS_PER_S = 3.0, 4000.0
CONTENDED_US = 30
"""Length of a spin for a lock that is held for long."""


@dataclass(frozen=True, slots=True)
class Times:
    """Processor times by use, TOD units; processor 0 is the master.

    (processors,) of one interval, or (intervals, processors) of a run.

    Busy time is emulation + charged + system; the rest of an interval is wait, except `suspended`
    time, in which the physical processor served another partition. Spin time is part of the CP
    time. Offline and parked processors have no times, not even wait.

    `working` is the share of the interval in which CP dispatched work on the processor: it was
    online and not parked.
    """

    working: F64
    emulation: I64
    charged: I64
    system: I64
    suspended: I64
    spins: I64
    spin_time: I64

    @property
    def busy(self) -> I64:
        """Busy time."""
        return self.emulation + self.charged + self.system

    @property
    def cp(self) -> F64:
        """CP time."""
        return (self.charged + self.system).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Processors(Times):
    """The processors of a run.

    Attributes:
        shortage: (intervals,) demanded work / done work; 1 if all was done.
        online, unparked: when each is online, and has work.
    """

    shortage: F64
    online: Presence
    unparked: Presence

    @classmethod
    def build(cls, demand: Demand, work: Transactions) -> Processors:
        """Build the processors of a run so that they meet its utilization and spin targets."""
        measurement, allocation = demand.measurement, demand.allocation
        line, count = allocation.timeline, measurement.processors
        online = _switches(measurement, "vary-off", "vary-on")
        unparked = _switches(measurement, "park", "unpark")
        working = Presence(line, count, online, unparked).shares() * line.up[:, None]
        lost, most = _limits(measurement, line)
        room = floor_int(working * line.tod[:, None] * most[:, None])
        use = _Utilization(demand, work, working, room)
        busy, emulation = use.by_processor()
        rng, cp = measurement.rng("charged"), busy - emulation
        share = measurement.machine.charged_share * around_one(rng, cp.shape, 0.01)
        # CP time for a virtual processor also takes its time; the rest is system time.
        free = np.maximum(use.guests - emulation.sum(axis=1), 0) / np.maximum(cp.sum(axis=1), 1)
        charged = floor_int(cp * np.minimum(share, np.minimum(free, 1.0)[:, None]))
        suspended = floor_int(busy * lost)
        # What a cap keeps from running does not wait: there is work for all of the time.
        bound = (use.shortage > 1) & (most < _FULL / (1 + lost))
        whole = floor_int(working * line.tod[:, None]) - busy
        suspended = np.where(bound[:, None], np.maximum(whole, suspended), suspended)
        return cls(
            working,
            emulation,
            charged,
            cp - charged,
            suspended,
            *_spins(demand, cp),
            use.shortage,
            Presence(line, count, online),
            Presence(line, count, unparked),
        )

    def at(self, interval: int) -> Times:
        """The times of one interval."""
        return Times(*(getattr(self, name)[interval] for name in Times.__dataclass_fields__))


def _switches(measurement: Measurement, off: str, on: str) -> list[Switch]:
    """The events in which processors, with all threads of their cores, go off and on."""
    threads, cores = measurement.machine.threads, np.arange(measurement.processors)
    return [
        Switch(moment(each.at_s), cores // threads == each.processor, each.kind == on)
        for each in measurement.events
        if each.processor is not None and each.kind in (off, on)
    ]


def _limits(measurement: Measurement, line: Timeline) -> tuple[float, F64]:
    """Effects of other partitions on the processors.

    Returns:
        Suspended time of a shared processor as a share of its busy time; and the share of each
        interval, (intervals,), that suspension or a cap lets a processor be busy.
    """
    processors, full = measurement.machine.processors, np.full(measurement.intervals, _FULL)
    if measurement.machine.mode != "lpar" or measurement.machine.dedicated:
        return 0.0, full
    lpars = Partitions(measurement, line)
    rows = zip(lpars.counts, lpars.demanded, lpars.dedicated, lpars.types, strict=True)
    kind = measurement.machine.processor_type
    others = sum(n * demanded for n, demanded, alone, of in rows if of == kind and not alone)
    load = min((processors + others) / max(lpars.shared[kind], 1), 1.0)
    # A processor is suspended for a quarter of its busy time when the machine is fully used.
    lost = 0.25 * load * load
    edges = line.edges.tolist()
    own = np.array([lpars.limits(*each)[lpars.own] for each in pairwise(edges)])
    return lost, np.minimum(full / (1 + lost), full * own / processors)


def _spins(demand: Demand, cp: I64) -> tuple[I64, I64]:
    """Spins and the time spent in them, (intervals, processors) each."""
    measurement, allocation = demand.measurement, demand.allocation
    targets, rng, p = measurement.targets, measurement.rng("spins"), measurement.processors
    line = allocation.timeline
    contended = sum(demand.contention.values(), np.zeros(measurement.intervals))
    # Number and length of spins rise with the number of processors in CP.
    contended = np.minimum(contended * line.tod, 0.9 * cp.sum(axis=1))
    utilization = (cp.sum(axis=1) - contended) / np.maximum(p * line.tod, 1)
    natural = _SPINS_PER_S * (p - 1) * utilization * p
    count = allocation.counts("spin counts", natural, targets.spin_lock_rate)
    spins = partition(count, cp * around_one(rng, cp.shape, 0.02))
    longer = partition(floor_int(contended), cp.astype(np.float64))
    more = longer // (CONTENDED_US * TOD_PER_US)
    weights = spins * around_one(rng, spins.shape, 0.015)
    if targets.spin_time_us is None:
        natural_us = SPIN_US * (1.0 + utilization * (p - 1))
        return spins + more, floor_int(weights * natural_us[:, None] * TOD_PER_US) + longer
    times: I64 = np.rint(count * targets.spin_time_us * TOD_PER_US).astype(np.int64)
    total = int(count[line.steady].sum()) * targets.spin_time_us * TOD_PER_US
    fixed = partition(allocation.fix_steady(times, total, weights.sum(axis=1)), weights)
    return spins + more, fixed + longer


class _Utilization:
    """Allocates the processors' time to the intervals of a run. Times are TOD units.

    Attributes:
        working, room: (intervals, processors) share of the time that each works; most busy time.
        demanded: (intervals,) processors that the users' work would keep busy.
        guests: (intervals,) most time that all virtual processors can run.
    """

    def __init__(self, demand: Demand, work: Transactions, working: F64, room: I64) -> None:
        self.demand, self.work, self.working, self.room = demand, work, working, room
        self.measurement, self.allocation = demand.measurement, demand.allocation
        span = self.allocation.timeline.tod
        self.demanded = demand.emulation + demand.cp
        self.guests = _most_emulation(demand.virtual_processors * span)
        # A target describes done work; the demand beyond it is unknown.
        self.shortage: F64 = np.ones(len(span))
        if self.measurement.targets.total_util is None:
            self.shortage = np.maximum(self.demanded * span / np.maximum(room.sum(axis=1), 1), 1.0)

    def by_processor(self) -> tuple[I64, I64]:
        """Busy and emulation time, (intervals, processors) each."""
        measurement, p = self.measurement, self.measurement.processors
        busy = self._busy()
        emulation = self._emulation(busy)
        if p == 1:
            return busy[:, None], emulation[:, None]
        rng = measurement.rng("machine")
        master, master_emulation = self._master(busy, emulation)
        rest, room = busy - master, self.room[:, 1:]
        free = 1.0 - rest / np.maximum(room.sum(axis=1), 1)
        # Dispatching distributes the work nearly evenly; full processors do not vary.
        lasting = measurement.machine.imbalance * bell(rng, p - 1)
        passing = bell(rng, (len(rest), p - 1)) * (measurement.scenario.spread / 3)
        weights = self.working[:, 1:] * (1 + free[:, None] * (lasting + passing))
        others = _allocate_rows(rest, weights, room)
        varied = others * around_one(rng, others.shape, 0.008)
        rest, room = emulation - master_emulation, _most_emulation(others)
        others_emulation = _allocate_rows(rest, varied, room)
        by_processor = np.column_stack([master, others])
        return by_processor, np.column_stack([master_emulation, others_emulation])

    def _busy(self) -> I64:
        """(intervals,) busy time of all processors."""
        rng, span = self.measurement.rng("busy"), self.allocation.timeline.tod
        targets, room = self.measurement.targets, self.room.sum(axis=1)
        deviation = bell(rng, len(span)) * self.measurement.scenario.spread
        if targets.total_util is None:
            natural = np.rint(self.demanded * self.allocation.warming * span * (1.0 + deviation))
            return floor_int(np.minimum(natural, room))
        # The variation decreases towards saturation.
        calm = 1.0 + deviation * (1.0 - targets.total_util / 100)
        per_tx = None
        if targets.cp_us_per_tx is not None and targets.emul_us_per_tx is not None:
            per_tx = targets.cp_us_per_tx + targets.emul_us_per_tx
        shape = np.where(self.demanded.any(), self.demanded, 1.0) * calm * span
        return self._meet(targets.total_util, shape, room, per_tx)

    def _emulation(self, busy: I64) -> I64:
        """(intervals,) emulation time of all processors, a part of their busy time.

        Its upper bound is the time that the users' virtual processors can run.
        """
        targets, rng = self.measurement.targets, self.measurement.rng("emulation")
        varied = around_one(rng, len(busy), 0.004)
        caps = np.minimum(_most_emulation(busy), self.guests)
        if targets.emul_util is None:
            share = self.demand.emulation / np.maximum(self.demanded, 1e-9) * varied
            return np.minimum(floor_int(busy * share), caps)
        return self._meet(targets.emul_util, busy * varied, caps, targets.emul_us_per_tx)

    def _master(self, busy: I64, emulation: I64) -> tuple[I64, I64]:
        """(intervals,) busy and emulation time of the master processor, from that of all.

        It has the same share as others, unless timer requests take more time.
        """
        line, targets = self.allocation.timeline, self.measurement.targets
        # Before 4.3.0 only the master processor serves timer requests.
        alone = self.measurement.run.cp_level < "4.3.0"
        timers = self.demand.timer_cp * line.tod * alone
        cap = np.minimum(self.room[:, 0], busy)
        even = busy / np.maximum(self.working.sum(axis=1), 1)
        spread = self.measurement.scenario.spread * (1.0 - even / np.maximum(self.room[:, 0], 1))
        calm = 1.0 + bell(self.measurement.rng("master"), len(busy)) * spread
        shape: F64 = np.minimum(np.maximum(even, timers) * calm, cap)
        own = floor_int(shape)
        if targets.master_total_util is not None:
            own = self._meet(targets.master_total_util, shape, cap, processors=1)
        share = (own - timers * (timers > even)) / np.maximum(busy, 1)
        shape = np.clip(emulation * share, 0, _most_emulation(own))
        own_emulation = floor_int(shape)
        if targets.master_emul_util is not None:
            cap = _most_emulation(own)
            own_emulation = self._meet(targets.master_emul_util, shape, cap, processors=1)
        # The remainder must fit into the busy time of the other processors.
        return own, np.maximum(own_emulation, emulation - _most_emulation(busy - own))

    def _meet(
        self,
        percent: float,
        shape: F64,
        caps: I64,
        us_per_tx: float | None = None,
        processors: int | None = None,
    ) -> I64:
        """(intervals,) time that meets a utilization in the steady state.

        The intervals before it have the remainder of the time for all transactions, or a share of
        the time of the steady state.

        Args:
            processors: whose time it is; all that are online by default.
        """
        line = self.allocation.timeline
        online = self.working.sum(axis=1) if processors is None else processors
        processor_tod, early = online * line.tod, line.up & ~line.steady
        times = np.zeros(len(shape), dtype=np.int64)
        total = round(int(processor_tod[line.steady].sum()) * percent / 100)
        if us_per_tx is not None and early.any():
            all_of_them = round(us_per_tx * int(self.work.count.sum()) * TOD_PER_US)
            times[early] = capped(max(all_of_them - total, 0), shape[early], caps[early])
        else:
            level = processor_tod * (percent / 100) * self.allocation.warming
            times[early] = floor_int(np.minimum(level, caps))[early]
        return self.allocation.fix_steady(times, total, shape, caps)


def _allocate_rows(totals: I64, weights: F64, caps: I64) -> I64:
    """(rows, parts): each total allocated to the parts of its row, no part above its cap."""
    parts = partition(totals, weights)
    for row in np.flatnonzero((parts > caps).any(axis=1)).tolist():
        parts[row] = capped(int(totals[row]), weights[row], caps[row])
    return parts


def _most_emulation(busy: F64 | I64) -> I64:
    return floor_int(busy * _FULL)
