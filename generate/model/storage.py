"""Central and expanded storage and page slots: levels at each sample, flows in each interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..numeric import F64, I64, around_one, floor_int, partition, varied_levels
from .demand import Demand

_LEVEL_SPREAD = 0.0015
_SLOT_SPREAD = _LEVEL_SPREAD / 3
_LIST_SPREAD = 0.06
_FLOW_SPREAD = 1.5
"""Spread of paging / spread of the processors' work."""


class Levels:
    """Pages at each sample, (intervals + 1,); means over the samples equal the targets.

    Attributes:
        available_below, available_above: length of the available lists.
    """

    def __init__(self, demand: Demand) -> None:
        measurement, allocation = demand.measurement, demand.allocation
        rng, targets, n = measurement.rng("levels"), measurement.targets, measurement.intervals
        sizes = measurement.frames
        # Users logged on in the steady state.
        users = round(float(demand.users.sum(axis=1)[allocation.timeline.steady].mean()))

        def pages(
            noun: str, natural: F64, per_user: float | None, spread: float = _LEVEL_SPREAD
        ) -> I64:
            target = None if per_user is None else per_user * users
            return allocation.levels(noun, natural, target, spread)

        resident = pages("resident", demand.resident, targets.resident_pages_per_user)
        self.resident_above = floor_int(resident * sizes.users_above_share)
        self.resident_below = resident - self.resident_above
        fixed = (targets.resident_below_2g_pages, targets.resident_above_2g_pages)
        levels = allocation.levels
        if fixed[0] is not None:
            self.resident_below = levels("below", demand.resident, fixed[0], _LEVEL_SPREAD)
        if fixed[1] is not None:
            self.resident_above = levels("above", demand.resident, fixed[1], _LEVEL_SPREAD)
        below = sizes.pageable - sizes.cache_below - self.resident_below
        above = sizes.above - sizes.cache_above - self.resident_above
        self.available_below, self.available_above = np.maximum(below, 0), np.maximum(above, 0)
        if targets.resident_pages_per_user is not None or fixed != (None, None):
            # With a target for the users' frames CP has all but these and the available ones.
            listed = [
                varied_levels(rng, mean, n, _LIST_SPREAD)
                for mean in (sizes.available_below, sizes.available_above)
            ]
            self.available_below = np.minimum(listed[0], self.available_below)
            self.available_above = np.minimum(listed[1], self.available_above)
        self.expanded = pages("expanded", demand.expanded, targets.xstor_pages_per_user)
        self.slots = pages("slots", demand.slots, targets.dasd_pages_per_user, _SLOT_SPREAD)


@dataclass(frozen=True, slots=True)
class Flows:
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
        """Frames stolen: one for each page that comes in."""
        return self.fast_in + self.slow_in + self.dasd_in

    @classmethod
    def build(cls, demand: Demand) -> Flows:
        """Build the flows of a run; sums over the steady state meet the targets' rates."""
        measurement, allocation = demand.measurement, demand.allocation
        targets, storage = measurement.targets, measurement.storage
        spread = measurement.scenario.spread * _FLOW_SPREAD

        def flow(noun: str, natural: F64, target: float | None) -> I64:
            return allocation.counts(noun, natural, target, spread)

        expanded = flow("expanded paging", demand.xstor_pages, targets.xstor_page_rate)
        migrated = flow("migration", demand.migrated, targets.xstor_migration_rate)
        # Pages that go out come in again or are migrated to DASD.
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

    def at(self, interval: int, weights: F64, rng: np.random.Generator) -> Flows:
        """The flows of one interval by processor, (processors,).

        Args:
            weights: (processors,) CP time of each.
        """
        totals = np.array([getattr(self, name)[interval] for name in self.__dataclass_fields__])
        shape = (len(totals), len(weights))
        return Flows(*partition(totals, weights * around_one(rng, shape, 0.01)))
