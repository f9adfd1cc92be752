"""The course of a run: how long each interval is, when the system is down, what is not written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .measurement import TOD_PER_S, Measurement
from .noise import I64

Bool = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Timeline:
    """Interval k lies between the samples k and k + 1.

    Attributes:
        seconds, tod: (intervals,) nominal length, in seconds and in TOD units.
        up: (intervals,) whether the system runs.
        steady: (intervals,) whether the targets describe it.
        exists: (intervals + 1,) whether CP took the sample.
        written: (intervals + 1,) whether it also reached the dump.
        epoch: (intervals + 1,) IPLs since the run began.
        begins: (intervals + 1,) whether monitoring starts with this sample, after an IPL or a
            restart of MONITOR: configuration records come before it.
    """

    seconds: I64
    tod: I64
    up: Bool
    steady: Bool
    exists: Bool
    written: Bool
    epoch: I64
    begins: Bool

    @classmethod
    def of(cls, measurement: Measurement) -> Timeline:
        """The course that the disturbances leave."""
        n = measurement.intervals
        seconds = np.full(n, measurement.scenario.monitor.interval_s, dtype=np.int64)
        up, written = np.ones(n, dtype=np.bool_), np.ones(n + 1, dtype=np.bool_)
        epoch, begins = np.zeros(n + 1, dtype=np.int64), np.zeros(n + 1, dtype=np.bool_)
        begins[0], ipls = True, [0]
        for one in measurement.disturbances:
            behind = min(one.interval + one.intervals, n)
            if one.kind == "ipl":
                up[one.interval : behind] = False
                epoch[behind:] += 1
                ipls.append(behind)
            elif one.kind == "restart":
                begins[one.interval + 1] = True
            elif one.kind == "miss":
                written[one.interval + 1 : behind + 1] = False
            elif one.kind == "interval" and one.interval_s is not None:
                seconds[one.interval + 1 :] = one.interval_s
                begins[one.interval + 1] = True
        exists = np.concatenate([[True], up])
        exists[ipls] = begins[ipls] = True
        steady = up & (np.arange(n) >= measurement.warmup)
        return cls(
            seconds=seconds,
            tod=seconds * TOD_PER_S,
            up=up,
            steady=steady,
            exists=exists,
            written=written & exists,
            epoch=epoch,
            begins=begins & exists,
        )

    @property
    def up_seconds(self) -> I64:
        """(intervals,) seconds during which the system runs."""
        return self.seconds * self.up

    @property
    def steady_seconds(self) -> int:
        """Length of the steady state."""
        return int(self.seconds[self.steady].sum())

    def samples(self) -> Iterator[int]:
        """Numbers of the samples that CP takes."""
        yield from np.flatnonzero(self.exists).tolist()

    def interval_of(self, sample: int) -> int:
        """The interval that a sample reports on.

        The first one after an IPL closes no interval; it shows what the time since then brought,
        as a share of the interval that follows.
        """
        return min(sample, len(self.up) - 1) if self.starts(sample) else sample - 1

    def starts(self, sample: int) -> bool:
        """Whether it is the first one of the run or after an IPL."""
        return sample == 0 or bool(self.epoch[sample] != self.epoch[sample - 1])
