"""Predicts reports: of a dump before it lands, and after an import of IBM pages."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ...core.text import counted
from ...schemas.layout import Kind, Layout
from ...schemas.loader import Sources
from ...schemas.pages.file_merge import MergeResult
from ...store.results.lineage import code_of
from ..metrics.report_set import Report, reports
from ..reductions.reductions import inferred_notes, is_inferred, own_tables_of, reduction, tables_of
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


class Completeness(StrEnum):
    """Completeness of a report."""

    RIGHT = "right"
    NOTED = "right but for its notes"
    UNCERTAIN = "uncertain"
    EMPTY = "nothing to report"

    @property
    def rank(self) -> int:
        """0 for the best outcome."""
        return [*Completeness].index(self)


@dataclass(frozen=True)
class ExpectedReport:
    """Prediction for a report. `pages`: records whose IBM pages of the release would improve it."""

    name: str
    title: str
    outcome: Completeness
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
        return ExpectedReport(report.name, report.title, Completeness.EMPTY, (note,), ())
    doubts = inferred_notes(present, [release] if release else ())
    doubts = [*doubts, *(unread_notes(unread, release, present) if release else ())]
    # Samples and configuration records; events may simply not have occurred.
    absent = [
        layout
        for name, layout in records.items()
        if layout.kind is not Kind.EVENT and name not in present
    ]
    blank = [f"Not in the dump: {_listed(absent)}; what comes of them is blank."] if absent else []
    blank += unrecorded(report, levels_of([release]))
    blank += thread_notes(report, release, present) if release else []
    outcome = (
        Completeness.UNCERTAIN if doubts else Completeness.NOTED if blank else Completeness.RIGHT
    )
    pages = [
        name
        for name, layout in present.items()
        if is_inferred(layout, [release] if release else ())
        or name in longer_records(unread)
        or is_withdrawn(layout, release)
        or (release and not is_of(layout, release))
    ]
    notes = (*doubts, *blank)
    return ExpectedReport(report.name, report.title, outcome, notes, tuple(sorted(pages)))


def _listed(layouts: Collection[Layout]) -> str:
    few = sorted(layouts, key=lambda layout: (layout.domain, layout.record))
    more = f" and {len(few) - 5} others" if len(few) > 6 else ""
    return ", ".join(map(named, few[:5] if more else few)) + more


def layout_effects(before: Sources, after: Sources, pages: Sequence[MergeResult]) -> str:
    """A Markdown page: what reports gain and lose by an import of pages of their records."""
    sections, read = [], set[str]()
    for report in reports().values():
        tables, words = tables_of(report.reduction), _words(report.reduction)
        lines: list[str] = []
        for page in pages:
            files = {page.page.dsect, *page.files} & tables
            if files:
                read.add(page.page.dsect)
                lines += _lines(page, files, words, before, after)
        if lines:
            sections.append(f"## {report.name}\n\n{report.title}.\n\n" + "\n".join(lines))
    others = sorted({page.page.dsect.upper() for page in pages} - {name.upper() for name in read})
    releases = ", ".join(sorted({page.page.release for page in pages}))
    head = f"# What reports gain and lose by pages of {releases}"
    rest = f"No report reads {', '.join(others)}." if others else ""
    return "\n\n".join(part for part in (head, *sections, rest) if part) + "\n"


def _lines(
    page: MergeResult, files: set[str], words: frozenset[str], before: Sources, after: Sources
) -> Iterator[str]:
    """The effects of an imported page on one report, as list items."""
    dsect, release = page.page.dsect, page.page.release
    name = f"{dsect.upper()} ({page.page.domain}.{page.page.record})"
    if page.page.is_withdrawn:
        yield f"- {name}: not written from {release} on; what the report shows of it is blank then."
        return
    weak = [r["name"] for f in files for r in before.fields.get(f, ()) if _is_guess(r, words)]
    still = [r["name"] for f in files for r in after.fields.get(f, ()) if _is_guess(r, words)]
    if len(weak) > len(still):
        fields = counted(len(weak) - len(still), "field")
        yield f"- {name}: the page confirms {fields} of the report."
    ended = {
        r["name"]: r["until"]
        for f in files
        for r in after.fields.get(f, ())
        if r["until"] and r["name"] in words
    }
    old = {(r["name"], r["until"]) for f in files for r in before.fields.get(f, ())}
    for field, until in sorted(ended.items()):
        if (field, until) not in old:
            yield f"- {name}: loses {field.upper()} after {until}; it is NULL from then on."
    gained = [entry for entry in page.added if entry.partition(".")[0] in files]
    names = [entry.partition(".")[2] for entry in gained]
    if used := [field.upper() for field in names if field in words]:
        yield f"- {name}: gains {', '.join(used)}, which the report uses where records have it."
    if other := [field.upper() for field in names if field not in words]:
        what = f"{len(other)} new fields to query, which it does not show"
        yield f"- {name}: {what}: {', '.join(other)}."


def _is_guess(row: dict[str, str], words: frozenset[str]) -> bool:
    return row["name"] in words and row["provenance"] != "published"


def _words(name: str) -> frozenset[str]:
    """The words in the SQL of a reduction and its dependencies, fields among them."""
    view = reduction(name)
    words = set(re.findall(r"\w+", re.sub("'[^']*'", "", code_of(view.select))))
    for below in view.reads:
        if "." not in below:
            words |= _words(below)
    return frozenset(words)
