"""Rows of a landed table straight from its files, for those who compute without a database."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..schemas.arrow import schemas
from .views import PLACE, name


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
        schema = pa.schema(
            [pa.field(c, pa.string()) if c in PLACE else self._schema.field(c) for c in columns]
        )
        # Of one piece each number column is one array, which numpy takes without a copy.
        pieces = [piece.read(schema) for piece in self._pieces] or [schema.empty_table()]
        return pa.concat_tables(pieces).unify_dictionaries()


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
    place = about.schema.names.index("interval_end")
    groups = range(about.num_row_groups)
    return [g for g in groups if _may_hold(about.row_group(g).column(place).statistics, ends)]


def _may_hold(said: pq.Statistics | None, ends: npt.NDArray[np.int64]) -> bool:
    """Whether one of some ends is between the least and the greatest that a group says it has."""
    if said is None or not said.has_min_max:
        return True
    return bool(
        np.searchsorted(ends, _us(said.min)) < np.searchsorted(ends, _us(said.max), "right")
    )


def _us(time: datetime) -> int:
    return int(np.datetime64(time, "us").astype(np.int64))
