"""Units of work of `cpmon reduce`, as they are sent to whoever computes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ...config.shifts import Shift
from ...core.text import counted
from ...store.results.kept_files import Piece
from ...store.sandbox.sandbox import Limits
from .units import Unit

Versions = Mapping[str, Mapping[date, str]]
"""Reduction -> day -> the version of its piece."""


@dataclass(frozen=True, slots=True)
class Site:
    """What all units of a call share.

    Attributes:
        store: where it is: a path or a URL.
        layouts: the folder of the site's own layouts, if there is one.
        definitions: reduction -> version of its SQL, layouts and classes. Whoever computes pieces
            must have the same, since their names say so.
        hours: a digest of the shifts.
    """

    store: str
    layouts: Path | None
    definitions: Mapping[str, str]
    shifts: tuple[Shift, ...]
    hours: str
    limits: Limits


@dataclass(frozen=True, slots=True)
class UnitJob:
    """Some days of a system, and the pieces of them to compute.

    Attributes:
        unit: the days, and the dumps that they depend on.
        missing: what to compute.
        carried: the piece with the settings of the day before, if there is one.
        whole: reductions of runs -> their files, where the unit is all that there is.
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
    """Days of a system whose intervals are kept, and whose roll-ups are missing.

    Attributes:
        pieces: reduction -> the intervals of its days.
    """

    site: Site
    system: str
    pieces: Mapping[str, tuple[Piece, ...]]

    def __str__(self) -> str:
        days = [piece.day for pieces in self.pieces.values() for piece in pieces]
        return f"roll-ups of {_named(self.system, min(days), max(days))}"


Chain = tuple[UnitJob | RollupJob, ...]
"""Jobs of a system that are done in this order, each with what the one before it kept."""


@dataclass(slots=True)
class Done:
    """What was done for a reduction.

    Attributes:
        rows: of intervals that were computed. days: that were added, or rolled up again.
        seconds: until its rows were written; what it shares with others counts for the first.
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
        """Count what was done elsewhere."""
        self.rows += other.rows
        self.days += other.days
        self.seconds += other.seconds


def _named(system: str, first: date, last: date) -> str:
    return f"{system} {first}" if first == last else f"{system} {first} to {last}"
