"""A dump that is being written: its tables, in a folder that nobody looks into yet."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from ..files.disk import writing
from .parquet import TableWriter

WAITING_BYTES = 48 * 1024 * 1024
"""Rows of all tables of a dump that may wait for their row groups; then one is written."""


@dataclass
class Staging:
    """A dump that is being written; nobody sees it before it is published.

    Attributes:
        folder: where its files are until then.
        rows: rows written so far, by table.
    """

    folder: Path
    _writers: dict[str, TableWriter] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, int]:
        """Rows by table."""
        return {name: writer.rows for name, writer in sorted(self._writers.items())}

    def write(self, name: str, table: pa.Table) -> None:
        """Add rows to a table of the dump.

        Raises:
            StoreError: the disk refuses them.
        """
        with writing(self.folder.parent.parent):
            if name not in self._writers:
                self._writers[name] = TableWriter(self.folder / f"{name}.parquet", table.schema)
            self._writers[name].write(table)
            if sum(writer.waiting_bytes for writer in self._writers.values()) > WAITING_BYTES:
                max(self._writers.values(), key=lambda writer: writer.flush_gain).flush()

    def close(self) -> None:
        """Finish all tables and make them durable: two at a time, most of it is waiting."""
        with ThreadPoolExecutor(max_workers=2) as pool:
            for _ in pool.map(TableWriter.close, self._writers.values()):
                pass

    def abandon(self) -> None:
        """Close the files without finishing them."""
        for writer in self._writers.values():
            writer.abandon()
