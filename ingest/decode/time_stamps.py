"""Checks the order of time stamps within and between intervals, and the lengths of intervals.

What an interval's length says is judged in `meta.interval` over all dumps of a store, and here over
one dump in its own order; a test holds the two against each other.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ...store.views.landed_views import GAP, SLACK_S, SLACK_SHARE
from ..codec import I64, Mask, moment, tod_to_unix_us
from ..container.windows import Window
from ..findings import Code, Findings, Tally
from .intervals import ClosedIntervals

F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lengths:
    """Intervals of one dump in its order, judged by their lengths: arrays of (intervals,).

    Attributes:
        end_us: when each ends, microseconds since 1970 UTC.
        nominal_s: length that MONITOR was set to; 0 where it is not known.
        restated: whether the sample profile was written since the one before.
    """

    end_us: I64
    nominal_s: I64
    restated: Mask

    @functools.cached_property
    def seconds(self) -> F64:
        """Since the interval before; NaN at the first."""
        return np.diff(self.end_us, prepend=self.end_us[:1]) / 1e6 + np.where(
            self._first, np.nan, 0
        )

    @functools.cached_property
    def usual_s(self) -> F64:
        """How long each should be; NaN where nothing tells.

        In the interval in which MONITOR was set to another length it may be anything up to both
        together, and up to the usual one where monitoring started.
        """
        set_s, forward = self._set_s, self.seconds[self.seconds > 0]
        before = _shifted(set_s, 1)
        longest = np.fmax(np.fmax(set_s, before), (set_s + before + SLACK_S) / GAP)
        usual = np.where(self._changed, np.fmin(self.seconds, longest), set_s)
        usual = np.where(np.isnan(set_s), np.median(forward) if len(forward) else np.nan, usual)
        return np.where(
            self.restated, np.fmin(usual, np.where(self.back, usual, self.seconds)), usual
        )

    @functools.cached_property
    def back(self) -> Mask:
        """Whether it ends no later than the one before."""
        return np.asarray(self.seconds <= 0)

    @functools.cached_property
    def gap(self) -> Mask:
        """Whether others are missing before it."""
        return np.asarray(self.seconds > GAP * self.usual_s)

    @functools.cached_property
    def clock_set(self) -> Mask:
        """Whether the clock was set in it, by less than makes a gap; forward, or back by seconds.

        Its length is another one than was set, and the ends behind it keep their distance to those
        before it: CP was not late with one sample. Nor are intervals of that length in a row,
        whatever the profile says.
        """
        slack = np.fmin(SLACK_S, SLACK_SHARE * self.usual_s)
        following = np.where(_shifted(self.back, -1, True), np.nan, _shifted(self.seconds, -1))
        earlier = np.where(_shifted(self.back, 1, True), np.nan, _shifted(self.seconds, 1))
        is_usual = np.abs(self.seconds - self.usual_s) <= slack
        for other in (following, earlier):
            is_usual |= np.abs(self.seconds + other - 2 * self.usual_s) <= slack
            is_usual |= np.abs(self.seconds - other) <= slack
        judged = ~(self.back | self.gap | self._changed | self.restated | np.isnan(self._set_s))
        return np.asarray(judged & ~is_usual & ~self._first)

    @functools.cached_property
    def _set_s(self) -> F64:
        """Length that MONITOR was set to, the last one that was known; NaN before that."""
        known = np.maximum.accumulate(np.where(self.nominal_s > 0, np.arange(len(self.end_us)), -1))
        return np.where(known >= 0, self.nominal_s[known], np.nan)

    @functools.cached_property
    def _changed(self) -> Mask:
        before = _shifted(self._set_s, 1)
        return np.asarray((self._set_s != before) & ~np.isnan(before))

    @property
    def _first(self) -> Mask:
        return np.asarray(np.arange(len(self.end_us)) == 0)


def _shifted(values: npt.NDArray[Any], by: int, fill: Any = np.nan) -> npt.NDArray[Any]:
    """The values of so many intervals before; of those behind, if less than 0."""
    shifted = np.roll(values, by)
    shifted[slice(0, by) if by > 0 else slice(by, None)] = fill
    return shifted


@dataclass
class TimeStampChecks:
    """Checks one window after the other; keeps the last time stamps, and every interval end.

    Sample and event data are apart: each is written in order, but not the one after the other.
    """

    _last: dict[bool, int] = field(default_factory=dict)
    _disorder: Tally = field(default_factory=Tally)
    _closed: list[ClosedIntervals] = field(default_factory=list)
    _end: int | None = None

    def take(self, window: Window, closed: ClosedIntervals) -> None:
        """Compare the time stamps of a window.

        Args:
            closed: the intervals that end in it.
        """
        index = window.index
        tod = tod_to_unix_us(index.tod)
        ends = index.interval_ends
        for sample in (True, False):
            self._within(window, tod, np.flatnonzero(index.sample == sample), ends, sample)
        if len(ends):
            self._end = int(tod[ends[-1]])
        if len(closed.offset):
            self._closed.append(closed)

    def lengths(self) -> Lengths:
        """The lengths of the intervals so far."""
        columns = {"interval_end_us": 0, "nominal_s": 0, "restated": False}
        parts = [
            [c.table[name].fill_null(fill).to_numpy() for name, fill in columns.items()]
            for c in self._closed
        ]
        if not parts:
            return Lengths(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
        end_us, nominal_s, restated = map(np.concatenate, zip(*parts, strict=True))
        return Lengths(end_us, nominal_s, restated.astype(np.bool_))

    def finish(self, findings: Findings) -> None:
        """Report records out of order, and intervals that come too late, early or are missing."""
        self._disorder.report(findings, Code.TOD_DISORDER)
        lengths = self.lengths()
        if not len(lengths.end_us):
            return
        end, offset = lengths.end_us, np.concatenate([c.offset for c in self._closed])
        back = np.flatnonzero(lengths.back)
        if len(back):
            first = int(back[0])
            detail = f"interval ends {_time(int(end[first]))} after {_time(int(end[first - 1]))}"
            findings.add(Code.TOD_BACK, int(offset[first]), detail, count=len(back))
        for code, found in ((Code.INTERVAL_GAP, lengths.gap), (Code.CLOCK_SET, lengths.clock_set)):
            for at in np.flatnonzero(found).tolist():
                detail = (
                    f"expected {lengths.usual_s[at]:g} s, found {lengths.seconds[at]:g} s "
                    f"before {_time(int(end[at]))}"
                )
                findings.add(code, int(offset[at]), detail)

    def _within(self, window: Window, tod: I64, numbers: I64, ends: I64, sample: bool) -> None:
        """Find single records out of order; whole intervals are reported by their ends."""
        if not len(numbers):
            return
        times = tod[numbers]
        fell = np.diff(times, prepend=self._last.get(sample, times[0])) < 0
        if sample:
            fell &= ~self._reported_by_ends(tod, numbers, ends)
        self._last[sample] = int(times[-1])
        places = numbers[fell]
        if len(places):
            kind, first = "sample" if sample else "event", _time(int(tod[places[0]]))
            detail = f"{kind} records with an earlier time than the one before, first at {first}"
            offsets = window.index.start[places] + window.base
            self._disorder.note(Code.TOD_DISORDER, kind, offsets, detail)

    def _reported_by_ends(self, tod: I64, numbers: I64, ends: I64) -> Mask:
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


def _time(us: int) -> str:
    return f"{moment(us):%Y-%m-%d %H:%M:%S.%f} UTC"
