"""What a chart shows, as data: columns of reports over time, or of the greatest objects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..metrics import metric_of
from ..metrics.report_shape import Report, ReportColumn
from ..reports.report_set import REPORTS


class Kind(StrEnum):
    """How values are drawn."""

    LINES = "lines"
    STACK = "stack"
    """Areas on top of each other: parts of a whole."""
    BARS = "bars"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One series: a column of a report, called `label`.

    `color` is a name of `drawing.COLORS`; empty takes the next of the palette.
    """

    report: str
    column: str
    label: str
    color: str = ""


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart of a page.

    Attributes:
        name: of its place on the page. title, about: what a reader sees, and is told.
        series: what is drawn. Reports that have lines by object give one value for all of them.
        top: draw so many objects of the first series instead, the greatest by the report's sort
            column; a report by time goes by the column itself.
        rule: of the exceptions, whose limit is drawn.
        axis: what stands at the axis, if not the unit of the first series.
        whole: where the axis ends, if not with the greatest value.
    """

    name: str
    title: str
    about: str
    series: tuple[Drawn, ...]
    kind: Kind = Kind.LINES
    top: int = 0
    rule: str = ""
    whole: float | None = None
    axis: str | None = None

    @property
    def unit(self) -> str:
        """The unit of all values, after the scale of their columns."""
        if self.axis is not None:
            return self.axis
        first = self.series[0]
        return metric_of(REPORTS[first.report].reduction, first.column).unit

    @property
    def reports(self) -> tuple[str, ...]:
        """The reports it draws from."""
        return tuple(dict.fromkeys(drawn.report for drawn in self.series))


def column_of(report: Report, name: str) -> ReportColumn:
    """The column of a report by the name of its reduction's column."""
    return next(column for column in report.columns if column.name == name)


def known(drawn: Drawn) -> bool:
    """Whether there are the report and the column."""
    report = REPORTS.get(drawn.report)
    return report is not None and any(c.name == drawn.column for c in report.columns)
