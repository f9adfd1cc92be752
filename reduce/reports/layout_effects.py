"""Effects of imported IBM pages on the reports: fields gained, lost or confirmed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...core.text import counted
from ...schemas.loader import Sources
from ...schemas.pages.file_merge import MergeResult
from ...store.results.lineage import code_of
from ..metrics.report_set import reports
from ..reductions.reductions import reduction, tables_of


def layout_effects(before: Sources, after: Sources, pages: Sequence[MergeResult]) -> str:
    """A Markdown page with a section for each report that reads one of the records.

    Args:
        before, after: the layouts before and after the import.
    """
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
