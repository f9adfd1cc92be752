"""Entries of the manifest for kept results: which file holds the rows of which days.

    manifest/system=VMSYS1/2001-12/330-<digest>.results.jsonl   results of the days of a month
    manifest/not-by-time/1-<digest>.results.jsonl               results that are not by time

An entry is a JSON line and describes a file; a file without an entry is not read. `cpmon reduce`
adds the entries of a unit of work once its files are complete. Entries are dropped by a process
that holds the lock of the store: it writes those of a month again. Every file has its entry in its
own metadata as well, so that the manifest can be made again.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from typing import Annotated, TypeVar
from urllib.parse import quote

import msgspec
import pyarrow as pa

from ...core.errors import StoreError
from ..dumps.cleanup import replace_and_remove
from ..dumps.manifest import (
    FAN,
    RESULTS,
    RETRIES,
    damaged,
    folder_of,
    merged_file,
    month_folder,
    read_lines,
    restless,
)
from ..dumps.manifest import FOLDER as MANIFEST
from ..dumps.store import Store

FOLDER = "reduced"
NOT_BY_TIME = f"{MANIFEST}/not-by-time"
METADATA = "cpmon_entry"
"""Key of a file's metadata that has its entry."""
Day = tuple[str, date]
"""A system and a day, UTC."""

# Names become parts of paths, and a store may come from elsewhere.
_Word = Annotated[str, msgspec.Meta(pattern=r"^\w*\Z")]
_File = Annotated[
    str, msgspec.Meta(pattern=rf"^{FOLDER}/(\w+/level=\w+/system=[\w.~%-]+/)?\w[\w.-]*\.parquet\Z")
]


class Piece(msgspec.Struct, frozen=True, gc=False):
    """The materialized rows of a reduction for one day, at one level.

    Attributes:
        version: of the data and definitions that they were computed from.
        shifts: digest of the shifts that roll-ups are computed for; empty for intervals.
        file: its name below the store; also holds rows of other days if `month` is not None.
        month: all days in the file, if these are several.
    """

    level: str
    system: str
    day: date
    version: str
    shifts: str
    file: str
    month: frozenset[date] | None = None

    @property
    def place(self) -> str:
        """Folder of the manifest that has its entry."""
        return month_folder(self.system, f"{self.day:%Y-%m}")


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    """A file of results.

    Attributes:
        result: the reduction.
        file: its name below the store.
        level, system: of a reduction by time.
        days: each day whose rows it holds -> version of the piece, and of its shifts.
        version: of a result that is not by time.
    """

    result: _Word
    file: _File
    level: _Word = ""
    system: str = ""
    days: dict[date, tuple[str, str]] = {}
    version: str = ""

    @property
    def text(self) -> str:
        """The entry as JSON."""
        return msgspec.json.encode(self).decode()

    @property
    def place(self) -> str:
        """Folder of the manifest that has it."""
        if not self.days:
            return NOT_BY_TIME
        return month_folder(self.system, f"{min(self.days):%Y-%m}")

    def pieces(self) -> Iterator[Piece]:
        """Yields a piece for each of its days."""
        month = frozenset(self.days) if len(self.days) > 1 else None
        for day, (version, shifts) in self.days.items():
            yield Piece(self.level, self.system, day, version, shifts, self.file, month)


def entry_of_days(
    result: str, level: str, system: str, days: Mapping[date, tuple[str, str]]
) -> Entry:
    """The entry of the file of a day, or of several days of a month.

    Args:
        days: in order, each with the version of its piece, and of its shifts.
    """
    (first, (version, shifts)), *others = days.items()
    name = f"{first}-{version}.{shifts}" if shifts else f"{first}-{version}"
    if others:
        digest = hashlib.blake2b(repr(dict(days)).encode(), digest_size=8).hexdigest()
        name = f"{first:%Y-%m}.{digest}"
    folder = f"{FOLDER}/{result}/level={level}/system={quote(system, safe='')}"
    return Entry(result, f"{folder}/{name}.parquet", level, system, dict(days))


class _Head(msgspec.Struct):
    """What tells entries apart; to read it takes a fraction of the time that all days take."""

    result: str
    level: str = ""


_Kind = TypeVar("_Kind", Entry, _Head)


class Entries:
    """The entries of a store, read when they are first asked for; of the same state ever after."""

    def __init__(self, store: Store, places: Collection[str] | None = None) -> None:
        """Reads nothing.

        Args:
            places: folders of the manifest; all of them if not given.
        """
        self._store, self._places = store, places
        self._lines: dict[str, list[tuple[str, str, bytes]]] | None = None

    def of(self, result: str) -> list[Entry]:
        """The entries of a reduction, current or outdated, without files that are left out."""
        left_out = self._store.left_out.files
        lines = {line: name for name, _, line in self._by_result().get(result, ())}
        entries = (_decoded(self._store, name, line, Entry) for line, name in lines.items())
        return [entry for entry in entries if entry.file not in left_out]

    def pieces(self, result: str) -> Iterator[Piece]:
        """Yields the pieces of a reduction, current or outdated."""
        for entry in self.of(result):
            yield from entry.pieces()

    def all(self) -> Iterator[Entry]:
        """Yields the entries of all reductions."""
        for result in self._by_result():
            yield from self.of(result)

    def in_parts(self) -> set[tuple[str, str, str]]:
        """Result, level and folder of the manifest of what is in several files."""
        heads = (
            (result, level, folder_of(name))
            for result, lines in self._by_result().items()
            for name, level, _ in lines
        )
        return {head for head, count in Counter(heads).items() if count > 1}

    def _by_result(self) -> dict[str, list[tuple[str, str, bytes]]]:
        """Result -> file of the manifest, level and JSON of each entry."""
        if self._lines is None:
            for _ in range(RETRIES):
                with suppress(FileNotFoundError):  # another process has just written them again
                    self._lines = self._read()
                    return self._lines
            raise restless(self._store.files)
        return self._lines

    def _read(self) -> dict[str, list[tuple[str, str, bytes]]]:
        read = defaultdict(list)
        for name in _names(self._store, self._places):
            for line in read_lines(self._store.files, name).splitlines():
                head = _decoded(self._store, name, line, _Head)
                read[head.result].append((name, head.level, line))
        return read


def _decoded(store: Store, name: str, line: bytes, kind: type[_Kind]) -> _Kind:
    """An entry, or its head, from a line of a file of the manifest."""
    try:
        return msgspec.json.decode(line, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(store.files, name, str(error)) from None


def _names(store: Store, places: Collection[str] | None) -> list[str]:
    """Files of the manifest with entries."""
    if places is None:
        names: Iterable[str] = store.files.names(MANIFEST)
    else:
        names = (file.name for place in places for file in store.files.inside(place).files)
    return sorted(name for name in names if name.endswith(RESULTS))


def add(store: Store, entries: Iterable[Entry]) -> set[str]:
    """Adds entries to the manifest; returns the names of its files that have them."""
    by_place: defaultdict[str, list[str]] = defaultdict(list)
    for entry in entries:
        by_place[entry.place].append(f"{entry.text}\n")
    texts = dict(merged_file(place, lines, RESULTS) for place, lines in by_place.items())
    for name, text in texts.items():
        store.files.replace(name, text.encode())
    return set(texts)


def replace(store: Store, added: Collection[Entry], dropped: Collection[Piece | Entry]) -> None:
    """Adds entries, drops those of other files and deletes these files. The caller is alone.

    A killed call is completed by the next process that writes to the store.
    """
    for place in sorted({each.place for each in (*added, *dropped)}):
        going = sorted({each.file for each in dropped if each.place == place})
        texts, old = _rewritten(store, place, [e for e in added if e.place == place], going)
        replace_and_remove(store.files, texts, [*old, *going])


def without(store: Store, dropped: Collection[Piece | Entry]) -> tuple[dict[str, str], list[str]]:
    """The files of the manifest to write and those to delete, to drop the entries of some files."""
    texts: dict[str, str] = {}
    going: list[str] = []
    for place in {each.place for each in dropped}:
        files = {each.file for each in dropped if each.place == place}
        written, old = _rewritten(store, place, (), files)
        texts |= written
        going += old
    return texts, going


def tidy(store: Store) -> None:
    """Writes the entries of a month into one file if they are in many. The caller is alone."""
    counts = Counter(folder_of(name) for name in _names(store, None))
    for place in (place for place, count in counts.items() if count >= FAN):
        texts, old = _rewritten(store, place, (), ())
        replace_and_remove(store.files, texts, old)


def _rewritten(
    store: Store, place: str, added: Iterable[Entry], dropped: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """The new file with the entries of a month, if any is left, and the files that it replaces."""
    names = _names(store, [place])
    entries = (
        _decoded(store, name, line, Entry)
        for name in names
        for line in read_lines(store.files, name).splitlines()
    )
    lines = {f"{entry.text}\n" for entry in entries if entry.file not in dropped}
    lines |= {f"{entry.text}\n" for entry in added}
    texts = dict([merged_file(place, sorted(lines), RESULTS)]) if lines else {}
    return texts, [name for name in names if name not in texts]


def name_again(store: Store) -> int:
    """Adds entries of files that have none; returns their number.

    A process was killed before it had added them. The next `reduce` removes what is outdated.
    """
    found = _in_files(store, {entry.file for entry in Entries(store).all()})
    add(store, found)
    return len(found)


def rebuild(store: Store) -> None:
    """Makes all entries again, from the metadata of the files."""
    before = set(_names(store, None))
    store.files.delete(sorted(before - add(store, _in_files(store))))


def _in_files(store: Store, named: Collection[str] = ()) -> list[Entry]:
    """The entries in the metadata of readable files, but for those of some names."""
    import pyarrow.parquet as pq  # takes 20 ms

    found = []
    for file in store.files.names(FOLDER):
        if file.endswith(".parquet") and file not in named:
            with suppress(pa.ArrowException, OSError, msgspec.MsgspecError):
                metadata = pq.read_metadata(store.files.opened(file)).metadata or {}
                entry = msgspec.json.decode(metadata.get(METADATA.encode(), b""), type=Entry)
                found += [entry] if entry.file == file else []
    return found


def are_readable(store: Store) -> bool:
    """Whether no file of the manifest with entries is damaged."""
    try:
        Entries(store)._by_result()
    except StoreError:
        return False
    return True
