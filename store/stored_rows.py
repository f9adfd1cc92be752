"""Rows of a landed table straight from its files, for those who compute without a database."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..schemas.arrow import schemas
from .views import PLACE, name

Span = tuple[int, int]
"""First and last of some times, microseconds since 1970."""
PART = 1 << 17
"""Rows that are read at once, or a few more, where not all are needed together: what is used up by
then makes room for the next, and memory that is used for the first time is slow."""


class StoredRows:
    """What some dumps hold of a table, but for groups of rows without a wanted interval.

    Rows of other intervals, or of none, are among them. `len` is their number.
    """

    def __init__(self, table: str, dumps: Iterable[Path], ends: npt.NDArray[np.int64]) -> None:
        """Look up where they are.

        Args:
            dumps: their folders; some may not have the table.
            ends: of the wanted intervals, in order, microseconds since 1970.
        """
        self._schema = schemas()[table]
        found = (_Piece.of(folder / f"{table}.parquet", ends) for folder in dumps)
        self._pieces = [piece for piece in found if piece is not None]

    def __len__(self) -> int:
        return sum(len(piece) for piece in self._pieces)

    def has(self, columns: Collection[str]) -> bool:
        """Whether some columns can be read: other layouts may have landed other types."""
        if not {*PLACE, *self._schema.names} >= {*columns}:
            return False
        types = {c: self._schema.field(c).type for c in columns if c not in PLACE}
        return all(types.get(f.name, f.type) == f.type for p in self._pieces for f in p.schema)

    def read(self, columns: Collection[str]) -> pa.Table:
        """Some columns that it `has`; NULL where a file lacks one.

        Text is a dictionary, as it landed, but for the place of the rows.
        """
        return self._read(self._pieces, columns)

    def parts(self, columns: Collection[str], rows: int = PART) -> Iterator[pa.Table]:
        """The same, about so many rows at a time, in the order of time.

        All at once where they have not landed so.
        """
        groups = [(piece, group) for piece in self._pieces for group in piece.groups]
        if not groups or not _follow([_span(piece.about, group) for piece, group in groups]):
            yield self.read(columns)
            return
        sizes = (piece.about.row_group(group).num_rows for piece, group in groups)
        placed = zip(itertools.accumulate(sizes, initial=0), groups, strict=False)
        for _, some in itertools.groupby(placed, lambda place: place[0] // rows):
            of_piece = itertools.groupby((found for _, found in some), lambda found: found[0])
            pieces = [replace(piece, groups=[g for _, g in found]) for piece, found in of_piece]
            yield self._read(pieces, columns)

    def _read(self, pieces: Sequence[_Piece], columns: Collection[str]) -> pa.Table:
        schema = pa.schema(
            [pa.field(c, pa.string()) if c in PLACE else self._schema.field(c) for c in columns]
        )
        # Of one piece each number column is one array, which numpy takes without a copy.
        tables = [piece.read(schema) for piece in pieces] or [schema.empty_table()]
        return pa.concat_tables(tables).unify_dictionaries()


@dataclass(frozen=True, slots=True)
class _Piece:
    """The groups of rows of a file that are read."""

    file: Path
    about: pq.FileMetaData
    schema: pa.Schema
    groups: list[int]

    @classmethod
    def of(cls, file: Path, ends: npt.NDArray[np.int64]) -> _Piece | None:
        """Those that may hold rows of some intervals; None if there are none."""
        if not file.exists():
            return None
        with pq.ParquetFile(file) as stored:
            about, schema = stored.metadata, stored.schema_arrow
        groups = _wanted(about, ends)
        return cls(file, about, schema, groups) if groups else None

    def __len__(self) -> int:
        return sum(self.about.row_group(group).num_rows for group in self.groups)

    def read(self, schema: pa.Schema) -> pa.Table:
        """The columns of a schema."""
        there = [column for column in schema.names if column in self.schema.names]
        with pq.ParquetFile(self.file, metadata=self.about) as stored:
            rows = stored.read_row_groups(self.groups, there, use_threads=False)
        parts = (part.partition("=") for part in self.file.parts)
        place = {column: unquote(said) for column, _, said in parts}
        columns = {}
        for field in schema:
            if field.name in there:
                columns[field.name] = rows.column(field.name)
            elif field.name in PLACE:
                columns[field.name] = pa.repeat(place[field.name], len(self))
            else:
                columns[field.name] = pa.nulls(len(self), field.type)
        return pa.table(columns, schema=schema)


def readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A landed column, text as such; whole numbers stay as wide as they landed."""
    return column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column


def ticks(times: pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """(rows,) microseconds since 1970 of times that are all known.

    Straight from memory: any conversion of Arrow first imports pandas, a quarter of a second in
    which files can be read already.
    """
    if not len(times):
        return np.empty(0, dtype=np.int64)
    whole = times.cast(pa.timestamp("us")).cast(pa.int64()).combine_chunks()
    return np.frombuffer(whole.buffers()[1], np.int64)[whole.offset :][: len(whole)]


def as_in_views(rows: pa.Table) -> str:
    """The columns of rows in SQL, whole numbers as the views have them.

    Most are of 32 bits, and twice as wide they are in the way: an engine widens them as it reads.
    """
    return ", ".join(
        f"CAST({name(c.name)} AS BIGINT) AS {name(c.name)}" if is_narrow(c.type) else name(c.name)
        for c in rows.schema
    )


def is_narrow(kind: pa.DataType) -> bool:
    """Whether the views show numbers of some type as wider ones."""
    return bool(pa.types.is_unsigned_integer(kind) and kind.bit_width < 64)


def _wanted(about: pq.FileMetaData, ends: npt.NDArray[np.int64]) -> list[int]:
    """The groups of rows that may hold rows of some intervals."""
    groups = range(about.num_row_groups)
    return [group for group in groups if _may_hold(_span(about, group), ends)]


def _may_hold(span: Span | None, ends: npt.NDArray[np.int64]) -> bool:
    """Whether one of some ends is between the first and the last of a group."""
    if span is None:
        return True
    return bool(np.searchsorted(ends, span[0]) < np.searchsorted(ends, span[1], "right"))


def _follow(spans: Sequence[Span | None]) -> bool:
    """Whether all are known, and none begins before the end of the one before it."""
    known = [span for span in spans if span is not None]
    in_order = all(last <= first for (_, last), (first, _) in itertools.pairwise(known))
    return in_order and len(known) == len(spans)


def _span(about: pq.FileMetaData, group: int) -> Span | None:
    """The first and the last end of an interval in a group of rows, if the file says them."""
    said = about.row_group(group).column(about.schema.names.index("interval_end")).statistics
    return (_us(said.min), _us(said.max)) if said is not None and said.has_min_max else None


def _us(time: datetime) -> int:
    return int(np.datetime64(time, "us").astype(np.int64))
