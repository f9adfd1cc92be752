"""Fields of a page as rows of a layout file, with types, and roles that can be derived."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ..field import REST, WIDTHS, Role, Type
from ..loader import COLUMNS, Row
from ..release import is_within
from ..unplaced import all_unplaced
from .items import BitItem, CodeItem, Item

FITTING: Mapping[str, frozenset[str]] = {
    "Character": frozenset(Type) - {Type.GROUP, Type.BIT, Type.CODE},
    "Bitstring": frozenset({"bits", "unsigned", "packed", "tod", "timer", "guest"}),
    "Unsigned": frozenset({"unsigned", "bits", "packed", "tod", "timer"}),
    "Signed": frozenset({"signed", "timer", "bits"}),
    "Address": frozenset({"unsigned", "bits"}),
}
"""Type on a page -> types of a layout that it does not contradict. IBM writes clocks and numbers of
eight bytes as Character or Bitstring, so only signs, and text for numbers, are contradictions."""

CLOCK = re.compile(r"\btod\b|time[- ]of[- ]day", re.IGNORECASE)
ROLES = {"char": "text", "guest": "text", "packed": "text", "bits": "flag", "tod": "time"}
"""Roles that follow from the type. A number could be many things; a level
does the least harm."""


MOST = 0.75
"""Share of layouts with the same properties of a field that another record then takes over."""


TIME_SETS = re.compile("_(mt1|pro)$")
"""Ends of the names of the second and third set of processor times, each like the first."""


class Habits:
    """Properties of fields by name and length in the known layouts."""

    def __init__(self, files: Mapping[str, Sequence[Row]]) -> None:
        self._files = files
        self._rows: dict[tuple[str, str], list[Row]] = defaultdict(list)
        for rows in files.values():
            for row in rows:
                self._rows[row["name"], row["length"]].append(row)

    def of(self, table: str, item: Item, *, keys: bool) -> tuple[str, str, str] | None:
        """(type, role, unit) of the field in this table, else in most layouts.

        None if they differ. `keys`: whether keys of other records count.
        """
        fitting = FITTING.get(item.row.word, frozenset()) - {Type.RESERVED}
        for row in self._files.get(table, ()):
            is_same = (row["name"], row["length"]) == (item.name, str(item.length))
            if is_same and row["type"] in fitting:
                return row["type"], row["role"], row["unit"]
        name, length = TIME_SETS.sub("", item.name), str(item.length)
        candidates = [(r["type"], r["role"], r["unit"]) for r in self._rows[name, length]]
        candidates = candidates or [
            (r.type, r.role, r.unit) for r in all_unplaced() if r.name == item.name
        ]
        counts = Counter(row for row in candidates if row[0] in fitting)
        if not counts:
            return None
        (first, times), *_ = counts.most_common(1)
        if times < MOST * counts.total() or (first[1] == Role.KEY and not keys):
            return None
        return first


def rows_of(table: str, item: Item, habits: Habits, *, keys: bool = False) -> dict[str, list[Row]]:
    """The rows for a field, by file: the table's own, and that of entries which it needs.

    A field whose role is a guess has a mark `_doubt`.

    Args:
        keys: whether the table is new, so that a key may follow from other records'.
    """
    if not item.is_array or item.is_reserved:
        return {table: _field_rows(table, item, habits, keys=keys)}
    parts = item.parts or (replace(item, offset=0, count=1, of=""),)
    group = _row(item.offset, item.length, Type.GROUP, item.name, meaning=item.row.meaning)
    group["count"] = str(item.count)
    file = f"{table}_{item.name}"
    entry = [row for part in parts for row in _field_rows(file, part, habits, keys=False)]
    return {table: [group], file: entry}


def rest_row(item: Item) -> Row:
    """The row for bytes up to the end of a record: the text of a command, as a rule."""
    kind = Type.BITS if item.row.word == "Bitstring" else Type.CHAR
    row = _row(item.offset, 0, kind, item.name, meaning=item.row.meaning)
    return row | {"length": REST, "role": ROLES[kind]}


def bit_row(item: Item, bit: BitItem) -> Row:
    """The row for named bits of a field."""
    row = _row(item.offset + bit.byte, 1, Type.BIT, bit.name, meaning=bit.row.meaning)
    return row | {"of": item.name, "code": f"{bit.mask:02X}", "role": "flag"}


def code_row(item: Item, code: CodeItem) -> Row:
    """The row for a named value of a field."""
    row = _row(item.offset, item.length, Type.CODE, code.name, meaning=code.row.meaning)
    return row | {"of": item.name, "code": code.digits, "role": "flag"}


def _field_rows(table: str, item: Item, habits: Habits, *, keys: bool) -> list[Row]:
    if item.is_reserved:
        length = item.end - item.offset
        return [_row(item.offset, length, Type.RESERVED, "*", meaning=item.row.meaning)]
    habit, own = habits.of(table, item, keys=keys), _type(item)
    kind, role, unit = habit or (own, ROLES.get(own, "gauge"), "")
    row = _row(item.offset, item.length, kind, item.name, meaning=item.row.meaning)
    row |= {"of": item.of, "role": role, "unit": unit}
    if role == Role.KEY or (role == Role.GAUGE and not habit):
        row["_doubt"] = "yes"
    bits, codes = (bit_row(item, b) for b in item.bits), (code_row(item, c) for c in item.codes)
    return [row, *bits, *codes]


def _type(item: Item) -> str:
    word, number = item.row.word, item.length in WIDTHS
    if item.length == 8 and (CLOCK.search(item.row.meaning) or item.name.endswith("tod")):
        return Type.TOD
    if word == "Character":
        return Type.CHAR
    if word in ("Unsigned", "Address") and number:
        return Type.UNSIGNED
    return Type.SIGNED if word == "Signed" and number else Type.BITS


def _row(offset: int, length: int, kind: str, name: str, *, meaning: str) -> Row:
    place = {"offset": str(offset), "length": str(length), "type": str(kind)}
    texts = {"name": name, "provenance": "published", "meaning": meaning}
    return dict.fromkeys(COLUMNS, "") | place | texts


def insert(rows: list[Row], new: Row) -> None:
    """Insert a row by offset; bits and views directly follow their field."""
    field = next(
        (at for at, row in enumerate(rows) if new["of"] and row["name"] == new["of"]), None
    )
    if field is not None:
        views = {new["of"]}
        at = field + 1
        while at < len(rows) and rows[at]["of"] in views:
            views.add(rows[at]["name"])
            at += 1
    else:
        later = (
            at
            for at, row in enumerate(rows)
            if not row["offset"].isdigit()
            or (not row["of"] and int(row["offset"]) >= int(new["offset"]))
        )
        at = next(later, len(rows))
    rows.insert(at, new)


BOUNDS = ("since", "until")


@dataclass(eq=False)
class Slot:
    """Bytes of a record that a row names. `group` is the row of their array.

    `row` is that of the entry's file, or of the label; it has a slot for each element.
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
        """Whether a release has these bytes under this name in the layout."""
        rows = (self.row, self.whole)
        return all(is_within(release, row["since"], row["until"]) for row in rows)

    def fits(self, leaf: Leaf) -> bool:
        """Whether both are the same field.

        Fields of arrays can differ by numbers in their names and by a prefix; bits below an unnamed
        field of the page confirm the name in the layout.
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
    """Whether names of an array or its fields differ only by numbers and a prefix."""
    first, second = sorted((bare(name), bare(other)), key=len)
    return bool(first) and second.endswith(first)


def slots(table: str, rows: Sequence[Row], files: Mapping[str, Sequence[Row]]) -> Iterator[Slot]:
    """The named bytes of a table, without located groups, which have no fixed place."""
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
    """First byte of a row and the one after its last; None without a fixed place or length."""
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
