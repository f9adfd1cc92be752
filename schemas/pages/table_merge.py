"""Merges a structure of a page into one layout file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..field import REST, Provenance, Type
from ..loader import Row
from ..release import ends_before, is_within
from .file_merge import FileMerge, MergeResult, ReleaseContext, marked
from .items import Item, Items
from .rows import (
    BOUNDS,
    FITTING,
    Habits,
    Leaf,
    Slot,
    alike,
    entry_file,
    extent,
    insert,
    leaves,
    rest_row,
    rows_of,
    slots,
)


class TableMerge(FileMerge):
    """The rows of one file; `merge` adds files and notes to `merged`."""

    def __init__(
        self,
        merged: MergeResult,
        name: str,
        before: Mapping[str, Sequence[Row]],
        habits: Habits,
        context: ReleaseContext,
    ) -> None:
        super().__init__(merged, name, context)
        self.habits = habits
        self.is_new = name not in before
        self.rows = [marked(row) for row in before.get(name, ())]
        self.files = {
            file: [marked(row) for row in before[file]]
            for group in self.rows
            if group["type"] == Type.GROUP and (file := entry_file(name, group)) in before
        }
        self.end = max((e[1] for row in self.rows if (e := extent(row))), default=0)

    def merge(self, items: Items) -> None:
        """Merge the fields of the page, then handle rows that the page does not have."""
        self.slots = list(slots(self.name, self.rows, self.files))
        self._wholes: set[str] = set()
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
        if not self.is_new:
            self._append_reserved(items)
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
            self.confirm(existing, item.row.meaning)

    # Rows of both the page and the layout.

    def _match(self, item: Item) -> None:
        for leaf in leaves(item):
            for slot in self._at(leaf.offset, leaf.part.length):
                if slot.fits(leaf):
                    self._confirm(slot, leaf)
        if any(map(self._is_met_leaf, leaves(item))):
            return
        if not item.is_array:
            self._match_whole(item)
        for slot in self._at(item.offset, item.end - item.offset) if item.is_array else ():
            if slot.name == item.name:
                self._confirm(slot, Leaf(slot.offset, item, item))

    def _match_whole(self, item: Item) -> None:
        """Confirm the place of a group that the page has as one field."""
        for group in (r for r in self.rows if r["type"] == Type.GROUP):
            if extent(group) == (item.offset, item.end) and alike(group["name"], item.name):
                self.confirm(group, item.row.meaning)
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
            self.contradict(page_row, f"{row['name']} is {page_row.word}", expected)
            return
        self.confirm(row, "")
        # The page's description becomes the meaning; that of an array is its group's.
        described = slot.whole if leaf.item.is_array and not leaf.item.parts else row
        if slot.group is None or leaf.item.is_array or not described["meaning"]:
            described["meaning"] = page_row.meaning or described["meaning"]
        for spanned in {id(r): r for r in (row, slot.whole)}.values():
            self.widen(spanned)
            self._free(spanned)
        group = slot.group
        rows = self.rows if group is None else self.files[entry_file(self.name, group)]
        if leaf.part.bits or leaf.part.codes:
            self.match_bits(rows, row, leaf.part)
        self.match_codes(rows, row, leaf.part)

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
                self._add_view(item, around[0])
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
            problem, expected = f"has length {item.end - item.offset}", f"length {same.length}"
        elif same is not None:
            problem, expected = f"is at offset {item.offset}", f"offset {same.offset}"
        elif (over[0].offset, over[0].end) == (item.offset, item.end):
            self.contradict(item.row, f"offset {item.offset} is {item.name}", over[0].name)
            return
        else:
            problem = f"overlaps {over[0].name}"
            expected = f"{over[0].name}, {over[0].length} bytes at {over[0].offset}"
        self.contradict(item.row, f"{item.name} {problem}", expected)

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

    def _add_view(self, item: Item, around: Slot) -> None:
        """Add a second view of bytes that both name alike."""
        if around.group is not None:
            self.merged.notes.append(f"{item.row.name} is a second view of an array's entry")
            return
        whole = around.row["of"] or around.row["name"]
        self._insert(replace(item, of=whole), {at: around.row[at] for at in BOUNDS})

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

    def _append_reserved(self, items: Items) -> None:
        """Append reserved bytes after the previous end."""
        for item in items.own:
            if item.is_reserved and item.end > self.end:
                start = max(item.offset, self.end)
                free = replace(item, offset=start, length=item.end - start, count=1)
                self._insert(free, {"since": self.context.since(item.end)})

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
            self.narrow(slot.whole)
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
            self.contradict(page_row, f"{slot.name} is missing", expected)

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
        if item.name in self._wholes:
            return True
        whole = self._at(item.offset, item.end - item.offset)
        if any(s.is_matched and s.name == item.name for s in whole):
            return True
        return all(self._is_met_leaf(leaf) for leaf in leaves(item))
