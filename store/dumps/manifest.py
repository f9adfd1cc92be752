"""The manifest of a store: what is written about each landed dump, by system and month.

    manifest/system=VMSYS1/2001-12/3f1c9a....json        a dump
    manifest/system=VMSYS1/2001-12/3f1c9a....pruned.json the same, when its samples were removed
    manifest/system=VMSYS1/2001-12/32-<digest>.jsonl     32 dumps, one a line

Of a dump that several lines are about the one counts that places it in the folder of a month, in
the newest one; of several then that which says that its samples were removed; else any, the same to
everybody. A merge hands on what was removed before it, and what is removed from the folders before
while it goes on is still in that of the month.

A question to an old store begins with which dumps there are and what they hold: the manifest tells,
and nobody needs to look into their folders. A file of it never changes. Many small ones are merged
into one by whoever lands a dump, so that the files of a month stay few however many dumps it has.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
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
LANDING = ".landing"
"""Ends the name of a file in `staging` that names a landed dump which the manifest lacks as yet."""
UPLOAD = ".upload"
"""Ends the name of a file in `staging` that names the folder something is being sent to, and those
that it replaces."""
FAN = 32
"""So many files of a month, each of about as many dumps as the others, are merged into one."""
_PLACE = attrgetter("system", "begins", "dump")
_RETRIES = 5
"""A merge of another process may remove a file between the listing of its folder and its read."""


class Manifest:
    """The manifest of a store; only files that are new are read again."""

    def __init__(self, files: Files, left_out: Collection[str] = ()) -> None:
        """Nothing is looked at yet.

        Args:
            left_out: dumps that `dumps`, `dumps_with`, `tables` and `are_merged` do without.
        """
        self._files = files
        self.left_out = frozenset(left_out)
        self._read: dict[str, tuple[LandedDump, ...]] = {}
        self._by_name: dict[str, LandedDump] = {}
        self._in_order: tuple[LandedDump, ...] = ()
        self._merged: dict[str, set[str]] = {}
        self._kinds: set[tuple[frozenset[str], bool]] = set()

    def dumps(self) -> Sequence[LandedDump]:
        """All dumps, by system, begin and name.

        Raises:
            StoreError: a file of the manifest cannot be read.
        """
        self._dumps()
        return self._in_order

    def dumps_with(self, table: str) -> list[LandedDump]:
        """The dumps that have a table, in the same order.

        Raises:
            StoreError: a file of the manifest cannot be read.
        """
        return [dump for dump in self.dumps() if table in dump.tables]

    def tables(self) -> dict[str, set[bool]]:
        """Each table that has landed -> whether its dumps are merged; both, if some are.

        Raises:
            StoreError: a file of the manifest cannot be read.
        """
        by_table: dict[str, set[bool]] = {}
        for tables, is_merged in self._kinds_of_dumps():
            for table in tables:
                by_table.setdefault(table, set()).add(is_merged)
        return by_table

    def are_merged(self) -> set[bool]:
        """Whether dumps are merged; both, if some are.

        Raises:
            StoreError: a file of the manifest cannot be read.
        """
        return {is_merged for _, is_merged in self._kinds_of_dumps()}

    @property
    def version(self) -> str:
        """Changes whenever a dump lands, is merged or is pruned: no file of the manifest does.

        Raises:
            PermissionError: the manifest may not be read.
        """
        return "\0".join([*sorted(self._names()), *sorted(self.left_out)])

    def find(self, name: str) -> LandedDump | None:
        """The dump of a name, if it has landed; also one that is left out."""
        return self._dumps().get(name)

    def folders(self) -> set[str]:
        """The folders of all dumps, also of those that are left out."""
        return {dump.folder for dump in self._dumps().values()}

    def has_size(self, stored_size: int) -> bool:
        """Whether some landed file had that many bytes; if not, another one is surely new."""
        return any(dump.stored_size == stored_size for dump in self._dumps().values())

    def merged_in(self, folder: str) -> Collection[str]:
        """The dumps in the folder of a month, as of when the manifest was last looked at."""
        if not self._read:
            self._dumps()
        return self._merged.get(folder, ())

    def add(self, about: Mapping[str, Any]) -> None:
        """Add a landed dump, and merge the files of its month if they are many.

        Args:
            about: what its `dump.json` says.

        Raises:
            StoreError: the disk refuses it; then the manifest is as it was.
        """
        name = entry_name(about)
        self._files.replace(name, line(about).encode())
        with suppress(StoreError):  # the dump is added; who lands the next one merges
            self.merge(name)

    def put(self, abouts: Sequence[Mapping[str, Any]], dropped: Collection[str] = ()) -> None:
        """Write anew what some dumps of a month are: of all of them at once, though it be killed.

        Args:
            abouts: what their `dump.json` says.
            dropped: dumps of which nothing is to stay.

        Raises:
            StoreError: the disk refuses it.
        """
        self._rewrite(folder_of(entry_name(abouts[0])), [*map(line, abouts)], dropped)

    def drop(self, dumps: Iterable[LandedDump]) -> None:
        """Remove what is written about some dumps; a file of theirs is not touched.

        Raises:
            StoreError: the disk refuses it.
        """
        by_month: defaultdict[str, list[str]] = defaultdict(list)
        for dump in dumps:
            by_month[_month_folder(dump.system, dump.month)].append(dump.dump)
        for month, names in by_month.items():
            self._rewrite(month, [], names)

    def lines(self, folder: str) -> list[str]:
        """What the manifest says of the dumps in a folder: the lines of its `dump.json`."""
        dumps = {d.dump: d for d in self._dumps().values() if d.folder == folder}
        months = {_month_folder(dump.system, dump.month) for dump in dumps.values()}
        texts = (self._data(n).decode() for m in months for n in self._of_month(m))
        return [text for text in _distinct(texts) if dumps_in(text)[0].dump in dumps]

    def _rewrite(self, month: str, lines: Sequence[str], dropped: Collection[str]) -> None:
        """Write one file of a month: these lines, and those of its files but of dropped dumps."""
        for _ in range(_RETRIES):
            with suppress(FileNotFoundError):  # another process has just merged some
                names = self._of_month(month)
                texts = [self._data(name).decode() for name in names]
                left = _distinct([*lines, *texts], dropped)
                merged = self._write_merged(month, left) if left else ""
                self._files.delete(name for name in names if name != merged)
                return
        raise self._restless()

    def rebuild(self) -> None:
        """Make the manifest again from what is written in the folders of dumps and months.

        Raises:
            StoreError: the disk refuses it.
        """
        before = set(self._names())
        lines: defaultdict[str, list[str]] = defaultdict(list)
        depth = 3 if self._files.is_local else 4  # there a dump is in the folder of its writer
        for folder in (*self._folders("records", depth), *self._folders(MONTHS, depth=2)):
            with suppress(FileNotFoundError):  # a dump that is being written has none
                for text in self._lines_for(folder):
                    if self._files.is_local or self._is_whole(text):
                        lines[_month_of(text)].append(text)
        made = {self._write_merged(month, _distinct(texts)) for month, texts in lines.items()}
        self._files.delete(sorted(before - made))

    def _is_whole(self, text: str) -> bool:
        """Whether all files of a dump are there: its writer was not killed on the way."""
        (dump,) = dumps_in(text)
        names = set(self._files.names(dump.folder))
        return all(f"{dump.folder}/{table}.parquet" in names for table in dump.tables)

    def _lines_for(self, folder: str) -> list[str]:
        """What is written in a folder; where that is lost, what the manifest says of it."""
        try:
            return [*map(line, self.written(folder))]
        except (FileNotFoundError, UnreadableError):
            with suppress(StoreError):
                if lines := self.lines(folder):
                    return lines
            raise

    def abouts(self, folder: str) -> list[dict[str, Any]]:
        """What is written in the folder of a landed dump, or about each dump of a month.

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
        """The error for what is written about a dump that the manifest has."""
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
        """The same of a folder that may hold no dump.

        Raises:
            FileNotFoundError: nothing is written there.
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
        """The tables that some dumps have, and whether these are merged."""
        self._dumps()
        return self._kinds

    def _dumps(self) -> dict[str, LandedDump]:
        """The dumps by name."""
        for _ in range(_RETRIES):
            names = set(self._names())
            if not names:
                self._check_new()
            if names == self._read.keys():
                return self._by_name
            with suppress(FileNotFoundError):
                self._read = {n: self._read.get(n) or self._dumps_in(n) for n in names}
                self._by_name = _by_name(self._read.values())
                in_order = tuple(sorted(self._by_name.values(), key=_PLACE))
                self._in_order = tuple(d for d in in_order if d.dump not in self.left_out)
                self._merged, self._kinds = {}, set()
                for dump in self._in_order:
                    self._kinds.add((dump.tables, dump.is_merged))
                for dump in in_order:
                    if dump.is_merged:
                        self._merged.setdefault(dump.folder, set()).add(dump.dump)
                return self._by_name
        raise self._restless()

    @property
    def is_readable(self) -> bool:
        """Whether it is there, and no file of it is damaged."""
        try:
            self._dumps()
        except StoreError:
            return False
        return True

    def _check_new(self) -> None:
        """Raise where dumps have landed and the manifest is gone.

        A dump that is landing, or was when its process was killed, has a file in `staging`.
        """
        landed = (n for above in ("records", MONTHS) for n in self._files.names(above))
        is_gone = any(name.endswith(f"/{ABOUT}") for name in landed)
        is_landing = any(name.endswith((LANDING, UPLOAD)) for name in self._files.names(STAGING))
        if is_gone and not is_landing:
            raise StoreError(
                "the manifest of the store is gone",
                code="manifest-missing",
                place=self._files.uri(FOLDER),
                expected="a line for each dump that has landed",
                effect="nothing was read or changed",
                remedy="make it again from the dumps: cpmon store rebuild",
            )

    def _restless(self) -> StoreError:
        return StoreError(
            "the manifest of the store changes all the time",
            code="manifest-busy",
            place=self._files.uri(FOLDER),
            remedy="try again when fewer processes land dumps",
        )

    def _dumps_in(self, name: str) -> tuple[LandedDump, ...]:
        """The dumps in a file.

        Raises:
            FileNotFoundError: it was merged meanwhile.
            StoreError: it cannot be read.
        """
        try:
            return dumps_in(self._data(name))
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise self._damaged(name, str(error)) from None

    def _data(self, name: str) -> bytes:
        """What is in a file; that of several dumps tells by its name whether a line is lost.

        Raises:
            FileNotFoundError: it was merged meanwhile.
            StoreError: it is not what was written.
        """
        data = self._files.read(name)
        if name.endswith(".jsonl") and _digest(data) not in name:
            raise self._damaged(name, "other lines than were written")
        return data

    def _damaged(self, name: str, found: str) -> StoreError:
        return StoreError(
            "a file of the manifest cannot be read",
            code="manifest-damaged",
            place=self._files.uri(name),
            expected="a JSON object on each line, and as many as the name says",
            found=found,
            effect="nothing was read or changed",
            remedy="make the manifest again: cpmon store rebuild",
        )

    def _names(self) -> Iterator[str]:
        """The files of the manifest, in any order.

        Raises:
            PermissionError: they or the records may not be read; DuckDB would show no rows.
        """
        if self._files.is_local:
            self._files.inside("records")
        yield from (
            name for name in self._files.names(FOLDER) if name.endswith((".json", ".jsonl"))
        )

    def _folders(self, above: str, depth: int) -> Iterator[str]:
        """The folders that are so many levels below one."""
        for folder in self._files.inside(above).folders:
            yield from [folder] if depth == 1 else self._folders(folder, depth - 1)

    def _of_month(self, month: str) -> list[str]:
        names = (file.name for file in self._files.inside(month).files)
        return [name for name in names if name.endswith((".json", ".jsonl"))]

    def merge(self, name: str) -> None:
        """Merge the files of the month of one that are many and of about the same size.

        Raises:
            StoreError: the disk refuses it.
        """
        month = folder_of(name)
        alike: defaultdict[int, list[str]] = defaultdict(list)
        for each in self._of_month(month):
            alike[_size_class(each)].append(each)
        for names in alike.values():
            if len(names) >= FAN:
                with suppress(FileNotFoundError):  # another process merges them
                    lines = _distinct(self._data(each).decode() for each in sorted(names))
                    merged = self._write_merged(month, lines)
                    self._files.delete(each for each in names if each != merged)

    def _write_merged(self, month: str, lines: Sequence[str]) -> str:
        """Write lines as one file of a month; returns its name."""
        name, text = _merged(month, lines)
        self._files.replace(name, text.encode())
        return name


def _merged(month: str, lines: Sequence[str]) -> tuple[str, str]:
    """Name and text of the file with some lines of a month."""
    text = "".join(sorted(lines))
    return f"{month}/{len(lines)}-{_digest(text.encode())}.jsonl", text


def _digest(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def entry_name(about: Mapping[str, Any]) -> str:
    """The file of the manifest that is written for a dump."""
    pruned = PRUNED if "pruned_at" in about else ""
    month = str(about["landed_on"])[: len("2001-12")]
    return f"{_month_folder(about['system'], month)}/{about['dump']}{pruned}.json"


def _month_of(text: str) -> str:
    """The folder of the manifest that a line belongs into."""
    return folder_of(entry_name(json.loads(text)))


def _month_folder(system: str, month: str) -> str:
    return f"{FOLDER}/system={quote(system, safe='')}/{month}"


def entries(abouts: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """A file of the manifest with what is written about a dump, or about those of a month."""
    name = entry_name(abouts[0])
    if len(abouts) == 1:
        return {name: line(abouts[0])}
    return dict([_merged(folder_of(name), [*map(line, abouts)])])


def folder_of(name: str) -> str:
    """The folder that a file is in."""
    return name.rpartition("/")[0]


def _size_class(name: str) -> int:
    """How often as many files as FAN were merged into this one."""
    file = name.rpartition("/")[2]
    count, of = int(file.partition("-")[0]) if file.endswith(".jsonl") else 1, 0
    while count >= FAN:
        count, of = count // FAN, of + 1
    return of


def _distinct(texts: Iterable[str], dropped: Collection[str] = ()) -> list[str]:
    """The lines of some files, one a dump: the one that counts; none of a dropped dump."""
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
    """A file with rows of a table, or with what is said about dumps; or a pattern of such files.

    Attributes:
        name: below the store.
        is_merged: it is of a month, and has columns `system`, `date` and `dump`; else its path says
            what these are.
        dumps: those whose rows are read; without them all are.
    """

    name: str
    is_merged: bool = False
    dumps: tuple[str, ...] = ()


def table_files(manifest: Manifest, file: str, dumps: Iterable[LandedDump]) -> list[TableFile]:
    """The files of some name that some dumps have, in order: `sytrsp.parquet`, `dump.json`."""
    by_folder: dict[str, list[LandedDump]] = {}
    table, _, suffix = file.rpartition(".")
    for dump in dumps:
        if suffix != "parquet" or table in dump.tables:
            by_folder.setdefault(dump.folder, []).append(dump)
    files = []
    for folder, chosen in sorted(by_folder.items()):
        names = {dump.dump for dump in chosen}
        merged = manifest.merged_in(folder)  # none where another merge has replaced the folder
        is_some = chosen[0].is_merged and not (merged and names.issuperset(merged))
        of_some = tuple(sorted(names)) if is_some else ()
        files.append(TableFile(f"{folder}/{file}", chosen[0].is_merged, of_some))
    return files


def anywhere(file: str, kinds: Iterable[bool]) -> list[TableFile]:
    """Patterns of the files of some name that all dumps have. Each matches at least one of them.

    Args:
        kinds: whether the dumps that have it are merged.
    """
    patterns = {False: f"records/*/*/*/{file}", True: f"{MONTHS}/*/*/{file}"}
    return [TableFile(patterns[is_merged], is_merged) for is_merged in sorted(kinds)]


def alike(files: Sequence[TableFile]) -> Iterator[tuple[bool, list[TableFile]]]:
    """Files that are read alike: of dumps, of whole months, and of some dumps of months.

    Those of dumps come first: a pattern is looked up where it stands, and dumps move to months.
    """
    for is_merged, is_whole in ((False, True), (True, True), (True, False)):
        some = [f for f in files if f.is_merged is is_merged and (not f.dumps) is is_whole]
        if some:
            yield is_merged, some
