"""Merges items of a page into a layout file: rows, roles, spans of releases, contradictions."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...core.errors import LayoutError
from ..field import REST, WIDTHS, Provenance, Role, Type
from ..loader import COLUMNS, Row
from ..release import is_within, release_key
from ..unplaced import all_unplaced
from .items import BitItem, CodeItem, Item
from .page import Page
from .page_rows import BitRow, PageRow

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
_ROLES = {"char": "text", "guest": "text", "packed": "text", "bits": "flag", "tod": "time"}
"""Roles that follow from the type. A number could be many things; a level
does the least harm."""


MOST = 0.75
"""Share of layouts with the same properties of a field that another record then takes over."""


_TIME_SETS = re.compile("_(mt1|pro)$")
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
        name, length = _TIME_SETS.sub("", item.name), str(item.length)
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
    return row | {"length": REST, "role": _ROLES[kind]}


def _bit_row(item: Item, bit: BitItem) -> Row:
    """The row for named bits of a field."""
    row = _row(item.offset + bit.byte, 1, Type.BIT, bit.name, meaning=bit.row.meaning)
    return row | {"of": item.name, "code": f"{bit.mask:02X}", "role": "flag"}


def _code_row(item: Item, code: CodeItem) -> Row:
    """The row for a named value of a field."""
    row = _row(item.offset, item.length, Type.CODE, code.name, meaning=code.row.meaning)
    return row | {"of": item.name, "code": code.digits, "role": "flag"}


def _field_rows(table: str, item: Item, habits: Habits, *, keys: bool) -> list[Row]:
    if item.is_reserved:
        length = item.end - item.offset
        return [_row(item.offset, length, Type.RESERVED, "*", meaning=item.row.meaning)]
    habit, own = habits.of(table, item, keys=keys), _type(item)
    kind, role, unit = habit or (own, _ROLES.get(own, "gauge"), "")
    row = _row(item.offset, item.length, kind, item.name, meaning=item.row.meaning)
    row |= {"of": item.of, "role": role, "unit": unit}
    if role == Role.KEY or (role == Role.GAUGE and not habit):
        row["_doubt"] = "yes"
    bits, codes = (_bit_row(item, b) for b in item.bits), (_code_row(item, c) for c in item.codes)
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
            new = _bit_row(item, bit) | {"of": field["name"], "offset": str(start + bit.byte)}
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
            new = _code_row(item, code) | place
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
