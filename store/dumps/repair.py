"""Repairs a store in which files of dumps are missing: what is whole stays, nothing is deleted.

What is written about a dump is written again where only that is missing. A dump that lacks tables
is dropped from the manifest, so that it can land again; what is left of it is put aside, on a disk
into `aside/`, in object storage it stays where it is and nobody reads it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

from .cleanup import put_aside
from .compaction import Month, rewrite
from .incomplete import Incomplete, incomplete_dumps
from .landed_dump import ABOUT, LandedDump
from .store import Store


@dataclass(slots=True)
class Repaired:
    """What was done.

    Attributes:
        mended: dumps whose `dump.json` was written again.
        dropped: dumps that the manifest has no more.
    """

    mended: list[Incomplete] = field(default_factory=list)
    dropped: list[Incomplete] = field(default_factory=list)

    def texts(self) -> Iterator[str]:
        """What was done, a line each."""
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
    done = Repaired()
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
