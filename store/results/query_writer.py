"""Runs queries whose rows become a file of results."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb

from ...core.errors import CpmonError
from ..files.disk import disk_error
from ..files.plain_paths import path_text

FORMAT = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 2000"
"""How results are written. Dictionaries of more values than this save few bytes: most are rates."""


class QueryWriter:
    """Runs statements, and writes the rows of queries to files.

    Attributes:
        connection: of its own, since temporary tables belong to one.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Use a connection."""
        self.connection = connection
        self.connection.execute("SET TimeZone = 'UTC'")

    def write_query(self, query: str, path: Path) -> int:
        """Write the rows of a query to a durable file; returns their number.

        Raises:
            OSError: the disk refuses them.
            CpmonError: the memory limit is too small.
        """
        ((count,),) = self.execute(f"COPY ({query}) TO {path_text(path)} ({FORMAT})").fetchall()
        with path.open("rb") as written:
            os.fsync(written.fileno())
        return int(count)

    def execute(self, sql: str, values: object = None) -> duckdb.DuckDBPyConnection:
        """Run a statement. `values`: of its marks.

        Raises:
            OSError: the disk refuses what does not fit into memory.
            CpmonError: the memory limit is too small.
        """
        try:
            return self.connection.execute(sql, values)
        except duckdb.IOException as error:
            raise disk_error(error) from error
        except duckdb.OutOfMemoryException as error:
            raise CpmonError(
                "the memory limit is too small for a reduction",
                code="memory-limit-too-small",
                found=str(error).split("\n", maxsplit=1)[0],
                effect="results that were complete are kept",
                remedy="raise memory_limit in the settings",
            ) from error
