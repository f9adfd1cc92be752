"""A dump that is being written: its tables as Parquet, in a folder that no reader sees yet.

Rows are buffered into row groups. Encodings depend on the role of a column; they are measured
(`make bench` prints the comparison): counters and gauges are split by byte and compressed, since
their high bytes rarely change; repeating values use a dictionary; increasing values are stored as
differences.
"""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..files.disk import writing

WAITING_BYTES = 48 * 1024 * 1024
"""Limit of buffered rows over all tables of a dump; above it, one row group is written."""


@dataclass
class Staging:
    """A dump that is being written; invisible until it is published.

    Attributes:
        folder: its files until then.
    """

    folder: Path
    _writers: dict[str, TableWriter] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, int]:
        """Number of rows written so far, by table."""
        return {name: writer.rows for name, writer in sorted(self._writers.items())}

    def write(self, name: str, table: pa.Table) -> None:
        """Appends rows to a table of the dump."""
        with writing(self.folder.parent.parent):
            if name not in self._writers:
                self._writers[name] = TableWriter(self.folder / f"{name}.parquet", table.schema)
            self._writers[name].write(table)
            if sum(writer.waiting_bytes for writer in self._writers.values()) > WAITING_BYTES:
                max(self._writers.values(), key=lambda writer: writer.flush_gain).flush()

    def close(self) -> None:
        """Finishes all tables and fsyncs them, two at a time: mostly it waits for the disk."""
        with ThreadPoolExecutor(max_workers=2) as pool:
            for _ in pool.map(TableWriter.close, self._writers.values()):
                pass

    def abandon(self) -> None:
        """Closes the files without finishing them."""
        for writer in self._writers.values():
            writer.abandon()


ROW_GROUP_BYTES = 16 * 1024 * 1024
"""Arrow bytes buffered per row group: about what one window adds to a busy table, so that writing
is continuous and little is left at the end."""
ROW_GROUP_ROWS = 256 * 1024

CLIMBING = ("tod", "tod_us", "record_offset")
FEW_VALUES = ("interval_end", "entry", "system", "date", "dump")


class TableWriter:
    """One Parquet file, written in row groups.

    Tables may arrive in any size. Text columns share one dictionary within a row group.
    """

    def __init__(self, path: Path, schema: pa.Schema, group_bytes: int = ROW_GROUP_BYTES) -> None:
        import pyarrow.parquet as pq  # takes 20 ms, which readers do without

        self.rows = self.bytes = 0
        self.waiting_bytes = 0
        self.waiting_rows = 0
        self._schema = schema
        self._group_bytes = group_bytes
        self._waiting: list[pa.Table] = []
        self._path = path
        # Arrow's own file: writing through a Python one would stop the decoding thread each time.
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pq.ParquetWriter(self._file, schema, **settings(schema))

    def write(self, table: pa.Table) -> None:
        """Appends rows; they are written once a row group is full."""
        self._waiting.append(table)
        self.bytes += table.nbytes
        self.waiting_bytes += table.nbytes
        self.waiting_rows += len(table)
        self.rows += len(table)
        if self.waiting_bytes >= self._group_bytes or self.waiting_rows >= ROW_GROUP_ROWS:
            self.flush()

    @property
    def flush_gain(self) -> float:
        """Benefit of a flush now: bytes freed, squared, per cost.

        Each column of a row group takes about 0.9 kB of memory until the file is closed. For a
        fixed total of buffers, this metadata is smallest if buffer sizes follow
        sqrt(rate * columns).
        """
        return self.waiting_bytes**2 / (len(self._schema) * self.bytes) if self.bytes else 0.0

    def close(self, *, durable: bool = True) -> None:
        """Writes the buffered rows and closes the file; `durable` also fsyncs it."""
        self.flush()
        self._writer.close()
        self._file.close()
        if durable:
            with self._path.open("rb") as written:
                os.fsync(written.fileno())

    def abandon(self) -> None:
        """Closes the file without finishing it; no further writes are possible."""
        self._waiting.clear()
        # Otherwise pyarrow would try to write the footer when the writer is garbage collected.
        with contextlib.suppress(OSError, ValueError):
            self._writer.close()
        with contextlib.suppress(OSError):
            self._file.close()

    def flush(self) -> None:
        """Writes the buffered rows as one row group."""
        if self._waiting:
            whole = pa.concat_tables(self._waiting).unify_dictionaries()
            self._writer.write_table(whole, row_group_size=max(len(whole), 1))
        self._waiting, self.waiting_bytes, self.waiting_rows = [], 0, 0


def settings(schema: pa.Schema) -> dict[str, Any]:
    """Parquet writer options for a landed table: encoding and compression of each column."""
    encodings, dictionaries = {}, []
    for column in schema:
        kind = _encoding(column)
        if kind == "DICTIONARY":
            dictionaries.append(column.name)
        elif kind:
            encodings[column.name] = kind
    return {
        "use_dictionary": dictionaries or False,
        "column_encoding": encodings or None,
        "compression": "zstd",
        "compression_level": 1,
        "write_statistics": ["tod", "tod_us", "interval_end", "system", "date", "dump"],
        "version": "2.6",
        "data_page_version": "1.0",
    }


def _encoding(column: pa.Field) -> str | None:
    role = (column.metadata or {}).get(b"role", b"").decode()
    if column.name in CLIMBING:
        return "DELTA_BINARY_PACKED"
    if pa.types.is_dictionary(column.type) or column.name in FEW_VALUES:
        return "DICTIONARY"
    if role in ("key", "flag") and pa.types.is_integer(column.type):
        return "DICTIONARY"
    if pa.types.is_integer(column.type) and column.type.bit_width >= 32:
        return "BYTE_STREAM_SPLIT"
    return None
