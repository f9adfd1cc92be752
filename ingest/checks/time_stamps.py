"""Checks the order of time stamps within and between intervals, and for missing intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...store.views.meta import GAP
from ..codec import I64, Mask, moment, tod_to_unix_us
from ..container.windows import Window
from ..findings import Code, Findings, Tally


@dataclass
class TimeStampChecks:
    """Checks one window after the other; keeps the last time stamps, and every interval end.

    Sample and event data are apart: each is written in order, but not the one after the other.
    """

    _last: dict[bool, int] = field(default_factory=dict)
    _disorder: Tally = field(default_factory=Tally)
    _ends: list[I64] = field(default_factory=list)
    _end: int | None = None

    def take(self, window: Window, nominal_s: Sequence[int | None]) -> None:
        """Compare the time stamps of a window.

        Args:
            nominal_s: length of each interval that ends in it, None if not known.
        """
        index = window.index
        tod = tod_to_unix_us(index.tod)
        ends = index.interval_ends
        for sample in (True, False):
            self._within(window, tod, np.flatnonzero(index.sample == sample), ends, sample)
        if len(ends):
            nominal_us = np.array([(s or 0) * 1_000_000 for s in nominal_s], np.int64)
            offset = index.start[ends] + window.base
            self._ends.append(np.stack([tod[ends], offset, nominal_us], axis=1))
            self._end = int(tod[ends[-1]])

    def finish(self, findings: Findings) -> None:
        """Report records out of order, and intervals that come too late or are missing."""
        self._disorder.report(findings, Code.TOD_DISORDER)
        if not self._ends:
            return
        end, offset, nominal = np.concatenate(self._ends).T
        step = np.diff(end, prepend=end[0])
        back = np.flatnonzero(step[1:] <= 0) + 1
        if len(back):
            first = int(back[0])
            detail = f"interval ends {_time(int(end[first]))} after {_time(int(end[first - 1]))}"
            findings.add(Code.TOD_BACK, int(offset[first]), detail, count=len(back))
        forward = step[step > 0]
        usual = np.where(nominal > 0, nominal, np.median(forward) if len(forward) else 0)
        for gap in np.flatnonzero((usual > 0) & (step > GAP * usual)).tolist():
            detail = (
                f"expected {usual[gap] / 1e6:g} s, found {step[gap] / 1e6:g} s "
                f"before {_time(int(end[gap]))}"
            )
            findings.add(Code.INTERVAL_GAP, int(offset[gap]), detail)

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
