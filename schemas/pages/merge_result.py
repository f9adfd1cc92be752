"""The result of merging a page: layout files, notes and contradictions."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...core.errors import LayoutError
from ..layout_files.sources import Row
from .page import Page
from .page_rows import BitRow, PageRow


@dataclass
class MergeResult:
    """The layout files of a page's record after the merge, and notes about it.

    With `contradictions`, errors of the page's lines, nothing may be written. `doubts` are fields
    whose role is a guess; `changed` lists changes to fields of the layout.
    """

    page: Page
    files: dict[str, list[Row]] = field(default_factory=dict)
    record: Row = field(default_factory=dict)
    lengths: list[Row] = field(default_factory=list)
    confirmed: int = 0
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    contradictions: list[LayoutError] = field(default_factory=list)

    def contradict(self, row: PageRow | BitRow, problem: str, expected: str) -> None:
        """Record that a row of the page contradicts the layout."""
        error = row.line.error(
            f"{row.line.place} contradicts the layout: {problem}",
            expected=expected,
            effect=f"nothing was written for {self.page.dsect}",
        )
        self.contradictions.append(error)
