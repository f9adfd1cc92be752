"""A report definition: columns with a heading, a print rule and a way to be aggregated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from ...config import Table
from ...config.values import Text
from ...render.printing import Format

TIME = "interval_end"
"""The column with the end of the interval, UTC; every reduction has it."""
WHOLE = Format(0)
HEX = 16


class Kind(StrEnum):
    """How a column aggregates several rows of a view."""

    KEY = "key"
    """Not aggregated: a key that identifies objects or times."""
    RATIO = "ratio"
    """The sum of the numerator over the sum of the denominator, times a factor."""
    TOTAL = "total"
    """The sum of the numerator, times a factor."""
    LEVEL = "level"
    """The mean of the samples."""
    ELAPSED = "elapsed"
    """The sum of seconds; in a mean line the mean length of an interval."""
    LATEST = "latest"
    """The value of the last interval: names, types, settings."""


class Lines(StrEnum):
    """What the lines of a report are."""

    TIME = "time"
    """One line for each interval (and object, if the reduction has several), then the mean."""
    OBJECT = "object"
    """One line for each object over the whole span, the greatest first."""
    ROW = "row"
    """The rows of the reduction unchanged: logs, and settings with their time of validity."""


@dataclass(frozen=True, slots=True)
class ReportColumn:
    """A column of a reduction as a report shows it.

    Attributes:
        label: heading; bars separate stacked lines. `unit` is printed below it.
        width: characters of the column. form: print rule.
        scale: factor applied to values before they are printed (100 for shares).
        kind: how intervals aggregate. Ratio: factor * sum(over) / sum(under). Total:
            factor * sum(over).
        base: HEX for hexadecimal numbers (device numbers).
        is_optional: the column is hidden if it is NULL in all lines.
        whole: the column that it is part of.
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
    """A label on one line, without line breaks and the hyphens before them."""
    return label.replace("-|", "").replace("|", " ")


class Note(Table, frozen=True):
    """A note below a report, printed if a dump may be of one of these CP levels.

    `since` (inclusive) and `before` (exclusive) limit the levels; empty means no limit.
    """

    text: Text
    since: str = ""
    before: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """A reduction laid out for a reader.

    Attributes:
        name, title: of the report. `reduction`: the view that it shows. `columns`: as shown.
        lines: kind of its lines.
        keys: columns that identify an object: ("device",).
        follows: option that selects an object -> its column: {"device": "device"}.
        sort: column that orders objects, the greatest first.
        total: columns that have a total over all objects.
        notes: printed below it.
        group: subject: the section of a page that it appears in.
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
