"""Central and expanded storage and page slots: levels at each sample, flows in each interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .course import Course
from .demand import Demand
from .frames import Frames
from .measurement import Measurement
from .noise import F64, I64, around_one, levels, partition

_LEVEL_SPREAD = 0.0015
_SLOT_SPREAD = _LEVEL_SPREAD / 3
_LIST_SPREAD = 0.06
_FLOW_SPREAD = 1.5
"""Paging varies by so many times the spread of the processors' work."""


@dataclass(frozen=True, slots=True)
class Levels:
    """Pages, one number a sample: (intervals + 1,). `sizes` are the numbers that stay."""

    sizes: Frames
    resident_below: I64
    resident_above: I64
    available_below: I64
    available_above: I64
    expanded: I64
    slots: I64

    @classmethod
    def of(cls, measurement: Measurement, course: Course, demand: Demand) -> Levels:
        """The levels of a run; means over its samples are the targets."""
        rng, targets, n = measurement.rng("levels"), measurement.targets, measurement.intervals
        sizes, users = Frames.of(measurement), _users(course, demand)

        def of_users(per_user: float | None) -> float | None:
            return None if per_user is None else per_user * users

        resident = course.levels(
            "resident", demand.resident, of_users(targets.resident_pages_per_user), _LEVEL_SPREAD
        )
        share = sizes.users_above_share(measurement.storage)
        above = np.floor(resident * share).astype(np.int64)
        below = resident - above
        fixed = (targets.resident_below_2g_pages, targets.resident_above_2g_pages)
        if fixed[0] is not None:
            below = course.levels("below", demand.resident, fixed[0], _LEVEL_SPREAD)
        if fixed[1] is not None:
            above = course.levels("above", demand.resident, fixed[1], _LEVEL_SPREAD)
        expanded, slots = (
            of_users(targets.xstor_pages_per_user),
            of_users(targets.dasd_pages_per_user),
        )
        free = (
            np.maximum(sizes.pageable - sizes.cache_below - below, 0),
            np.maximum(sizes.above - sizes.cache_above - above, 0),
        )
        # Where a target says what users hold, CP has the frames beside them and those listed.
        is_free = targets.resident_pages_per_user is None and fixed == (None, None)
        return cls(
            sizes=sizes,
            resident_below=below,
            resident_above=above,
            available_below=free[0] if is_free else _listed(rng, sizes.available_below, free[0], n),
            available_above=free[1] if is_free else _listed(rng, sizes.available_above, free[1], n),
            expanded=course.levels("expanded", demand.expanded, expanded, _LEVEL_SPREAD),
            slots=course.levels("slots", demand.slots, slots, _SLOT_SPREAD),
        )


def _users(course: Course, demand: Demand) -> int:
    """Users logged on in the steady state."""
    return round(float(demand.users.sum(axis=1)[course.timeline.steady].mean()))


def _listed(rng: np.random.Generator, mean: float, free: I64, intervals: int) -> I64:
    """(intervals + 1,) length of an available list: never longer than there are free frames."""
    return np.minimum(levels(rng, mean, intervals, _LIST_SPREAD), free)


@dataclass(frozen=True, slots=True)
class Moved:
    """Pages that moved: (intervals,) of a run, or (processors,) of one interval."""

    fast_in: I64
    slow_in: I64
    out: I64
    migrated: I64
    dasd_in: I64
    dasd_out: I64
    moved_below_2g: I64

    @property
    def stolen(self) -> I64:
        """Every page that comes in takes a frame that was taken from somebody."""
        return self.fast_in + self.slow_in + self.dasd_in


@dataclass(frozen=True, slots=True)
class Flows(Moved):
    """Pages that moved in each interval of a run, (intervals,)."""

    @classmethod
    def of(cls, measurement: Measurement, course: Course, demand: Demand) -> Flows:
        """The flows of a run; sums over the steady state meet the targets' rates."""
        targets, storage = measurement.targets, measurement.storage
        spread = measurement.scenario.spread * _FLOW_SPREAD

        def flow(noun: str, natural: F64, target: float | None) -> I64:
            return course.counts(noun, natural, target, spread)

        expanded = flow("expanded paging", demand.xstor_pages, targets.xstor_page_rate)
        migrated = flow("migration", demand.migrated, targets.xstor_migration_rate)
        # What goes out comes in again, or is migrated to DASD.
        page_ins = np.maximum(expanded - migrated, 0) // 2
        fast = np.rint(page_ins * storage.fast_page_in_share).astype(np.int64)
        if targets.dasd_read_rate is not None and targets.dasd_write_rate is not None:
            reads = flow("page reads", demand.dasd_pages, targets.dasd_read_rate)
            writes = flow("page writes", demand.dasd_pages, targets.dasd_write_rate)
        else:
            paging = flow("paging", demand.dasd_pages, targets.paging_rate)
            reads = np.rint(paging * storage.page_read_share).astype(np.int64)
            writes = paging - reads
        return cls(
            fast_in=fast,
            slow_in=page_ins - fast,
            out=expanded - page_ins,
            migrated=migrated,
            dasd_in=reads,
            dasd_out=writes,
            moved_below_2g=flow("moves below", demand.moved_below_2g, targets.move_2g_rate),
        )

    def at(self, interval: int, weights: F64, rng: np.random.Generator) -> Moved:
        """Those of one interval by the processor that did it, (processors,).

        Args:
            weights: (processors,) CP time of each.
        """
        totals = np.array([getattr(self, name)[interval] for name in Moved.__dataclass_fields__])
        shape = (len(totals), len(weights))
        return Moved(*partition(totals, weights * around_one(rng, shape, 0.01)))
