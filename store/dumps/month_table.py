"""Writes the rows that some dumps have of a table into one file, a dump behind the other."""

from __future__ import annotations

import errno
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from ...core.errors import UnreadableError
from ..files.files import Files
from .landed_dump import LandedDump
from .parquet import TableWriter

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
        OSError: the disk refuses it.
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
                writer.write(_completed(part, schema))
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
        self._months: dict[str, _Month] = {}

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
                self._months[dump.folder] = _Month(self._groups(dump.folder), self._dropped)
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

    @contextmanager
    def _opened(self, folder: str) -> Iterator[pq.ParquetFile]:
        name = f"{folder}/{self._table}.parquet"
        with readable(self._files.uri(name)), pq.ParquetFile(self._files.opened(name)) as file:
            yield file


class _Month:
    """The rows in the file of a month: of one dump after the other, as they are asked for."""

    def __init__(self, groups: Iterator[pa.Table], dropped: Collection[str]) -> None:
        parts = (part for group in groups for part in _by_dump(group))
        self._parts = (part for part in parts if part[0] not in dropped)
        self._next = next(self._parts, None)

    def of(self, dump: str) -> Iterator[pa.Table]:
        """The rows of a dump; none unless they come next."""
        while self._next is not None and self._next[0] == dump:
            yield self._next[1]
            self._next = next(self._parts, None)


def _by_dump(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each dump, which stand together."""
    names = rows.column("dump").combine_chunks()
    runs, begin = pc.run_end_encode(names), 0
    for dump, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
        yield dump, rows.slice(begin, end - begin)
        begin = end


def _repeated(value: str, rows: pa.Table) -> pa.StringArray:
    places = np.zeros(len(rows), np.int32)
    return pa.DictionaryArray.from_arrays(places, pa.array([value])).dictionary_decode()


def _completed(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with the columns of a schema, in its order; those that they lack are NULL."""
    columns = [
        rows.column(column.name).cast(column.type)
        if column.name in rows.column_names
        else pa.nulls(len(rows), column.type)
        for column in schema
    ]
    return pa.table(columns, schema=schema)


@contextmanager
def readable(place: str) -> Iterator[None]:
    """Turn what is wrong with a file into an error that stops no other month."""
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.ENOENT):
            raise
        raise UnreadableError(
            "a file of the store cannot be read",
            place=place,
            found=str(error).partition("\n")[0],
            effect="the month is not merged; its dumps stay as they are",
            remedy="put the file back from a backup; or run cpmon store repair, and land the dumps"
            " again that it drops",
        ) from None
