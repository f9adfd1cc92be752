"""What a report is made of: columns with a heading, a print rule and a way to be summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ..render.printing import Format

TIME = "interval_end"
"""The column of every reduction that has the end of an interval, UTC."""
WHOLE = Format(0)
HEX = 16


@dataclass(frozen=True, slots=True)
class Sums:
    """`factor` times the sum of column `over`, divided by the sum of `under`."""

    over: str
    under: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Total:
    """`factor` times the sum of column `of`."""

    of: str
    factor: float = 1.0


@dataclass(frozen=True, slots=True)
class Level:
    """The mean of the samples."""


@dataclass(frozen=True, slots=True)
class Elapsed:
    """Seconds: a line has their sum, the mean line the length of an interval."""


@dataclass(frozen=True, slots=True)
class Latest:
    """What the last interval says: names, types, settings."""


Mean = Sums | Total | Level | Elapsed | Latest


class Lines(StrEnum):
    """What the lines of a report are."""

    TIME = "time"
    """One for each interval (and object, where the reduction has several), then the mean."""
    OBJECT = "object"
    """One for each object over the whole span, the greatest first."""
    ROW = "row"
    """The rows of the reduction as they are: logs, and settings that hold for a time."""


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of a reduction as a report shows it.

    `label` may be stacked: bars separate its lines. `unit` stands below. Values are multiplied
    by `scale` (100 for shares) and printed by `form` into `width` characters. `mean` says what
    several intervals give; it is None for what tells objects apart (names, addresses). `base` is
    HEX for numbers that are written so (device numbers). An optional column is left out where it
    is known in no line.
    """

    name: str
    label: str
    unit: str = ""
    width: int = 7
    form: Format = WHOLE
    scale: int = 1
    mean: Mean | None = None
    base: int = 10
    is_optional: bool = False

    @property
    def heading(self) -> str:
        """The label on one line."""
        return one_line(self.label)


def one_line(label: str) -> str:
    """A label without its line breaks, and without the hyphens at the end of its lines."""
    return label.replace("-|", "").replace("|", " ")


@dataclass(frozen=True, slots=True)
class Note:
    """What is said below a report, where some of its dumps may be of these CP levels.

    `since` and `before` (itself outside) bound them; empty is any.
    """

    text: str
    since: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A reduction laid out for a reader.

    Attributes:
        name, title: of the report. `reduction`: the view that it shows. `columns`: as shown.
        lines: what its lines are.
        keys: columns that tell the objects apart: ("device",).
        follows: the option that picks one object, and its column: {"device": "device"}.
        sort: column by which objects are ordered, the greatest first.
        notes: printed below it.
        group: what it is about: the part of a page that it stands in.
    """

    name: str
    title: str
    reduction: str
    columns: tuple[ReportColumn, ...]
    lines: Lines = Lines.TIME
    keys: tuple[str, ...] = ()
    follows: Mapping[str, str] = field(default_factory=dict)
    sort: str = ""
    notes: tuple[Note, ...] = ()
    group: str = ""
