"""Dumps of the manifest that lack files, whatever took or damaged these, and their repair.

A question over them would have no answer, or a wrong one where patterns find the files that are
left. What is missing on a disk is seen at once: a file that is removed changes the time of its
folder. In object storage, and for damage inside files, they are looked at when a question has
failed.

A repair keeps what is whole and deletes nothing. What is written about a dump is written again
where only that is missing. A dump that lacks tables is dropped from the manifest, so that it can
land again; what is left of it is put aside: on a disk into `aside/`, in object storage it stays
where it is and nobody reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from ...core.derived import remember, remembered
from ...core.errors import UnreadableError
from ...core.text import counted
from .cleanup import put_aside
from .compaction import Month, rewrite
from .landed_dump import ABOUT, LandedDump
from .store import Store

AT_ONCE = 16
"""Folders that are looked at at the same time in object storage."""
_MAGIC = b"PAR1"
"""What a Parquet file begins and ends with."""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A dump and its files that are missing or damaged, by their names below the store."""

    dump: LandedDump
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people know it by."""
        return _name(self.dump)

    @property
    def lost(self) -> str:
        """Which files these are: of many the first one."""
        first, more = PurePosixPath(self.files[0]).name, len(self.files) - 1
        return first + (f" and {counted(more, 'other file')}" if more else "")

    @property
    def can_be_mended(self) -> bool:
        """Whether all that it lacks stands in the manifest as well."""
        return all(PurePosixPath(file).name == ABOUT for file in self.files)


def _name(dump: LandedDump) -> str:
    return f"dump {dump.dump[:12]} of {dump.system}, {dump.begins}"


class Times:
    """When some files or folders of a store changed, beside what the cache remembers of them."""

    def __init__(self, store: Store, kind: str, names: Iterable[str]) -> None:
        """Look at the times of now."""
        place = blake2b(store.location.encode(), digest_size=16).hexdigest()
        self._key = f"{kind}-{place}"
        self._now = {name: store.files.changed(name) for name in names}
        self._whole = remembered(self._key, dict[str, float]) or {}

    @property
    def changed(self) -> list[str]:
        """Those that were not seen to be whole at this time."""
        return [name for name, time in self._now.items() if self._whole.get(name) != time]

    def remember(self, damaged: Collection[str]) -> None:
        """Remember that all others are whole."""
        whole = {name: time for name, time in self._now.items() if name not in damaged}
        if whole != self._whole:
            remember(self._key, whole)


def missing_at_once(store: Store) -> list[Incomplete]:
    """The dumps of a store on a disk that lack files; damage inside files is not seen."""
    times = Times(store, "whole", store.manifest.folders())
    changed = times.changed
    found = incomplete_dumps(store, changed, tables=False) if changed else []
    times.remember({each.dump.folder for each in found})
    return found


def incomplete_dumps(
    store: Store,
    folders: Collection[str] | None = None,
    *,
    tables: bool = True,
) -> list[Incomplete]:
    """The dumps that lack files, in order.

    Args:
        folders: only the dumps in these are looked at.
        tables: on a disk, too, those whose tables have lost their end.
    """
    while True:
        version = store.manifest.version
        found = _look(store, folders, tables=tables)
        # Else another process has merged or pruned meanwhile.
        if not found or store.manifest.version == version:
            return found


def _look(store: Store, folders: Collection[str] | None, *, tables: bool) -> list[Incomplete]:
    among = None if folders is None else frozenset(folders)
    dumps = [dump for dump in store.dumps() if among is None or dump.folder in among]
    every = {dump.folder for dump in dumps}
    present = dict(_each(store, every, lambda folder: _present(store, folder, tables=tables)))
    found = (Incomplete(dump, _lacks(dump, present[dump.folder])) for dump in dumps)
    return [each for each in found if each.files]


def _lacks(dump: LandedDump, present: Collection[str]) -> tuple[str, ...]:
    lost = [] if _line_of(dump.dump) in present else [ABOUT]
    lost += (name for table in sorted(dump.tables) if (name := f"{table}.parquet") not in present)
    return tuple(f"{dump.folder}/{name}" for name in lost)


def _present(store: Store, folder: str, *, tables: bool) -> set[str]:
    """The files of a folder that are whole as far as is looked, and the dumps that one tells of."""
    names = {PurePosixPath(name).name for name in store.files.names(folder)}
    if ABOUT in names:
        names.remove(ABOUT)
        with suppress(UnreadableError):
            names |= {_line_of(about["dump"]) for about in store.manifest.abouts(folder)}
    if tables and store.files.is_local:
        parquet = (name for name in names if name.endswith(".parquet"))
        names -= {name for name in parquet if not _has_end(store.root / folder / name)}
    return names


def _line_of(dump: str) -> str:
    """What stands for the line of a dump in `dump.json`."""
    return f"{ABOUT} {dump}"


def _has_end(file: Path) -> bool:
    """Whether a Parquet file was not cut off, as far as its last bytes say."""
    with file.open("rb") as stream:
        begin = stream.read(len(_MAGIC))
        stream.seek(max(0, stream.seek(0, 2) - len(_MAGIC)))
        return begin == stream.read() == _MAGIC


def _each(
    store: Store, folders: Collection[str], look: Callable[[str], set[str]]
) -> Iterator[tuple[str, set[str]]]:
    """What is found in each folder; of object storage in several at the same time."""
    if store.files.is_local:
        yield from ((folder, look(folder)) for folder in folders)
        return
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        yield from zip(folders, pool.map(look, folders), strict=True)


@dataclass(slots=True)
class Repaired:
    """What was done.

    Attributes:
        named: dumps that the manifest had no more, and has again.
        mended: dumps whose `dump.json` was written again.
        dropped: dumps that the manifest has no more.
    """

    named: list[LandedDump] = field(default_factory=list)
    mended: list[Incomplete] = field(default_factory=list)
    dropped: list[Incomplete] = field(default_factory=list)

    def texts(self) -> Iterator[str]:
        """What was done, a line each."""
        for dump in self.named:
            yield f"{_name(dump)}: no line of the manifest named it, one does again"
        for each in self.mended:
            yield f"{each.name}: {ABOUT} was written again from the manifest"
        for each in self.dropped:
            yield f"{each.name}: dropped, {each.lost} cannot be read; land it again"


def repair(store: Store, folders: Collection[str] | None = None) -> Repaired:
    """Write again what can be, and drop dumps that lack tables. What is repaired stays as it is.

    Args:
        folders: only the dumps in these are repaired.

    Raises:
        StoreError: the disk or the network refuses it; what was done stays so.
        BusyError: another process merges, in object storage.
    """
    done = Repaired() if folders is not None else Repaired(store.manifest.name_again())
    by_folder: defaultdict[str, list[Incomplete]] = defaultdict(list)
    for each in incomplete_dumps(store, folders):
        by_folder[each.dump.folder].append(each)
    for folder, found in by_folder.items():
        dropped = [each for each in found if not each.can_be_mended]
        of_folder = store.manifest.merged_in(folder) or {each.dump.dump for each in found}
        if any(f"{folder}/{ABOUT}" in each.files for each in found) and (
            len(dropped) < len(of_folder)
        ):
            store.files.replace(f"{folder}/{ABOUT}", "".join(store.manifest.lines(folder)).encode())
            done.mended += [each for each in found if each.can_be_mended]
        if dropped and _drop(store, folder, [each.dump for each in dropped]):
            done.dropped += dropped
    return done


def _drop(store: Store, folder: str, dumps: Sequence[LandedDump]) -> bool:
    """Take dumps of a folder out of the manifest; False if they changed meanwhile."""
    names = {dump.dump for dump in dumps}
    others = {*store.manifest.merged_in(folder)} - names
    if others:  # the rows of the dropped ones are taken out of the files of the month
        left = (dump for dump in store.dumps() if dump.dump in others)
        return rewrite(store, Month.build(left), names)
    with store.alone():
        if any(store.manifest.find(dump.dump) != dump for dump in dumps):
            return False
        # First: without its lines a folder on a disk would still be found by patterns.
        put_aside(store.files, folder)
        store.manifest.drop(dumps)
    return True
