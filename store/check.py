"""What is damaged or missing in a store, taking it out, and what brings the manifest back."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass

import msgspec
import pyarrow as pa

from ..core.errors import StoreError, UnreadableError, unknown
from .format.compaction import Month, merge
from .format.landed_dump import ABOUT, MONTHS, LandedDump, dumps_in, is_folder
from .format.states import GRACE_S, MANIFEST, remove
from .format.store import Store
from .measured.runs import damaged_runs, run_names
from .results.entries import FOLDER, Entries, Entry, forget, is_name, replace
from .results.entries import mend as mend_results
from .results.result_files import schema_of

_MAGIC = b"PAR1"
"""What a Parquet file begins and ends with."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something of a store that cannot be read. `remedy`: what one does about it."""

    name: str
    found: str
    remedy: str


def check(store: Store) -> Iterator[Problem]:
    """Yields what is damaged or missing of dumps, results and runs, from the files' ends alone.

    What is about the manifest comes first: without it, nothing else can be told.
    """
    try:
        dumps, parts = store.dumps(), _Parts(store)
        entries = [*Entries(store).all()]
    except StoreError as error:
        found = error.found or error.problem
        yield Problem(error.place or MANIFEST, found, "cpmon store rebuild")
        return
    drop = "put them back from a backup; or cpmon store drop {}, and ingest it again"
    for dump in dumps:
        if lacks := parts.lacks(dump):
            found = f"{', '.join(lacks[:2])} missing or cut off" + ", ..." * (len(lacks) > 2)
            yield Problem(_name(dump), found, drop.format(dump.dump[:12]))
    for folder, found_dumps in parts.unnamed({dump.dump for dump in dumps}):
        names = ", ".join(dump.dump[:12] for dump in found_dumps)
        yield Problem(folder, f"{names}: no state of the manifest names it", "cpmon store rebuild")
    again = "cpmon store drop {}, then cpmon reduce"
    for file, why in damaged_results(store, entries).items():
        yield Problem(file, why, again.format(file))
    for file, why in damaged_runs(store, run_names(store)).items():
        yield Problem(file, why, "restore it from a backup, or cpmon runs --delete")


def drop(store: Store, names: Collection[str]) -> list[str]:
    """Takes dumps and files of results out of a store; returns a line on each.

    A dump can then be ingested again, and a result computed. Runs stay.

    Args:
        names: of dumps, as far as they are unambiguous, or of files or folders of results below
            the store.

    Raises:
        CpmonError: there is no such dump or result, or a name has several; nothing was changed.
        UnreadableError: a file of a dump in the same month is damaged as well.
        StoreError: it cannot be written.
    """
    entries = {entry.file: entry for entry in Entries(store).all()}
    dumps, files = list[LandedDump](), list[str]()
    for name in names:
        named = [f for f in entries if f == name or f.startswith(f"{name.rstrip('/')}/")]
        files += named
        if not named:
            dumps += _dumps_called(store, name)
    done = []
    if files:
        beside = beside_them(store, files, entries.values())
        replace(store, (), [entries[file] for file in (*files, *beside)])
        done += [f"{file}: dropped" for file in (*files, *sorted(beside))]
    by_folder: defaultdict[str, list[LandedDump]] = defaultdict(list)
    for dump in dumps:
        by_folder[dump.folder].append(dump)
    for folder, going in by_folder.items():
        if _drop(store, folder, going):
            done += [f"{_name(dump)}: dropped" for dump in going]
        else:
            done += [f"{_name(dump)}: changed meanwhile, and stays" for dump in going]
    return done


def rebuild(store: Store) -> tuple[list[str], int]:
    """Makes the newest states anew from what is readable of the manifest, and from the files.

    A dump that no state names is named again if all its tables are there.

    Returns:
        the dumps that were named again, and the number of such files of results.
    """
    parts = _Parts(store)
    found: dict[str, tuple[LandedDump, bytes]] = {}
    for folder in parts.files:
        for dump, text in parts.told(folder):
            known = found.get(dump.dump)
            if not parts.lacks(dump) and (not known or known[0].generation < dump.generation):
                found[dump.dump] = dump, text
    named = store.manifest.mend(found.values(), lambda dump: not parts.lacks(dump))
    return named, mend_results(store)


def collect_garbage(store: Store, age_s: float = GRACE_S) -> int:
    """Removes what killed processes left, and what was replaced long ago; returns the files.

    A whole dump that no state names is no garbage: its line may be lost (see `check`).

    Args:
        age_s: what is younger is left alone: a writer may be at work, a reader may need it.
    """
    store.manifest.forget(age_s)
    forget(store, age_s)
    parts, last_use = _Parts(store), time.time() - age_s
    known, named = {dump.dump for dump in store.dumps()}, _named(store)
    spared = {folder for folder, _ in parts.unnamed(known)}
    going, count = list[str](), 0
    for folder, names in parts.files.items():
        if folder not in named | spared:
            changed = max(store.files.changed(f"{folder}/{name}") for name in names)
            if changed < last_use:
                going.append(folder)
                count += len(names)
    for file in store.files.names(FOLDER):
        if is_name(file) and file not in named and store.files.changed(file) < last_use:
            going.append(file)
            count += 1
    remove(store.files, going)
    return count


class _Parts:
    """The folders of dumps and months with their files, whatever the manifest says.

    Attributes:
        files: folder -> the names of its files.
    """

    def __init__(self, store: Store) -> None:
        """Lists them."""
        self._store = store
        self.files: defaultdict[str, set[str]] = defaultdict(set)
        self._cut: dict[str, bool] = {}
        for above in ("records", MONTHS):
            for name in store.files.names(above):
                folder, _, file = name.rpartition("/")
                if is_folder(folder):  # what else lies there is somebody's own
                    self.files[folder].add(file)

    def lacks(self, dump: LandedDump) -> list[str]:
        """The files of a dump that are missing, or on a disk have lost their end."""
        present = self.files.get(dump.folder, set())
        files = (f"{table}.parquet" for table in sorted(dump.tables))
        return [f for f in files if f not in present or self._is_cut(f"{dump.folder}/{f}")]

    def told(self, folder: str) -> list[tuple[LandedDump, bytes]]:
        """The dumps of which something readable stands beside their tables, with their lines."""
        if ABOUT in self.files[folder]:
            with suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
                data = self._store.files.read(f"{folder}/{ABOUT}")
                lines = [line + b"\n" for line in map(bytes.strip, data.splitlines()) if line]
                dumps = dumps_in(data)
                if all(dump.folder == folder for dump in dumps):
                    return [*zip(dumps, lines, strict=True)]
        return []

    def unnamed(self, known: Collection[str]) -> Iterator[tuple[str, list[LandedDump]]]:
        """Yields the folders with whole dumps that are not known, and these."""
        for folder in sorted(self.files):
            parts = folder.split("/")
            if parts[0] == "records" and parts[3].removeprefix("dump=") in known:
                continue  # without a look into it
            dumps = [dump for dump, _ in self.told(folder)]
            new = [dump for dump in dumps if dump.dump not in known and not self.lacks(dump)]
            if new:
                yield folder, new

    def _is_cut(self, name: str) -> bool:
        """Whether a Parquet file on a disk was cut off, as far as its first and last bytes say."""
        if not self._store.files.is_local:
            return False
        if name not in self._cut:
            with (self._store.root / name).open("rb") as stream:
                begin = stream.read(len(_MAGIC))
                stream.seek(max(0, stream.seek(0, 2) - len(_MAGIC)))
                self._cut[name] = not begin == stream.read() == _MAGIC
        return self._cut[name]


def _named(store: Store) -> set[str]:
    """Files and folders that a file of the manifest names, also if a newer one has replaced it."""
    paths = set()
    for name in store.files.names(MANIFEST):
        for line in store.files.read(name).splitlines():
            with suppress(msgspec.MsgspecError, UnicodeDecodeError):  # of a damaged, older state
                said = msgspec.json.decode(line, type=_Paths)
                paths |= {said.folder, said.file}
    return paths


class _Paths(msgspec.Struct):
    """What an entry names, whatever it is about."""

    folder: str = ""
    file: str = ""


def _name(dump: LandedDump) -> str:
    """What people know a dump by."""
    return f"dump {dump.dump[:12]} of {dump.system}, {dump.begins}"


def _dumps_called(store: Store, name: str) -> list[LandedDump]:
    """The dump of a name, or the parts of the one of that name."""
    dumps = [dump for dump in store.dumps() if name and dump.dump.startswith(name)]
    if len({dump.whole for dump in dumps}) != 1:
        known = [dump.dump[:12] for dump in dumps or store.dumps()]
        raise unknown("dump", name, known, place=store.files.location)
    return dumps


def _drop(store: Store, folder: str, going: list[LandedDump]) -> bool:
    """Takes dumps out of a folder; False if they changed meanwhile."""
    names = {dump.dump for dump in going}
    others = [d for d in store.dumps() if d.folder == folder and d.dump not in names]
    # First: what tells of it beside its tables would bring it back, if this is killed.
    store.files.delete([f"{folder}/{ABOUT}"])
    if not others:
        return store.manifest.put(going)
    return merge(store, Month.build(others), going)


def damaged_results(store: Store, entries: Collection[Entry]) -> dict[str, str]:
    """Damaged file of results -> problem.

    A file is damaged, too, if a column has another type than in most files of the same reduction
    and level.
    """
    damaged: dict[str, str] = {}
    alike: dict[tuple[str, str], dict[str, pa.Schema]] = {}
    for entry in entries:
        try:
            schema = schema_of(store, entry.file)
        except UnreadableError as error:
            damaged[entry.file] = error.found or ""
        else:
            alike.setdefault((entry.result, entry.level), {})[entry.file] = schema
    for schemas in alike.values():
        damaged |= _mistyped(schemas)
    return damaged


def beside_them(store: Store, damaged: Collection[str], entries: Collection[Entry]) -> set[str]:
    """Files of other levels with the same days as damaged ones.

    They have to go as well: a day that has only roll-ups counts as pruned and is not computed
    again. If its samples were pruned, they are the only results of the day and are kept.
    """
    pruned = {(d.system, day) for d in store.dumps() if d.pruned for day in d.days}
    by_day = [entry for entry in entries if entry.days]
    open_days = {
        (entry.result, entry.system, day)
        for entry in by_day
        if entry.file in damaged and pruned.isdisjoint((entry.system, d) for d in entry.days)
        for day in entry.days
    }
    beside = (e for e in by_day if any((e.result, e.system, d) in open_days for d in e.days))
    return {entry.file for entry in beside} - {*damaged}


def _mistyped(schemas: Mapping[str, pa.Schema]) -> dict[str, str]:
    """File with a column of another sort of type than most files have -> problem."""
    counts: dict[str, dict[str, int]] = {}
    for schema in schemas.values():
        for column in schema:
            sorts = counts.setdefault(column.name, {})
            sorts[_sort(column.type)] = sorts.get(_sort(column.type), 0) + 1
    usual = {name: max(sorts, key=lambda sort: sorts[sort]) for name, sorts in counts.items()}
    mistyped = {}
    for name, schema in schemas.items():
        for column in schema:
            if _sort(column.type) != usual[column.name]:
                mistyped[name] = f"column {column.name} is {column.type}"
    return mistyped


def _sort(kind: pa.DataType) -> str:
    """The sort of a type, regardless of its width."""
    if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        return "number"
    return "time" if pa.types.is_temporal(kind) else str(kind).removeprefix("large_")
