"""An import of pages, one or a whole release: what came of each, and what is to be written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from ..errors import CpmonError, LayoutError
from ..loader import read
from ..site import overlay, shipped
from .changes import Change, after, changes, check
from .collection import PageFile
from .merge import merge
from .merge_result import MergeResult
from .page import parse_page


class Outcome(StrEnum):
    """What a page did to the layout of its record."""

    NEW = "new"
    CONFIRMED = "confirmed"
    GROWN = "grown"
    WITHDRAWN = "withdrawn"
    CONTRADICTED = "contradicted"
    NOT_UNDERSTOOD = "not understood"
    OTHER = "no record page"

    @property
    def is_refused(self) -> bool:
        """Whether nothing is written for the page though it is one."""
        return self in (Outcome.CONTRADICTED, Outcome.NOT_UNDERSTOOD)


@dataclass(frozen=True)
class Imported:
    """What came of a page. `problem` says why it was not understood."""

    name: str
    outcome: Outcome
    merged: MergeResult | None = None
    problem: CpmonError | None = None


class PageImport:
    """An import into a folder of layouts; nothing is written by it.

    Attributes:
        before: all layouts before the import, the site's over the shipped ones.
        known: the same after the pages that were added.
    """

    def __init__(self, folder: Path, *, release: str = "", replace: bool = False) -> None:
        """Begin an import.

        Args:
            release: of the pages, where they do not say it.
            replace: take the pages' word where they contradict the layout known before.
        """
        self._folder, self._release, self._replace = folder, release, replace
        self._site = read(folder)
        self.before = self.known = overlay(shipped(), self._site)
        self._changes: dict[Path, Change] = {}

    def add(self, file: PageFile, *, named: bool = True) -> Imported:
        """Read a page and merge it.

        Args:
            named: the user named this file; of others, those that are no pages are passed over.
        """
        if file.data is None:
            return Imported(file.name, Outcome.NOT_UNDERSTOOD, problem=LayoutError(file.problem))
        if not named and b"DSECT NAME" not in b" ".join(file.data.split()):
            return Imported(file.name, Outcome.OTHER)
        try:
            page = parse_page(file.data, file.name, self._release)
            merged = merge(page, self.known, replace=self._replace)
            if not merged.contradictions:
                check(merged, self.known)
        except CpmonError as error:
            return Imported(file.name, Outcome.NOT_UNDERSTOOD, problem=error)
        if merged.contradictions:
            return Imported(file.name, Outcome.CONTRADICTED, merged)
        outcome = self._outcome(merged)
        for change in changes(merged, self._site, self.known, self._folder):
            first = self._changes.get(change.path, change)
            self._changes[change.path] = replace(change, before=first.before)
        self.known, self._site = after(merged, self.known), after(merged, self._site)
        return Imported(file.name, outcome, merged)

    def changes(self) -> list[Change]:
        """The files to write: those of fields, then the two lists of records and lengths."""
        return sorted(self._changes.values(), key=lambda c: c.path.parent == self._folder)

    def _outcome(self, merged: MergeResult) -> Outcome:
        if merged.page.is_withdrawn:
            return Outcome.WITHDRAWN
        if merged.added and not self.known.fields.get(merged.page.dsect):
            return Outcome.NEW
        return Outcome.GROWN if merged.added or merged.changed else Outcome.CONFIRMED
