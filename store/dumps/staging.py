"""A dump that is being written: its tables, in a folder that no reader sees yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ..files.disk import writing
from .parquet import TableWriter

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
