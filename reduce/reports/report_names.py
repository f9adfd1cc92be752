"""Names of reports: those of cpmon, and those that VMPRF and Performance Toolkit use for them."""

from __future__ import annotations

import csv
import functools
import io
import re
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.resources import files

import msgspec

from ...config.definitions import of_definitions
from ...config.values import Text
from ...core.errors import CpmonError, fold, unknown
from ..metrics.report_set import Lines, Note, Report, reports


class Product(StrEnum):
    """A product whose report names are known here."""

    TOOLKIT = "toolkit"
    VMPRF = "vmprf"

    @property
    def full_name(self) -> str:
        """The name of the product."""
        return {"toolkit": "Performance Toolkit", "vmprf": "VMPRF"}[self.value]


class State(StrEnum):
    """How much of a report of another product cpmon prints."""

    SAME = "same"
    """A report of the same name."""
    RENAMED = "renamed"
    """A report of another name."""
    PART = "part"
    """A report with some of its figures; `missing` says what it lacks."""
    NONE = "none"
    """No report; `missing` says why."""


@dataclass(frozen=True, slots=True)
class ForeignName:
    """A report of another product.

    Attributes:
        number: that of Performance Toolkit, FCX112, or empty. name: may be empty.
        report: the report of cpmon, empty if there is none.
        lines: kind of lines that differs from that of the report: a log of what the report shows by
            object.
        missing: what the report lacks, or why there is none.
        source: public text in which number or name was found; empty if in none that was searched.
    """

    product: Product
    number: str
    name: str
    title: str
    state: State
    report: str
    lines: Lines | None
    missing: str
    source: str

    @property
    def label(self) -> str:
        """Number and name, as far as known: FCX112 USER."""
        return " ".join(filter(None, (self.number, self.name)))


@functools.cache
def foreign_names() -> tuple[ForeignName, ...]:
    """The reports of other products, in the order of the file."""
    text = (files(__package__) / "report_names.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(io.StringIO(text))
    return tuple(
        msgspec.convert(row | {"lines": row["lines"] or None}, ForeignName) for row in rows
    )


def report_names() -> list[str]:
    """Names of all reports of cpmon."""
    return sorted(reports())


def other_names() -> list[str]:
    """Names and numbers of other products for which there is a report."""
    own = set(map(fold, reports()))
    names = (n for f in foreign_names() if f.report for n in (f.number, f.name) if n)
    return sorted({name for name in names if fold(name) not in own})


def labels_of(report: str) -> str:
    """The other names of a report of cpmon: FCX326 LOCKACT, FCX265 LOCKLOG; or nothing."""
    labels = (
        foreign.label
        for foreign in foreign_names()
        if foreign.report == report and foreign.product is Product.TOOLKIT
    )
    return ", ".join(sorted(labels))


def find_report(name: str) -> Report:
    """Find a report by its name, or by that of VMPRF or Performance Toolkit.

    Names are case-insensitive, with dashes or underscores. Those of cpmon, with the reports of
    the site, come first. A report found by another name has a note on what it lacks.

    Raises:
        CpmonError: no such report, with the nearest name; or a report of another product that
            cpmon does not print, with the reason.
    """
    own = _own()
    if fold(name) in own:
        return own[fold(name)]
    by_name = {fold(n): f for f in foreign_names() for n in (f.number, f.name) if n}
    foreign = by_name.get(fold(name))
    if foreign is None and re.fullmatch(r"fcx\d+", fold(name)):
        raise CpmonError(
            f"no report is known by the number {name.upper()}",
            code="report-number-unknown",
            expected=", ".join(f.number for f in foreign_names() if f.number),
            remedy="name it as docs/report-names.md does: not all numbers are known",
        )
    if foreign is None:
        raise unknown("report", name, reports(), also=other_names())
    if not foreign.report:
        raise CpmonError(
            f"{foreign.label} of {foreign.product.full_name} is not printed: {foreign.missing}",
            code="report-not-printed",
            remedy="cpmon report --list names the reports that are",
        )
    report = own[fold(foreign.report)]
    texts = [f"{foreign.label} of {foreign.product.full_name} is {report.name} here"]
    texts += [f"without: {foreign.missing}"] if foreign.state is State.PART else []
    note = Note(Text(f"{', '.join(texts)}."), always=True)
    return replace(report, lines=foreign.lines or report.lines, notes=(*report.notes, note))


@of_definitions
def _own() -> dict[str, Report]:
    """The reports of cpmon and of the site by their folded names."""
    return {fold(key): report for key, report in reports().items()}
