"""What comes of a page: the files of its record as they would be, and what was met."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..loader import Row
from .page import BitRow, Page, PageRow


@dataclass(frozen=True)
class Contradiction:
    """What a page says otherwise than the layout; `line` and `text` are the page's."""

    line: int
    text: str
    problem: str
    expected: str


@dataclass
class Merged:
    """What came of a page: the files of its record as they would be, and what was met.

    `contradictions` that are not empty mean that nothing may be written. `doubts` are fields
    whose role is no more than a guess; `changed` what is now said otherwise of a known field.
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
    contradictions: list[Contradiction] = field(default_factory=list)

    def contradict(self, row: PageRow | BitRow, problem: str, expected: str) -> None:
        """Note what a row of the page says otherwise."""
        text = " ".join(row.text.split())
        self.contradictions.append(Contradiction(row.line, text, problem, expected))
