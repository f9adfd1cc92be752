"""What a comparison table shows: runs across, groups of rows down."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .claim import Claim
from .row import Row
from .step import Step


@dataclass(frozen=True, slots=True)
class Difference:
    """A run that was never made: the samples of one run less those of another, one by one."""

    run: str
    of: str
    less: str


@dataclass(frozen=True, slots=True)
class Change:
    """A column of percentages: by how much a run differs from its base, as both would print."""

    run: str
    of: str
    base: str


@dataclass(frozen=True, slots=True)
class Spec:
    """A comparison table: runs across, groups of rows down.

    Attributes:
        runs: the columns, in order; some may be differences or changes of others.
        names: how a column is called in print, where that is not its run's name.
        bases: the run that each is compared with; None when the run files say.
    """

    name: str
    title: str
    runs: tuple[str, ...]
    bases: Mapping[str, str] | None
    header: tuple[str, ...]
    groups: tuple[tuple[Row, ...], ...]
    ratios: bool
    claims: tuple[Claim, ...]
    claims_table: str
    names: Mapping[str, str] = field(default_factory=dict)
    differences: tuple[Difference, ...] = ()
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for group in self.groups for row in group)

    @property
    def measured(self) -> tuple[str, ...]:
        """The runs that a store must have: those shown, and those that others are computed from."""
        computed = {d.run for d in self.differences} | {c.run for c in self.changes}
        sources = [run for d in self.differences for run in (d.of, d.less)]
        sources += [run for c in self.changes for run in (c.of, c.base)]
        return tuple(run for run in dict.fromkeys((*self.runs, *sources)) if run not in computed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns as they are called in print."""
        return tuple(self.name_of(run) for run in self.runs)

    def name_of(self, run: str) -> str:
        """How a run is called in print."""
        return self.names.get(run, run)
