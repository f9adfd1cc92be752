"""How much work there is in each interval: the courses that groups of users follow."""

from __future__ import annotations

import datetime as dt

import numpy as np

from .measurement import Measurement
from .noise import F64, I64, around_one
from .population import Workload

_DAY_HOURS = (0.0, 6.0, 8.0, 10.5, 12.5, 15.0, 18.0, 22.0, 24.0)
_DAY_SHARES = (0.05, 0.0, 0.55, 1.0, 0.8, 0.95, 0.3, 0.1, 0.05)
"""Share of the way from level to peak by the hour: two maxima, a dip at noon, quiet nights."""


def loads(measurement: Measurement, seconds: I64) -> F64:
    """(intervals, groups) factor on the rates of each group, 0 or more.

    Args:
        seconds: (intervals,) their nominal length.
    """
    groups = measurement.groups
    found = np.empty((len(seconds), len(groups)))
    for place, group in enumerate(groups):
        workload = measurement.scenario.workload_of(group)
        rng = measurement.rng(f"workload {workload.name} of {group.name}")
        course = _course(workload, measurement, seconds, rng)
        found[:, place] = course * around_one(rng, len(seconds), workload.noise)
    return found


def _course(
    workload: Workload, measurement: Measurement, seconds: I64, rng: np.random.Generator
) -> F64:
    n, span = len(seconds), workload.peak - workload.level
    match workload.kind:
        case "steady":
            return np.full(n, workload.level)
        case "ramp":
            return workload.level + span * np.arange(n) / max(n - 1, 1)
        case "daily":
            hours = _hours(measurement.run.start, seconds)
            return workload.level + span * np.interp(hours, _DAY_HOURS, _DAY_SHARES)
        case "bursts":
            share = workload.burst_share / workload.burst_intervals
            starts = (rng.random(n) < share).astype(np.int64)
            lasting = np.convolve(starts, np.ones(workload.burst_intervals))[:n] > 0
            return np.where(lasting, workload.peak, workload.level)


def _hours(start: dt.datetime, seconds: I64) -> F64:
    """(intervals,) hour of the day in the middle of each, UTC."""
    begun = start.hour + start.minute / 60 + start.second / 3600
    middle = np.cumsum(seconds) - seconds / 2
    hours: F64 = (begun + middle / 3600) % 24
    return hours
