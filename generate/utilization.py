"""How busy the system is: processor time in each interval, by demand or as a target says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .course import Course
from .demand import TIMERS_ON_MASTER_UNTIL, Demand
from .measurement import TOD_PER_US, Measurement
from .noise import F64, I64, around_one, bell, capped
from .timeline import Bool
from .transactions import Transactions

FULL = 0.999
"""No processor is busy for more of an interval than this, and no more of that is emulation."""


@dataclass(frozen=True, slots=True)
class Utilization:
    """Shares out the processors' time over the intervals of a run. Times are TOD units.

    Attributes:
        online: (intervals, processors) whether each was online.
        room: (intervals, processors) time that each can be busy at most.
    """

    measurement: Measurement
    course: Course
    demand: Demand
    work: Transactions
    online: Bool
    room: I64

    @property
    def wanted(self) -> F64:
        """(intervals,) processors that the users' work would keep busy."""
        return self.demand.emulation + self.demand.cp

    @property
    def shortage(self) -> F64:
        """(intervals,) work wanted over work that can be done, 1 where all can.

        A target says what was done; nothing is known of work that was not.
        """
        span = self.course.timeline.tod
        if self.measurement.targets.total_util is not None:
            return np.ones(len(span))
        shortage: F64 = np.maximum(self.wanted * span / np.maximum(self.room.sum(axis=1), 1), 1.0)
        return shortage

    @property
    def guests(self) -> I64:
        """(intervals,) time that all virtual processors can run at most."""
        return most(self.demand.virtual_processors * self.course.timeline.tod)

    def busy(self) -> I64:
        """(intervals,) busy time of all processors."""
        rng, span = self.measurement.rng("busy"), self.course.timeline.tod
        targets, room = self.measurement.targets, self.room.sum(axis=1)
        deviation = bell(rng, len(span)) * self.measurement.scenario.spread
        if targets.total_util is None:
            natural = np.rint(self.wanted * self.course.warming * span * (1.0 + deviation))
            found: I64 = np.minimum(natural, room).astype(np.int64)
            return found
        # Nearer to saturation there is less room to vary.
        calm = 1.0 + deviation * (1.0 - targets.total_util / 100)
        per_tx = None
        if targets.cp_us_per_tx is not None and targets.emul_us_per_tx is not None:
            per_tx = targets.cp_us_per_tx + targets.emul_us_per_tx
        shape = np.where(self.wanted.any(), self.wanted, 1.0) * calm * span
        return self._met(targets.total_util, per_tx, shape, room)

    def emulation(self, busy: I64) -> I64:
        """(intervals,) emulation time of all processors, a part of their busy time.

        Nor is it more than the users' virtual processors can run.
        """
        targets, rng = self.measurement.targets, self.measurement.rng("emulation")
        varied, caps = around_one(rng, len(busy), 0.004), np.minimum(most(busy), self.guests)
        if targets.emul_util is None:
            share = self.demand.emulation / np.maximum(self.wanted, 1e-9) * varied
            return np.minimum(np.floor(busy * share), caps).astype(np.int64)
        return self._met(targets.emul_util, targets.emul_us_per_tx, busy * varied, caps)

    def master(self, busy: I64, emulation: I64) -> tuple[I64, I64]:
        """(intervals,) busy and emulation time of the master processor.

        It does its share like any other, unless serving timers alone takes more than that.

        Args:
            busy, emulation: (intervals,) of all processors.
        """
        line, targets = self.course.timeline, self.measurement.targets
        alone = self.measurement.run.cp_level < TIMERS_ON_MASTER_UNTIL
        timers = self.demand.timer_cp * line.tod * alone
        cap = np.minimum(self.room[:, 0], busy)
        even = busy / np.maximum(self.online.sum(axis=1), 1)
        free = 1.0 - even / np.maximum(self.room[:, 0], 1)
        spread = self.measurement.scenario.spread * free
        calm = 1.0 + bell(self.measurement.rng("master"), len(busy)) * spread
        mine = np.minimum(np.maximum(even, timers) * calm, cap)
        if targets.master_total_util is not None:
            mine = self._fixed(targets.master_total_util, mine, cap)
        mine = np.floor(mine).astype(np.int64)
        share = (mine - timers * (timers > even)) / np.maximum(busy, 1)
        theirs = np.clip(emulation * share, 0, most(mine))
        if targets.master_emul_util is not None:
            theirs = self._fixed(targets.master_emul_util, theirs, most(mine))
        # What the others are left with must fit into their busy time.
        least = emulation - most(busy - mine)
        return mine, np.maximum(np.floor(theirs).astype(np.int64), least)

    def _met(self, percent: float, us_per_tx: float | None, shape: F64, caps: I64) -> I64:
        """(intervals,) time of all processors that meets a utilization in the steady state.

        Before it there is what the steady state leaves of the time for all transactions, or a
        share of the steady state's.
        """
        line = self.course.timeline
        early = line.up & ~line.steady
        processor_tod = (self.online * line.tod[:, None]).sum(axis=1)
        found = np.zeros(len(shape), dtype=np.int64)
        total = round(int(processor_tod[line.steady].sum()) * percent / 100)
        found[line.steady] = capped(total, shape[line.steady], caps[line.steady])
        if us_per_tx is not None and early.any():
            whole = round(us_per_tx * int(self.work.count.sum()) * TOD_PER_US)
            found[early] = capped(max(whole - total, 0), shape[early], caps[early])
        else:
            level = processor_tod * (percent / 100) * self.course.warming
            found[early] = np.minimum(level, caps)[early].astype(np.int64)
        return found

    def _fixed(self, percent: float, shape: F64, caps: I64) -> F64:
        """(intervals,) time of one processor that meets a percentage over the steady state."""
        line = self.course.timeline
        found = np.minimum(line.tod * (percent / 100) * self.course.warming, caps)
        total = round(int(line.tod[line.steady].sum()) * percent / 100)
        found[line.steady] = capped(total, shape[line.steady], caps[line.steady])
        return found


def most(busy: F64 | I64) -> I64:
    """The most of some busy time that can be emulation."""
    found: I64 = np.floor(busy * FULL).astype(np.int64)
    return found
