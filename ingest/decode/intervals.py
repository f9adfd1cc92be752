"""Assigns samples to intervals, and checks the time stamps and lengths of intervals.

A sample belongs to the interval that the next interval end closes. The length of an interval is
judged in `meta.interval` over all dumps of a store, and here over one dump in its own order; a test
compares the two.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...schemas.arrow import INTERVAL
from ...store.sql.landed_views import GAP, SLACK_S, SLACK_SHARE
from ..codec import I64, Mask, Rows, as_arrow, tod_to_unix_us, utc_text
from ..container.record_index import INTERVAL_END
from ..container.windows import ByteWindow
from ..findings import Code, Findings, Tally
from .configuration import Configuration

_MICROSECONDS = pa.timestamp("us")

NO_END = np.iinfo(np.int64).min
"""In place of an interval's end, where a record belongs to none."""


@dataclass(frozen=True)
class Stamps(Rows):
    """What every landed row starts with, as arrays of (records,).

    `tod_us`, `end_us`: microseconds since 1970 of the record and of its interval's end, or NO_END.
    `offset`: where the record starts in the dump.
    """

    tod_us: I64
    end_us: I64
    offset: I64

    def arrays(self) -> list[pa.Array]:
        """The columns of `schemas.arrow.ROW`."""
        end = as_arrow(self.end_us, _MICROSECONDS, self.end_us != NO_END)
        tod, offset = as_arrow(self.tod_us, pa.int64()), as_arrow(self.offset, pa.int64())
        return [tod.view(_MICROSECONDS), tod, end, offset]


def row_stamps(window: ByteWindow) -> Stamps:
    """The stamps of every record of a window."""
    index = window.index
    tod = tod_to_unix_us(index.tod)
    ends = index.interval_ends
    closing = np.diff(ends, prepend=-1, append=len(index) - 1)
    end = np.repeat(np.append(tod[ends], NO_END), closing)
    end[~index.sample] = NO_END
    return Stamps(tod, end, index.start + window.base)


_CLOSED = INTERVAL.append(pa.field("offset", pa.int64()))
"""The intervals of a dump, and where in it the record that closes each one starts."""


@dataclass
class Intervals:
    """Closes the intervals of one window after the other in the order of the dump; checks times.

    Sample and event data are apart: each is written in order, but not the one after the other.

    Attributes:
        first_us, last_us: time of the first and the last record, microseconds since 1970 UTC.
    """

    first_us: int | None = None
    last_us: int | None = None
    _last_end_us: int = int(NO_END)
    _stretches: int = 0
    _stretch: int = 0
    _known: dict[int, dict[bytes, int]] = field(default_factory=dict)
    """End of each interval so far -> its first record -> its stretch."""
    _first: bytes = b""
    """First sample record of an interval that is not closed yet."""
    _last: dict[bool, int] = field(default_factory=dict)
    """Time of the last record, of sample and of event data."""
    _end: int | None = None
    _disorder: Tally = field(default_factory=Tally)
    _reported: int = 0
    """Number of intervals whose lengths were reported."""
    _closed: list[pa.Table] = field(default_factory=list)

    def close(self, window: ByteWindow, configuration: Configuration) -> pa.Table:
        """The intervals with samples that a window closes, a row each, as they land.

        Args:
            configuration: that of the records up to the end of the window.
        """
        index, ends = window.index, window.index.interval_ends
        tod_us = tod_to_unix_us(index.tod)
        if len(tod_us):
            self.first_us = int(tod_us[0]) if self.first_us is None else self.first_us
            self.last_us = int(tod_us[-1])
        self._check_order(window, tod_us)
        # Records of the monitor's own domain are configuration, commands, or end something.
        sample = index.sample & (index.domain != INTERVAL_END[0])
        counts = np.diff(np.cumsum(sample)[ends], prepend=0)
        sizes = np.diff(np.cumsum(index.length * sample)[ends], prepend=0)
        filled = np.flatnonzero(counts)
        firsts = self._first_records(window, np.flatnonzero(sample), ends)
        ends = ends[filled]
        set_at = configuration.at(window, ends)
        end_us = tod_us[ends]
        stretches = [
            self._stretch_of(us, firsts[n])
            for us, n in zip(end_us.tolist(), filled.tolist(), strict=True)
        ]
        columns = [
            pa.array(end_us).cast(_MICROSECONDS),
            pa.array(end_us),
            pa.array(counts[filled]),
            pa.array(sizes[filled]),
            pa.array(set_at.nominal_s, pa.int64()),
            pa.array(set_at.commanded_us, pa.int64()),
            pa.array(set_at.ipl_us, pa.int64()),
            pa.array(set_at.restated),
            pa.array(stretches, pa.int64()),
            pa.array(index.start[ends] + window.base),
        ]
        closed = pa.Table.from_arrays(columns, schema=_CLOSED)
        if len(closed):
            self._closed.append(closed)
        return closed.select(INTERVAL.names)

    def forget(self, kept: int) -> None:
        """Forget intervals long ago, but for the last `kept`; they were reported."""
        gone = min(sum(map(len, self._closed)) - kept, self._reported)
        if gone > 0:
            self._closed = [self.closed.slice(gone).combine_chunks()]
            self._reported -= gone
            first = self._closed[0]["interval_end_us"][0].as_py() if kept else 0
            self._known = {end: known for end, known in self._known.items() if end >= first}

    @property
    def closed(self) -> pa.Table:
        """All intervals so far, with column `offset`."""
        return pa.concat_tables([_CLOSED.empty_table(), *self._closed])

    def lengths(self) -> Lengths:
        """The lengths of the intervals so far."""
        closed = self.closed
        return Lengths(
            closed["interval_end_us"].to_numpy(),
            closed["nominal_s"].fill_null(0).to_numpy(),
            closed["commanded_us"].fill_null(NO_END).to_numpy(),
            closed["restated"].to_numpy(),
        )

    def report(self, findings: Findings, later: int = 0) -> None:
        """Report records out of order, and intervals that come too late, early or are missing.

        Of each once.

        Args:
            later: number of the last intervals that wait for those that decide about them.
        """
        self._disorder.report(findings, Code.TOD_DISORDER)
        self._disorder = Tally()
        lengths, offset = self.lengths(), self.closed["offset"].to_numpy()
        first_new, self._reported = self._reported, max(self._reported, len(offset) - later)
        new = np.zeros(len(offset), np.bool_)
        new[first_new : self._reported] = True
        end, back = lengths.end_us, np.flatnonzero(lengths.back & new)
        if len(back):
            first = int(back[0])
            detail = (
                f"interval ends {utc_text(int(end[first]))} after {utc_text(int(end[first - 1]))}"
            )
            findings.add(Code.TOD_BACK, int(offset[first]), detail, count=len(back))
        for code, found in ((Code.INTERVAL_GAP, lengths.gap), (Code.CLOCK_SET, lengths.clock_set)):
            for at in np.flatnonzero(found & new).tolist():
                detail = (
                    f"expected {lengths.usual_s[at]:g} s, found {lengths.seconds[at]:g} s "
                    f"before {utc_text(int(end[at]))}"
                )
                findings.add(code, int(offset[at]), detail)

    def _first_records(self, window: ByteWindow, samples: I64, ends: I64) -> list[bytes]:
        """A digest of the first sample record of each interval that ends here, b"" without any."""
        index, first, records = window.index, self._first, []
        places = np.searchsorted(samples, np.concatenate([[-1], ends]))
        for begin, behind in zip(places, [*places[1:], len(samples)], strict=True):
            if not first and begin < behind:
                start, length = (int(a[samples[begin]]) for a in (index.start, index.length))
                data = window.data[start : start + length].tobytes()
                first = hashlib.blake2b(data, digest_size=8).digest()
            records.append(first)
            self._first, first = first, b""
        return records[:-1]

    def _stretch_of(self, end_us: int, first: bytes) -> int:
        """The stretch of time that an interval belongs to.

        An interval that ends no later than the one before begins a new one, unless it was in the
        dump before: then it is a repetition.
        """
        known = self._known.setdefault(end_us, {})
        if first in known:
            self._stretch = known[first]
        elif end_us <= self._last_end_us:
            self._stretches += 1
            self._stretch = self._stretches
        known[first], self._last_end_us = self._stretch, end_us
        return self._stretch

    def _check_order(self, window: ByteWindow, tod_us: I64) -> None:
        """Find single records out of order; whole intervals are reported by their ends."""
        index, ends = window.index, window.index.interval_ends
        for sample, kind in ((True, "sample"), (False, "event")):
            numbers = np.flatnonzero(index.sample == sample)
            if not len(numbers):
                continue
            times = tod_us[numbers]
            fell = np.diff(times, prepend=self._last.get(sample, times[0])) < 0
            if sample:
                fell &= ~self._reported_by_ends(tod_us, numbers, ends)
            self._last[sample] = int(times[-1])
            places = numbers[fell]
            if len(places):
                first = utc_text(int(tod_us[places[0]]))
                detail = (
                    f"{kind} records with an earlier time than the one before, first at {first}"
                )
                offsets = index.start[places] + window.base
                self._disorder.note(Code.TOD_DISORDER, kind, offsets, detail)
        if len(ends):
            self._end = int(tod_us[ends[-1]])

    def _reported_by_ends(self, tod_us: I64, numbers: I64, ends: I64) -> Mask:
        """(numbers,) the first sample behind an interval end whose own interval ends no later.

        A fall there is that of a whole interval. Where the next end is later, the sample was put
        behind an end that it belongs before.
        """
        first = np.concatenate([[True], np.isin(numbers[:-1], ends)])
        following = np.searchsorted(ends, numbers)
        limits = np.iinfo(np.int64)
        before = np.concatenate([[limits.min if self._end is None else self._end], tod_us[ends]])
        after = np.append(tod_us[ends], limits.max)
        return np.asarray(first & (after[following] <= before[following]))


F64 = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Lengths:
    """Intervals of one dump in its order, classified by length: arrays of (intervals,).

    Attributes:
        end_us: when each ends, microseconds since 1970 UTC.
        nominal_s: length that MONITOR was set to; 0 where it is not known.
        commanded_us: when the last command set one, likewise; NO_END where none did.
        restated: whether the sample profile was written since the one before.
    """

    end_us: I64
    nominal_s: I64
    commanded_us: I64
    restated: Mask

    @functools.cached_property
    def seconds(self) -> F64:
        """Since the interval before; NaN at the first."""
        seconds = np.diff(self.end_us, prepend=self.end_us[:1]) / 1e6
        seconds[:1] = np.nan
        return seconds

    @functools.cached_property
    def usual_s(self) -> F64:
        """Expected length of each; NaN if unknown.

        As stated, but of three or more that follow each other and are as long as each other, and
        longer than that: the record of it is lost.
        """
        earlier, before, following, later = (
            np.abs(_shifted(self.seconds, n) - self.seconds) <= self._slack for n in (2, 1, -1, -2)
        )
        is_kept = before & following | following & later | earlier & before
        return np.where(
            is_kept & (self.seconds > GAP * self._stated_s), self.seconds, self._stated_s
        )

    @functools.cached_property
    def _stated_s(self) -> F64:
        """Length of each as MONITOR was set, or the usual one; NaN if unknown.

        In the interval in which MONITOR was set to another length it may be anything up to both
        together, and up to the usual one where monitoring started.
        """
        set_s, forward = self._set_s, self.seconds[self.seconds > 0]
        before = _shifted(set_s, 1)
        longest = np.fmax(np.fmax(set_s, before), (set_s + before + SLACK_S) / GAP)
        usual = np.where(self._changed, np.fmin(self.seconds, longest), set_s)
        usual = np.where(np.isnan(set_s), np.median(forward) if len(forward) else np.nan, usual)
        return np.where(self.restated & ~self.back, np.fmin(usual, self.seconds), usual)

    @functools.cached_property
    def back(self) -> Mask:
        """Whether it ends no later than the one before."""
        return np.asarray(self.seconds <= 0)

    @functools.cached_property
    def gap(self) -> Mask:
        """Whether others are missing before it."""
        late = self._changed & (self._uncommanded_s > _shifted(self._set_s, 1) + SLACK_S)
        return np.asarray(self.lost | late | (self.seconds > GAP * self.usual_s))

    @functools.cached_property
    def lost(self) -> Mask:
        """Whether MONITOR was set to another length in it, of which no record tells.

        It is longer than was set, and those after it are alike, but of neither length.
        """
        following = np.where(_shifted(self.back, -1, True), np.nan, _shifted(self.seconds, -1))
        later = np.where(_shifted(self.back, -2, True), np.nan, _shifted(self.seconds, -2))
        lost = self._judged & (self.seconds > self.usual_s + self._slack)
        for other in (self.usual_s, self.seconds):
            lost &= np.abs(following - other) > self._slack
        return np.asarray(lost & (np.abs(later - following) <= self._slack))

    @functools.cached_property
    def clock_set(self) -> Mask:
        """Whether the clock was set in it, by less than makes a gap; forward, or back by seconds.

        Its length is another one than was set, and the ends behind it keep their distance to those
        before it: CP was not late with one sample. Nor are intervals of that length in a row,
        whatever the profile says.
        """
        slack = self._slack
        following = np.where(_shifted(self.back, -1, True), np.nan, _shifted(self.seconds, -1))
        earlier = np.where(_shifted(self.back, 1, True), np.nan, _shifted(self.seconds, 1))
        is_usual = np.abs(self.seconds - self.usual_s) <= slack
        for other in (following, earlier):
            is_usual |= np.abs(self.seconds + other - 2 * self.usual_s) <= slack
            is_usual |= np.abs(self.seconds - other) <= slack
        return np.asarray(self._judged & ~self.gap & ~is_usual)

    @functools.cached_property
    def _uncommanded_s(self) -> F64:
        """Seconds from the interval before to the command that set another length."""
        since = self.commanded_us - _shifted(self.end_us.astype(np.float64), 1)
        return np.where(self.commanded_us <= self.end_us, since / 1e6, np.nan)

    @functools.cached_property
    def _slack(self) -> F64:
        return np.asarray(np.fmin(SLACK_S, SLACK_SHARE * self._stated_s))

    @functools.cached_property
    def _judged(self) -> Mask:
        """Whether its length should be the one that was set."""
        unknown = np.isnan(self._set_s) | np.isnan(self.seconds)
        return np.asarray(~(self.back | self._changed | self.restated | unknown))

    @functools.cached_property
    def _set_s(self) -> F64:
        """Length that MONITOR was set to, the last one that was known; NaN before that."""
        known = np.maximum.accumulate(np.where(self.nominal_s > 0, np.arange(len(self.end_us)), -1))
        return np.where(known >= 0, self.nominal_s[known], np.nan)

    @functools.cached_property
    def _changed(self) -> Mask:
        before = _shifted(self._set_s, 1)
        return np.asarray((self._set_s != before) & ~np.isnan(before))


def _shifted(values: npt.NDArray[Any], by: int, fill: Any = np.nan) -> npt.NDArray[Any]:
    """The values of so many intervals before; of those behind, if less than 0."""
    shifted = np.roll(values, by)
    shifted[slice(0, by) if by > 0 else slice(by, None)] = fill
    return shifted
