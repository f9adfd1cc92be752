"""The merge of a page into one layout file: spans of releases, contradictions, named bits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ...core.errors import LayoutError
from ..field import Provenance, Type
from ..loader import COLUMNS, Row
from ..release import release_key
from .items import Item
from .page import Page
from .page_rows import BitRow, PageRow
from .rows import bit_row, code_row, insert


@dataclass
class MergeResult:
    """The layout files of a page's record after the merge, and notes about it.

    `contradictions` are errors of the page's lines, which prevent writing. `doubts` are fields
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


@dataclass(frozen=True)
class ReleaseContext:
    """The releases from which `since` and `until` of a row follow.

    `now`: of the page; `base`: of the layout before the merge; `releases`: all, sorted; `lengths`:
    (release, bytes) of the record as published.
    """

    now: str
    base: str
    releases: tuple[str, ...]
    lengths: tuple[tuple[str, int], ...]

    @property
    def is_older(self) -> bool:
        """Whether the page is of a release before the layout's."""
        return release_key(self.now) < release_key(self.base)

    def before(self, release: str) -> str:
        """The release before one."""
        return [r for r in self.releases if release_key(r) < release_key(release)][-1]

    def after(self, release: str) -> str:
        """The release after one."""
        return next(r for r in self.releases if release_key(r) > release_key(release))

    def since(self, end: int) -> str:
        """The first release whose record is long enough for a field that ends at `end`."""
        long_enough = [r for r, length in self.lengths if length >= end]
        return min([*long_enough, self.now], key=release_key)


class FileMerge:
    """The merge of one layout file; it adds its results to `merged`."""

    def __init__(self, merged: MergeResult, name: str, context: ReleaseContext) -> None:
        self.merged, self.name, self.context = merged, name, context

    def confirm(self, row: Row, meaning: str) -> None:
        """Mark a row of the layout as confirmed, and take over the page's description, if any."""
        row["provenance"] = str(Provenance.PUBLISHED)
        row["meaning"] = meaning or row["meaning"]
        self.merged.confirmed += 1

    def widen(self, row: Row) -> None:
        """Extend the span of a field to the page's release, which has it."""
        now, name = self.context.now, f"{self.name}.{row['name']}"
        if row["since"] and release_key(now) < release_key(row["since"]):
            self.merged.changed.append(f"{name}: since {now}, was {row['since']}")
            row["since"] = now
        if row["until"] and release_key(now) > release_key(row["until"]):
            self.merged.changed.append(f"{name}: until nothing, was {row['until']}")
            row["until"] = ""

    def narrow(self, row: Row) -> None:
        """Start the span of a field after the page's release, which lacks it."""
        row["since"] = self.context.after(self.context.now)
        self.merged.changed.append(
            f"{self.name}.{row['name']}: since {row['since']}, not in {self.context.now}"
        )

    def contradict(self, row: PageRow | BitRow, problem: str, expected: str) -> None:
        """Record that a row of the page contradicts the layout."""
        self.merged.contradict(row, f"{self.name}: {problem}", expected)

    def match_bits(self, rows: list[Row], field: Row, item: Item) -> None:
        """Match the named bits of a field, one of `rows`: confirmed, new, or contradicting."""
        bits = [r for r in rows if r["type"] == Type.BIT and r["of"] == field["name"]]
        start = int(field["offset"])
        for bit in item.bits:
            new = bit_row(item, bit) | {"of": field["name"], "offset": str(start + bit.byte)}
            shared = [
                r for r in bits if r["offset"] == new["offset"] and int(r["code"], 16) & bit.mask
            ]
            same = next((r for r in shared if int(r["code"], 16) == bit.mask), None)
            if same is not None and same["name"] == bit.name:
                same["_seen"] = "yes"
                self.confirm(same, bit.row.meaning)
                self.widen(same)
                continue
            if shared:
                expected = f"{shared[0]['name']}, mask {shared[0]['code']}"
                self.contradict(
                    bit.row, f"bits of {item.name} are {bit.name}, mask {new['code']}", expected
                )
                continue
            new["since"] = self.context.now if bits and not self.context.is_older else ""
            insert(rows, marked(new))
            self.merged.added.append(f"{self.name}.{bit.name}")
        self._miss_bits(item, [r for r in bits if not r["_seen"]])

    def match_codes(self, rows: list[Row], field: Row, item: Item) -> None:
        """Match the named values of a field, one of `rows`: confirmed, new, or contradicting."""
        named = {r["code"]: r for r in rows if r["type"] == Type.CODE and r["of"] == field["name"]}
        names = {r["name"]: r for r in rows}
        for code in item.codes:
            place = {"of": field["name"], "offset": field["offset"], "length": field["length"]}
            new = code_row(item, code) | place
            row = named.get(new["code"]) or names.get(code.name)
            if row is None:
                insert(rows, marked(new))
                self.merged.changed.append(
                    f"{self.name}.{field['name']}: {code.name} names a value"
                )
            elif all(row[at] == new[at] for at in ("type", "name", "code", "of")):
                self.confirm(row, code.row.meaning)
            else:
                problem = f"value {new['code']} of {item.name} is {code.name}"
                self.contradict(code.row, problem, f"{row['name']}, {row['type']} {row['code']}")

    def _miss_bits(self, item: Item, missing: Iterable[Row]) -> None:
        """Handle named bits of the layout that are missing on a page that names others."""
        for row in missing:
            if self.context.is_older and not row["since"]:
                self.narrow(row)
            elif not row["since"] or release_key(row["since"]) <= release_key(self.context.now):
                self.contradict(
                    item.row, f"bit {row['name']} of {item.name} is missing", f"mask {row['code']}"
                )


def marked(row: Row) -> Row:
    """A copy of a row with all columns, and a mark for rows that the page has."""
    return dict.fromkeys(COLUMNS, "") | row | {"_seen": ""}
