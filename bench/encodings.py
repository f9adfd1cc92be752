"""Parquet settings by role and width of a column: what `store/format/staging.py` chooses from."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from cpmon.schemas.field import Field
from cpmon.schemas.registry import layout
from cpmon.store.format.staging import ROW_GROUP_ROWS, settings

from .decode import USEACT
from .landing import Tables
from .machine import MEGA
from .result import Row, Section
from .timing import best_seconds

PLAIN, SPLIT, DELTA, DICTIONARY = "PLAIN", "BYTE_STREAM_SPLIT", "DELTA_BINARY_PACKED", "DICTIONARY"


@dataclass(frozen=True)
class Choice:
    """One way to write a column."""

    encoding: str
    compression: str

    def __str__(self) -> str:
        """Name of the line."""
        packed = "zstd 1" if self.compression == "zstd" else self.compression
        return f"{self.encoding.lower().replace('_', ' ')}, {packed}"

    def options(self, columns: list[str]) -> dict[str, Any]:
        """For pyarrow."""
        plain = self.encoding in (PLAIN, DICTIONARY)
        return {
            "use_dictionary": self.encoding == DICTIONARY,
            "column_encoding": None if plain else dict.fromkeys(columns, self.encoding),
            "compression": self.compression,
            "compression_level": 1 if self.compression == "zstd" else None,
            "write_statistics": False,
        }


CHOICES = (
    Choice(PLAIN, "none"),
    Choice(PLAIN, "lz4"),
    Choice(PLAIN, "zstd"),
    Choice(SPLIT, "lz4"),
    Choice(SPLIT, "zstd"),
    Choice(DELTA, "none"),
    Choice(DELTA, "lz4"),
    Choice(DELTA, "zstd"),
    Choice(DICTIONARY, "none"),
    Choice(DICTIONARY, "zstd"),
)


def measure(tables: Tables, repetitions: int) -> list[Section]:
    """A section for each role and width of numbers in USEACT. `tables`: see `decoded_tables`.

    Raises:
        AssertionError: a table does not come back as it was written.
    """
    parts = [table for name, table in tables if name == USEACT]
    whole = pa.concat_tables(parts).slice(0, ROW_GROUP_ROWS).combine_chunks()
    return [
        _section(role, width, whole.select(names), repetitions)
        for (role, width), names in _groups().items()
    ]


def _groups() -> dict[tuple[str, int], list[str]]:
    """Names of USEACT's number columns by role and bytes."""

    def kind(field: Field) -> tuple[str, int]:
        return str(field.role), field.length

    numbers = sorted((f for f in layout(USEACT).columns if f.is_number), key=kind)
    return {key: [f.name for f in group] for key, group in itertools.groupby(numbers, key=kind)}


def _section(role: str, width: int, table: pa.Table, repetitions: int) -> Section:
    used = chosen(table.schema)
    rows = []
    for choice in CHOICES:
        if choice.encoding == SPLIT and width == 1:
            continue
        written = write(table, choice)
        if not pq.read_table(pa.BufferReader(written)).equals(table):
            raise AssertionError(f"{choice}: the table does not come back")
        best = best_seconds(
            {
                "write": lambda choice=choice: write(table, choice),  # type: ignore[misc]
                "read": lambda written=written: pq.read_table(  # type: ignore[misc]
                    pa.BufferReader(written), use_threads=False
                ),
            },
            repetitions,
        )
        figures = {
            "write MB/s": table.nbytes / MEGA / best["write"],
            "read MB/s": table.nbytes / MEGA / best["read"],
            "size %": 100 * written.size / table.nbytes,
        }
        rows.append(Row(str(choice), figures, "<- store/parquet.py" if choice == used else ""))
    given = (
        f"{table.num_columns} columns x {table.num_rows:,} rows, {table.nbytes / MEGA:.1f} MB of "
        f"Arrow, one row group, one thread, to memory; best of {repetitions}"
    )
    return Section(f"Parquet settings: {role}s of {width} bytes in USEACT", given, tuple(rows))


def write(table: pa.Table, choice: Choice) -> pa.Buffer:
    """A table as one row group of a Parquet file in memory."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=len(table), **choice.options(table.column_names))
    return sink.getvalue()


def chosen(schema: pa.Schema) -> Choice | None:
    """How the store writes these columns, if it writes all of them in one way."""
    used = settings(schema)
    dictionaries = used["use_dictionary"] or []
    encodings = used["column_encoding"] or {}
    encoded = {
        DICTIONARY if name in dictionaries else encodings.get(name, PLAIN) for name in schema.names
    }
    return Choice(encoded.pop(), used["compression"]) if len(encoded) == 1 else None
