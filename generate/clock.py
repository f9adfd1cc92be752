"""Time: when each interval ends, and the TOD clock value that each record carries.

CP's sample timer does not drift: single intervals end a few milliseconds early or late, the run
as a whole lasts the nominal time. So a rate over a run has an exact divisor.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .measurement import TOD_PER_US, Measurement
from .noise import I64, bell
from .timeline import Timeline

U64 = npt.NDArray[np.uint64]

EPOCH_US = 2_208_988_800_000_000
"""Microseconds from the TOD epoch, 1900, to the Unix epoch, 1970."""

_JITTER = 700 * TOD_PER_US
_STEP = 1_400
"""TOD units that CP takes to build one record: a third of a microsecond."""


def tod_of(moment: dt.datetime) -> int:
    """TOD clock value of a point in time (UTC)."""
    since = moment - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return (since // dt.timedelta(microseconds=1) + EPOCH_US) * TOD_PER_US


def moment_of(tod: int) -> dt.datetime:
    """Point in time (UTC) of a TOD clock value, to the microsecond."""
    us = tod // TOD_PER_US - EPOCH_US
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=us)


@dataclass(frozen=True, slots=True)
class Clock:
    """The TOD clock of a run.

    Attributes:
        origin: TOD of the first sample.
        ends: (intervals + 1,) TOD units from the origin to the end of each sample.
        steps: (intervals + 1,) TOD units from one record of that sample to the next.
    """

    origin: int
    ends: I64
    steps: I64

    @classmethod
    def of(cls, measurement: Measurement, timeline: Timeline) -> Clock:
        """The clock of a run; first and last sample are exactly on time.

        So is the sample that begins the steady state: its rates have an exact divisor too.
        """
        rng, n = measurement.rng("clock"), measurement.intervals
        origin = tod_of(measurement.run.start) + int(rng.integers(0, TOD_PER_US * 1_000_000))
        ends = np.concatenate([[0], np.cumsum(timeline.tod)])
        late = (bell(rng, n) * _JITTER).astype(np.int64)
        late[measurement.warmup] = 0
        ends[1:n] += late[1:]
        steps = np.full(n + 1, _STEP, dtype=np.int64)
        steps[1:n] += rng.integers(-_STEP // 8, _STEP // 8, n)[1:]
        return cls(origin, ends, steps)

    def end(self, sample: int) -> int:
        """TOD of the record that closes a sample."""
        return self.origin + int(self.ends[sample])

    def end_moment(self, sample: int) -> dt.datetime:
        """When a sample ends, UTC."""
        return moment_of(self.end(sample))

    def records(self, sample: int, before_end: int, count: int) -> U64:
        """TOD of `count` records, the first of which is `before_end` records before the last."""
        step = int(self.steps[sample])
        first = self.end(sample) - before_end * step
        return np.arange(first, first + count * step, step, dtype=np.uint64)
