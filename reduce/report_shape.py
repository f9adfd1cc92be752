"""What a report is made of: columns with a heading, a print rule and a way to be averaged."""

from __future__ import annotations

from dataclasses import dataclass

from .printing import Format

WHOLE = Format(0)


@dataclass(frozen=True, slots=True)
class Sums:
    """Over a span: `factor` times the sum of column `over`, divided by the sum of `under`."""

    over: str
    under: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Level:
    """Over a span: the mean of the samples."""


Mean = Sums | Level


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of a reduction as a report shows it.

    `label` may be stacked: bars separate its lines. `unit` stands below. Values are multiplied
    by `scale` (100 for shares) and printed by `form` into `width` characters. `mean` is None for
    columns that have no mean (names, addresses).
    """

    name: str
    label: str
    unit: str = ""
    width: int = 7
    form: Format = WHOLE
    scale: int = 1
    mean: Mean | None = None

    @property
    def heading(self) -> str:
        """The label on one line."""
        return self.label.replace("|", " ")


@dataclass(frozen=True, slots=True)
class Report:
    """A reduction laid out for a reader. `notes` are printed below every one of them."""

    name: str
    title: str
    reduction: str
    columns: tuple[ReportColumn, ...]
    by_cpu: bool = False
    notes: tuple[str, ...] = ()
