"""Merges a page into the previous layout: it confirms, adds to, or contradicts it.

A page never changes anything silently. Known bytes of the layout keep their name, length and type,
or the page contradicts it; reserved bytes, and bytes after the end, can get a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..field import REST, Provenance, Type
from ..loader import COLUMNS, RECORD_COLUMNS, Row, Sources
from ..release import LATEST, ends_before, is_within, release_key
from .file_merge import (
    BOUNDS,
    FITTING,
    FileMerge,
    Habits,
    Leaf,
    MergeResult,
    ReleaseContext,
    Slot,
    alike,
    bare,
    entry_file,
    extent,
    insert,
    leaves,
    marked,
    rest_row,
    rows_of,
    slots,
)
from .items import Item, Items, nest
from .page import Page


class _TableMerge(FileMerge):
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


def merge(page: Page, sources: Sources, *, replace: bool = False) -> MergeResult:
    """The layout of a page's record after the page.

    Args:
        sources: the previous layouts: the site's over the shipped ones.
        replace: follow the page in everything: only roles, units and keys come from the previous
            layout, and there are no contradictions.

    Raises:
        LayoutError: the page is inconsistent.
    """
    merged = MergeResult(page, notes=list(page.notes))
    if page.is_withdrawn:
        _merge_withdrawn(merged, sources)
        return merged
    items = [
        nest(structure, page.dsect, is_record=number == 0)
        for number, structure in enumerate(page.structures)
    ]
    before = {} if replace else sources.fields
    _merge_record(merged, sources)
    table = _TableMerge(
        merged, page.dsect, before, Habits(sources.fields), _context(merged, sources, items[0])
    )
    table.merge(items[0])
    if replace:
        merged.contradictions.clear()
        _keep_located(table, sources.fields)
    for part in items[1:]:
        _merge_part(merged, part, before, table)
    _set_keys(merged)
    merged.notes += [note for part in items for note in part.notes]
    merged.doubts = [
        f"{name}.{row['name']}"
        for name, rows in merged.files.items()
        for row in rows
        if "_doubt" in row
    ]
    merged.files = {
        name: [{column: row[column] for column in COLUMNS} for row in rows]
        for name, rows in merged.files.items()
    }
    return merged


def _context(merged: MergeResult, sources: Sources, items: Items) -> ReleaseContext:
    dsect, now = merged.page.dsect, merged.page.release
    since = [r["since"] for r in sources.fields.get(dsect, ()) if r["since"]]
    releases = {row["release"] for row in sources.lengths} | {now, LATEST, "0"}
    lengths = [(r["release"], int(r["length"])) for r in sources.lengths if r["dsect"] == dsect]
    return ReleaseContext(
        now,
        max([LATEST, *since], key=release_key),
        tuple(sorted(releases, key=release_key)),
        (*lengths, (now, items.end)),
    )


def _merge_withdrawn(merged: MergeResult, sources: Sources) -> None:
    """Merge the page of a withdrawn record: its rows end with the previous release."""
    page = merged.page
    row = next((r for r in sources.records if r["dsect"] == page.dsect), None) or _record(page)
    now = release_key(page.release)
    before = [r for r in {r["release"] for r in sources.lengths} if release_key(r) < now]
    until = max(before, key=release_key, default="")
    if row["until"] and release_key(row["until"]) < now:
        until = row["until"]
        merged.confirmed += 1
    else:
        merged.changed.append(f"{page.dsect}: not written from {page.release} on")
    merged.record = {column: row.get(column, "") for column in RECORD_COLUMNS} | {"until": until}
    merged.files = {page.dsect: sources.fields.get(page.dsect, [])}


def _record(page: Page) -> Row:
    """The row of records.csv for a page."""
    numbers = {"domain": str(page.domain), "record": str(page.record)}
    texts = {"dsect": page.dsect, "kind": str(page.kinds[0]), "title": page.title}
    return dict.fromkeys(RECORD_COLUMNS, "") | numbers | texts | {"provenance": "published"}


def _merge_record(merged: MergeResult, sources: Sources) -> None:
    """The rows of records.csv and lengths.csv."""
    page, head = merged.page, merged.page.structures[0].head
    row = next((dict(r) for r in sources.records if r["dsect"] == page.dsect), None)
    new = _record(page)
    if row is None:
        names = {(r["domain"], r["record"]): r["dsect"] for r in sources.records}
        if name := names.get((new["domain"], new["record"])):
            merged.contradict(head, f"record {page.domain}.{page.record} has another name", name)
        row = new
    for column in ("domain", "record", "kind"):
        if row[column] != new[column] and not (column == "kind" and row[column] in page.kinds):
            merged.contradict(head, f"the {column} of {page.dsect} is {new[column]}", row[column])
            row[column] = new[column]
    merged.record = {column: row.get(column, "") for column in RECORD_COLUMNS}
    lengths = {(r["dsect"], r["release"]): r["length"] for r in sources.lengths}
    length = lengths.get((page.dsect, page.release), str(head.length))
    if int(length) != head.length:
        problem = f"the length of {page.dsect} in {page.release} is {head.length}"
        merged.contradict(head, problem, length)
    merged.lengths = [{"dsect": page.dsect, "release": page.release, "length": str(head.length)}]
    if head.open:
        merged.notes.append(
            "a part of variable length follows; where nothing says where, it stays in `tail`"
        )


def _keep_located(table: _TableMerge, tables: Mapping[str, Sequence[Row]]) -> None:
    """Keep located groups, which no page shows, while their operands exist."""
    names = {row["name"] for row in table.rows}
    for group in tables.get(table.name, ()):
        operands = {
            o for o in (group["offset"], group["length"], group["count"]) if not o.isdigit()
        }
        if group["type"] == Type.GROUP and operands and operands - {REST} <= names:
            file = entry_file(table.name, group)
            table.rows.append(group | {"_seen": ""})
            table.merged.files[file] = [row | {"_seen": ""} for row in tables[file]]


def _merge_part(
    merged: MergeResult, part: Items, before: Mapping[str, Sequence[Row]], record: _TableMerge
) -> None:
    """Merge a structure beside the record: the entries of a located group."""
    groups = [
        (table, row)
        for table, rows in merged.files.items()
        for row in rows
        if row["type"] == Type.GROUP and extent(row) is None
    ]
    places = {(item.offset, item.length, bare(item.name)) for item in part.fields if item.name}

    def likeness(group: tuple[str, Row]) -> tuple[bool, int]:
        rows = [r for r in before.get(entry_file(*group), ()) if extent(r)]
        same = sum((int(r["offset"]), int(r["length"]), bare(r["name"])) in places for r in rows)
        return part.name == group[1]["name"], same

    best = max(groups, key=likeness, default=None)
    if best is not None and any(likeness(best)):
        file = entry_file(*best)
        best[1]["provenance"] = str(Provenance.PUBLISHED)
    else:
        file = f"{merged.page.dsect}_{part.name}"
        merged.notes.append(
            f"nothing says where the entries of {part.head.name} are: a row of type group, "
            f"name {part.name}, in {merged.page.dsect}.csv would"
        )
    _TableMerge(merged, file, before, record.habits, record.context).merge(part)


def _set_keys(merged: MergeResult) -> None:
    """Set keys and the weakest provenance in records.csv."""
    rows = merged.files[merged.page.dsect]
    keys = sorted((r for r in rows if r["role"] == "key"), key=lambda r: int(r["offset"]))
    merged.record["keys"] = " ".join(row["name"] for row in keys)
    provenances = [row["provenance"] for row in rows]
    merged.record["provenance"] = max(provenances, key=[*Provenance].index, default="published")
