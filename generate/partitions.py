"""Logical partitions: for how long the machine dispatches the processors of each.

What this system does is settled by its own work. The partitions beside it take what they want of
the rest: the processors that are not dedicated are one pool.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .measurement import TOD_PER_US, Measurement
from .noise import F64, I64, around_one, capped
from .scenario import Run, Scenario
from .tables import ScenarioError

if TYPE_CHECKING:
    from .model import Model, Sample

MOST_PARTITIONS = 60
"""More than a machine has."""

_OVERHEAD = 0.006
"""Share of a shared processor's dispatch time that the machine needs to give and to take it."""

_MANAGEMENT = 0.004
"""Share of a busy physical processor's time that belongs to no partition."""

_COLLECTED_US = 900
"""The machine is asked for its data so long before a sample ends."""

_SPREAD = 0.06


@dataclass(frozen=True, slots=True)
class Partitions:
    """The partitions of a machine by number; one of them, `own`, is this system's.

    Attributes:
        names, numbers, weights: of each.
        counts: logical processors of each.
        dedicated, capped: whether its processors are its own; whether its weight is a limit.
        wanted: share of its processors' time that each wants; of no meaning for `own`.
        physical: processors of the machine.
    """

    names: tuple[str, ...]
    numbers: tuple[int, ...]
    weights: tuple[int, ...]
    counts: tuple[int, ...]
    dedicated: tuple[bool, ...]
    capped: tuple[bool, ...]
    wanted: tuple[float, ...]
    own: int
    physical: int

    @classmethod
    def of(cls, measurement: Measurement) -> Partitions:
        """The partitions of a run's machine; none in basic mode."""
        machine = measurement.machine
        if machine.mode != "lpar":
            return cls((), (), (), (), (), (), (), 0, machine.physical_processors)
        others, mine = measurement.scenario.partitions, machine.partition_number
        free = (n for n in range(1, MOST_PARTITIONS + 2) if n != mine)
        rows = [
            (next(free), p.name, p.weight, p.processors, p.dedicated, p.capped, p.busy_percent)
            for p in others
        ]
        rows.append(
            (
                *(mine, machine.partition, machine.weight, machine.processors),
                *(machine.dedicated, machine.capped, 0.0),
            )
        )
        numbers, names, weights, counts, dedicated, limited, busy = zip(*sorted(rows), strict=True)
        return cls(
            names=names,
            numbers=numbers,
            weights=weights,
            counts=counts,
            dedicated=dedicated,
            capped=limited,
            wanted=tuple(percent / 100 for percent in busy),
            own=numbers.index(mine),
            physical=machine.physical_processors,
        )

    @property
    def shared(self) -> int:
        """Physical processors that are not dedicated to a partition."""
        pairs = zip(self.counts, self.dedicated, strict=True)
        return max(self.physical - sum(count for count, alone in pairs if alone), 0)

    def limit(self, place: int) -> float:
        """Physical processors that a partition may use at most: all that it has, or its weight's.

        Args:
            place: index of the partition.
        """
        if self.dedicated[place] or not self.capped[place]:
            return float(self.counts[place])
        pairs = zip(self.weights, self.dedicated, strict=True)
        every = sum(weight for weight, alone in pairs if not alone)
        return min(self.shared * self.weights[place] / every, float(self.counts[place]))

    def first(self, place: int) -> int:
        """Where the logical processors of a partition begin among those of all."""
        return sum(self.counts[:place])


def collected_tod(model: Model, sample: int) -> int:
    """TOD clock, whole microseconds, at which a sample's data about partitions were taken."""
    return (model.clock.end(sample) // TOD_PER_US - _COLLECTED_US) * TOD_PER_US


@dataclass(frozen=True, slots=True)
class Dispatched:
    """Time in microseconds for which processors were dispatched in one interval.

    Attributes:
        active, effective: (logical processors of all partitions,) with and without the time that
            the machine needed for dispatching.
        management: (physical processors,) time that belongs to no partition.
    """

    active: I64
    effective: I64
    management: I64

    @classmethod
    def of(cls, sample: Sample) -> Dispatched:
        """The dispatch times of an interval; all of them fit the physical processors."""
        lpars, model = sample.model.partitions, sample.model
        span = _span_us(sample)
        rng = model.measurement.rng(f"partitions in interval {sample.interval}")
        mine = _own(sample, span)
        room = float(lpars.shared * span) * (1 - 2 * _MANAGEMENT)
        if not lpars.dedicated[lpars.own]:
            room -= float(mine.sum()) * (1 + _OVERHEAD)
        wanted = [_wanted(lpars, place, span, rng) for place in range(len(lpars.counts))]
        asked = sum(float(w.sum()) for w, d in zip(wanted, lpars.dedicated, strict=True) if not d)
        granted = min(1.0, max(room, 0.0) / max(asked * (1 + _OVERHEAD), 1.0))
        effective = [
            each if alone else each * granted
            for each, alone in zip(wanted, lpars.dedicated, strict=True)
        ]
        effective[lpars.own] = mine
        net = np.floor(np.concatenate(effective)).astype(np.int64)
        alone = np.repeat(lpars.dedicated, lpars.counts)
        gross = np.where(alone, net, np.minimum(net + np.floor(net * _OVERHEAD), span))
        active = gross.astype(np.int64)
        return cls(active, net, _management(lpars, int(active.sum()), span))


def _span_us(sample: Sample) -> int:
    """Microseconds between the data of this sample and those of the one before it."""
    model, number = sample.model, sample.number
    if model.timeline.starts(number):
        return int(model.timeline.tod[sample.interval]) // TOD_PER_US
    return (collected_tod(model, number) - collected_tod(model, number - 1)) // TOD_PER_US


def _own(sample: Sample, span: int) -> F64:
    """(processors,) of this system: busy, or online where nobody else gets the processor."""
    lpars, times = sample.model.partitions, sample.times
    if lpars.dedicated[lpars.own]:
        return times.online.astype(np.float64) * span
    return np.minimum(times.busy // TOD_PER_US, span).astype(np.float64)


def _wanted(lpars: Partitions, place: int, span: int, rng: np.random.Generator) -> F64:
    """(logical processors,) microseconds that another partition wants; a dedicated one has all."""
    count = lpars.counts[place]
    if place == lpars.own:
        return np.zeros(count)
    if lpars.dedicated[place]:
        return np.full(count, float(span))
    use = around_one(rng, count, _SPREAD) * around_one(rng, 1, _SPREAD) * lpars.wanted[place]
    most = lpars.limit(place) / count
    granted: F64 = np.minimum(use, min(most, 0.99)) * span
    return granted


def _management(lpars: Partitions, active: int, span: int) -> I64:
    """(physical processors,) microseconds: the more, the busier they are, and never too many."""
    load = active / (lpars.physical * span)
    wanted = round(lpars.physical * span * _MANAGEMENT * (0.2 + 0.8 * min(load, 1.0)))
    left = max(lpars.physical * span - active, 0)
    each = np.full(lpars.physical, span, dtype=np.int64)
    # The first processors do a little more of it.
    falling = 1.0 + 1.0 / np.arange(1, lpars.physical + 1)
    return capped(min(wanted, left), falling, each)


def check_partitions(scenario: Scenario, run: Run, file: str) -> None:
    """See that a run's machine has the partitions of its scenario, and processors for them.

    Raises:
        ScenarioError: more of them than there can be.
    """
    machine, others = run.machine, scenario.partitions
    if machine.mode != "lpar":
        return
    if len(others) >= MOST_PARTITIONS:
        raise ScenarioError(
            "there are too many partitions",
            place=f"{file}: partitions[{MOST_PARTITIONS}]",
            expected=f"at most {MOST_PARTITIONS - 1} beside this system's",
            found=str(len(others)),
        )
    alone = sum(p.processors for p in others if p.dedicated)
    pooled = [p.processors for p in others if not p.dedicated]
    mine = machine.processors
    needed = alone + mine + bool(pooled) if machine.dedicated else alone + max([mine, *pooled])
    if needed > machine.physical_processors:
        raise ScenarioError(
            f"run {run.run_id}: the partitions do not fit the machine",
            place=f"{file}: machine.physical_processors",
            expected=f"at least {needed}: dedicated processors, and as many shared ones as a "
            "partition has",
            found=str(machine.physical_processors),
        )
