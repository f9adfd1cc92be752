"""A report as a table of a page: texts, and what they are sorted by where the text will not do."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from ..metrics.report_shape import Lines, ReportColumn
from ..reports.cells import cell_text, clock
from ..reports.column_texts import column_texts
from ..reports.report import ReportResult

DECIMAL = 10
_NUMBER = re.compile(r"-?\d+(\.\d+)?\Z")
_PLAIN = r"^(-?\d+(\.\d+)?)?$"
"""Texts that can be sorted by as they are."""


@dataclass(frozen=True, slots=True)
class Head:
    """The heading of a column. `parts` are the lines of its label, `is_text` aligns it left."""

    parts: tuple[str, ...]
    unit: str
    about: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Cell:
    """A text, and the number it stands for where that cannot be read from it ("101k")."""

    text: str
    number: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A report ready for the page.

    Attributes:
        covers: the span and how it was narrowed, in words.
        rows: cells of each line. mean: those of the mean line; empty where there is none.
        missing: why there is nothing to show, if so.
    """

    name: str
    title: str
    covers: str = ""
    heads: tuple[Head, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
    mean: tuple[Cell, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""


def listing(result: ReportResult, docs: dict[str, str]) -> Listing:
    """The table of a report.

    Args:
        docs: column of the reduction -> what it means.
    """
    report = result.report
    columns = [_cells(result, column) for column in report.columns]
    means = [
        _cell(result, column, result.mean[column.name]) if column.name in result.mean else Cell("")
        for column in report.columns
    ]
    return Listing(
        report.name,
        report.title,
        _covers(result),
        tuple(_head(result, column, docs.get(column.name, "")) for column in report.columns),
        tuple(zip(*columns, strict=True)),
        (Cell("Mean"), *means[1:]) if result.lines is Lines.TIME else (),
        result.notes,
    )


def _head(result: ReportResult, column: ReportColumn, about: str) -> Head:
    kind = result.table.schema.field(column.name).type
    is_text = pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_boolean(kind)
    return Head(tuple(column.label.split("|")), column.unit, about, is_text)


def _cells(result: ReportResult, column: ReportColumn) -> list[Cell]:
    values = result.table.column(column.name)
    if not pa.types.is_string(values.type):
        texts = column_texts(column, values, result.zone)
        if column.base != DECIMAL or pc.all(pc.match_substring_regex(texts, _PLAIN)).as_py():
            return [Cell(text) for text in texts.to_pylist()]
    return [_cell(result, column, value) for value in values.to_pylist()]


def _cell(result: ReportResult, column: ReportColumn, value: object) -> Cell:
    text = cell_text(column, value, result.zone)
    if isinstance(value, int | float) and column.base == DECIMAL and not _NUMBER.match(text):
        return Cell(text, f"{value * column.scale:.12g}" if text else "")
    return Cell(text)


def _covers(result: ReportResult) -> str:
    noun = "interval" if result.intervals == 1 else "intervals"
    first, last = (clock(time, result.zone) for time in (result.starts, result.ends))
    told = "".join(f", {said}" for said in result.said)
    return f"{first} to {last} {result.zone.key}, {result.intervals} {noun}{told}"
