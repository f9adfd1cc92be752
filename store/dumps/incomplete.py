"""Dumps of the manifest that lack files, whatever took these: readers do without them.

A question over them would have no answer, or a wrong one where patterns find the files that are
left. Who opens a store on a disk compares the times of the folders of its dumps with those that
they had when they were whole: a file that is removed changes the time of its folder. In object
storage files are looked for once a question has failed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import PurePosixPath

from ...schemas.amounts import counted
from ...schemas.derived import remember, remembered
from ...schemas.errors import UnreadableError
from .landed_dump import ABOUT, LandedDump
from .store import Store

AT_ONCE = 16
"""Folders that are listed at the same time in object storage."""
TOLD = 5
"""Dumps that get a note of their own."""


@dataclass(frozen=True, slots=True)
class Incomplete:
    """A dump and its files that are missing, by their names below the store; or damaged."""

    dump: LandedDump
    files: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people know it by."""
        return f"dump {self.dump.dump[:12]} of {self.dump.system}, {self.dump.begins}"

    @property
    def lost(self) -> str:
        """Which files are missing or damaged: of many the first one."""
        first, more = PurePosixPath(self.files[0]).name, len(self.files) - 1
        return first + (f" and {counted(more, 'other file')}" if more else "")

    @property
    def can_be_mended(self) -> bool:
        """Whether all that it lacks stands in the manifest as well."""
        return all(PurePosixPath(file).name == ABOUT for file in self.files)


def readable_part(store: Store, *, thorough: bool = False) -> tuple[Store, list[str]]:
    """The store as readers can answer from it, and notes on the dumps that they do without.

    Args:
        thorough: files are looked for in object storage too, and what is written about dumps is
            read.
    """
    if thorough:
        found = incomplete_dumps(store)
    elif store.files.is_local:
        found = _seen_at_once(store)
    else:
        found = []
    if not found:
        return store, []
    return store.without({each.dump.dump for each in found}), notes(store, found)


def notes(store: Store, found: Collection[Incomplete]) -> list[str]:
    """What is said of dumps that a question does without, and what to do."""
    told = [f"note: {each.name}, is left out: {each.lost} cannot be read" for each in found]
    if len(told) > TOLD:
        told[TOLD:] = [f"note: so are {counted(len(told) - TOLD, 'other dump')}"]
    remedy = f"put the files back, or run cpmon store repair --store {store.files.location}"
    return [*told, f"  remedy: {remedy}"]


def incomplete_dumps(
    store: Store,
    folders: Collection[str] | None = None,
    *,
    reads: bool = True,
) -> list[Incomplete]:
    """The dumps that lack files, in order.

    Args:
        folders: only the dumps in these are looked at.
        reads: what is written about dumps is read, so that damage in it is found.

    Raises:
        StoreError: the disk or the network refuses it.
    """
    while True:
        version = store.manifest.version
        found = _look(store, folders, reads=reads)
        # Else another process has merged or pruned meanwhile.
        if not found or store.manifest.version == version:
            return found


def _seen_at_once(store: Store) -> list[Incomplete]:
    """The same of a store on a disk, where only folders are listed that have another time."""
    times = {folder: store.files.changed(folder) for folder in store.manifest.folders()}
    name = f"whole-{blake2b(store.location.encode(), digest_size=16).hexdigest()}"
    known = remembered(name, dict[str, float]) or {}
    changed = [folder for folder, time in times.items() if known.get(folder) != time]
    if not changed and len(known) == len(times):
        return []
    found = incomplete_dumps(store, changed, reads=False)
    lacking = {each.dump.folder for each in found}
    remember(name, {folder: time for folder, time in times.items() if folder not in lacking})
    return found


def _look(store: Store, folders: Collection[str] | None, *, reads: bool) -> list[Incomplete]:
    among = None if folders is None else frozenset(folders)
    dumps = [dump for dump in store.dumps() if among is None or dump.folder in among]
    present = dict(
        _each(
            store,
            {dump.folder for dump in dumps},
            lambda folder: _present(store, folder, reads=reads),
        )
    )
    found = (Incomplete(dump, _lacks(dump, present[dump.folder])) for dump in dumps)
    return [each for each in found if each.files]


def _present(store: Store, folder: str, *, reads: bool) -> set[str]:
    """The files of a folder, without what is written about its dumps where that is damaged."""
    names = {PurePosixPath(name).name for name in store.files.names(folder)}
    if reads and ABOUT in names:
        try:
            store.manifest.abouts(folder)
        except UnreadableError:
            names.discard(ABOUT)
    return names


def _lacks(dump: LandedDump, present: Collection[str]) -> tuple[str, ...]:
    expected = [ABOUT, *(f"{table}.parquet" for table in sorted(dump.tables))]
    return tuple(f"{dump.folder}/{name}" for name in expected if name not in present)


def _each(
    store: Store, folders: Collection[str], look: Callable[[str], set[str]]
) -> Iterator[tuple[str, set[str]]]:
    """What is found in each folder; of object storage in several at the same time."""
    if store.files.is_local:
        yield from ((folder, look(folder)) for folder in folders)
        return
    with ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        yield from zip(folders, pool.map(look, folders), strict=True)
