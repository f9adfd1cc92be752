"""The reports of `reports.toml`: metrics of a reduction, in the order of a reader."""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files

import msgspec

from ...config import Document, Table
from ...config.values import Names, Text
from ...core.errors import CpmonError
from .metric import print_rule
from .registry import metric_of
from .report_shape import Lines, Note, Report, ReportColumn

FILE = "reports.toml"


class ColumnKeys(Table, frozen=True):
    """A column that is printed in another way than its metric says, or where it is known only."""

    metric: Text
    heading: Text | None = None
    width: int | None = None
    format: Text | None = None
    optional: bool = False


class ReportKeys(Table, frozen=True):
    """A report."""

    name: Text
    title: Text
    group: Text
    reduction: Text
    columns: list[str | ColumnKeys]
    lines: Lines = Lines.TIME
    keys: Names = Names()
    follows: dict[str, Text] = msgspec.field(default_factory=dict)
    sort: str = ""
    total: Names = Names()
    notes: list[str | Note] = msgspec.field(default_factory=list)


class ReportsKeys(Table, frozen=True):
    """The file."""

    report: list[ReportKeys]


def read_reports(text: str) -> dict[str, Report]:
    """Name -> report of all that a file defines, in its order.

    Raises:
        CpmonError: an entry has an unknown key, a wrong value, or names no metric of its reduction.
    """
    document = Document(text, FILE, "the reports")
    reports: dict[str, Report] = {}
    for number, entry in enumerate(document.read(ReportsKeys).report):
        place = document.place(f"report[{number}]")
        if entry.name in reports:
            raise CpmonError("two reports have one name", place=place, found=entry.name)
        keys = msgspec.structs.asdict(entry) | {
            "columns": tuple(_column(entry.reduction, column, place) for column in entry.columns),
            "keys": tuple(entry.keys),
            "total": tuple(entry.total),
            "notes": tuple(Note(Text(n)) if isinstance(n, str) else n for n in entry.notes),
        }
        listed = [column.name for column in keys["columns"]]
        if absent := [name for name in entry.total if name not in listed]:
            raise CpmonError(
                "a total is of no column",
                place=place,
                expected=", ".join(listed),
                found=", ".join(absent),
            )
        reports[entry.name] = Report(**keys)
    return reports


def _column(reduction: str, column: str | ColumnKeys, place: str) -> ReportColumn:
    keys = column if isinstance(column, ColumnKeys) else ColumnKeys(Text(column))
    metric = metric_of(reduction, keys.metric, place)
    if not (metric.heading or keys.heading):
        raise CpmonError(
            f"the metric {metric.name} has no heading",
            place=place,
            expected=f"a heading here, or in metrics/{metric.place}",
        )
    try:
        print_rule(keys.format or metric.format)
    except ValueError:
        raise CpmonError(
            f"the column {metric.name} has a format that means nothing",
            place=place,
            expected="decimals, kept, thousands or hex",
            found=keys.format,
        ) from None
    shown = metric.report_column(keys.heading, keys.width, keys.format)
    return replace(shown, is_optional=keys.optional)


REPORTS = read_reports((files(__package__) / FILE).read_text(encoding="utf-8"))
"""Every report by its name."""
END = metric_of("", "interval_end").report_column()
"""The column of the ends of intervals."""
