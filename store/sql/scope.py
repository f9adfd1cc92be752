"""The scope of a query (a time range of one or all systems) and the dumps that it depends on.

The rows of a scope do not depend on what else a store holds if they are computed from:

- the samples of its intervals and of the two intervals before it: a counter that slipped has no
  delta, and neither has the next interval;
- the samples before each command that left owners out of later ones, however long ago: they are
  missing until they are sampled again;
- the configuration, events and intervals of all dumps from the last day before all these with a
  complete configuration up to its end: a setting holds until it is changed.

If a system has intervals without a configured length, and none before them has one, their usual
length is the median of all its intervals, and the last part is all of its dumps.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from ...core.grace_period import GRACE, INSIDE
from ...core.sql import text
from ..format.landed_dump import LandedDump, days_of

CONFIGURATION = "mtrsys"
"""The table of a dump that begins with the configuration of its system."""
BEFORE = 2
"""Intervals before a scope whose samples its deltas depend on."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A time range of one system or of all systems.

    Attributes:
        system: its name; None for all.
        since, until: bounds of interval ends, exclusive and inclusive; naive UTC.
    """

    system: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def has_system(self, system: str) -> bool:
        """Whether it includes a system."""
        return self.system in (None, system)

    @property
    def first_day(self) -> date:
        """The first day that its intervals can count to, UTC."""
        return (self.since - GRACE).date() if self.since else date.min

    @property
    def last_day(self) -> date:
        """The last day that its intervals can count to, UTC."""
        return (self.until - INSIDE).date() if self.until else date.max

    def has_day(self, day: date) -> bool:
        """Whether its intervals can count to a day."""
        return self.first_day <= day <= self.last_day

    def condition(self, time: str = "interval_end") -> str:
        """SQL condition on rows. `time`: the column with their time, UTC."""
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
    """The dumps that a scope depends on.

    Attributes:
        samples: dumps with its samples; some may have none, since the manifest lists days only.
        others: dumps with its configuration, events and intervals.
    """

    samples: tuple[LandedDump, ...]
    others: tuple[LandedDump, ...]


def basis_of(dumps: Sequence[LandedDump], scope: Scope) -> Basis:
    """The dumps that a scope depends on, from the manifest alone.

    Args:
        dumps: all dumps of a store, by system and begin.
    """
    if scope == ALL:
        return Basis(tuple(dumps), tuple(dumps))
    parts = [
        _basis_of_system(list(dumps_of_system), scope)
        for system, dumps_of_system in itertools.groupby(dumps, key=lambda dump: dump.system)
        if scope.has_system(system)
    ]
    return Basis(
        tuple(dump for part in parts for dump in part.samples),
        tuple(dump for part in parts for dump in part.others),
    )


def _basis_of_system(dumps: Sequence[LandedDump], scope: Scope) -> Basis:
    days = days_of(dumps)
    first, last = scope.first_day, scope.last_day
    chosen = {day for day in days if first <= day <= last}
    chosen |= {*[day for day in days if day < first][-BEFORE:]}
    samples = tuple(dump for dump in dumps if not chosen.isdisjoint(dump.days))
    earliest = min(chosen, default=first)
    return Basis(samples, tuple(dependencies(dumps, earliest, last)))


def with_samples_before(
    basis: Basis, dumps: Sequence[LandedDump], moments: Mapping[str, datetime]
) -> Basis:
    """A basis with all that the samples before some moments depend on, up to the scope.

    Args:
        dumps: all dumps of a store, by system and begin.
        moments: system -> the earliest moment.
    """
    samples, others = {dump.dump for dump in basis.samples}, {dump.dump for dump in basis.others}
    for system, moment in moments.items():
        own = [dump for dump in dumps if dump.system == system]
        last = max((dump.begins for dump in own if dump.dump in others), default=moment.date())
        earlier = _basis_of_system(own, Scope(system, moment, moment))
        samples |= {dump.dump for dump in earlier.samples}
        first = min((day for dump in earlier.samples for day in dump.days), default=last)
        others |= {dump.dump for dump in dependencies(own, first, last)}
    return Basis(
        tuple(dump for dump in dumps if dump.dump in samples),
        tuple(dump for dump in dumps if dump.dump in others),
    )


def dependencies(dumps: Sequence[LandedDump], first: date, last: date) -> list[LandedDump]:
    """The dumps of a system that the configuration, events and intervals of some days depend on.

    They begin with the last day before `first` on which a configuration was written: it replaces
    all earlier settings.

    Args:
        dumps: all dumps of the system, by begin.
        first, last: the first and last of the days.
    """
    if not is_anchored(dumps):
        return list(dumps)
    begun = [dump for dump in dumps if dump.begins <= last]
    configured = (
        dump.begins
        for dump in reversed(begun)
        if dump.begins < first and dump.nominal and CONFIGURATION in dump.tables
    )
    since = next(configured, date.min)
    return [dump for dump in begun if not dump.days or max((dump.begins, *dump.days)) >= since]


def is_anchored(dumps: Sequence[LandedDump]) -> bool:
    """Whether the first interval has a configured length, so that later ones can inherit it.

    Args:
        dumps: all dumps of one system.
    """
    if all(dump.nominal for dump in dumps):
        return True
    first = min(dump.first_end for dump in dumps if dump.first_end is not None)
    return any(dump.first_nominal for dump in dumps if dump.first_end == first)
