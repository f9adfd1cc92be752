"""Entries of the manifest for results: which file holds the rows of which days.

    manifest/system=VMSYS1/2001-12/results.000007.jsonl   results of the days of a month
    manifest/not-by-time/results.000003.jsonl             results that are not by time

An entry is a JSON line and describes a file; a file without an entry is not read. `cpmon reduce`
commits the entries of a unit of work once its files are complete. Of two files with the same day of
a reduction and level the later entry counts. Every file has its entry in its own metadata as well,
so that the manifest can be made again.
"""

from __future__ import annotations

import re
import secrets
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import date
from typing import Annotated, TypeVar
from urllib.parse import quote

import msgspec
import pyarrow as pa

from ..format.manifest import month_folder
from ..format.states import (
    GRACE_S,
    MANIFEST,
    TRIES,
    State,
    States,
    damaged,
    newest,
    restless,
    split,
)
from ..format.store import Store

FOLDER = "reduced"
NOT_BY_TIME = f"{MANIFEST}/not-by-time"
RESULTS = "results"
"""The kind of states that have entries."""
METADATA = "cpmon_entry"
"""Key of a file's metadata that has its entry, without its name."""
Day = tuple[str, date]
"""A system and a day, UTC."""

# Names become parts of paths, and a store may come from elsewhere.
_Word = Annotated[str, msgspec.Meta(pattern=r"^\w*\Z")]
_File = Annotated[
    str,
    msgspec.Meta(pattern=rf"^({FOLDER}/(\w+/level=\w+/system=[\w.~%-]+/)?\w[\w.-]*\.parquet)?\Z"),
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
        """The entry as JSON for the file itself, without its name."""
        return msgspec.json.encode(msgspec.structs.replace(self, file="")).decode()

    @property
    def line(self) -> bytes:
        """The entry as a line of the manifest."""
        return msgspec.json.encode(self) + b"\n"

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
    """The entry of a new file of a day, or of several days of a month.

    Args:
        days: in order, each with the version of its piece, and of its shifts.
    """
    first, *others = days
    name = f"{first:%Y-%m}" if others else str(first)
    folder = f"{FOLDER}/{result}/level={level}/system={quote(system, safe='')}"
    return Entry(result, f"{folder}/{new_name(name)}", level, system, dict(days))


def is_name(file: str) -> bool:
    """Whether a file has a name that `new_name` gives."""
    return re.search(r"\.[0-9a-f]{12}\.parquet\Z", file) is not None


def new_name(about: str) -> str:
    """A name that no file of results has had; `about` tells people what it holds."""
    return f"{about}.{secrets.token_hex(6)}.parquet"


class _EntryHead(msgspec.Struct):
    """What tells entries apart; to read it takes a fraction of the time that all days take."""

    result: str
    level: str = ""


_Kind = TypeVar("_Kind", Entry, _EntryHead)


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
        """The entries of a reduction, current or outdated, in the order of their commits."""
        return [
            _decoded(self._store, name, line, Entry)
            for name, _, line in self._by_result().get(result, ())
        ]

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
            (result, level, name.rpartition("/")[0])
            for result, lines in self._by_result().items()
            for name, level, _ in lines
        )
        return {head for head, count in Counter(heads).items() if count > 1}

    def _by_result(self) -> dict[str, list[tuple[str, str, bytes]]]:
        """Result -> file of the manifest, level and JSON of each entry."""
        if self._lines is None:
            for _ in range(TRIES):
                with suppress(FileNotFoundError):  # a newer state has replaced it, long ago
                    self._lines = self._read()
                    return self._lines
            raise restless(self._store.files)
        return self._lines

    def _read(self) -> dict[str, list[tuple[str, str, bytes]]]:
        files, read = self._store.files, defaultdict(list)
        for name in _names(self._store, self._places):
            for line in split(files, name, files.read(name))[1].splitlines():
                head = _decoded(self._store, name, line, _EntryHead)
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
        return newest(store.files.names(MANIFEST), RESULTS)
    names = (file.name for place in places for file in store.files.inside(place).files)
    return newest(names, RESULTS)


def states(store: Store, place: str) -> States:
    """The states of the results of a month, or of those that are not by time."""
    return States(store.files, place, RESULTS, _file_in, _file_in)


def add(store: Store, entries: Iterable[Entry]) -> None:
    """Adds entries to the manifest, those of a month at once."""
    replace(store, list(entries), ())


def replace(store: Store, added: Collection[Entry], dropped: Collection[Piece | Entry]) -> int:
    """Adds entries and drops those of other files, in each month at once.

    If another process has dropped one of the files that others replace, nothing is replaced.

    Returns:
        the number of months that have changed.
    """
    changed = 0
    for place in sorted({each.place for each in (*added, *dropped)}):
        lines = {entry.file: entry.line for entry in added if entry.place == place}
        going = {each.file for each in dropped if each.place == place}

        def change(
            state: State, lines: dict[str, bytes] = lines, going: set[str] = going
        ) -> State | None:
            if lines and not state.lines.keys() >= going:
                return None
            return state.replaced(going, lines)

        changed += states(store, place).commit(change)
    return changed


def mend(store: Store) -> int:
    """Makes states anew from what is readable, with the entries in the metadata of other files.

    Returns:
        the number of files that were named again. Those of outdated results are among them; the
        next `reduce` drops them.
    """
    found: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for name in store.files.names(MANIFEST):
        found[name.rpartition("/")[0]] = {}
    for entry in _in_files(store):
        found[entry.place][entry.file] = entry.line
    count = 0
    for place, lines in found.items():

        def change(state: State, lines: dict[str, bytes] = lines) -> State | None:
            nonlocal count
            lacking = {file: line for file, line in lines.items() if file not in state.lines}
            count += len(lacking)
            return State({**lacking, **state.lines}, state.dropped) if lacking else None

        states(store, place).mend(change)
    return count


def forget(store: Store, grace_s: float = GRACE_S) -> None:
    """Removes what newer states replaced long ago, and the files that only that names."""
    for place in {name.rpartition("/")[0] for name in store.files.names(MANIFEST)}:
        states(store, place).forget(grace_s)


def _in_files(store: Store) -> list[Entry]:
    """The entries in the metadata of readable files."""
    import pyarrow.parquet as pq  # takes 20 ms

    found = []
    for file in store.files.names(FOLDER):
        if file.endswith(".parquet"):
            with suppress(pa.ArrowException, OSError, msgspec.MsgspecError):
                metadata = pq.read_metadata(store.files.opened(file)).metadata or {}
                entry = msgspec.json.decode(metadata.get(METADATA.encode(), b""), type=Entry)
                found.append(msgspec.structs.replace(entry, file=file))
    return found


def _file_in(line: bytes) -> str:
    return str(msgspec.json.decode(line, type=_FileNamed).file)


class _FileNamed(msgspec.Struct):
    """The part of a line that names its file."""

    file: _File
