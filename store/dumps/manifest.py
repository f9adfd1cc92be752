"""The manifest of a store: the metadata of all landed dumps, by system and month.

    manifest/system=VMSYS1/2001-12/3f1c9a....json        a dump
    manifest/system=VMSYS1/2001-12/3f1c9a....pruned.json the same after its samples were pruned
    manifest/system=VMSYS1/2001-12/32-<digest>.jsonl     32 dumps, one a line

It has the entries of kept results as well (`results.entries`).

If several lines describe one dump, the line with the newest month folder wins, then a pruned one,
then the least folder name, so that all readers choose the same. A merge carries earlier pruning
over; what is pruned from the old folders during the merge is still in the month's folder.

Readers learn from the manifest which dumps exist and what they hold, without listing their folders.
A manifest file never changes. Writers merge many small files into one, so that a month has few
files however many dumps it has.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any
from urllib.parse import quote

import msgspec

from ...core.errors import StoreError, UnreadableError
from ..files.files import Files
from ..files.local import STAGING
from .landed_dump import ABOUT, MONTHS, LandedDump, dumps_in, line

FOLDER = "manifest"
PRUNED = ".pruned"
RESULTS = ".results.jsonl"
"""Suffix of a file with entries of kept results instead of dumps."""
LANDING = ".landing"
"""Suffix of a file in `staging` that names a published dump not yet in the manifest."""
UPLOAD = ".upload"
"""Suffix of a file in `staging` that names the target folder of an upload and the folders that it
replaces."""
FAN = 32
"""Number of files of a month and size class that triggers a merge."""
_PLACE = attrgetter("system", "begins", "dump")
RETRIES = 5
"""Retries of a read: a merge by another process may delete a file between listing and read."""


@dataclass(slots=True)
class _Content:
    """What the files of a manifest said when they were last read.

    Attributes:
        files: name -> its dumps.
        by_name: the dumps by name.
        in_order: by system, begin and name.
        merged: folder of a month -> names of its dumps.
    """

    files: dict[str, tuple[LandedDump, ...]] = field(default_factory=dict)
    by_name: dict[str, LandedDump] = field(default_factory=dict)
    in_order: tuple[LandedDump, ...] = ()
    merged: dict[str, set[str]] = field(default_factory=dict)


class Manifest:
    """The manifest of a store; caches its files and reads only new ones."""

    def __init__(self, files: Files) -> None:
        """Creates the manifest without reading it."""
        self._files = files
        self._content = _Content()
        self._left_out: Callable[[], Collection[str]] = frozenset
        self._shown: tuple[LandedDump, ...] = ()
        self._shown_of: tuple[LandedDump, ...] | None = None

    def without(self, left_out: Callable[[], Collection[str]]) -> Manifest:
        """This manifest as a reader sees it without some dumps; what was read is shared.

        Args:
            left_out: returns dumps hidden from `dumps`, `dumps_with`, `tables` and `are_merged`.
                Called when dumps are first asked for.
        """
        other = copy(self)
        other._left_out, other._shown_of = left_out, None
        return other

    def dumps(self) -> Sequence[LandedDump]:
        """All dumps, by system, begin and name."""
        self._dumps()
        if self._shown_of is not self._content.in_order:
            hidden = self._left_out()
            in_order = self._content.in_order
            shown = tuple(d for d in in_order if d.dump not in hidden) if hidden else in_order
            self._shown, self._shown_of = shown, in_order
        return self._shown

    def dumps_with(self, table: str) -> list[LandedDump]:
        """The dumps that have a table, in the same order."""
        return [dump for dump in self.dumps() if table in dump.tables]

    def tables(self) -> dict[str, set[bool]]:
        """Tables that have landed -> whether their dumps are merged; both values if some are."""
        by_table: dict[str, set[bool]] = {}
        for tables, is_merged in self._kinds_of_dumps():
            for table in tables:
                by_table.setdefault(table, set()).add(is_merged)
        return by_table

    def are_merged(self) -> set[bool]:
        """Whether dumps are merged; both values if some are."""
        return {is_merged for _, is_merged in self._kinds_of_dumps()}

    @property
    def version(self) -> str:
        """Version of the manifest: changes whenever a dump lands, is merged or is pruned.

        It consists of file names, since no manifest file ever changes. Dumps that are left out
        do not change it.

        Raises:
            PermissionError: the manifest may not be read.
        """
        return "\0".join(sorted(self._names()))

    def version_of(self, system: str) -> str:
        """Version of the dumps of a system, as `version` is of all."""
        folder = month_folder(system, "")
        return "\0".join(sorted(name for name in self._names() if name.startswith(folder)))

    def find(self, name: str) -> LandedDump | None:
        """The landed dump with this name, even if it is left out; None if there is none."""
        return self._dumps().get(name)

    def folders(self) -> set[str]:
        """Folders of all dumps, including those left out."""
        return {dump.folder for dump in self._dumps().values()}

    def has_size(self, stored_size: int) -> bool:
        """Whether a landed file had this size in bytes; if not, a file of this size is new."""
        return any(dump.stored_size == stored_size for dump in self._dumps().values())

    def merged_in(self, folder: str) -> Collection[str]:
        """Dumps in the folder of a month, as of the last read of the manifest."""
        if not self._content.files:
            self._dumps()
        return self._content.merged.get(folder, ())

    def add(self, about: Mapping[str, Any]) -> None:
        """Adds a landed dump and merges the files of its month if there are many.

        Args:
            about: content of its `dump.json`.

        Raises:
            StoreError: the disk refuses it; then the manifest is unchanged.
        """
        name = entry_name(about)
        self._files.replace(name, line(about).encode())
        with suppress(StoreError):  # the dump is added; the next landing merges
            self.merge(name)

    def put(self, abouts: Sequence[Mapping[str, Any]], dropped: Collection[str] = ()) -> None:
        """Replaces the metadata of some dumps of a month, all at once.

        Args:
            abouts: contents of their `dump.json`.
            dropped: dumps to remove from the manifest.
        """
        self._rewrite(folder_of(entry_name(abouts[0])), [*map(line, abouts)], dropped)

    def drop(self, dumps: Iterable[LandedDump]) -> None:
        """Removes dumps from the manifest; their own files are not touched."""
        by_month: defaultdict[str, list[str]] = defaultdict(list)
        for dump in dumps:
            by_month[month_folder(dump.system, dump.month)].append(dump.dump)
        for month, names in by_month.items():
            self._rewrite(month, [], names)

    def lines(self, folder: str) -> list[str]:
        """Manifest lines of the dumps in a folder, the same as in its `dump.json`."""
        dumps = {d.dump: d for d in self._dumps().values() if d.folder == folder}
        months = {month_folder(dump.system, dump.month) for dump in dumps.values()}
        texts = (read_lines(self._files, n).decode() for m in months for n in self._of_month(m))
        return [text for text in _distinct(texts) if dumps_in(text)[0].dump in dumps]

    def _rewrite(self, month: str, lines: Sequence[str], dropped: Collection[str]) -> None:
        """Writes one file with these lines and those of the month, without dropped dumps."""
        for _ in range(RETRIES):
            with suppress(FileNotFoundError):  # another process has just merged some
                names = self._of_month(month)
                texts = [read_lines(self._files, name).decode() for name in names]
                left = _distinct([*lines, *texts], dropped)
                merged = self._write_merged(month, left) if left else ""
                self._files.delete(name for name in names if name != merged)
                return
        raise restless(self._files)

    def rebuild(self) -> None:
        """Rebuilds the manifest from the `dump.json` files of dumps and months."""
        before = set(self._names())
        lines: defaultdict[str, list[str]] = defaultdict(list)
        for text in self._lines_of_folders():
            if self._files.is_local or self._is_whole(text):
                lines[_month_of(text)].append(text)
        made = {self._write_merged(month, _distinct(texts)) for month, texts in lines.items()}
        self._files.delete(sorted(before - made))

    def name_again(self) -> list[LandedDump]:
        """Adds the dumps whose files are all there and that no line names; returns them.

        A line may have been lost with its file, since each small file is one of a dump.
        """
        known, named = self._dumps(), list[LandedDump]()
        for text in self._lines_of_folders():
            (dump,) = dumps_in(text)
            if dump.dump not in known and self._is_whole(text):
                self.add(json.loads(text))
                named.append(dump)
        return named

    def _lines_of_folders(self) -> Iterator[str]:
        """Lines of all folders of dumps and months."""
        depth = 3 if self._files.is_local else 4  # in object storage each writer has a folder
        for folder in (*self._folders("records", depth), *self._folders(MONTHS, depth=2)):
            with suppress(FileNotFoundError):  # a dump that is being written has no dump.json
                yield from self._lines_for(folder)

    def _is_whole(self, text: str) -> bool:
        """Whether all files of a dump exist, that is, its writer was not killed."""
        (dump,) = dumps_in(text)
        names = set(self._files.names(dump.folder))
        return all(f"{dump.folder}/{table}.parquet" in names for table in dump.tables)

    def _lines_for(self, folder: str) -> list[str]:
        """Lines of the `dump.json` of a folder; if that is lost, its lines in the manifest."""
        try:
            return [*map(line, self.written(folder))]
        except (FileNotFoundError, UnreadableError):
            with suppress(StoreError):
                if lines := self.lines(folder):
                    return lines
            raise

    def abouts(self, folder: str) -> list[dict[str, Any]]:
        """Metadata in the folder of a landed dump, or of each dump of a month.

        Raises:
            UnreadableError: it is damaged or missing.
        """
        try:
            return self.written(folder)
        except FileNotFoundError:
            raise self.unreadable(folder, "no such file") from None
        except UnreadableError as error:
            raise self.unreadable(folder, error.found or "") from None

    def unreadable(self, folder: str, found: str) -> UnreadableError:
        """The error for damaged metadata of a dump that the manifest has."""
        return UnreadableError(
            "what is written about a landed dump cannot be read",
            code="dump-metadata-damaged",
            place=self._files.uri(f"{folder}/{ABOUT}"),
            expected="a JSON object for each of its dumps, as cpmon wrote it",
            found=found,
            effect="nothing was changed",
            remedy="write it again from the manifest: cpmon store repair",
        )

    def written(self, folder: str) -> list[dict[str, Any]]:
        """Metadata in a folder that may hold no dump.

        Raises:
            FileNotFoundError: the folder has no `dump.json`.
            UnreadableError: it is damaged.
        """
        name = f"{folder}/{ABOUT}"
        text = self._files.read(name)
        texts = text.splitlines() if folder.startswith(f"{MONTHS}/") else [text]
        try:
            dumps_in(text)
            return [json.loads(each) for each in texts]
        except (msgspec.MsgspecError, ValueError) as error:
            raise UnreadableError(
                "what is written about a dump cannot be read",
                code="dump-metadata-lost",
                place=self._files.uri(name),
                expected="a JSON object, as cpmon wrote it",
                found=str(error),
                effect="nothing was changed",
                remedy="restore it from a backup, or move its folder out of the store and land the "
                "dump again",
            ) from None

    def _kinds_of_dumps(self) -> set[tuple[frozenset[str], bool]]:
        """Distinct pairs of the tables of a dump and whether it is merged."""
        return {(dump.tables, dump.is_merged) for dump in self.dumps()}

    def _dumps(self) -> dict[str, LandedDump]:
        """Dumps by name, read again if the manifest changed."""
        for _ in range(RETRIES):
            names = set(self._names())
            if not names:
                self._check_new()
            content = self._content
            if names == content.files.keys():
                return content.by_name
            with suppress(FileNotFoundError):
                content.files = {n: content.files.get(n) or self._dumps_in(n) for n in names}
                content.by_name = _by_name(content.files.values())
                content.in_order = tuple(sorted(content.by_name.values(), key=_PLACE))
                content.merged = {}
                for dump in content.in_order:
                    if dump.is_merged:
                        content.merged.setdefault(dump.folder, set()).add(dump.dump)
                return content.by_name
        raise restless(self._files)

    @property
    def is_readable(self) -> bool:
        """Whether the manifest exists and no file of it is damaged."""
        try:
            self._dumps()
        except StoreError:
            return False
        return True

    def _check_new(self) -> None:
        """Raises an error if dumps have landed and the manifest is gone.

        A dump that is landing, or was when its process was killed, has a file in `staging`, which
        is removed once the manifest has its line: so the manifest is looked at again, last.
        """
        landed = (n for above in ("records", MONTHS) for n in self._files.names(above))
        is_gone = any(name.endswith(f"/{ABOUT}") for name in landed)
        is_landing = any(name.endswith((LANDING, UPLOAD)) for name in self._files.names(STAGING))
        if is_gone and not is_landing and not any(self._names()):
            raise StoreError(
                "the manifest of the store is gone",
                code="manifest-missing",
                place=self._files.uri(FOLDER),
                expected="a line for each dump that has landed",
                effect="nothing was read or changed",
                remedy="make it again from the dumps: cpmon store rebuild",
            )

    def _dumps_in(self, name: str) -> tuple[LandedDump, ...]:
        """Reads the dumps in a file.

        Raises:
            FileNotFoundError: the file was merged meanwhile.
        """
        try:
            return dumps_in(read_lines(self._files, name))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise damaged(self._files, name, str(error)) from None

    def _names(self) -> Iterator[str]:
        """Names of the manifest files, in any order.

        Raises:
            PermissionError: manifest or records may not be read; DuckDB would show no rows.
        """
        if self._files.is_local:
            self._files.inside("records")
        yield from filter(_is_of_dumps, self._files.names(FOLDER))

    def _folders(self, above: str, depth: int) -> Iterator[str]:
        """Folders that are `depth` levels below a folder."""
        for folder in self._files.inside(above).folders:
            yield from [folder] if depth == 1 else self._folders(folder, depth - 1)

    def _of_month(self, month: str) -> list[str]:
        return [f.name for f in self._files.inside(month).files if _is_of_dumps(f.name)]

    def merge(self, name: str) -> None:
        """Merges files of the same month and size class if there are at least FAN of them."""
        month = folder_of(name)
        alike: defaultdict[int, list[str]] = defaultdict(list)
        for each in self._of_month(month):
            alike[_size_class(each)].append(each)
        for names in alike.values():
            if len(names) >= FAN:
                with suppress(FileNotFoundError):  # another process merges them
                    lines = _distinct(
                        read_lines(self._files, each).decode() for each in sorted(names)
                    )
                    merged = self._write_merged(month, lines)
                    self._files.delete(each for each in names if each != merged)

    def _write_merged(self, month: str, lines: Sequence[str]) -> str:
        """Writes lines as one file of a month and returns its name."""
        name, text = merged_file(month, lines)
        self._files.replace(name, text.encode())
        return name


def _is_of_dumps(name: str) -> bool:
    return name.endswith((".json", ".jsonl")) and not name.endswith(RESULTS)


def merged_file(place: str, lines: Sequence[str], suffix: str = ".jsonl") -> tuple[str, str]:
    """Name and text of a file of the manifest with some lines.

    Args:
        place: its folder.
    """
    text = "".join(sorted(lines))
    return f"{place}/{len(lines)}-{_digest(text.encode())}{suffix}", text


def read_lines(files: Files, name: str) -> bytes:
    """Reads a file of the manifest; the digest in the name of a merged file detects lost lines.

    Raises:
        FileNotFoundError: the file was merged meanwhile.
        StoreError: its content does not match its name.
    """
    data = files.read(name)
    if name.endswith(".jsonl") and _digest(data) not in name:
        raise damaged(files, name, "other lines than were written")
    return data


def damaged(files: Files, name: str, found: str) -> StoreError:
    """The error for a damaged file of the manifest."""
    return StoreError(
        "a file of the manifest cannot be read",
        code="manifest-damaged",
        place=files.uri(name),
        expected="a JSON object on each line, and as many as the name says",
        found=found,
        effect="nothing was read or changed",
        remedy="make the manifest again: cpmon store rebuild",
    )


def restless(files: Files) -> StoreError:
    """The error for a manifest that changes faster than it can be read."""
    return StoreError(
        "the manifest of the store changes all the time",
        code="manifest-busy",
        place=files.uri(FOLDER),
        remedy="try again when fewer processes land dumps",
    )


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def entry_name(about: Mapping[str, Any]) -> str:
    """Name of the manifest file of a single dump."""
    pruned = PRUNED if "pruned_at" in about else ""
    month = str(about["landed_on"])[: len("2001-12")]
    return f"{month_folder(about['system'], month)}/{about['dump']}{pruned}.json"


def _month_of(text: str) -> str:
    """Manifest folder that a line belongs to."""
    return folder_of(entry_name(json.loads(text)))


def month_folder(system: str, month: str) -> str:
    """Folder of the manifest for a system and a month, as 2001-12."""
    return f"{FOLDER}/system={quote(system, safe='')}/{month}"


def entries(abouts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Name -> text of the manifest file for a dump, or for the dumps of a month."""
    name = entry_name(abouts[0])
    if len(abouts) == 1:
        return {name: line(abouts[0])}
    return dict([merged_file(folder_of(name), [*map(line, abouts)])])


def folder_of(name: str) -> str:
    """Folder of a file name."""
    return name.rpartition("/")[0]


def _size_class(name: str) -> int:
    """Size class of a file: number of merges of FAN files that led to it."""
    file = name.rpartition("/")[2]
    count, of = int(file.partition("-")[0]) if file.endswith(".jsonl") else 1, 0
    while count >= FAN:
        count, of = count // FAN, of + 1
    return of


def _distinct(texts: Iterable[str], dropped: Collection[str] = ()) -> list[str]:
    """Lines of some files, the winning one per dump, without dropped dumps."""
    lines: dict[str, tuple[tuple[int, bool, str], str]] = {}
    for text in "".join(texts).splitlines(keepends=True):
        (dump,) = dumps_in(text)
        lines[dump.dump] = min(lines.get(dump.dump, (dump.rank, text)), (dump.rank, text))
    return [text for dump, (_, text) in lines.items() if dump not in dropped]


def _by_name(files: Iterable[tuple[LandedDump, ...]]) -> dict[str, LandedDump]:
    dumps: dict[str, LandedDump] = {}
    for dump in (dump for file in files for dump in file):
        other = dumps.setdefault(dump.dump, dump)
        if other is not dump:
            dumps[dump.dump] = min(dump, other, key=lambda each: each.rank)
    return dumps


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with rows of a table or with dump metadata, or a pattern of such files.

    Attributes:
        name: below the store.
        is_merged: a file of a month, with columns `system`, `date` and `dump`; otherwise its path
            contains these.
        dumps: read only the rows of these dumps; empty for all.
    """

    name: str
    is_merged: bool = False
    dumps: tuple[str, ...] = ()


def table_files(manifest: Manifest, file: str, dumps: Iterable[LandedDump]) -> list[TableFile]:
    """Files with this name of some dumps, ordered: `sytrsp.parquet`, `dump.json`."""
    by_folder: dict[str, list[LandedDump]] = {}
    table, _, suffix = file.rpartition(".")
    for dump in dumps:
        if suffix != "parquet" or table in dump.tables:
            by_folder.setdefault(dump.folder, []).append(dump)
    files = []
    for folder, chosen in sorted(by_folder.items()):
        names = {dump.dump for dump in chosen}
        merged = manifest.merged_in(folder)  # empty if another merge has replaced the folder
        is_some = chosen[0].is_merged and not (merged and names.issuperset(merged))
        of_some = tuple(sorted(names)) if is_some else ()
        files.append(TableFile(f"{folder}/{file}", chosen[0].is_merged, of_some))
    return files


def anywhere(file: str, kinds: Iterable[bool]) -> list[TableFile]:
    """Patterns of the files with this name over all dumps; each matches at least one file.

    Args:
        kinds: whether the dumps that have the file are merged.
    """
    patterns = {False: f"records/*/*/*/{file}", True: f"{MONTHS}/*/*/{file}"}
    return [TableFile(patterns[is_merged], is_merged) for is_merged in sorted(kinds)]


def alike(files: Sequence[TableFile]) -> Iterator[tuple[bool, list[TableFile]]]:
    """Groups files by how they are read: of single dumps, whole months, and part of a month.

    Single dumps come first: DuckDB expands a pattern when it reaches it, and dumps move to months.
    """
    for is_merged, is_whole in ((False, True), (True, True), (True, False)):
        some = [f for f in files if f.is_merged is is_merged and (not f.dumps) is is_whole]
        if some:
            yield is_merged, some
