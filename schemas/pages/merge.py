"""Merges a page into the previous layout: it confirms, adds to, or contradicts it.

A page never changes anything silently. Known bytes of the layout keep their name, length and type,
or the page contradicts it; reserved bytes, and bytes after the end, can get a name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..field import REST, Provenance, Type
from ..loader import COLUMNS, RECORD_COLUMNS, Row, Sources
from ..release import LATEST, release_key
from .file_merge import FileMerge, MergeResult, ReleaseContext, bare, entry_file, extent
from .items import Habits, Items, nest
from .page import Page


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
    table = FileMerge(
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
        (*lengths, (now, items.head.length)),
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


def _keep_located(table: FileMerge, tables: Mapping[str, Sequence[Row]]) -> None:
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
    merged: MergeResult, part: Items, before: Mapping[str, Sequence[Row]], record: FileMerge
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
    FileMerge(merged, file, before, record.habits, record.context).merge(part)


def _set_keys(merged: MergeResult) -> None:
    """Set keys and the weakest provenance in records.csv."""
    rows = merged.files[merged.page.dsect]
    keys = sorted((r for r in rows if r["role"] == "key"), key=lambda r: int(r["offset"]))
    merged.record["keys"] = " ".join(row["name"] for row in keys)
    provenances = [row["provenance"] for row in rows]
    merged.record["provenance"] = max(provenances, key=[*Provenance].index, default="published")
