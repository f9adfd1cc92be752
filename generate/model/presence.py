"""When the objects of a run exist: users' sessions, virtual processors, processors, devices.

An object begins and ends at any moment of a run, any number of times. Moments are TOD units after
the first sample, on a clock without the jitter of the samples.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..numeric import F64, I64, Bool
from .measurement import Timeline


class Switch(NamedTuple):
    """From a moment on some objects, a mask, are there or not."""

    moment: int
    objects: Bool
    on: bool


class Ending(NamedTuple):
    """Objects that end at a moment of an interval.

    `share` is (objects,) what the existence until then, since the last beginning or that of the
    interval, is of all existence in the interval; `fresh` are those that began in it, too.
    """

    moment: int
    objects: Bool
    share: F64
    fresh: Bool


class Stay(NamedTuple):
    """Existence of the objects in one interval.

    Attributes:
        before, now: (objects,) whether they exist at its begin and at its end.
        share: (objects,) share of the interval in which they exist.
        began: (objects,) which begin in it and exist at its end: their counts begin anew.
        last: (objects,) what the existence since the last beginning is of all in the interval.
        begins, ends: moments at which some begin or end, in order.
    """

    before: Bool
    now: Bool
    share: F64
    began: Bool
    last: F64
    begins: tuple[tuple[int, Bool], ...] = ()
    ends: tuple[Ending, ...] = ()

    @property
    def first(self) -> F64:
        """(objects,) what the existence up to the first ending is of all in the interval."""
        first = np.ones(len(self.now))
        for ending in reversed(self.ends):
            first[ending.objects] = ending.share[ending.objects]
        return first

    @property
    def ended(self) -> Bool:
        """(objects,) which end in the interval, also if they begin again."""
        ended: Bool = np.zeros_like(self.now)
        for ending in self.ends:
            ended = ended | ending.objects
        return ended


class Presence:
    """Existence of some objects over a run.

    Args:
        line: the intervals.
        count: of the objects.
        layers: switches in order of time. An object exists while it is on in all layers; its first
            switch in a layer tells by its contrary what it was before.
    """

    def __init__(self, line: Timeline, count: int, *layers: Sequence[Switch]) -> None:
        self._line = line
        self._moments = sorted({switch.moment for layer in layers for switch in layer})
        starts = [-1, *self._moments]
        states = np.ones((len(starts), count), dtype=np.bool_)
        for layer in layers:
            states &= _states(layer, starts, count)
        self._states = states
        self._all = np.ones(count)

    def at(self, sample: int) -> Bool:
        """(objects,) which exist at a sample."""
        return self.states(int(self._line.edges[sample]))

    def states(self, moment: int) -> Bool:
        """(objects,) which exist from a moment on."""
        states: Bool = self._states[bisect_right(self._moments, moment)]
        return states

    def during(self, interval: int) -> Stay:
        """Existence in an interval."""
        begin, end = (int(edge) for edge in self._line.edges[interval : interval + 2])
        first, last = (bisect_right(self._moments, edge) for edge in (begin, end))
        before, now = self._states[first], self._states[last]
        if first == last:
            return Stay(before, now, now.astype(np.float64), np.zeros_like(now), self._all)
        marks = [begin, *self._moments[first:last], end]
        spans = np.diff(np.array(marks, dtype=np.int64))
        states = self._states[first : last + 1]
        lengths = (states * spans[:, None]).sum(axis=0)
        every = np.maximum(lengths, 1).astype(np.float64)
        begins, ends = list[tuple[int, Bool]](), list[Ending]()
        since: I64 = np.zeros(len(now), dtype=np.int64)
        fresh = np.zeros_like(now)
        for place, (was, now_on) in enumerate(pairwise(states)):
            since += spans[place] * was
            moment, gone, come = marks[place + 1], was & ~now_on, now_on & ~was
            if gone.any():
                ends.append(Ending(moment, gone, since / every, fresh & gone))
            if come.any():
                begins.append((moment, come))
            since, fresh = np.where(come | gone, 0, since), (fresh | come) & ~gone
        since += spans[-1] * now
        share = lengths / float(end - begin)
        return Stay(before, now, share, fresh & now, since / every, (*begins,), (*ends,))

    def since(self, sample: int) -> I64:
        """(objects,) moment of the last beginning up to a sample; -1 for earlier ones."""
        return self.begun(int(self._line.edges[sample]))

    def begun(self, moment: int) -> I64:
        """(objects,) moment of the last beginning up to a moment; -1 as in `since`."""
        moments: I64 = np.full(self._states.shape[1], -1, dtype=np.int64)
        for place in range(bisect_right(self._moments, moment)):
            come = self._states[place + 1] & ~self._states[place]
            moments[come] = self._moments[place]
        return moments

    def shares(self) -> F64:
        """(intervals, objects) share of each interval in which each exists."""
        return np.stack([self.during(k).share for k in range(len(self._line.tod))])


def _states(layer: Iterable[Switch], starts: Sequence[int], count: int) -> Bool:
    """(starts, objects) whether each is on in a layer, from each moment on."""
    states = np.ones((len(starts), count), dtype=np.bool_)
    seen = np.zeros(count, dtype=np.bool_)
    for moment, objects, on in layer:
        place = bisect_right(starts, moment) - 1
        states[:place, objects & ~seen] = not on
        states[place:, objects] = on
        seen |= objects
    return states
