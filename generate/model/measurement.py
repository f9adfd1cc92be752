"""What a run measures: its settings, random streams, timeline, clock, and totals by interval."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np

from ...core.errors import CpmonError
from ..numeric import F64, I64, U64, around_one, bell, capped, floor_int, partition, random_stream
from ..scenario.scenario import DOMAIN_NUMBERS, Event, Run, Scenario

TOD_PER_US = 4096
TOD_PER_S = 1_000_000 * TOD_PER_US
SCM_PER_S = 1_000_000 / 128
"""Units of the channel subsystem's measurement times in a second."""


class Measurement:
    """The inputs of a generated run, with the random numbers of each part of the model.

    Attributes:
        groups, users: the user groups with this run's counts; number of users.
        processors, sampled: number of processors that CP sees; domains that are sampled.
        events: those before the end of this run, in order of time.
        warmup: intervals before the steady state; at least one interval is steady.

    Raises:
        CpmonError: no such run, no intervals, or a seed below 0.
    """

    def __init__(
        self, scenario: Scenario, run_id: str, intervals: int | None, seed: int | None
    ) -> None:
        self.scenario = scenario
        self.run = run = scenario.run(run_id)
        default = run.intervals or scenario.intervals
        self.intervals = default if intervals is None else intervals
        if self.intervals < 1:
            raise CpmonError(
                "a dump needs an interval",
                expected="1 or more intervals",
                found=str(self.intervals),
            )
        self.seed = scenario.seed if seed is None else seed
        if self.seed < 0:
            raise CpmonError(
                "a seed cannot be negative", expected="0 or more", found=str(self.seed)
            )
        self.groups = scenario.groups_of(run)
        self.users = sum(group.count for group in self.groups)
        self.targets, self.machine, self.storage = run.targets, run.machine, run.storage
        self.processors = run.machine.cpus
        sampled = (DOMAIN_NUMBERS[name] for name in scenario.monitor.domains)
        # The monitor's own domain, 1, is always sampled.
        self.sampled = frozenset({1, *sampled})
        self.events = sorted((*scenario.events, *run.events), key=lambda each: each.at_s)
        self.frames = FrameCounts(scenario, run)
        self.warmup = min(run.warmup_intervals, self.intervals - 1)

    def rng(self, noun: str) -> np.random.Generator:
        """The random numbers of one part of the model in this run."""
        return random_stream(self.seed, self.scenario.name, self.run.run_id, noun)


_FRAMES_PER_MIB = 256


class FrameCounts:
    """Sizes in 4 KiB pages that do not change during a run.

    Attributes:
        below, above: frames below and above 2 GB.
        nonpageable, locked: fixed frames below 2 GB; the second are a part of the first.
        pageable: the others below 2 GB, for users, minidisk cache and CP.
        users_below, users_above, for_users: frames for users' pages, without the available lists.
        users_above_share: share of the users' pages above 2 GB: that of the scenario, or else in
            proportion to the frames.
        expanded, slots: pages of expanded storage; slots of paging volumes.
    """

    def __init__(self, scenario: Scenario, run: Run) -> None:
        storage = run.storage
        total = storage.central_mib * _FRAMES_PER_MIB
        self.below = min(total, 2048 * _FRAMES_PER_MIB)
        self.above = total - self.below
        self.locked = storage.locked_below_2g_mib * _FRAMES_PER_MIB
        self.nonpageable = storage.nonpageable_mib * _FRAMES_PER_MIB + self.locked
        self.pageable = self.below - self.nonpageable
        self.cache_below = storage.cache_below_2g_mib * _FRAMES_PER_MIB
        self.cache_above = storage.cache_above_2g_mib * _FRAMES_PER_MIB
        self.available_below = storage.available_below_frames
        self.available_above = storage.available_above_frames if self.above else 0
        self.users_below = max(0, self.pageable - self.cache_below - self.available_below)
        self.users_above = max(0, self.above - self.cache_above - self.available_above)
        self.for_users = self.users_below + self.users_above
        share = storage.resident_above_share
        room = self.users_above / max(self.for_users, 1)
        self.users_above_share = room if share is None else share
        self.expanded = storage.expanded_mib * _FRAMES_PER_MIB
        paging = [g for g in scenario.volumes if g.kind == "page"]
        self.slots = sum(g.count * g.cylinders * g.pages_per_cylinder for g in paging)


_EPOCH_US = 2_208_988_800_000_000
"""Microseconds from the TOD epoch, 1900, to the Unix epoch, 1970."""

_UNIX_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)

_STEP = 1_400
"""Time that CP takes to build one record in TOD units: a third of a microsecond."""


def moment(second: int) -> int:
    """TOD units from the first sample to an event in that second: behind a sample at its begin."""
    return second * TOD_PER_S + TOD_PER_S // 4


class Timeline:
    """The intervals of a run, with its events; interval k is between samples k and k + 1.

    Attributes:
        seconds, tod: (intervals,) nominal length, in seconds and in TOD units.
        edges: (intervals + 1,) TOD units from the first sample to each, nominal.
        up, up_seconds: (intervals,) whether the system runs; seconds during which it does.
        steady: (intervals,) whether it belongs to the steady state, which targets describe.
        exists, written: (intervals + 1,) whether CP took the sample; whether the dump has it.
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
        for each in measurement.events:
            interval = self._at(each.at_s)
            if interval >= n:
                continue
            end = min(self._at(each.at_s + each.lasts_s - 1) + 1, n)
            if each.kind == "ipl":
                self.up[interval:end] = False
                self.epoch[end:] += 1
                ipls.append(end)
            elif each.kind == "restart":
                begins[interval + 1] = True
            elif each.kind == "miss":
                written[interval + 1 : end + 1] = False
            elif each.kind == "interval" and each.interval_s is not None:
                self.seconds[interval + 1 :] = each.interval_s
                begins[interval + 1] = True
        self.tod = self.seconds * TOD_PER_S
        self.edges = np.concatenate([[0], np.cumsum(self.tod)])
        self.exists = np.concatenate([[True], self.up])
        self.exists[ipls] = begins[ipls] = True
        self.steady = self.up & (np.arange(n) >= measurement.warmup)
        self.up_seconds = self.seconds * self.up
        self.steady_seconds = int(self.seconds[self.steady].sum())
        self.written, self.begins = written & self.exists, begins & self.exists

    def _at(self, second: int) -> int:
        """The interval in which a second lies; the number of intervals if it is later."""
        return int(np.searchsorted(np.cumsum(self.seconds), second, side="right"))

    def covered(self, event: Event) -> F64:
        """(intervals,) share of each interval that an event with a length covers."""
        first, last = event.at_s * TOD_PER_S, (event.at_s + event.lasts_s) * TOD_PER_S
        both = np.minimum(self.edges[1:], last) - np.maximum(self.edges[:-1], first)
        return np.asarray(np.maximum(both, 0) / self.tod)

    def interval_of(self, sample: int) -> int:
        """The interval that a sample reports on.

        The first one after an IPL closes no interval; its activity is a share of that of the
        following interval.
        """
        return min(sample, len(self.up) - 1) if self.starts(sample) else sample - 1

    def starts(self, sample: int) -> bool:
        """Whether it is the first one of the run or after an IPL."""
        return sample == 0 or bool(self.epoch[sample] != self.epoch[sample - 1])


class ModelClock:
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
        start = (since + _EPOCH_US) * TOD_PER_US
        self.origin = start + int(rng.integers(0, TOD_PER_US * 1_000_000))
        self.ends = timeline.edges.copy()
        late = (bell(rng, n) * (700 * TOD_PER_US)).astype(np.int64)
        late[measurement.warmup] = 0
        self.ends[1:n] += late[1:]
        self.steps = np.full(n + 1, _STEP, dtype=np.int64)
        self.steps[1:n] += rng.integers(-_STEP // 8, _STEP // 8, n)[1:]

    def end(self, sample: int) -> int:
        """TOD of the record that closes a sample."""
        return self.origin + int(self.ends[sample])

    def end_moment(self, sample: int) -> dt.datetime:
        """When a sample ends, UTC, to the microsecond."""
        return _UNIX_EPOCH + dt.timedelta(microseconds=self.end(sample) // TOD_PER_US - _EPOCH_US)

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
            natural, target: (intervals,) events a second; and one number of them.
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

        It is distributed by (intervals,) weights; `caps` are the upper bounds of the intervals.
        """
        steady, whole = self.timeline.steady, round(total)
        parts = partition(whole, weights[steady])
        values[steady] = parts if caps is None else capped(whole, weights[steady], caps[steady])
        return values

    @property
    def warming(self) -> F64:
        """(intervals,) 1 in the steady state; before it the ratio of transactions to it."""
        return np.where(self.timeline.steady, 1.0, self.measurement.run.warmup_tx_share)

    def levels(self, noun: str, natural: F64, target: float | None, spread: float) -> I64:
        """(intervals + 1,) a level at each sample, from the natural one in each interval.

        The target is the mean over the samples that end a steady interval, and the level at the
        first sample, too, so that a reader may include that one or not.
        """
        line = self.timeline
        varied = around_one(self.measurement.rng(noun), len(natural), spread)
        if target is None:
            return floor_int(np.rint(np.concatenate([natural[:1], natural * varied])))
        levels = np.full(len(natural) + 1, round(target), dtype=np.int64)
        later = np.concatenate([[False], line.steady])
        levels[later] = partition(round(target * int(line.steady.sum())), varied[line.steady])
        return levels
