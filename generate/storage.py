"""Central and expanded storage and page slots: levels at each sample, flows in each interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .frames import Frames
from .machine import Processors
from .measurement import Measurement
from .noise import I64, around_one, levels, partition

_LEVEL_SPREAD = 0.0015
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
    def of(cls, measurement: Measurement) -> Levels:
        """The levels of a run; means over its samples are the targets."""
        rng, targets, n = measurement.rng("levels"), measurement.targets, measurement.intervals
        storage, users = measurement.scenario.storage, measurement.users
        resident = levels(rng, users * targets.resident_pages_per_user, n, _LEVEL_SPREAD)
        above = np.floor(resident * storage.resident_above_share).astype(np.int64)
        return cls(
            sizes=Frames.of(measurement.scenario),
            resident_below=resident - above,
            resident_above=above,
            available_below=levels(rng, storage.available_below_frames, n, 0.06),
            available_above=levels(rng, storage.available_above_frames, n, 0.06),
            expanded=levels(rng, users * targets.xstor_pages_per_user, n, _LEVEL_SPREAD),
            slots=levels(rng, users * targets.dasd_pages_per_user, n, _LEVEL_SPREAD / 3),
        )


@dataclass(frozen=True, slots=True)
class Flows:
    """Pages moved, (intervals, processors), by the processor that did it."""

    fast_in: I64
    slow_in: I64
    out: I64
    dasd_in: I64
    dasd_out: I64
    moved_below_2g: I64
    stolen: I64

    @classmethod
    def of(cls, measurement: Measurement, processors: Processors) -> Flows:
        """The flows of a run; sums over processors and intervals meet the targets' rates."""
        rng, targets = measurement.rng("flows"), measurement.targets
        storage = measurement.scenario.storage
        expanded = measurement.count(targets.xstor_page_rate)
        dasd = measurement.count(targets.paging_rate)
        weights = processors.weights
        page_ins = expanded // 2
        fast = round(page_ins * storage.fast_page_in_share)
        reads = round(dasd * storage.page_read_share)
        spread = measurement.scenario.spread * _FLOW_SPREAD

        def flow(total: int) -> I64:
            shape = (measurement.intervals, 1)
            varied = weights * around_one(rng, shape, spread) * around_one(rng, weights.shape, 0.01)
            return partition(total, varied.ravel()).reshape(weights.shape)

        made = {
            "fast_in": flow(fast),
            "slow_in": flow(page_ins - fast),
            "out": flow(expanded - page_ins),
            "dasd_in": flow(reads),
            "dasd_out": flow(dasd - reads),
            "moved_below_2g": flow(measurement.count(targets.move_2g_rate)),
        }
        # Every page that comes in takes a frame that was taken from somebody.
        stolen = made["fast_in"] + made["slow_in"] + made["dasd_in"]
        return cls(**made, stolen=stolen)
