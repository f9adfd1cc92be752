"""What every part of a merge does to rows: widen their span, narrow it, tell of contradictions."""

from __future__ import annotations

from ..layout import release_key
from ..loader import Row
from ..writer import COLUMNS
from .merged import Merged
from .page import BitRow, PageRow
from .reach import Reach


class Merging:
    """A file that is being merged; `merged` hears of everything."""

    def __init__(self, merged: Merged, name: str, reach: Reach) -> None:
        self.merged, self.name, self.reach = merged, name, reach

    def widen(self, row: Row) -> None:
        """Take the page's release, which has the field, into its span."""
        now, name = self.reach.now, f"{self.name}.{row['name']}"
        if row["since"] and release_key(now) < release_key(row["since"]):
            self.merged.changed.append(f"{name}: since {now}, was {row['since']}")
            row["since"] = now
        if row["until"] and release_key(now) > release_key(row["until"]):
            self.merged.changed.append(f"{name}: until nothing, was {row['until']}")
            row["until"] = ""

    def narrow(self, row: Row) -> None:
        """Begin the field's span behind the page's release, which lacks it."""
        row["since"] = self.reach.after(self.reach.now)
        self.merged.changed.append(
            f"{self.name}.{row['name']}: since {row['since']}, not in {self.reach.now}"
        )

    def contradict(self, row: PageRow | BitRow, problem: str, expected: str) -> None:
        """Note what a row of the page says otherwise."""
        self.merged.contradict(row, f"{self.name}: {problem}", expected)


def marked(row: Row) -> Row:
    """A row that may be changed, with a mark for whether the page has it."""
    return {column: row.get(column, "") for column in COLUMNS} | {"_seen": ""}
