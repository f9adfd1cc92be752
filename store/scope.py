"""What a question is about, a stretch of time of some systems, and the dumps that it rests on.

The rows of a scope are the same whatever else a store holds, if they are computed from:

- of samples, those of the intervals of the scope and of the two before it: a counter that slipped
  has no delta, and neither has the interval behind it;
- of configuration, events and intervals, those of all dumps from the last day before the scope on
  which all settings were written, up to its end: what was set holds until something else is set.

Where a system has intervals that say nothing of their length, and none before them does, the usual
length is that of all its intervals, and the second part is all of its dumps.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from ..core.grace_period import GRACE, INSIDE
from ..core.sql import text
from .dumps.landed_dump import LandedDump, days_of

CONFIGURATION = "mtrsys"
"""The table of a dump that begins with the settings of its system."""
BEFORE = 2
"""Intervals before a scope whose samples decide on its deltas."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A stretch of time of one system, or of all.

    Attributes:
        system: its name; None for all.
        since, until: intervals that end later than the one, and up to the other; UTC without zone.
    """

    system: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def condition(self, time: str = "interval_end") -> str:
        """The condition on rows, as SQL. `time`: the column of their time, UTC."""
        parts = []
        if self.system is not None:
            parts.append(f"system = {text(self.system)}")
        if self.since is not None:
            parts.append(f"{time} > TIMESTAMP '{self.since}'")
        if self.until is not None:
            parts.append(f"{time} <= TIMESTAMP '{self.until}'")
        return " AND ".join(parts) or "true"


ALL = Scope()


@dataclass(frozen=True, slots=True)
class Basis:
    """The dumps that a scope rests on.

    Attributes:
        samples: dumps with its samples. Some may have none: the manifest tells days, not intervals.
        others: dumps with its configuration, events and intervals.
    """

    samples: tuple[LandedDump, ...]
    others: tuple[LandedDump, ...]


def basis_of(dumps: Sequence[LandedDump], scope: Scope) -> Basis:
    """The dumps that a scope rests on; nothing but the manifest is read.

    Args:
        dumps: all of a store, by system and begin.
    """
    if scope == ALL:
        return Basis(tuple(dumps), tuple(dumps))
    parts = [
        _of_system(list(of_system), scope)
        for system, of_system in itertools.groupby(dumps, key=lambda dump: dump.system)
        if scope.system in (None, system)
    ]
    return Basis(
        tuple(dump for part in parts for dump in part.samples),
        tuple(dump for part in parts for dump in part.others),
    )


def _of_system(dumps: Sequence[LandedDump], scope: Scope) -> Basis:
    days = days_of(dumps)
    first = (scope.since - GRACE).date() if scope.since else date.min
    last = (scope.until - INSIDE).date() if scope.until else date.max
    chosen = {day for day in days if first <= day <= last}
    chosen |= {*[day for day in days if day < first][-BEFORE:]}
    samples = tuple(dump for dump in dumps if not chosen.isdisjoint(dump.days))
    earliest = min(chosen, default=first)
    return Basis(samples, tuple(dependencies(dumps, earliest, last)))


def dependencies(dumps: Sequence[LandedDump], first: date, last: date) -> list[LandedDump]:
    """The dumps of a system with the configuration, events and intervals of some days.

    Those from the last day before them on which configuration was written: what was so before it
    holds no longer.

    Args:
        dumps: of the system, by begin.
    """
    if not is_anchored(dumps):
        return list(dumps)
    begun = [dump for dump in dumps if dump.begins <= last]
    before = (
        dump.begins for dump in reversed(begun) if dump.begins < first and _is_configured(dump)
    )
    since = next(before, date.min)
    return [dump for dump in begun if not dump.days or max((dump.begins, *dump.days)) >= since]


def is_anchored(dumps: Sequence[LandedDump]) -> bool:
    """Whether the first interval of all says how long it should be, so that one before each does.

    Args:
        dumps: of one system.
    """
    if all(dump.nominal for dump in dumps):
        return True
    first = min(dump.first_end for dump in dumps if dump.first_end is not None)
    return any(dump.first_nominal for dump in dumps if dump.first_end == first)


def _is_configured(dump: LandedDump) -> bool:
    return dump.nominal and CONFIGURATION in dump.tables
