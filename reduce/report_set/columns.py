"""Columns that many reports have, and the print rules that they use."""

from __future__ import annotations

from ..printing import Format, Style
from ..report_shape import WHOLE, Elapsed, Latest, Level, Mean, ReportColumn, Sums, Total

__all__ = ["WHOLE"]

TOD_SECONDS = 1 / 4096e6
"""Seconds in a TOD unit."""
TOD_MICROSECONDS = 1 / 4096
TENTHS, HUNDREDTHS, THOUSANDTHS = Format(1), Format(2), Format(3)
THOUSANDS = Format(style=Style.THOUSANDS)
KEPT = Format(style=Style.KEPT)

TIME = ReportColumn("interval_end", "End time", width=19)
LENGTH = ReportColumn("seconds", "T", "s", 6, TENTHS, mean=Elapsed())


def key(name: str, label: str, width: int = 8) -> ReportColumn:
    """What tells objects apart."""
    return ReportColumn(name, label, width=width)


def name(column: str, label: str, width: int = 8) -> ReportColumn:
    """A name or setting of an object, as its last interval has it."""
    return ReportColumn(column, label, width=width, mean=Latest())


def share(name: str, label: str, over: str, under: str, form: Format = TENTHS) -> ReportColumn:
    """A share of one processor: percent, TOD units over seconds."""
    return ReportColumn(name, label, "%", 6, form, 100, Sums(over, under, TOD_SECONDS))


def percent(name: str, label: str, over: str, under: str, form: Format = TENTHS) -> ReportColumn:
    """Percent of something in its own unit."""
    return ReportColumn(name, label, "%", 6, form, 100, Sums(over, under))


def rate(
    name: str, label: str, over: str, under: str = "seconds", form: Format = WHOLE, unit: str = "/s"
) -> ReportColumn:
    """Something over seconds, or over something else."""
    return ReportColumn(name, label, unit, 7, form, mean=Sums(over, under))


def level(name: str, label: str, form: Format = WHOLE, unit: str = "") -> ReportColumn:
    """The mean of the samples."""
    return ReportColumn(name, label, unit, 7, form, mean=Level())


def per_user(name: str, label: str, over: str) -> ReportColumn:
    """Pages of all users over the users of all samples."""
    return ReportColumn(name, label, "pages", 7, mean=Sums(over, "users"))


def total(name: str, label: str, of: str, unit: str = "", form: Format = WHOLE) -> ReportColumn:
    """A sum over the span."""
    mean: Mean = Total(of)
    return ReportColumn(name, label, unit, 7, form, mean=mean)
