"""The manifest of a store: what is known of all landed dumps, by system and month.

    manifest/system=VMSYS1/2001-12/3f1c9a....0.json    a dump that has landed since the newest state
    manifest/system=VMSYS1/2001-12/dumps.000007.jsonl  a state: all dumps of the month, one a line

Readers learn from it which dumps exist, where and what they hold, without listing their folders. A
dump lands by its own small file, so that many processes can ingest at once; the next state has its
line as well, and is made when there are `FAN` such files. All other changes are states (`states`).
The number in the name of a dump's file counts how often that dump was dropped before.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any
from urllib.parse import quote

import msgspec

from ...core.errors import StoreError
from ..files.files import Files
from .landed_dump import ABOUT, MONTHS, LandedDump, dumps_in, line
from .states import GRACE_S, MANIFEST, TRIES, State, States, damaged, newest, restless, split

DUMPS = "dumps"
"""The kind of states that tell of dumps."""
FAN = 32
"""Number of dumps of a month that have landed since its newest state, for which a state is made."""
_PLACE = attrgetter("system", "begins", "dump")
_LANDED = re.compile(r"(?P<folder>.*)/(?P<dump>[^/]+)\.(?P<dropped>[0-9]+)\.json")
_NOTHING: Mapping[str, int] = {}


@dataclass(slots=True)
class _Content:
    """What the files of a manifest said when they were last read.

    Attributes:
        names: of all these files.
        files: name of each that tells what no newer one does -> its dumps, and how often others
            were dropped.
        sources: dump -> the file that tells of it.
        in_order: all dumps, by system, begin and name.
        merged: folder of a month -> names of its dumps.
    """

    names: frozenset[str] = frozenset()
    files: dict[str, tuple[tuple[LandedDump, ...], Mapping[str, int]]] = field(default_factory=dict)
    by_name: dict[str, LandedDump] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    in_order: tuple[LandedDump, ...] = ()
    merged: dict[str, set[str]] = field(default_factory=dict)


class Manifest:
    """The manifest of a store; caches its files and reads only new ones."""

    def __init__(self, files: Files) -> None:
        """Creates the manifest without reading it."""
        self._files = files
        self._content = _Content()

    def dumps(self) -> Sequence[LandedDump]:
        """All dumps, by system, begin and name."""
        return self._read().in_order

    def dumps_with(self, table: str) -> list[LandedDump]:
        """The dumps that have a table, in the same order."""
        return [dump for dump in self.dumps() if table in dump.tables]

    def tables(self) -> set[str]:
        """Names of the tables that at least one landed dump has."""
        return set().union(*{dump.tables for dump in self.dumps()})

    @property
    def version(self) -> str:
        """Version of the manifest: changes whenever a dump lands, is merged, pruned or dropped.

        It consists of file names, since no manifest file ever changes.

        Raises:
            PermissionError: the manifest may not be read.
        """
        return self.version_of(None)

    def version_of(self, system: str | None) -> str:
        """Version of the dumps of a system, as `version` is of all."""
        begin = f"{MANIFEST}/" if system is None else month_folder(system, "")
        names = (name for name in self._names() if name.startswith(begin))
        return "\0".join(sorted(names))

    def find(self, name: str) -> LandedDump | None:
        """The landed dump with this name; None if there is none."""
        return self._read().by_name.get(name)

    def has_size(self, stored_size: int) -> bool:
        """Whether a landed file had this size in bytes; if not, a file of this size is new."""
        return any(dump.stored_size == stored_size for dump in self.dumps())

    def merged_in(self, folder: str) -> Collection[str]:
        """Dumps in the folder of a month, as of the last read of the manifest."""
        return (self._content if self._content.names else self._read()).merged.get(folder, ())

    def abouts(self, dumps: Iterable[LandedDump]) -> list[dict[str, Any]]:
        """All that is known of landed dumps, in their order; nothing of one that is gone."""
        chosen = [dump.dump for dump in dumps]
        for _ in range(TRIES):
            sources = self._read().sources
            with suppress(FileNotFoundError):  # a newer state has replaced one, long ago
                known: dict[str, dict[str, Any]] = {}
                for name in {sources[dump] for dump in chosen if dump in sources}:
                    lines = _lines_of(self._files, name)[0].splitlines()
                    known |= {about["dump"]: about for about in map(json.loads, lines)}
                return [known[dump] for dump in chosen if dump in known]
        raise restless(self._files)

    def add(self, about: Mapping[str, Any]) -> bool:
        """Adds a landed dump; of several writers of a dump one does.

        Args:
            about: what is known of it, with its folder.

        Returns:
            False if the dump has landed before.

        Raises:
            StoreError: the disk or the network refuses it.
        """
        folder, dump = folder_of(about), str(about["dump"])
        for _ in range(TRIES):
            state = self._month(folder).read()
            dropped = state.dropped.get(dump, 0)
            name = f"{folder}/{dump}.{dropped}.json"
            is_new = dump not in state.lines and self._files.create(name, line(about).encode())
            landed = self._month(folder).read()
            with suppress(FileNotFoundError):  # it was dropped long ago
                if landed.dropped.get(dump, 0) == dropped:
                    text = landed.lines.get(dump) or self._files.read(name)
                    if is_new:
                        self._fold(folder, landed)
                    return bool(json.loads(text)["folder"] == about["folder"])
        raise restless(self._files)

    def begin(self, about: Mapping[str, Any]) -> None:
        """Makes an empty state in a manifest without files, before the first dump is written.

        So a manifest that is lost is none that has not begun.
        """
        if not self._read().names:
            self._month(folder_of(about)).commit(lambda state: None if state.lines else state)

    def put(self, dumps: Sequence[LandedDump], abouts: Sequence[Mapping[str, Any]] = ()) -> bool:
        """Replaces what is known of some dumps of a month, all at once.

        Args:
            dumps: as the caller read them.
            abouts: what is known of them now; of a dump without one nothing more is.

        Returns:
            False if one of them has changed since; then nothing is replaced.
        """
        lines = {str(about["dump"]): line(about).encode() for about in abouts}
        gone = {dump.dump for dump in dumps} - lines.keys()
        folder = month_folder(dumps[0].system, dumps[0].month)

        def change(state: State) -> State | None:
            state = self._with_landed(folder, state)
            if any(_dump_in(state.lines.get(dump.dump)) != dump for dump in dumps):
                return None
            dropped = {name: state.dropped.get(name, 0) + 1 for name in gone}
            made = state.replaced(gone, lines)
            return State(made.lines, {**self._remembered(folder, state), **dropped})

        return self._month(folder).commit(change)

    def _remembered(self, folder: str, state: State) -> Mapping[str, int]:
        """What was dropped, but for parts whose files are gone: they do not come again."""
        if not any("." in name for name in state.dropped):
            return state.dropped
        names = (file.name for file in self._files.inside(folder).files)
        loose = {m["dump"] for m in filter(None, map(_LANDED.fullmatch, names))}
        return {n: count for n, count in state.dropped.items() if "." not in n or n in loose}

    def mend(
        self,
        found: Iterable[tuple[LandedDump, bytes]],
        is_whole: Callable[[LandedDump], bool],
    ) -> list[str]:
        """Makes the newest state of each month anew from what is readable of it, where it has to.

        Args:
            found: dumps by what stands beside their tables, with that line.
            is_whole: whether the tables of a dump are where the manifest says.

        Returns:
            the dumps that it has by that.
        """
        by_folder: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
        for name in self._files.names(MANIFEST):
            by_folder[name.rpartition("/")[0]] = {}
        for dump, text in found:
            by_folder[month_folder(dump.system, dump.month)][dump.dump] = text
        named: list[str] = []
        for folder, lines in by_folder.items():

            def change(state: State, folder: str = folder, lines: Any = lines) -> State | None:
                state = self._with_landed(folder, state, readable=True)
                lacking = {
                    dump: text
                    for dump, text in lines.items()
                    if dump not in state.lines or not is_whole(dumps_in(state.lines[dump])[0])
                }
                named.extend(lacking)
                return state.replaced((), lacking) if lacking else None

            self._month(folder).mend(change)
        return named

    def forget(self, grace_s: float = GRACE_S) -> None:
        """Removes what newer states replaced long ago, and what only that names."""
        folders = defaultdict[str, list[re.Match[str]]](list)
        for name in self._files.names(MANIFEST):
            landed = _LANDED.fullmatch(name)
            folders[name.rpartition("/")[0]] += [landed] if landed else []
        for folder, loose in folders.items():
            state = self._month(folder).forget(grace_s)
            old = (m[0] for m in loose if not _is_since(m, state.lines, state.dropped))
            self._files.delete(old)

    def _month(self, folder: str) -> States:
        return States(self._files, folder, DUMPS, _name_in, _folder_in)

    def _fold(self, folder: str, state: State) -> None:
        """Makes a state where many dumps have landed since the newest one."""
        if len(self._landed_since(folder, state)) >= FAN:
            with suppress(StoreError):  # the dump has landed; a later one makes the state
                self._month(folder).commit(lambda newest: self._with_landed(folder, newest))

    def _landed_since(self, folder: str, state: State) -> dict[str, str]:
        """Dump that has landed since a state -> its file."""
        names = (file.name for file in self._files.inside(folder).files)
        matches = filter(None, map(_LANDED.fullmatch, names))
        return {m["dump"]: m[0] for m in matches if _is_since(m, state.lines, state.dropped)}

    def _with_landed(self, folder: str, state: State, *, readable: bool = False) -> State:
        """A state with the dumps that have landed since; with `readable` without damaged ones.

        Raises:
            StoreError: a file is damaged.
        """
        landed = {}
        for dump, name in self._landed_since(folder, state).items():
            text = self._files.read(name)
            try:
                _dumps_of(self._files, name, text)
                landed[dump] = text
            except StoreError:
                if not readable:
                    raise
        return state.replaced((), landed)

    def _names(self) -> Iterator[str]:
        """Names of the files that tell of dumps: states that are newest, and landed dumps.

        Raises:
            PermissionError: manifest or records may not be read; DuckDB would show no rows.
        """
        if self._files.is_local:
            self._files.inside("records")
        names = [*self._files.names(MANIFEST)]
        yield from newest(names, DUMPS)
        yield from filter(_LANDED.fullmatch, names)

    def _read(self) -> _Content:
        """What the manifest says, read again if it changed."""
        for _ in range(TRIES):
            names = frozenset(self._names())
            if not names:
                self._check_new()
            if names == self._content.names:
                return self._content
            with suppress(FileNotFoundError):  # a newer state has replaced one, long ago
                self._content = self._content_of(names)
                return self._content
        raise restless(self._files)

    def _check_new(self) -> None:
        """Raises an error if dumps have landed and the manifest is gone."""
        landed = (name for above in ("records", MONTHS) for name in self._files.names(above))
        if any(name.endswith(f"/{ABOUT}") for name in landed) and not any(self._names()):
            raise StoreError(
                "the manifest of the store is gone",
                code="manifest-missing",
                place=self._files.uri(MANIFEST),
                expected="a line for each dump that has landed",
                effect="nothing was read or changed",
                remedy="make it again from the dumps: cpmon store rebuild",
            )

    def _content_of(self, names: frozenset[str]) -> _Content:
        known, content = self._content.files, _Content(names)
        dropped: dict[str, Mapping[str, int]] = {}
        for name in sorted(names, key=_is_state, reverse=True):
            folder = name.rpartition("/")[0]
            match = _LANDED.fullmatch(name)
            if match and not _is_since(match, content.by_name, dropped.get(folder, _NOTHING)):
                continue
            content.files[name] = said = known.get(name) or self._said(name)
            if not match:
                dropped[folder] = said[1]
            content.by_name |= {dump.dump: dump for dump in said[0]}
            content.sources |= dict.fromkeys((dump.dump for dump in said[0]), name)
        content.in_order = tuple(sorted(content.by_name.values(), key=_PLACE))
        for dump in content.in_order:
            if dump.is_merged:
                content.merged.setdefault(dump.folder, set()).add(dump.dump)
        return content

    def _said(self, name: str) -> tuple[tuple[LandedDump, ...], Mapping[str, int]]:
        """What a file says.

        Raises:
            FileNotFoundError: there is no such file any more.
            StoreError: it is damaged.
        """
        lines, dropped = _lines_of(self._files, name)
        is_empty = _is_state(name) and not lines
        return () if is_empty else _dumps_of(self._files, name, lines), dropped


def _dumps_of(files: Files, name: str, lines: bytes) -> tuple[LandedDump, ...]:
    """The dumps that lines of a file are about; raises StoreError if they are damaged."""
    try:
        return dumps_in(lines)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise damaged(files, name, str(error)) from None


def _lines_of(files: Files, name: str) -> tuple[bytes, Mapping[str, int]]:
    """The lines of dumps in a file, and how often others were dropped."""
    data = files.read(name)
    if not _is_state(name):
        return data, _NOTHING
    head, lines = split(files, name, data)
    return lines, head.dropped


def _is_state(name: str) -> bool:
    return name.endswith(".jsonl")


def _is_since(match: re.Match[str], known: Collection[str], dropped: Mapping[str, int]) -> bool:
    """Whether the file of a landed dump tells what the state of its month does not."""
    return match["dump"] not in known and int(match["dropped"]) >= dropped.get(match["dump"], 0)


def _name_in(text: bytes) -> str:
    return str(msgspec.json.decode(text, type=_Named).dump)


def _folder_in(text: bytes) -> str:
    return dumps_in(text)[0].folder


class _Named(msgspec.Struct):
    """The part of a line that names its dump."""

    dump: str


def _dump_in(text: bytes | None) -> LandedDump | None:
    return dumps_in(text)[0] if text else None


def folder_of(about: Mapping[str, Any]) -> str:
    """Folder of the manifest that tells of a dump."""
    return month_folder(about["system"], str(about["landed_on"])[: len("2001-12")])


def month_folder(system: str, month: str) -> str:
    """Folder of the manifest for a system and a month, as 2001-12."""
    return f"{MANIFEST}/system={quote(system, safe='')}/{month}"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with rows of a table or with dump metadata, or a pattern of such files.

    Attributes:
        name: below the store.
        is_merged: a file of a month, with columns `system`, `date` and `dump`; otherwise its path
            contains these.
        dumps: read only the rows of these dumps; empty for all.
        has_parts: some of its rows have the name of a part in place of that of their dump.
    """

    name: str
    is_merged: bool = False
    dumps: tuple[str, ...] = ()
    has_parts: bool = False


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
        has_parts = any(dump.is_part for dump in chosen)
        files.append(TableFile(f"{folder}/{file}", chosen[0].is_merged, of_some, has_parts))
    return files


def alike(files: Sequence[TableFile]) -> Iterator[tuple[bool, list[TableFile]]]:
    """Groups files by how they are read: of single dumps, whole months, and part of a month.

    Single dumps come first: DuckDB expands a pattern when it reaches it, and dumps move to months.
    """
    for is_merged, is_whole in ((False, True), (True, True), (True, False)):
        some = [f for f in files if f.is_merged is is_merged and (not f.dumps) is is_whole]
        if some:
            yield is_merged, some
