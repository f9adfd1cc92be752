"""An import of pages, one or a whole release: the result of each, and the files to write.

A page is merged into the previous layout: it confirms, adds to, or contradicts it, and never
changes anything silently. Known bytes of the layout keep their name, length and type, or the page
contradicts it; reserved bytes, and bytes after the end, can get a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from ...core.errors import CpmonError
from ..field import REST, Provenance, Type
from ..loader import COLUMNS, LENGTH_COLUMNS, RECORD_COLUMNS, Row, Sources, build, read, to_csv
from ..registry import home, overlay, shipped
from ..release import LATEST, release_key
from .file_merge import FileMerge, MergeResult, ReleaseContext, bare, entry_file, extent
from .items import Habits, Items, nest
from .page import Page, parse_page, split_pages
from .page_file import PageFile, PageText, read_page

PAGE = re.compile(r"\b(?i:DSECT\s+NAME)\b|\bMR[A-Z0-9]+\s+Control\s+Block\s+Contents\b")
"""Text by which the page of a record, even a damaged one, is recognized."""


class PageOutcome(StrEnum):
    """Effect of a page on the layout of its record."""

    NEW = "new"
    CONFIRMED = "confirmed"
    GROWN = "grown"
    WITHDRAWN = "withdrawn"
    CONTRADICTED = "contradicted"
    NOT_UNDERSTOOD = "not understood"
    OTHER = "no record page"
    PASSED_OVER = "passed over"

    @property
    def is_refused(self) -> bool:
        """Whether it is a page for which nothing is written."""
        return self in (PageOutcome.CONTRADICTED, PageOutcome.NOT_UNDERSTOOD)


@dataclass(frozen=True)
class Imported:
    """The result of a page. `problem` is the error of a page that was not understood."""

    name: str
    outcome: PageOutcome
    merged: MergeResult | None = None
    problem: CpmonError | None = None


class PageImport:
    """An import into a folder of layouts; nothing is written by it.

    Attributes:
        before: all layouts before the import, the site's over the shipped ones.
        sources: the same after the pages that were added.
    """

    def __init__(self, folder: Path, *, release: str = "", replace: bool = False) -> None:
        """Begin an import.

        Args:
            release: of pages without a release.
            replace: follow the pages where they contradict the previous layout.
        """
        self._folder, self._release, self._replace = folder, release, replace
        self._site = read(folder)
        self.before = self.sources = overlay(shipped(), self._site)
        self._changes: dict[Path, Change] = {}

    def add(self, file: PageFile, *, named: bool = True) -> Iterator[Imported]:
        """Read the pages of a file and merge them.

        Args:
            named: the user named this file; other files that are no pages are skipped.
        """
        if file.data is None:
            yield Imported(file.name, PageOutcome.PASSED_OVER)
            return
        try:
            if isinstance(file.data, CpmonError):
                raise file.data
            source = read_page(file.data, file.name)
        except CpmonError as error:
            yield Imported(file.name, PageOutcome.NOT_UNDERSTOOD, problem=error)
            return
        if not named and not re.search(PAGE, source.text):
            yield Imported(file.name, PageOutcome.OTHER)
            return
        yield from (self._add(page) for page in split_pages(source))

    def _add(self, source: PageText) -> Imported:
        name = source.place
        try:
            page = parse_page(source, self._release)
            merged = merge(page, self.sources, replace=self._replace)
            if not merged.contradictions:
                check(merged, self.sources)
        except CpmonError as error:
            return Imported(name, PageOutcome.NOT_UNDERSTOOD, problem=error)
        if merged.contradictions:
            return Imported(name, PageOutcome.CONTRADICTED, merged)
        outcome = PageOutcome.GROWN if merged.added or merged.changed else PageOutcome.CONFIRMED
        if page.is_withdrawn:
            outcome = PageOutcome.WITHDRAWN
        elif merged.added and not self.sources.fields.get(page.dsect):
            outcome = PageOutcome.NEW
        made = list(changes(merged, self._site, self.sources, self._folder))
        for change in made:
            first = self._changes.get(change.path, change)
            self._changes[change.path] = replace(change, before=first.before)
        if made:
            self._site = after(merged, self._site)
        self.sources = after(merged, self.sources)
        return Imported(name, outcome, merged)

    def changes(self) -> list[Change]:
        """The files to write: layouts, then records.csv and lengths.csv."""
        return sorted(self._changes.values(), key=lambda c: c.path.parent == self._folder)


def check(merged: MergeResult, sources: Sources) -> None:
    """Check that the loader can build the record of a page.

    Raises:
        LayoutError: it cannot.
    """
    build(replace(after(merged, sources), records=[merged.record]))


@dataclass(frozen=True)
class Change:
    """A file of a site's folder before (or as shipped) and after the change."""

    path: Path
    before: str
    after: str


def after(merged: MergeResult, sources: Sources) -> Sources:
    """All layouts after the merge of a page."""
    return overlay(sources, Sources([merged.record], merged.lengths, merged.files))


def changes(merged: MergeResult, site: Sources, shipped: Sources, folder: Path) -> Iterator[Change]:
    """The files to write for a page, those of entries before that of the record.

    Empty if the page changes nothing; else all files of the record, so that the folder does not
    depend on the layouts of later versions.

    Args:
        site: the layouts of the folder.
        shipped: the layouts before the import, the site's over the shipped ones.
    """
    page, start = merged.page, f"d{merged.page.domain:02d}"
    folders = [*(folder.iterdir() if folder.is_dir() else ()), *home().iterdir()]
    names = [f.name for f in folders if f.is_dir() and f.name.startswith(start)]
    domain = folder / (names[0] if names else start)
    # A site's own record is written as a whole, in case an earlier import of it was killed.
    is_new = any(
        name in site.fields or rows != shipped.fields.get(name)
        for name, rows in merged.files.items()
    )
    for name, rows in reversed(merged.files.items()):
        old = shipped.fields.get(name, [])
        if rows != old or (is_new and name.startswith(page.dsect) and name not in site.fields):
            path = next(folder.glob(f"d[0-9][0-9]*/{name}.csv"), domain / f"{name}.csv")
            yield _change(path, old, rows, COLUMNS)
    if merged.record not in (site.records if is_new else shipped.records):
        number = merged.record["domain"], merged.record["record"]
        others = [r for r in site.records if (r["domain"], r["record"]) != number]
        rows = _sorted([*others, merged.record])
        yield _change(folder / "records.csv", site.records, rows, RECORD_COLUMNS)
    if any(row not in shipped.lengths for row in merged.lengths):
        rows = _sorted([*site.lengths, *merged.lengths])
        yield _change(folder / "lengths.csv", site.lengths, rows, LENGTH_COLUMNS)


def _change(path: Path, old: Sequence[Row], new: Sequence[Row], columns: Sequence[str]) -> Change:
    return Change(path, to_csv(old, columns) if old else "", to_csv(new, columns))


def _sorted(rows: Sequence[Row]) -> list[Row]:
    """Rows of records.csv or lengths.csv; of the same record and release the last one counts."""
    by_name = {(row["dsect"], row.get("release", "")): row for row in rows}
    return [by_name[name] for name in sorted(by_name)]


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
    rows = merged.files[page.dsect]
    keys = sorted((r for r in rows if r["role"] == "key"), key=lambda r: int(r["offset"]))
    merged.record["keys"] = " ".join(row["name"] for row in keys)
    weakest = max((r["provenance"] for r in rows), key=[*Provenance].index, default="published")
    merged.record["provenance"] = weakest
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
