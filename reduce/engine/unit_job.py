"""Jobs of `cpmon reduce`: units of work (days of a system) with the dumps that they depend on."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from pathlib import Path

from ...config.definitions import Definitions
from ...config.moments import Shift
from ...core.grace_period import GRACE, day_condition
from ...core.sql import text
from ...core.text import counted
from ...store.dumps.landed_dump import LandedDump
from ...store.results.kept_files import Piece
from ...store.sandbox.sandbox import Limits
from ...store.scope import Basis, Scope, basis_of

MOST_DAYS = 2
"""Maximum number of days of a unit: a dump starts with the last interval of the previous day."""


@dataclass(frozen=True, slots=True)
class Unit:
    """Successive days of a system that are computed together.

    Attributes:
        previous: the last day before them that has intervals, if any.
        basis: the dumps that their results depend on.
    """

    system: str
    days: tuple[date, ...]
    previous: date | None
    basis: Basis

    @property
    def scope(self) -> Scope:
        """The intervals that belong to its days."""
        return _scope(self.system, self.days)

    def condition(self, day: date) -> str:
        """The SQL condition that selects the rows of one of its days."""
        return f"system = {text(self.system)} AND {day_condition(day)}"


def units(
    dumps: Sequence[LandedDump], days: Sequence[date], missing: Collection[date]
) -> Iterator[Unit]:
    """Group the missing days of a system into units, in order.

    Args:
        dumps: dumps of the system, by begin. days: all of its days, in order.
    """
    groups: list[list[int]] = []
    for place in (place for place, day in enumerate(days) if day in missing):
        if groups and groups[-1][-1] == place - 1 and len(groups[-1]) < MOST_DAYS:
            groups[-1].append(place)
        else:
            groups.append([place])
    for group in groups:
        first = group[0]
        system, chosen = dumps[0].system, tuple(days[place] for place in group)
        previous = days[first - 1] if first else None
        yield Unit(system, chosen, previous, basis_of(dumps, _scope(system, chosen)))


def _scope(system: str, days: Sequence[date]) -> Scope:
    midnight = datetime.combine(days[0], time.min), datetime.combine(days[-1], time.min)
    return Scope(system, midnight[0] + GRACE, midnight[1] + timedelta(days=1) + GRACE)


Versions = Mapping[str, Mapping[date, str]]
"""Reduction -> day -> the version of its piece."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all units of a call share.

    Attributes:
        store: path or URL of the store.
        layouts: the folder of the site's own layouts, if any.
        own: the reductions, reports and metrics of the site.
        definitions: reduction -> version of its SQL, layouts and classes. Workers must have the
            same versions, because the names of pieces contain them.
        hours: a digest of the shifts.
    """

    store: str
    layouts: Path | None
    own: Definitions
    definitions: Mapping[str, str]
    shifts: tuple[Shift, ...]
    hours: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class UnitJob:
    """The pieces to compute for a unit.

    Attributes:
        unit: the days, and the dumps that they depend on.
        missing: the pieces to compute.
        carried: the piece with the settings of the previous day, if any.
        whole: reductions of runs -> their files, if the unit covers the whole store.
    """

    site: Site
    unit: Unit
    missing: Versions
    carried: Piece | None = None
    whole: Mapping[str, str] = field(default_factory=dict)

    @property
    def system(self) -> str:
        """Its system."""
        return self.unit.system

    def __str__(self) -> str:
        return _named(self.system, self.unit.days[0], self.unit.days[-1])


@dataclass(frozen=True, slots=True)
class RollupJob:
    """Days of a system that have intervals but lack roll-ups.

    Attributes:
        pieces: reduction -> the pieces with the intervals of its days.
    """

    site: Site
    system: str
    pieces: Mapping[str, tuple[Piece, ...]]

    def __str__(self) -> str:
        days = [piece.day for pieces in self.pieces.values() for piece in pieces]
        return f"roll-ups of {_named(self.system, min(days), max(days))}"


Chain = tuple[UnitJob | RollupJob, ...]
"""Jobs of a system that run in this order, because each reads results of the previous one."""


@dataclass(slots=True)
class Done:
    """Counts and time of a reduction.

    Attributes:
        rows: rows of intervals computed. days: days computed or rolled up.
        seconds: elapsed time until the rows are written; shared work counts for the first reader.
    """

    name: str
    rows: int = 0
    days: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        if not self.days:
            return f"{self.name}: up to date"
        return f"{self.name}: {counted(self.rows, 'row')} in {self.seconds:.1f} s"

    def add(self, other: Done) -> None:
        """Add the counts of another unit."""
        self.rows += other.rows
        self.days += other.days
        self.seconds += other.seconds


def _named(system: str, first: date, last: date) -> str:
    return f"{system} {first}" if first == last else f"{system} {first} to {last}"
