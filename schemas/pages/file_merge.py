"""Merges items of a page into a layout file: rows, spans of releases, contradictions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ...core.errors import LayoutError
from ..field import REST, Provenance, Type
from ..loader import COLUMNS, Row
from ..release import ends_before, is_within, release_key
from .items import FITTING, Habits, Item, Items, bit_row, code_row, rest_row, rows_of
from .page import Page
from .page_rows import BitRow, PageRow


def insert(rows: list[Row], new: Row) -> None:
    """Insert a row by offset; bits and views directly follow their field."""
    names = [row["name"] for row in rows]
    if new["of"] and new["of"] in names:
        at, views = names.index(new["of"]) + 1, {new["of"]}
        while at < len(rows) and rows[at]["of"] in views:
            views.add(names[at])
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
    numbers = (row["offset"], row["length"], row["count"] if row["type"] == Type.GROUP else "1")
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


def marked(row: Row) -> Row:
    """A copy of a row with all columns, and a mark for rows that the page has."""
    return dict.fromkeys(COLUMNS, "") | row | {"_seen": ""}


class FileMerge:
    """The merge of one layout file; `merge` adds its files and notes to `merged`."""

    def __init__(
        self,
        merged: MergeResult,
        name: str,
        before: Mapping[str, Sequence[Row]],
        habits: Habits,
        context: ReleaseContext,
    ) -> None:
        self.merged, self.name, self.habits, self.context = merged, name, habits, context
        self.is_new = name not in before
        self.rows = [marked(row) for row in before.get(name, ())]
        self.files = {
            file: [marked(row) for row in before[file]]
            for group in self.rows
            if group["type"] == Type.GROUP and (file := entry_file(name, group)) in before
        }
        self.slots = list(slots(name, self.rows, self.files))
        self.end = max((e[1] for row in self.rows if (e := extent(row))), default=0)
        self._wholes: set[str] = set()

    def merge(self, items: Items) -> None:
        """Merge the fields of the page, then handle rows that the page does not have."""
        for item in items.fields:
            if not item.is_reserved:
                self._match(item)
        left = [item for item in items.fields if not item.is_reserved and not self._is_met(item)]
        refused = [item for item in left if not self._accept(item)]
        if self.is_new:
            for item in items.fields:
                self._insert(item, {})
        for slot in self.slots:
            if not slot.is_matched and slot.is_in(self.context.now):
                self._miss(slot, items, refused)
        self._confirm_groups()
        self._confirm_reserved(items)
        for item in () if self.is_new else items.own:
            if item.is_reserved and item.end > self.end:  # bytes after the previous end
                start = max(item.offset, self.end)
                free = replace(item, offset=start, length=item.end - start, count=1)
                self._insert(free, {"since": self.context.since(item.end)})
        if items.rest:
            self._merge_rest(items.rest)
        self.merged.files |= {self.name: self.rows, **self.files}

    def _merge_rest(self, item: Item) -> None:
        """Merge bytes up to the end of the record: one such field at most, and no groups then."""
        existing = next(
            (r for r in self.rows if r["length"] == REST and r["type"] != Type.GROUP), None
        )
        if existing is None:
            if self.is_new and len(self.merged.page.structures) == 1:
                self.rows.append(marked(rest_row(item)))
                self.merged.added.append(f"{self.name}.{item.name}")
        elif existing["name"] == item.name:
            self._confirm_row(existing, item.row.meaning)

    # Rows of both the page and the layout.

    def _match(self, item: Item) -> None:
        for leaf in leaves(item):
            for slot in self._at(leaf.offset, leaf.part.length):
                if slot.fits(leaf):
                    self._confirm(slot, leaf)
        if any(map(self._is_met_leaf, leaves(item))):
            return
        if item.is_array:
            for slot in self._at(item.offset, item.end - item.offset):
                if slot.name == item.name:
                    self._confirm(slot, Leaf(slot.offset, item, item))
            return
        for group in (r for r in self.rows if r["type"] == Type.GROUP):
            if extent(group) == (item.offset, item.end) and alike(group["name"], item.name):
                self._confirm_row(group, item.row.meaning)
                self._wholes.add(item.name)
                for slot in self.slots:
                    slot.is_matched = slot.is_matched or slot.group is group

    def _confirm(self, slot: Slot, leaf: Leaf) -> None:
        is_first, slot.is_matched = not slot.row["_seen"], True
        slot.row["_seen"] = slot.whole["_seen"] = "yes"
        if not is_first:
            return
        row, page_row = slot.row, leaf.part.row
        if page_row.word in FITTING and row["type"] not in FITTING[page_row.word]:
            expected = f"a type that {row['type']} can be"
            self._contradict(page_row, f"{row['name']} is {page_row.word}", expected)
            return
        self._confirm_row(row, "")
        # The page's description becomes the meaning; that of an array is its group's.
        described = slot.whole if leaf.item.is_array and not leaf.item.parts else row
        if slot.group is None or leaf.item.is_array or not described["meaning"]:
            described["meaning"] = page_row.meaning or described["meaning"]
        for spanned in {id(r): r for r in (row, slot.whole)}.values():
            self._widen(spanned)
            self._free(spanned)
        group = slot.group
        rows = self.rows if group is None else self.files[entry_file(self.name, group)]
        if leaf.part.bits or leaf.part.codes:
            self._match_bits(rows, row, leaf.part)
        self._match_codes(rows, row, leaf.part)

    def _match_bits(self, rows: list[Row], field: Row, item: Item) -> None:
        """Match the named bits of a field, one of `rows`: confirmed, new, missing, contradicting.

        A page without any names of bits or values of a field says nothing about them.
        """
        bits = [r for r in rows if r["type"] == Type.BIT and r["of"] == field["name"]]
        context = self.context
        for bit in item.bits:
            new = bit_row(bit, field)
            shared = [
                r for r in bits if r["offset"] == new["offset"] and int(r["code"], 16) & bit.mask
            ]
            same = next((r for r in shared if int(r["code"], 16) == bit.mask), None)
            if same is not None and same["name"] == bit.name:
                same["_seen"] = "yes"
                self._confirm_row(same, bit.row.meaning)
                self._widen(same)
            elif shared:
                problem = f"bits of {item.name} are {bit.name}, mask {new['code']}"
                expected = f"{shared[0]['name']}, mask {shared[0]['code']}"
                self._contradict(bit.row, problem, expected)
            else:
                new["since"] = context.now if bits and not context.is_older else ""
                insert(rows, marked(new))
                self.merged.added.append(f"{self.name}.{bit.name}")
        for row in (r for r in bits if not r["_seen"]):
            if context.is_older and not row["since"]:
                self._narrow(row)
            elif not row["since"] or release_key(row["since"]) <= release_key(context.now):
                problem = f"bit {row['name']} of {item.name} is missing"
                self._contradict(item.row, problem, f"mask {row['code']}")

    def _match_codes(self, rows: list[Row], field: Row, item: Item) -> None:
        """Match the named values of a field, one of `rows`: confirmed, new, or contradicting."""
        named = {r["code"]: r for r in rows if r["type"] == Type.CODE and r["of"] == field["name"]}
        names = {r["name"]: r for r in rows}
        for code in item.codes:
            new = code_row(code, field)
            row = named.get(new["code"]) or names.get(code.name)
            if row is None:
                insert(rows, marked(new))
                change = f"{self.name}.{field['name']}: {code.name} names a value"
                self.merged.changed.append(change)
            elif all(row[at] == new[at] for at in ("type", "name", "code", "of")):
                self._confirm_row(row, code.row.meaning)
            else:
                problem = f"value {new['code']} of {item.name} is {code.name}"
                self._contradict(code.row, problem, f"{row['name']}, {row['type']} {row['code']}")

    # Rows of the page alone.

    def _accept(self, item: Item) -> bool:
        """Add a new field; False if it contradicts the layout."""
        active = [s for s in self.slots if s.is_in(self.context.now)]
        over = [s for s in active if s.offset < item.end and item.offset < s.end]
        if not over and not any(s.name == item.name for s in active):
            if not self.is_new:
                self._add(item)
            return True
        if over and all(s.is_matched for s in over):
            around = [s for s in over if s.offset <= item.offset and item.end <= s.end]
            if around and not item.is_array:
                row = around[0].row
                if around[0].group is None:
                    view = replace(item, of=row["of"] or row["name"])
                    self._insert(view, {at: row[at] for at in BOUNDS})
                else:
                    note = f"{item.row.name} is a second view of an array's entry"
                    self.merged.notes.append(note)
                return True
            if all(item.offset <= s.offset and s.end <= item.end for s in over):
                self.merged.notes.append(f"{item.row.name} is a name for several fields")
                return True
        self._tell_apart(item, over, active)
        return False

    def _tell_apart(self, item: Item, over: Sequence[Slot], active: Sequence[Slot]) -> None:
        """Report how a field contradicts the layout."""
        same = next((s for s in active if s.name == item.name), None)
        if same is not None and same.offset == item.offset:
            problem = f"{item.name} has length {item.end - item.offset}"
            expected = f"length {same.length}"
        elif same is not None:
            problem, expected = f"{item.name} is at offset {item.offset}", f"offset {same.offset}"
        elif (over[0].offset, over[0].end) == (item.offset, item.end):
            problem, expected = f"offset {item.offset} is {item.name}", over[0].name
        else:
            problem = f"{item.name} overlaps {over[0].name}"
            expected = f"{over[0].name}, {over[0].length} bytes at {over[0].offset}"
        self._contradict(item.row, problem, expected)

    def _add(self, item: Item) -> None:
        """Add a field in reserved bytes or after the end."""
        span = {"since": self.context.since(item.end), "until": ""}
        if item.end <= self.end and not item.of:
            now = self.context.now
            span["since"], reserved = now, {"until": self.context.before(now)}
            if self.context.is_older:
                span, reserved = {"since": "", "until": now}, {"since": self.context.after(now)}
            self._cut(item.offset, item.end, reserved)
        self._insert(item, span)

    def _insert(self, item: Item, span: Row) -> None:
        """Insert the rows of a new item; a new table can take over keys of other tables."""
        for file, rows in rows_of(self.name, item, self.habits, keys=self.is_new).items():
            if file != self.name:
                self.files[file] = []
            for row in rows:
                insert(self.rows if file == self.name else self.files[file], marked(row | span))
        if item.name:
            self.merged.added.append(f"{self.name}.{item.name}")

    def _cut(self, start: int, end: int, span: dict[str, str]) -> None:
        """Remove bytes from reserved rows, which keep them only in the releases of `span`."""
        for row in self._reserved(start, end):
            if not is_within(self.context.now, row["since"], row["until"]):
                continue
            first, last = extent(row) or (0, 0)
            at = self.rows.index(row)
            pieces = [
                (first, start, row),
                (max(first, start), min(last, end), row | span),
                (end, last, row),
            ]
            self.rows[at : at + 1] = [
                piece | {"offset": str(a), "length": str(b - a)} for a, b, piece in pieces if a < b
            ]

    def _free(self, row: Row) -> None:
        """End reserved bytes before a field inside them that now begins with an earlier release."""
        for reserved in self._reserved(*(extent(row) or (0, 0))):
            if reserved["until"] and not ends_before(reserved["until"], row["since"]):
                reserved["until"] = self.context.before(row["since"])

    def _reserved(self, start: int, end: int) -> list[Row]:
        """The rows of reserved bytes that overlap `start` to `end`."""
        reserved = [(r, *(extent(r) or (0, 0))) for r in self.rows if r["type"] == Type.RESERVED]
        return [row for row, first, last in reserved if first < end and start < last]

    # Rows of the layout alone.

    def _miss(self, slot: Slot, items: Items, refused: Sequence[Item]) -> None:
        """Handle a field of the layout that the page lacks."""
        if any(i.offset < slot.end and slot.offset < i.end for i in refused):
            return
        if any(s.is_matched and s.name == slot.row["of"] for s in self.slots):
            return  # a view that only the layout has, of a field of the page
        over = [i for i in items.own if i.offset < slot.end and slot.offset < i.end]
        is_free = all(i.is_reserved for i in over)
        if is_free and self.context.is_older and not slot.whole["since"]:
            self._narrow(slot.whole)
            return
        if any("callevel" in row[at] for row in (slot.row, slot.whole) for at in BOUNDS):
            return  # it depends on the service level, which a page does not show
        page_row = over[0].row if over else items.head
        # The description of reserved bytes names the field, with or without its prefix.
        name = re.compile(rf"(?<![A-Z0-9])(?:[A-Z0-9]+_)?{re.escape(slot.name)}\b", re.IGNORECASE)
        if is_free and any(name.search(item.row.meaning) for item in over):
            slot.whole["until"] = self.context.before(self.context.now)
            self.merged.changed.append(f"{self.name}.{slot.name}: until {slot.whole['until']}")
            return
        if not slot.row.get("_missed"):
            slot.row["_missed"] = "yes"
            expected = f"{slot.name} at offset {slot.offset}, length {slot.length}"
            self._contradict(page_row, f"{slot.name} is missing", expected)

    # Rows without bytes of their own.

    def _confirm_groups(self) -> None:
        """Confirm groups of which all entries are confirmed, with their rows without slots."""
        published = {"provenance": str(Provenance.PUBLISHED)}
        for group in (r for r in self.rows if r["type"] == Type.GROUP):
            own = [s for s in self.slots if s.group is group]
            if own and all(s.is_matched and s.row["_seen"] for s in own):
                group.update(published)
                is_labelled = any(row["of"] == group["name"] for row in self.rows)
                for row in self.files[entry_file(self.name, group)]:
                    if is_labelled or row["type"] == Type.RESERVED:
                        row.update(published)

    def _confirm_reserved(self, items: Items) -> None:
        """Confirm reserved bytes that are reserved on the page, too."""
        free = [(i.offset, i.end) for i in items.own if i.is_reserved]
        for row in self.rows:
            if row["type"] == Type.RESERVED:
                start, end = extent(row) or (0, 0)
                if sum(max(0, min(end, b) - max(start, a)) for a, b in free) == end - start:
                    row["provenance"] = str(Provenance.PUBLISHED)

    def _at(self, offset: int, length: int) -> list[Slot]:
        return [s for s in self.slots if (s.offset, s.length) == (offset, length)]

    def _is_met_leaf(self, leaf: Leaf) -> bool:
        return any(s.is_matched and s.fits(leaf) for s in self._at(leaf.offset, leaf.part.length))

    def _is_met(self, item: Item) -> bool:
        same = [s for s in self._at(item.offset, item.end - item.offset) if s.name == item.name]
        is_met = item.name in self._wholes or any(slot.is_matched for slot in same)
        return is_met or all(map(self._is_met_leaf, leaves(item)))

    # Marks of rows.

    def _confirm_row(self, row: Row, meaning: str) -> None:
        """Mark a row of the layout as confirmed, and take over the page's description, if any."""
        row["provenance"] = str(Provenance.PUBLISHED)
        row["meaning"] = meaning or row["meaning"]
        self.merged.confirmed += 1

    def _widen(self, row: Row) -> None:
        """Extend the span of a field to the page's release, which has it."""
        now, name = self.context.now, f"{self.name}.{row['name']}"
        if row["since"] and release_key(now) < release_key(row["since"]):
            self.merged.changed.append(f"{name}: since {now}, was {row['since']}")
            row["since"] = now
        if row["until"] and release_key(now) > release_key(row["until"]):
            self.merged.changed.append(f"{name}: until nothing, was {row['until']}")
            row["until"] = ""

    def _narrow(self, row: Row) -> None:
        """Start the span of a field after the page's release, which lacks it."""
        row["since"] = self.context.after(self.context.now)
        self.merged.changed.append(
            f"{self.name}.{row['name']}: since {row['since']}, not in {self.context.now}"
        )

    def _contradict(self, row: PageRow | BitRow, problem: str, expected: str) -> None:
        """Record that a row of the page contradicts the layout."""
        self.merged.contradict(row, f"{self.name}: {problem}", expected)
