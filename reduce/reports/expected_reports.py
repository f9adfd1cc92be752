"""Predicts the reports of a dump before it lands, from its records and its release."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...schemas.layout import Kind, Layout
from ..metrics.report_set import Report, reports
from ..reductions.reductions import inferred_notes, is_inferred, own_tables_of, tables_of
from .layout_notes import (
    is_of,
    is_withdrawn,
    levels_of,
    longer_records,
    named,
    records_of,
    thread_notes,
    unread_notes,
    unrecorded,
    written,
)


class Outcome(StrEnum):
    """Completeness of a report."""

    RIGHT = "right"
    NOTED = "right but for its notes"
    UNCERTAIN = "uncertain"
    EMPTY = "nothing to report"

    @property
    def rank(self) -> int:
        """0 for the best outcome."""
        return [*Outcome].index(self)


@dataclass(frozen=True)
class ExpectedReport:
    """Prediction for a report. `pages`: records whose IBM pages of the release would improve it."""

    name: str
    title: str
    outcome: Outcome
    notes: tuple[str, ...]
    pages: tuple[str, ...]


def expected_reports(
    kinds: Collection[tuple[int, int]], release: str, unread: Collection[str]
) -> list[ExpectedReport]:
    """Predict every report, by name.

    Args:
        kinds: (domain, record) of the records in the dump.
        release: CP level that wrote it; empty if unknown.
        unread: details of its findings RECORD_LONGER and RECORD_WITHDRAWN.
    """
    return [_expected(reports()[name], kinds, release, unread) for name in sorted(reports())]


def _expected(
    report: Report, kinds: Collection[tuple[int, int]], release: str, unread: Collection[str]
) -> ExpectedReport:
    records = written(records_of(tables_of(report.reduction)), release, kinds)
    present = {n: lay for n, lay in records.items() if (lay.domain, lay.record) in kinds}
    own = records_of(own_tables_of(report.reduction))
    own_records = (written(own, release, kinds) or own).values()
    samples = [layout for layout in own_records if layout.kind is not Kind.EVENT]
    needed = samples if 2 * len(samples) >= len(own_records) else own_records
    if not any(layout.name in present for layout in needed):
        note = f"The dump has none of {_listed(needed)}."
        return ExpectedReport(report.name, report.title, Outcome.EMPTY, (note,), ())
    doubts = inferred_notes(present, [release] if release else ())
    doubts = [*doubts, *(unread_notes(unread, release, present) if release else ())]
    blank = [*_absent(records, kinds), *unrecorded(report, levels_of([release]))]
    blank += thread_notes(report, release, present) if release else []
    outcome = Outcome.UNCERTAIN if doubts else Outcome.NOTED if blank else Outcome.RIGHT
    pages = [n for n, lay in present.items() if _wants_page(lay, release, unread)]
    notes = (*doubts, *blank)
    return ExpectedReport(report.name, report.title, outcome, notes, tuple(sorted(pages)))


def _wants_page(layout: Layout, release: str, unread: Iterable[str]) -> bool:
    if is_inferred(layout, [release] if release else ()) or layout.name in longer_records(unread):
        return True
    return is_withdrawn(layout, release) or (bool(release) and not is_of(layout, release))


def _absent(records: Mapping[str, Layout], kinds: Collection[tuple[int, int]]) -> list[str]:
    """A note on missing samples and configuration records; events may simply not have occurred."""
    absent = [
        layout
        for layout in records.values()
        if layout.kind is not Kind.EVENT and (layout.domain, layout.record) not in kinds
    ]
    return [f"Not in the dump: {_listed(absent)}; what comes of them is blank."] if absent else []


def _listed(layouts: Collection[Layout]) -> str:
    few = sorted(layouts, key=lambda layout: (layout.domain, layout.record))
    more = f" and {len(few) - 5} others" if len(few) > 6 else ""
    return ", ".join(map(named, few[:5] if more else few)) + more
