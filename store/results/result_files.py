"""Files of materialized results: writing them, and SQL relations over them."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ...core.errors import CpmonError, UnreadableError
from ...core.grace_period import day_condition
from ...core.sql import text, union_all
from ..files.disk import disk_error
from ..files.plain_paths import path_text
from ..format.store import Store
from .entries import METADATA, Day, Entry, Piece

if TYPE_CHECKING:
    import duckdb

    from ..sandbox.sandbox import RestrictedThreads


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A file, by name, and the days whose rows are read from it; all rows if there are no days."""

    name: str
    days: tuple[Day, ...] = ()


def schema_of(store: Store, file: str) -> pa.Schema:
    """The schema of a file.

    Raises:
        UnreadableError: the file is missing or damaged, or has a nested column, as no result has.
    """
    import pyarrow.parquet as pq  # takes 20 ms

    try:
        with pq.ParquetFile(store.files.opened(file)) as opened:
            schema = opened.schema_arrow
    except FileNotFoundError:
        found = "no such file"
    except (pa.ArrowException, OSError) as error:
        found = str(error).partition("\n")[0]
    else:
        nested = [c for c in schema if pa.types.is_nested(c.type)]
        if not nested:
            return schema
        found = f"column {nested[0].name} is {nested[0].type}"
    raise UnreadableError(
        "a kept result cannot be read",
        code="result-damaged",
        place=store.files.uri(file),
        found=found,
        effect="nothing was changed",
        remedy="take it out with cpmon store drop FILE; cpmon reduce then computes it again",
    )


def files_of(pieces: Iterable[Piece]) -> tuple[ResultFile, ...]:
    """The files with the rows of some pieces, by name."""
    by_name: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_name.setdefault(piece.file, []).append(piece)
    files = []
    for name, group in sorted(by_name.items()):
        days = tuple(sorted((piece.system, piece.day) for piece in group))
        is_whole = group[0].month in (None, {day for _, day in days})
        files.append(ResultFile(name, () if is_whole else days))
    return tuple(files)


def result_rows(
    store: Store, files: Collection[ResultFile], *, hive: bool = False, union: bool = False
) -> str:
    """SQL relation over the rows of files.

    Args:
        hive: read level and system from the paths.
        union: columns may differ: DuckDB opens all files to bind, not only the first.
    """
    whole = [file.name for file in files if not file.days]
    parts = [_parquet(store, whole, hive=hive, union=union)] if whole else []
    parts += [
        f"(SELECT * FROM {_parquet(store, [file.name], hive=hive, union=union)}"
        f" WHERE {is_one_of(file.days)})"
        for file in files
        if file.days
    ]
    return union_all(parts)


def is_one_of(days: Iterable[Day]) -> str:
    """SQL condition on system and interval end: the row belongs to one of the days."""
    spans: list[tuple[str, date, date]] = []
    for system, day in sorted(days):
        if spans and spans[-1][0] == system and spans[-1][2] + timedelta(days=1) == day:
            spans[-1] = (system, spans[-1][1], day)
        else:
            spans.append((system, day, day))
    each = [f"(system = {text(s)} AND {day_condition(first, last)})" for s, first, last in spans]
    return f"({' OR '.join(each)})"


def _parquet(store: Store, files: Sequence[str], *, hive: bool, union: bool) -> str:
    listed = ", ".join(text(store.files.engine_path(file)) for file in files)
    types = ", hive_types = {'level': VARCHAR, 'system': VARCHAR}" if hive else ""
    return f"read_parquet([{listed}], union_by_name = {union}, hive_partitioning = {hive}{types})"


FORMAT = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 2000"
"""COPY options of results. Larger dictionaries save little, since most columns are rates."""


class QueryWriter:
    """Runs statements, and writes the rows of queries to files.

    Attributes:
        connection: not shared, since temporary tables are local to a connection.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, threads: RestrictedThreads | None = None
    ) -> None:
        """Takes over a connection and sets its time zone to UTC.

        Args:
            threads: run its statements, from the first `execute` on.
        """
        self.connection, self._threads = connection, threads
        self.connection.execute("SET TimeZone = 'UTC'")

    def write_query(self, query: str, path: Path, entry: Entry | None = None) -> int:
        """Writes the rows of a query to a durable Parquet file; returns their number.

        Args:
            entry: that of the file, for its metadata.

        Raises:
            CpmonError: the memory limit is too small.
        """
        options = FORMAT
        if entry is not None:
            options += f", KV_METADATA {{{METADATA}: {text(entry.text)}}}"
        ((count,),) = self.execute(f"COPY ({query}) TO {path_text(path)} ({options})").fetchall()
        with path.open("rb") as written:
            os.fsync(written.fileno())
        return int(count)

    def execute(self, sql: str, values: object = None) -> duckdb.DuckDBPyConnection:
        """Runs a statement. `values`: of its parameters.

        Raises:
            OSError: data that exceeds the memory cannot be written to disk.
            CpmonError: the memory limit is too small.
        """
        import duckdb  # here, since landing a dump does not need it

        try:
            if self._threads is None:
                return self.connection.execute(sql, values)
            return self._threads.run(self.connection, lambda: self.connection.execute(sql, values))
        except duckdb.IOException as error:
            raise disk_error(error) from error
        except duckdb.OutOfMemoryException as error:
            raise CpmonError(
                "the memory limit is too small for a reduction",
                code="memory-limit-too-small",
                found=str(error).split("\n", maxsplit=1)[0],
                effect="complete results are kept",
                remedy="raise memory_limit in the settings",
            ) from error
