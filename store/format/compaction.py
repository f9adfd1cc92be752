"""Merges the landed dumps of a month, when it is over, into one folder with a file a table.

    months/system=VMSYS1/2001-12.0001-<token>/sytrsp.parquet ... dump.json

A month of daily dumps is 3,000 files, of hourly ones 70,000: a question lists them, and object
storage asks for a request each. The rows of a dump stand together, in the order of dumps by begin;
`dump.json` has a line for each. A dump that lands late has a folder of its own until the next
merge, whose folder has the next number.

The commit is a state of the manifest in which these dumps have the new folder. Their old folders
stay for a while, for readers that have begun before (`states`).
"""

from __future__ import annotations

import errno
import secrets
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...core.errors import CpmonError, UnreadableError
from ..files.disk import sync_folder, write_durably, writing
from ..files.files import Files
from .landed_dump import ABOUT, MONTHS, LandedDump, line
from .staging import TableWriter
from .store import Store

if TYPE_CHECKING:
    import pyarrow.parquet as pq

PLACES = tuple(
    pa.field(name, kind)
    for name, kind in (("system", pa.string()), ("date", pa.date32()), ("dump", pa.string()))
)
"""What the path of a dump says of its rows: columns of the file of a month."""
GROUP_BYTES = 32 * 1024 * 1024
"""Arrow bytes of a row group: twice those of landing, since the footer that each question reads
tells of a whole month."""
TINY = 4_096
"""Dumps with fewer rows of a table share a row group."""


def write_table(
    files: Files,
    table: str,
    dumps: Sequence[LandedDump],
    path: Path,
    dropped: Collection[str] = (),
) -> None:
    """Write the rows of a table, with `PLACES` as columns; a row group at a time is held.

    Args:
        dumps: that have the table, in the order of their rows.
        path: of the file on this machine.
        dropped: others whose rows may be in these files.

    Raises:
        UnreadableError: a file is damaged or missing.
    """
    rows = _Rows(files, table, dropped)
    schema = rows.schema(dumps)
    writer = TableWriter(path, schema, GROUP_BYTES)
    try:
        for dump in dumps:
            before, is_first = writer.rows, True
            for part in rows.of(dump):
                if is_first and len(part) >= TINY:
                    writer.flush()
                writer.write(completed(part, schema))
                is_first = False
            if max(writer.rows - before, writer.waiting_rows) >= TINY:
                writer.flush()
        if not dropped:
            rows.check(writer.rows)
        writer.close()
    except BaseException:
        writer.abandon()
        raise


class _Rows:
    """The rows of a table, of one dump after the other."""

    def __init__(self, files: Files, table: str, dropped: Collection[str]) -> None:
        self._files, self._table, self._dropped = files, table, dropped
        self._expected = 0
        self._months: dict[str, _RowsOfMonth] = {}

    def schema(self, dumps: Sequence[LandedDump]) -> pa.Schema:
        """That of all files: of other layouts one may lack columns, or have shorter numbers."""
        schemas = []
        for folder in dict.fromkeys(dump.folder for dump in reversed(dumps)):
            with self._opened(folder) as file:
                self._expected += file.metadata.num_rows
                schema = file.schema_arrow
                if schema not in schemas:
                    schemas.append(schema)
        with readable(f"{self._table} of {dumps[0].system} {dumps[0].month}"):
            unified = pa.unify_schemas(schemas, promote_options="permissive")
        own = [column for column in unified if column.name not in {p.name for p in PLACES}]
        return pa.schema([*own, *PLACES], metadata=unified.metadata)

    def of(self, dump: LandedDump) -> Iterator[pa.Table]:
        """The rows of a dump."""
        if dump.is_merged:
            if dump.folder not in self._months:
                self._months[dump.folder] = _RowsOfMonth(self._groups(dump.folder), self._dropped)
            yield from self._months[dump.folder].of(dump.dump)
            return
        day = np.datetime64(dump.folder.split("/")[2].removeprefix("date="), "D")
        for part in self._groups(dump.folder):
            values = (
                _repeated(dump.system, part),
                np.full(len(part), day),
                _repeated(dump.dump, part),
            )
            columns = [*part.columns, *map(pa.array, values, [p.type for p in PLACES])]
            yield pa.table(columns, schema=pa.schema([*part.schema, *PLACES]))

    def check(self, written: int) -> None:
        """Raise unless as many rows were written as the files have."""
        if written != self._expected:
            raise UnreadableError(
                "the files of a month have rows of dumps that the manifest does not name",
                code="manifest-incomplete",
                place=self._table,
                expected=f"{self._expected:,} rows",
                found=f"{written:,}",
                effect="the month is not merged",
                remedy="make the manifest again: cpmon store rebuild",
            )

    def _groups(self, folder: str) -> Iterator[pa.Table]:
        with self._opened(folder) as file:
            for group in range(file.num_row_groups):
                yield file.read_row_group(group)

    def _opened(self, folder: str) -> AbstractContextManager[pq.ParquetFile]:
        return opened(self._files, f"{folder}/{self._table}.parquet")


class _RowsOfMonth:
    """Rows in the file of a month, read dump by dump in file order."""

    def __init__(self, groups: Iterator[pa.Table], dropped: Collection[str]) -> None:
        parts = (part for group in groups for part in _by_dump(group))
        self._parts = (part for part in parts if part[0] not in dropped)
        self._next = next(self._parts, None)

    def of(self, dump: str) -> Iterator[pa.Table]:
        """Yields the rows of a dump; nothing unless the dump comes next."""
        while self._next is not None and self._next[0] == dump:
            yield self._next[1]
            self._next = next(self._parts, None)


def _by_dump(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Splits rows into runs of one dump each."""
    names = rows.column("dump").combine_chunks()
    runs, begin = pc.run_end_encode(names), 0
    for dump, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield dump, rows.slice(begin, end - begin)
        begin = end


def _repeated(value: str, rows: pa.Table) -> pa.StringArray:
    places = np.zeros(len(rows), np.int32)
    return pa.DictionaryArray.from_arrays(places, pa.array([value])).dictionary_decode()


def completed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Casts rows to a schema, in its column order; missing columns become NULL."""
    columns = [
        rows.column(column.name).cast(column.type)
        if column.name in rows.column_names
        else pa.nulls(len(rows), column.type)
        for column in schema
    ]
    return pa.table(columns, schema=schema)


@contextmanager
def opened(files: Files, name: str) -> Iterator[pq.ParquetFile]:
    """A Parquet file of the store; raises UnreadableError if it is damaged or missing."""
    import pyarrow.parquet as pq  # takes 20 ms, which readers do without

    with readable(files.uri(name)), pq.ParquetFile(files.opened(name)) as file:
        yield file


@contextmanager
def readable(place: str) -> Iterator[None]:
    """Maps errors of one file to UnreadableError, which fails only its month."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
            raise
        raise UnreadableError(
            "a file of the store cannot be read",
            code="store-file-unreadable",
            place=place,
            found=str(error).partition("\n")[0],
            effect="the month is not merged; its dumps stay as they are",
            remedy="put the file back from a backup; or see with cpmon store check which dump it"
            " is, take it out with cpmon store drop, and ingest it again",
        ) from None


@dataclass(frozen=True, slots=True)
class Month:
    """Dumps of one system and month in several folders, ordered by begin."""

    system: str
    month: str
    dumps: tuple[LandedDump, ...]

    @classmethod
    def build(cls, dumps: Iterable[LandedDump]) -> Month:
        """Builds the month of dumps that share system and month."""
        in_order = tuple(sorted(dumps, key=_begin))
        return cls(in_order[0].system, in_order[0].month, in_order)

    @property
    def old(self) -> list[str]:
        """Folders that the dumps are in now."""
        return sorted({dump.folder for dump in self.dumps})

    def new_folder(self) -> str:
        """A folder that the dumps can be merged into."""
        number, token = 1 + max(dump.generation for dump in self.dumps), secrets.token_hex(6)
        return f"{MONTHS}/system={quote(self.system, safe='')}/{self.month}.{number:04}-{token}"

    @property
    def tables(self) -> list[str]:
        """Tables that at least one dump of the month has."""
        return sorted(frozenset().union(*(dump.tables for dump in self.dumps)))

    def __str__(self) -> str:
        return f"{self.system} {self.month}"


@dataclass(slots=True)
class Compacted:
    """Result of a compaction: number of dumps and months merged, and errors by month."""

    dumps: int = 0
    months: int = 0
    failures: dict[str, CpmonError] = field(default_factory=dict)


def months(store: Store) -> list[Month]:
    """Months to merge: several folders, and the system has dumps of a later month."""
    by_month: defaultdict[tuple[str, str], list[LandedDump]] = defaultdict(list)
    latest: dict[str, str] = {}
    for dump in store.dumps():
        by_month[dump.system, dump.month].append(dump)
        latest[dump.system] = max(latest.get(dump.system, ""), dump.month)
    return [
        Month.build(dumps)
        for (system, month), dumps in sorted(by_month.items())
        if month < latest[system] and len({dump.folder for dump in dumps}) > 1
    ]


def _begin(dump: LandedDump) -> tuple[str, str]:
    """Sort key of dumps: end of the first interval, to the microsecond, then the name."""
    return dump.first_end or str(dump.begins), dump.dump


def size(store: Store, month: Month) -> int:
    """Total size of the files to merge, in bytes."""
    return sum(file.size for folder in month.old for file in store.files.inside(folder).files)


def compact(
    store: Store, chosen: Sequence[Month], advance: Callable[[int], None] = lambda _done: None
) -> Compacted:
    """Merges months; a month that fails does not stop the others.

    Args:
        advance: called with the bytes done so far, counted as in `size`.

    Raises:
        StoreError: the disk refuses a file; months already merged stay merged.
    """
    compacted, done = Compacted(), 0
    for month in chosen:
        of_month = size(store, month)

        def advance_in_month(written: int, done: int = done) -> None:
            advance(done + written)

        try:
            if merge(store, month, advance=advance_in_month):
                compacted.months += 1
                compacted.dumps += len(month.dumps)
        except UnreadableError as error:
            compacted.failures[str(month)] = error
        done += of_month
        advance(done)
    return compacted


def merge(
    store: Store,
    month: Month,
    dropped: Sequence[LandedDump] = (),
    advance: Callable[[int], None] = lambda _done: None,
) -> bool:
    """Writes the dumps of a month into a new folder, and names that.

    Args:
        month: the dumps that remain.
        dropped: others of the month, which the manifest has no more.
        advance: called with the bytes done so far.

    Returns:
        False if a dump was merged, pruned or dropped meanwhile; then nothing changes.

    Raises:
        StoreError: the disk refuses a file; then nothing changes.
        UnreadableError: a file of a remaining dump is damaged.
    """
    folder = month.new_folder()
    abouts = [{**about, "folder": folder} for about in store.abouts(month.dumps)]
    if len(abouts) < len(month.dumps):
        return False
    with store.files.scratch() as scratch:
        _write(store, month, scratch, [dump.dump for dump in dropped], advance)
        with writing(store.root):
            write_durably(scratch / ABOUT, "".join(map(line, abouts)))
        files = sorted(scratch.iterdir())
        store.files.publish({f"{folder}/{file.name}": file for file in files})
    is_merged = store.manifest.put([*month.dumps, *dropped], abouts)
    if is_merged:  # what tells of the dumps beside their old tables would bring dropped ones back
        store.files.delete(f"{old}/{ABOUT}" for old in month.old)
    else:
        store.files.delete_folders([folder])
    return is_merged


def _write(
    store: Store,
    month: Month,
    scratch: Path,
    dropped: Collection[str],
    advance: Callable[[int], None],
) -> None:
    """Writes the tables of a month to a local scratch folder."""
    done = 0
    sizes = {f.name: f.size for folder in month.old for f in store.files.inside(folder).files}
    with writing(store.root):
        for table in month.tables:
            dumps = [dump for dump in month.dumps if table in dump.tables]
            write_table(store.files, table, dumps, scratch / f"{table}.parquet", dropped)
            done += sum(sizes.get(f"{folder}/{table}.parquet", 0) for folder in month.old)
            advance(done)
        sync_folder(scratch)
