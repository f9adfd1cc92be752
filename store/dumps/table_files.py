"""Which files have the rows of a table that some dumps have landed in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from .landed_dump import MONTHS, LandedDump
from .manifest import Manifest


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
