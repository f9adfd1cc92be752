"""The order of time stamps: within a set of records, from set to set, and times without samples."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ..store.meta import GAP
from .codec import I64, moment, tod_to_unix_us
from .findings import Code, Finding, Findings
from .frames import INTERVAL_END
from .windows import Window

Mask = npt.NDArray[np.bool_]


@dataclass
class Clocks:
    """Looks at one window after the other; remembers the last time stamps.

    Sample and event data are apart: each is written in order, but not the one after the other.
    """

    findings: Findings
    _last: dict[bool, int] = field(default_factory=dict)
    _end: int | None = None
    _usual_us: int | None = None

    def take(self, window: Window, nominal_s: int | None) -> None:
        """Compare the time stamps of a window. `nominal_s`: length of an interval, if known."""
        index = window.index
        tod = tod_to_unix_us(index.tod)
        sample = window.frames.sample[index.frame]
        ends = index.where(*INTERVAL_END)
        ends = ends[sample[ends]]
        for kind in (True, False):
            self._within(window, tod, np.flatnonzero(sample == kind), ends, kind)
        self._ends(window, tod, ends, nominal_s)

    def _within(self, window: Window, tod: I64, numbers: I64, ends: I64, sample: bool) -> None:
        """Falls of single records; where a whole interval comes too late, the ends tell it."""
        if not len(numbers):
            return
        times = tod[numbers]
        fell = np.diff(times, prepend=self._last.get(sample, times[0])) < 0
        if sample:
            fell &= ~self._told_by_ends(tod, numbers, ends)
        self._last[sample] = int(times[-1])
        places = numbers[fell]
        if len(places):
            kind = "sample" if sample else "event"
            detail = f"{kind} records with an earlier time than the one before, first at "
            self._add(Code.TOD_DISORDER, window, places, detail + _time(int(tod[places[0]])))

    def _told_by_ends(self, tod: I64, numbers: I64, ends: I64) -> Mask:
        """(numbers,) the first sample behind an interval end whose own interval ends no later.

        A fall there is that of a whole interval. Where the next end is later, the sample was put
        behind an end that it belongs before.
        """
        first = np.concatenate([[True], np.isin(numbers[:-1], ends)])
        following = np.searchsorted(ends, numbers)
        limits = np.iinfo(np.int64)
        before = np.concatenate([[limits.min if self._end is None else self._end], tod[ends]])
        after = np.append(tod[ends], limits.max)
        return np.asarray(first & (after[following] <= before[following]))

    def _ends(self, window: Window, tod: I64, ends: I64, nominal_s: int | None) -> None:
        if not len(ends):
            return
        times = tod[ends]
        before = times[0] if self._end is None else self._end
        steps = np.diff(times, prepend=before)
        follows = np.ones(len(ends), np.bool_)
        follows[0] = self._end is not None
        self._end = int(times[-1])
        back = np.flatnonzero(follows & (steps <= 0))
        if len(back):
            said = (
                f"{_time(int(times[back[0]]))} after {_time(int(times[back[0]] - steps[back[0]]))}"
            )
            self._add(Code.TOD_BACK, window, ends[back], f"interval ends {said}")
        usual = self._usual(steps[follows & (steps > 0)], nominal_s)
        gaps = np.flatnonzero(follows & (steps > GAP * usual)) if usual else back[:0]
        for gap in gaps.tolist():
            seconds = steps[gap] / 1e6
            detail = (
                f"expected {usual / 1e6:g} s, found {seconds:g} s before {_time(int(times[gap]))}"
            )
            self._add(Code.INTERVAL_GAP, window, ends[gap : gap + 1], detail)

    def _usual(self, steps: I64, nominal_s: int | None) -> int:
        """Length of an interval: as MONITOR was set, else the median of the first ones met."""
        if nominal_s:
            return nominal_s * 1_000_000
        if self._usual_us is None and len(steps):
            self._usual_us = int(np.median(steps))
        return self._usual_us or 0

    def _add(self, code: Code, window: Window, places: I64, detail: str) -> None:
        offset = window.base + int(window.index.start[places[0]])
        self.findings.add(Finding(code, offset, detail, count=len(places)))


def _time(us: int) -> str:
    return f"{moment(us):%Y-%m-%d %H:%M:%S.%f} UTC"
