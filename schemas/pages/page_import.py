"""An import of pages, one or a whole release: the result of each, and the files to write."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from ...core.errors import CpmonError
from ..loader import COLUMNS, LENGTH_COLUMNS, RECORD_COLUMNS, Row, Sources, build, read, to_csv
from ..registry import home, overlay, shipped
from .file_merge import MergeResult
from .merge import merge
from .page import parse_page, split_pages
from .page_file import PageFile, PageText, read_page

PAGE = re.compile(r"\b(?i:DSECT\s+NAME)\b|\bMR[A-Z0-9]+\s+Control\s+Block\s+Contents\b")
"""Text by which the page of a record, even a damaged one, is recognized."""


class PageOutcome(StrEnum):
    """Effect of a page on the layout of its record."""

    NEW = "new"
    CONFIRMED = "confirmed"
    GROWN = "grown"
    WITHDRAWN = "withdrawn"
    CONTRADICTED = "contradicted"
    NOT_UNDERSTOOD = "not understood"
    OTHER = "no record page"
    PASSED_OVER = "passed over"

    @property
    def is_refused(self) -> bool:
        """Whether it is a page for which nothing is written."""
        return self in (PageOutcome.CONTRADICTED, PageOutcome.NOT_UNDERSTOOD)


@dataclass(frozen=True)
class Imported:
    """The result of a page. `problem` is the error of a page that was not understood."""

    name: str
    outcome: PageOutcome
    merged: MergeResult | None = None
    problem: CpmonError | None = None


class PageImport:
    """An import into a folder of layouts; nothing is written by it.

    Attributes:
        before: all layouts before the import, the site's over the shipped ones.
        sources: the same after the pages that were added.
    """

    def __init__(self, folder: Path, *, release: str = "", replace: bool = False) -> None:
        """Begin an import.

        Args:
            release: of pages without a release.
            replace: follow the pages where they contradict the previous layout.
        """
        self._folder, self._release, self._replace = folder, release, replace
        self._site = read(folder)
        self.before = self.sources = overlay(shipped(), self._site)
        self._changes: dict[Path, Change] = {}

    def add(self, file: PageFile, *, named: bool = True) -> Iterator[Imported]:
        """Read the pages of a file and merge them.

        Args:
            named: the user named this file; other files that are no pages are skipped.
        """
        if file.data is None:
            yield Imported(file.name, PageOutcome.PASSED_OVER)
            return
        try:
            if isinstance(file.data, CpmonError):
                raise file.data
            source = read_page(file.data, file.name)
        except CpmonError as error:
            yield Imported(file.name, PageOutcome.NOT_UNDERSTOOD, problem=error)
            return
        if not named and not re.search(PAGE, source.text):
            yield Imported(file.name, PageOutcome.OTHER)
            return
        yield from (self._add(page) for page in split_pages(source))

    def _add(self, source: PageText) -> Imported:
        name = source.place
        try:
            page = parse_page(source, self._release)
            merged = merge(page, self.sources, replace=self._replace)
            if not merged.contradictions:
                check(merged, self.sources)
        except CpmonError as error:
            return Imported(name, PageOutcome.NOT_UNDERSTOOD, problem=error)
        if merged.contradictions:
            return Imported(name, PageOutcome.CONTRADICTED, merged)
        outcome = PageOutcome.GROWN if merged.added or merged.changed else PageOutcome.CONFIRMED
        if page.is_withdrawn:
            outcome = PageOutcome.WITHDRAWN
        elif merged.added and not self.sources.fields.get(page.dsect):
            outcome = PageOutcome.NEW
        made = list(changes(merged, self._site, self.sources, self._folder))
        for change in made:
            first = self._changes.get(change.path, change)
            self._changes[change.path] = replace(change, before=first.before)
        if made:
            self._site = after(merged, self._site)
        self.sources = after(merged, self.sources)
        return Imported(name, outcome, merged)

    def changes(self) -> list[Change]:
        """The files to write: layouts, then records.csv and lengths.csv."""
        return sorted(self._changes.values(), key=lambda c: c.path.parent == self._folder)


def check(merged: MergeResult, sources: Sources) -> None:
    """Check that the loader can build the record of a page.

    Raises:
        LayoutError: it cannot.
    """
    build(replace(after(merged, sources), records=[merged.record]))


@dataclass(frozen=True)
class Change:
    """A file of a site's folder before (or as shipped) and after the change."""

    path: Path
    before: str
    after: str


def after(merged: MergeResult, sources: Sources) -> Sources:
    """All layouts after the merge of a page."""
    return overlay(sources, Sources([merged.record], merged.lengths, merged.files))


def changes(merged: MergeResult, site: Sources, shipped: Sources, folder: Path) -> Iterator[Change]:
    """The files to write for a page, those of entries before that of the record.

    Empty if the page changes nothing; else all files of the record, so that the folder does not
    depend on the layouts of later versions.

    Args:
        site: the layouts of the folder.
        shipped: the layouts before the import, the site's over the shipped ones.
    """
    page, home = merged.page, _home(folder, merged.page.domain)
    # A site's own record is written as a whole, in case an earlier import of it was killed.
    is_new = any(
        name in site.fields or rows != shipped.fields.get(name)
        for name, rows in merged.files.items()
    )
    for name, rows in reversed(merged.files.items()):
        old = shipped.fields.get(name, [])
        if rows != old or (is_new and name.startswith(page.dsect) and name not in site.fields):
            path = next(folder.glob(f"d[0-9][0-9]*/{name}.csv"), home / f"{name}.csv")
            yield _change(path, old, rows, COLUMNS)
    if merged.record not in (site.records if is_new else shipped.records):
        number = merged.record["domain"], merged.record["record"]
        others = [r for r in site.records if (r["domain"], r["record"]) != number]
        rows = _sorted([*others, merged.record])
        yield _change(folder / "records.csv", site.records, rows, RECORD_COLUMNS)
    if any(row not in shipped.lengths for row in merged.lengths):
        rows = _sorted([*site.lengths, *merged.lengths])
        yield _change(folder / "lengths.csv", site.lengths, rows, LENGTH_COLUMNS)


def _change(path: Path, old: Sequence[Row], new: Sequence[Row], columns: Sequence[str]) -> Change:
    return Change(path, to_csv(old, columns) if old else "", to_csv(new, columns))


def _sorted(rows: Sequence[Row]) -> list[Row]:
    """Rows of records.csv or lengths.csv; of the same record and release the last one counts."""
    by_name = {(row["dsect"], row.get("release", "")): row for row in rows}
    return [by_name[name] for name in sorted(by_name)]


def _home(folder: Path, domain: int) -> Path:
    """The folder of a domain: the site's own, or one of the shipped name."""
    start = f"d{domain:02d}"
    own = list(folder.iterdir()) if folder.is_dir() else []
    names = [f.name for f in (*own, *home().iterdir()) if f.is_dir() and f.name.startswith(start)]
    return folder / (names[0] if names else start)
