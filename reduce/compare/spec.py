"""What a comparison table shows, as its TOML file says: runs across, groups of rows down.

`docs/comparisons.md` describes the keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from ...config import Table
from ...config.values import Names, Text
from ...render.printing import Format, Style
from .statement import ChangeStatement, Digits, Step

SOURCES = {
    "t": "load generator",
    "h": "hardware instrumentation",
    "v": "reduction of monitor data",
    "m": "monitor field taken directly",
    "qt": "CP QUERY TIME",
    "i": "CP INDICATE USER",
    "tool": "output of the workload program",
    "cfg": "set-up of the run",
    "calc": "calculated",
}
KINDS = ("measure", "samples", "total", "attribute", "plus", "minus")
"""Keys of a row of which one is given: where its values come from."""
BASE_OF_RUN = "run"


class Row(Table, frozen=True):
    """A row of a group.

    Attributes:
        measure: column of `run_summary`.
        samples: measure of `run_samples`, printed as N, mean and standard deviation.
        total: measure of `run_samples`, summed over the run.
        attribute: attribute of the run, printed as it is.
        plus, minus: labels of rows above, of which the printed values are added; `minus` subtracts
            all but the first.
        scale: what a value is multiplied by before it is printed.
        whole: mean and deviation of samples are printed as integers.
        quotient: of a rate, the measures that it divides: amount and time. Rates of two runs
            cannot be subtracted; their amounts and times can.
        texts: run -> text that stands there instead of a value.
        notes: run -> note that stands behind the value.
    """

    label: Text
    source: Text | None = None
    style: Style = Style.FIXED
    digits: Digits = 0
    scale: int | float = 1
    measure: Text = Text()
    samples: Text = Text()
    total: Text = Text()
    attribute: Text = Text()
    plus: Names | None = None
    minus: Names | None = None
    whole: bool = False
    quotient: Names = Names()
    texts: dict[str, Text] = msgspec.field(default_factory=dict)
    notes: dict[str, Text] = msgspec.field(default_factory=dict)

    @property
    def source_tag(self) -> str:
        """A key of SOURCES."""
        return self.source or ("cfg" if self.attribute else "calc")

    @property
    def form(self) -> Format:
        """How values are printed."""
        return Format(self.digits, self.style)

    @property
    def terms(self) -> tuple[tuple[int, str], ...]:
        """Sign and label of the rows that are added."""
        labels, sign = (self.plus, 1) if self.plus else (self.minus, -1)
        return tuple((sign if n else 1, label) for n, label in enumerate(labels or ()))


class Group(Table, frozen=True):
    """Rows that stand together."""

    rows: list[Row] = msgspec.field(default_factory=list)


class Difference(Table, frozen=True):
    """A run that was never made: the samples of one run less those of another, one by one."""

    run: Text
    of: Text
    less: Text

    @property
    def sources(self) -> tuple[str, str]:
        """The runs that it is computed from."""
        return self.of, self.less


class Change(Table, frozen=True):
    """A column of percentages: by how much a run differs from its base, as both would print."""

    run: Text
    of: Text
    base: Text

    @property
    def sources(self) -> tuple[str, str]:
        """The runs that it is computed from."""
        return self.of, self.base


class Spec(Table, frozen=True):
    """A comparison table.

    Attributes:
        runs: the columns, in order; some may be differences or changes of others.
        base: the run that all are compared with, or run -> base run; `run`: the run files say.
        header: attributes of runs that stand above their columns.
        names: how a column is called in print, where that is not its run's name.
        claims: the change statements. claims_table: their block, by default NAME_claims.
    """

    name: Text
    runs: Names
    title: Text = Text()
    base: Any = BASE_OF_RUN
    header: Names = Names(("cp_level", "users", "processors"))
    groups: list[Group] = msgspec.field(default_factory=list)
    ratios: bool = True
    names: dict[str, Text] = msgspec.field(default_factory=dict)
    claims: list[ChangeStatement] = msgspec.field(default_factory=list)
    claims_table: Text = Text()
    differences: list[Difference] = msgspec.field(default_factory=list)
    changes: list[Change] = msgspec.field(default_factory=list)
    steps: list[Step] = msgspec.field(default_factory=list)

    @property
    def heading(self) -> str:
        """The title, by default the name."""
        return self.title or self.name

    @property
    def ratios_table(self) -> str:
        """Name of the ratio block."""
        return f"{self.name}_ratios"

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def bases(self) -> Mapping[str, str] | None:
        """Run -> the run that it is compared with; None where the run files say."""
        if self.base == BASE_OF_RUN:
            return None
        return self.base if isinstance(self.base, dict) else dict.fromkeys(self.runs, self.base)

    @property
    def computed(self) -> tuple[Difference | Change, ...]:
        """The columns that no run was measured for."""
        return (*self.differences, *self.changes)

    @property
    def measured(self) -> tuple[str, ...]:
        """The runs that a store must have: those shown, and those that others are computed from."""
        computed = {column.run for column in self.computed}
        sources = [run for column in self.computed for run in column.sources]
        return tuple(run for run in dict.fromkeys((*self.runs, *sources)) if run not in computed)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns as they are called in print."""
        return tuple(self.name_of(run) for run in self.runs)

    def name_of(self, run: str) -> str:
        """How a run is called in print."""
        return self.names.get(run, run)

    @property
    def claims_block(self) -> str:
        """The block of the change statements that name none."""
        return self.claims_table or f"{self.name}_claims"

    @property
    def statement_blocks(self) -> set[str]:
        """The blocks of change statements and steps."""
        return {
            *(statement.table or self.claims_block for statement in self.claims),
            *(step.table for step in self.steps),
        }
