"""Time of a run: its intervals, the TOD clock, and run totals allocated to intervals."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from ..numeric import F64, I64, U64, around_one, bell, capped, partition
from .measurement import TOD_PER_S, TOD_PER_US, Measurement

EPOCH_US = 2_208_988_800_000_000
"""Microseconds from the TOD epoch, 1900, to the Unix epoch, 1970."""

_UNIX_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

_JITTER = 700 * TOD_PER_US
_STEP = 1_400
"""Time that CP takes to build one record in TOD units: a third of a microsecond."""


class Timeline:
    """The intervals of a run, with the disturbances; interval k is between samples k and k + 1.

    Attributes:
        seconds, tod: (intervals,) nominal length, in seconds and in TOD units.
        up, up_seconds: (intervals,) whether the system runs; seconds during which it does.
        steady: (intervals,) whether it belongs to the steady state, which targets describe.
        steady_seconds: length of the steady state.
        exists: (intervals + 1,) whether CP took the sample.
        written: (intervals + 1,) whether the dump has it.
        epoch: (intervals + 1,) number of IPLs since the run began.
        begins: (intervals + 1,) whether monitoring starts with this sample, after an IPL or a
            restart of MONITOR, so that configuration records precede it.
    """

    def __init__(self, measurement: Measurement) -> None:
        n = measurement.intervals
        self.seconds = np.full(n, measurement.scenario.monitor.interval_s, dtype=np.int64)
        self.up, written = np.ones(n, dtype=np.bool_), np.ones(n + 1, dtype=np.bool_)
        self.epoch, begins = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.bool_)
        begins[0], ipls = True, [0]
        for each in measurement.disturbances:
            end = min(each.interval + each.intervals, n)
            if each.kind == "ipl":
                self.up[each.interval : end] = False
                self.epoch[end:] += 1
                ipls.append(end)
            elif each.kind == "restart":
                begins[each.interval + 1] = True
            elif each.kind == "miss":
                written[each.interval + 1 : end + 1] = False
            elif each.kind == "interval" and each.interval_s is not None:
                self.seconds[each.interval + 1 :] = each.interval_s
                begins[each.interval + 1] = True
        self.tod = self.seconds * TOD_PER_S
        self.exists = np.concatenate([[True], self.up])
        self.exists[ipls] = begins[ipls] = True
        self.steady = self.up & (np.arange(n) >= measurement.warmup)
        self.up_seconds = self.seconds * self.up
        self.steady_seconds = int(self.seconds[self.steady].sum())
        self.written, self.begins = written & self.exists, begins & self.exists

    def interval_of(self, sample: int) -> int:
        """The interval that a sample reports on.

        The first one after an IPL closes no interval; its activity is a share of that of the
        following interval.
        """
        return min(sample, len(self.up) - 1) if self.starts(sample) else sample - 1

    def starts(self, sample: int) -> bool:
        """Whether it is the first one of the run or after an IPL."""
        return sample == 0 or bool(self.epoch[sample] != self.epoch[sample - 1])


class Clock:
    """The TOD clock of a run.

    CP's sample timer does not drift: intervals end a few milliseconds early or late, but the run
    has its nominal length. The first and last sample and the one that begins the steady state are
    exactly on time, so that rates have exact divisors.

    Attributes:
        origin: TOD of the first sample.
        ends: (intervals + 1,) TOD units from the origin to the end of each sample.
        steps: (intervals + 1,) TOD units from one record of that sample to the next.
    """

    def __init__(self, measurement: Measurement, timeline: Timeline) -> None:
        rng, n = measurement.rng("clock"), measurement.intervals
        since = (measurement.run.start - _UNIX_EPOCH) // dt.timedelta(microseconds=1)
        start = (since + EPOCH_US) * TOD_PER_US
        self.origin = start + int(rng.integers(0, TOD_PER_US * 1_000_000))
        self.ends = np.concatenate([[0], np.cumsum(timeline.tod)])
        late = (bell(rng, n) * _JITTER).astype(np.int64)
        late[measurement.warmup] = 0
        self.ends[1:n] += late[1:]
        self.steps = np.full(n + 1, _STEP, dtype=np.int64)
        self.steps[1:n] += rng.integers(-_STEP // 8, _STEP // 8, n)[1:]

    def end(self, sample: int) -> int:
        """TOD of the record that closes a sample."""
        return self.origin + int(self.ends[sample])

    def end_moment(self, sample: int) -> dt.datetime:
        """When a sample ends, UTC, to the microsecond."""
        return _UNIX_EPOCH + dt.timedelta(microseconds=self.end(sample) // TOD_PER_US - EPOCH_US)

    def records(self, sample: int, before_end: int, count: int) -> U64:
        """TOD of `count` records; the first is `before_end` records before the sample's last."""
        step = int(self.steps[sample])
        first = self.end(sample) - before_end * step
        return np.arange(first, first + count * step, step, dtype=np.uint64)


@dataclass(frozen=True, slots=True)
class Allocation:
    """Allocates run totals to intervals: a target determines the total, demand its distribution."""

    measurement: Measurement
    timeline: Timeline

    def counts(
        self, noun: str, natural: F64, target: float | None = None, spread: float | None = None
    ) -> I64:
        """(intervals,) events: those of the target over the steady state, else the natural number.

        Intervals before the steady state have events in proportion to their transactions.

        Args:
            noun: name of the counted events, for their random numbers.
            natural: (intervals,) events a second.
            target: events a second.
            spread: deviation from interval to interval; the scenario's by default.
        """
        line, rng = self.timeline, self.measurement.rng(noun)
        deviation = self.measurement.scenario.spread if spread is None else spread
        seconds = line.up_seconds * around_one(rng, len(natural), deviation)
        if target is None:
            return np.rint(natural * self.warming * seconds).astype(np.int64)
        varied = np.where(natural[line.steady].sum() > 0, natural, 1.0) * seconds
        counts: I64 = np.rint(target * self.warming * seconds).astype(np.int64)
        return self.fix_steady(counts, target * line.steady_seconds, varied)

    def fix_steady(self, values: I64, total: float, weights: F64, caps: I64 | None = None) -> I64:
        """(intervals,) values whose steady state is replaced so that its sum is a total.

        Args:
            weights: (intervals,) distribution of the total. caps: upper bound of each interval.
        """
        steady = self.timeline.steady
        if caps is None:
            values[steady] = partition(round(total), weights[steady])
        else:
            values[steady] = capped(round(total), weights[steady], caps[steady])
        return values

    @property
    def warming(self) -> F64:
        """(intervals,) 1 in the steady state; before it the ratio of transactions to it."""
        return np.where(self.timeline.steady, 1.0, self.measurement.run.warmup_tx_share)

    def levels(self, noun: str, natural: F64, target: float | None, spread: float) -> I64:
        """(intervals + 1,) a level at each sample.

        The target is the mean over the samples that end a steady interval, and the level at the
        first sample, too, so that a reader may include that one or not.

        Args:
            noun: as above.
            natural: (intervals,).
        """
        line = self.timeline
        varied = around_one(self.measurement.rng(noun), len(natural), spread)
        if target is None:
            natural_levels: I64 = np.rint(np.concatenate([natural[:1], natural * varied]))
            return natural_levels.astype(np.int64)
        levels = np.full(len(natural) + 1, round(target), dtype=np.int64)
        later = np.concatenate([[False], line.steady])
        levels[later] = partition(round(target * int(line.steady.sum())), varied[line.steady])
        return levels
