"""What a report is made of: columns with a heading, a print rule and a way to be summed up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...config import Table
from ...config.values import Text
from ...render.printing import Format

TIME = "interval_end"
"""The column of every reduction that has the end of an interval, UTC."""
WHOLE = Format(0)
HEX = 16


class Kind(StrEnum):
    """How several rows of a view become one value."""

    KEY = "key"
    """Not at all: it tells objects or times apart."""
    RATIO = "ratio"
    """The sum of the numerator over the sum of the denominator, times a factor."""
    TOTAL = "total"
    """The sum of the numerator, times a factor."""
    LEVEL = "level"
    """The mean of the samples."""
    ELAPSED = "elapsed"
    """The sum of seconds; in a mean line the length of an interval."""
    LATEST = "latest"
    """What the last interval says: names, types, settings."""


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
    by `scale` (100 for shares) and printed by `form` into `width` characters. `kind` says what
    several intervals give: of a ratio or a total `factor` times the sum of `over`, over that of
    `under`. `base` is HEX for numbers that are written so (device numbers). An optional column is
    left out where it is known in no line. `whole` is the column that it is part of.
    """

    name: str
    label: str
    unit: str = ""
    width: int = 7
    form: Format = WHOLE
    scale: int = 1
    kind: Kind = Kind.KEY
    over: str = ""
    under: str = ""
    factor: float = 1.0
    base: int = 10
    is_optional: bool = False
    whole: str = ""

    @property
    def heading(self) -> str:
        """The label on one line."""
        return one_line(self.label)


def one_line(label: str) -> str:
    """A label without its line breaks, and without the hyphens at the end of its lines."""
    return label.replace("-|", "").replace("|", " ")


class Note(Table, frozen=True):
    """What is said below a report, where some of its dumps may be of these CP levels.

    `since` and `before` (itself outside) bound them; empty is any.
    """

    text: Text
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
        total: columns that a line of all objects together has.
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
    total: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()
    group: str = ""
