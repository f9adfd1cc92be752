"""Rows of a landed table straight from its files, for those who compute without a database."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from ..schemas.arrow import schemas
from .views import PLACE


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
        self._groups: list[tuple[Path, pq.FileMetaData, list[int]]] = []
        for file in (folder / f"{table}.parquet" for folder in dumps):
            if file.exists():
                about = pq.read_metadata(file)
                self._groups.append((file, about, _wanted(about, ends)))

    def __len__(self) -> int:
        return sum(
            about.row_group(group).num_rows for _, about, groups in self._groups for group in groups
        )

    def read(self, columns: Collection[str]) -> pa.Table:
        """Some columns, with the types of the table's schema; NULL where a file has no such one.

        Text is a dictionary, as it landed, but for the place of the rows.
        """
        schema = pa.schema(
            [pa.field(c, pa.string()) if c in PLACE else self._schema.field(c) for c in columns]
        )
        pieces = [
            _read(file, about, groups, schema) for file, about, groups in self._groups if groups
        ]
        return pa.concat_tables([schema.empty_table(), *pieces]).unify_dictionaries()


def readable(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A landed column with the type that the views give it."""
    if pa.types.is_dictionary(column.type):
        return column.cast(pa.string())
    small = pa.types.is_unsigned_integer(column.type) and column.type.bit_width < 64
    return column.cast(pa.int64()) if small else column


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


def _read(file: Path, about: pq.FileMetaData, groups: list[int], schema: pa.Schema) -> pa.Table:
    with pq.ParquetFile(file, metadata=about) as stored:
        there = [name for name in schema.names if name in stored.schema_arrow.names]
        rows = stored.read_row_groups(groups, there, use_threads=False)
    place = {part.partition("=")[0]: unquote(part.partition("=")[2]) for part in file.parts}
    count = sum(about.row_group(group).num_rows for group in groups)
    columns = {}
    for field in schema:
        if field.name in there:
            columns[field.name] = rows.column(field.name).cast(field.type)
        elif field.name in PLACE:
            columns[field.name] = pa.repeat(place[field.name], count)
        else:
            columns[field.name] = pa.nulls(count, field.type)
    return pa.table(columns, schema=schema)
