"""The guest's session: clock, processor time and I/O since logon before and after each sample."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ..noise import I64
from .spec import Samples

ZONE = dt.timezone(dt.timedelta(hours=-5), "EST")
"""The clock of the system: its zone never changes to daylight saving time."""

_COUNTED = ("virtual_cpu_cs", "cp_cpu_cs", "virtual_ios", "page_reads", "page_writes")
_AT_LOGON = np.array([(300, 900), (20, 60), (3000, 6000), (0, 40), (0, 1)]).T
"""Least, and one more than the most, of what starting the guest took, of each of these."""
_BETWEEN = np.array([(1, 4), (0, 2), (0, 12), (0, 1), (0, 1)]).T
"""The same, of what the guest did between two samples."""


@dataclass(frozen=True, slots=True)
class Moment:
    """What CP tells at one moment, all of it since logon. Times are seconds and 0.01 s."""

    run_id: str
    sample: int
    is_end: bool
    when: dt.datetime
    connect_s: int
    virtual_cs: int
    cp_cs: int
    ios: int
    page_reads: int
    page_writes: int

    @property
    def comment(self) -> str:
        """The operator's remark on the console; CP ignores what begins with an asterisk."""
        return f"* {self.run_id} sample {self.sample} {'ends' if self.is_end else 'begins'}"

    @property
    def total_cs(self) -> int:
        """Virtual and CP time."""
        return self.virtual_cs + self.cp_cs


@dataclass(frozen=True, slots=True)
class Session:
    """One run's samples in the session of the guest.

    Attributes:
        seconds: (2 * count,) from logon to the begin and end of each sample.
        counted: (2 * count, 5) processor time, I/Os and pages at these moments.
    """

    run: Samples
    logon: dt.datetime
    seconds: I64
    counted: I64

    @classmethod
    def of(
        cls,
        run: Samples,
        series: Mapping[str, tuple[int, ...]],
        durations: tuple[int, ...],
        start: dt.datetime,
        rng: np.random.Generator,
    ) -> Session:
        """The session whose samples grow as given, the first of them some seconds after `start`."""
        connected = int(rng.integers(1200, 5400))
        pauses = rng.integers(3, 9, size=run.count)
        pauses[0] += connected
        seconds = np.cumsum(np.stack([pauses, durations], axis=1))
        none = (0,) * run.count
        grown = np.array([series.get(measure, none) for measure in _COUNTED], dtype=np.int64).T
        idle = rng.integers(_BETWEEN[0], _BETWEEN[1], size=grown.shape)
        idle[0] = rng.integers(_AT_LOGON[0], _AT_LOGON[1])
        counted = np.cumsum(np.stack([idle, grown], axis=1).reshape(-1, len(_COUNTED)), axis=0)
        logon = start.replace(microsecond=0) - dt.timedelta(seconds=connected)
        return cls(run, logon, seconds, counted)

    def moments(self) -> Iterator[Moment]:
        """Begin and end of every sample."""
        pairs = zip(self.seconds.ravel().tolist(), self.counted.tolist(), strict=True)
        for at, (second, counted) in enumerate(pairs):
            when = (self.logon + dt.timedelta(seconds=second)).astimezone(ZONE)
            yield Moment(self.run.run_id, at // 2 + 1, at % 2 == 1, when, second, *counted)
