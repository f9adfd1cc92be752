"""Where each field of a layout file lies in a record: arrays element by element."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..field import REST, Type
from ..layout_files.sources import Row
from ..release import is_within
from .items import Item

BOUNDS = ("since", "until")


@dataclass(eq=False)
class Slot:
    """Bytes of a record that a row names. `group` is the row of the array they are in.

    `row` is that of the entry's file, or of the label; the same row has a slot an element.
    """

    offset: int
    length: int
    name: str
    row: Row
    group: Row | None = None
    is_matched: bool = False

    @property
    def end(self) -> int:
        """Offset behind the last byte."""
        return self.offset + self.length

    @property
    def whole(self) -> Row:
        """The row of the record's file: the field's own, or its group's."""
        return self.group or self.row

    def is_in(self, release: str) -> bool:
        """Whether a release has these bytes under this name, as far as the layout knows."""
        rows = (self.row, self.whole)
        return all(is_within(release, row["since"], row["until"]) for row in rows)

    def fits(self, leaf: Leaf) -> bool:
        """Whether both mean the same.

        Fields of arrays may differ in the numbers in their names and in a prefix; bits under a
        field that the page does not name confirm a name of ours.
        """
        if self.name == leaf.part.name or not leaf.part.row.name:
            return True
        if self.group is None and not leaf.item.is_array:
            return False
        pages = {leaf.part.name, leaf.item.name}
        return any(alike(own, page) for own in (self.name, self.whole["name"]) for page in pages)


@dataclass(frozen=True)
class Leaf:
    """Bytes of a record that a page names: a field, or one field of one element of an array."""

    offset: int
    item: Item
    part: Item


def bare(name: str) -> str:
    """A name without the numbers in it."""
    return re.sub(r"\d", "", name)


def alike(name: str, other: str) -> bool:
    """Whether names of an array or its fields are the same but for numbers and a prefix."""
    first, second = sorted((bare(name), bare(other)), key=len)
    return bool(first) and second.endswith(first)


def slots(table: str, rows: Sequence[Row], files: Mapping[str, Sequence[Row]]) -> Iterator[Slot]:
    """The named bytes of a table. Groups that a record locates itself have no fixed place."""
    groups = {row["name"]: row for row in rows if row["type"] == Type.GROUP}
    labelled = {row["of"] for row in rows}
    for row in rows:
        if _is_named(row):
            yield _slot(row, 0, groups.get(row["of"]))
        elif row["type"] == Type.GROUP and row["name"] not in labelled and (place := extent(row)):
            named = [r for r in files.get(entry_file(table, row), ()) if _is_named(r)]
            for number in range(int(row["count"])):
                start = place[0] + number * int(row["length"])
                yield from (_slot(entry, start, row) for entry in named)


def entry_file(table: str, group: Row) -> str:
    """Name of the file with the layout of a group's entries."""
    return group["of"] or f"{table}_{group['name']}"


def extent(row: Row) -> tuple[int, int] | None:
    """First byte of a row and the one behind its last; None without a fixed place or length."""
    if not row["offset"].isdigit():
        return None
    if row["type"] != Type.GROUP and row["length"] != REST:
        return int(row["offset"]), int(row["offset"]) + int(row["length"])
    numbers = (row["offset"], row["length"], row["count"])
    if not all(n.isdigit() for n in numbers):
        return None
    start, stride, count = map(int, numbers)
    return start, start + stride * count


def _is_named(row: Row) -> bool:
    unplaced = (Type.RESERVED, Type.BIT, Type.CODE, Type.GROUP)
    return row["type"] not in unplaced and extent(row) is not None


def _slot(row: Row, start: int, group: Row | None) -> Slot:
    return Slot(start + int(row["offset"]), int(row["length"]), row["name"], row, group)


def leaves(item: Item) -> Iterator[Leaf]:
    """The named bytes of a page's field: itself, or the fields of every element of an array."""
    for number in range(item.count):
        start = item.offset + number * item.length
        if not item.parts and item.name:
            yield Leaf(start, item, item)
        for part in item.parts:
            if part.name:
                yield Leaf(start + part.offset, item, part)
