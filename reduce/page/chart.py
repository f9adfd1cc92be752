"""What a page draws, as data: `page.toml` has the charts and the tiles, in order."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from importlib.resources import files

from ...config import Document, Table
from ..metrics import metric_of
from ..metrics.report_set import REPORTS
from ..metrics.report_shape import Report, ReportColumn


class Kind(StrEnum):
    """How values are drawn."""

    LINES = "lines"
    STACK = "stack"
    """Areas on top of each other: parts of a whole."""
    BARS = "bars"


class Series(Table, frozen=True):
    """One series of a chart: a column of a report, called `label`.

    `color` is a name of `html.COLORS`; empty takes the next of the palette.
    """

    report: str
    column: str
    label: str = ""
    color: str = ""


class Chart(Table, frozen=True):
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
    series: Sequence[Series]
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
        return unit_of(self.series[0].report, self.series[0].column)


class Tile(Table, frozen=True):
    """A figure of a report at the head of a page.

    `rule` is one of the exceptions, whose limit it is held against. Of a report by time the mean
    is shown and the intervals over the limit are counted, of one by object the greatest and the
    objects over it. `noun` stands for the unit of the metric.
    """

    label: str
    report: str
    column: str
    rule: str = ""
    noun: str | None = None

    @property
    def unit(self) -> str:
        """The unit of the metric, if the tile does not say what is counted."""
        return unit_of(self.report, self.column) if self.noun is None else self.noun


class Page(Table, frozen=True):
    """What is on every page, and the chart that compares runs."""

    charts: list[Chart]
    tiles: list[Tile]
    runs: Chart


def unit_of(report: str, column: str) -> str:
    """The unit in which a column of a report is printed."""
    return metric_of(REPORTS[report].reduction, column).unit


def column_of(report: Report, name: str) -> ReportColumn:
    """The column of a report by the name of its reduction's column."""
    return next(column for column in report.columns if column.name == name)


_TEXT = (files(__package__) / "page.toml").read_text(encoding="utf-8")
_PAGE = Document(_TEXT, "page.toml", "the page").read(Page)
CHARTS, TILES, RUNS = _PAGE.charts, _PAGE.tiles, _PAGE.runs
