"""Files of materialized results: writing them, their indexes, and SQL relations over them.

The files of the days of a past month are merged (`merging`) into one per reduction and level:

    reduced/processors_by_time/level=hour/system=VMSYS1/2001-12.<digest>.parquet
    reduced/months/system=VMSYS1/2001-12.json     index: days in these files, with versions
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import msgspec
import pyarrow as pa

from ...core.errors import CpmonError, StoreError, UnreadableError
from ...core.grace_period import DAY, INSIDE
from ...core.sql import text, union_all
from ..dumps.store import Store
from ..files.disk import disk_error
from ..files.plain_paths import path_text

if TYPE_CHECKING:
    import duckdb

Day = tuple[str, date]
"""A system and a day, UTC."""


class Piece(msgspec.Struct, frozen=True, gc=False):
    """The materialized rows of a reduction for one day, at one level.

    Attributes:
        version: of the data and definitions that they were computed from.
        shifts: digest of the shifts that roll-ups are computed for; empty for intervals.
        file: its name below the store; also holds rows of other days if `month` is not None.
        month: all days in the file, if it is that of a month.
    """

    level: str
    system: str
    day: date
    version: str
    shifts: str
    file: str
    month: frozenset[date] | None = None


@dataclass(frozen=True, slots=True)
class KeptFile:
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
        remedy="move it aside with cpmon store repair; cpmon reduce then computes it again",
    )


def files_of(pieces: Iterable[Piece]) -> tuple[KeptFile, ...]:
    """The files with the rows of some pieces, by name."""
    by_name: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_name.setdefault(piece.file, []).append(piece)
    files = []
    for name, group in sorted(by_name.items()):
        days = tuple(sorted((piece.system, piece.day) for piece in group))
        is_whole = group[0].month in (None, {day for _, day in days})
        files.append(KeptFile(name, () if is_whole else days))
    return tuple(files)


def kept_rows(
    store: Store, files: Collection[KeptFile], *, hive: bool = False, union: bool = False
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


def is_one_of(days: Sequence[Day]) -> str:
    """SQL condition on system and interval end: the row belongs to one of the days."""
    listed = ", ".join(f"({text(system)}, DATE '{day}')" for system, day in days)
    return f"((system, {DAY}) IN ({listed}))"


def _parquet(store: Store, files: Sequence[str], *, hive: bool, union: bool) -> str:
    listed = ", ".join(text(store.files.engine_path(file)) for file in files)
    types = ", hive_types = {'level': VARCHAR, 'system': VARCHAR}" if hive else ""
    return f"read_parquet([{listed}], union_by_name = {union}, hive_partitioning = {hive}{types})"


class MonthFile(msgspec.Struct):
    """A file of a month: its own name, and day -> version with that of the shifts after a dot."""

    file: str
    days: dict[str, str]


FOLDER = "reduced"
MONTHS = f"{FOLDER}/months"
Index = dict[str, dict[str, MonthFile]]
"""Index of a system and month: reduction -> level -> file."""


def month_pieces(store: Store) -> dict[str, list[Piece]]:
    """Reduction -> its pieces in files of months, current or outdated.

    Raises:
        StoreError: an index cannot be read.
    """
    pieces: defaultdict[str, list[Piece]] = defaultdict(list)
    for name in store.files.names(MONTHS):
        if name.endswith(".json") and name not in store.left_out.files:
            system = system_of(name)
            for reduction, levels in read_index(store, name).items():
                for level, month_file in levels.items():
                    in_file = _pieces_in(reduction, level, system, month_file)
                    pieces[reduction] += (p for p in in_file if p.file not in store.left_out.files)
    return pieces


def is_of_month(file: str) -> bool:
    """Whether a file of results holds a month: its own name begins like "2001-12."."""
    return re.match(r"\d{4}-\d\d\.", file.rpartition("/")[2]) is not None


def index_of(file: str) -> str:
    """The index that lists a file of a month."""
    _, system, own_name = file.rsplit("/", 2)
    return f"{MONTHS}/{system}/{own_name[: len('2001-12')]}.json"


def read_index(store: Store, name: str) -> Index:
    """Reads an index; empty if there is none.

    Raises:
        StoreError: the index is damaged or cannot be read.
    """
    try:
        return msgspec.json.decode(store.files.read(name), type=Index)
    except FileNotFoundError:
        return {}
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableError(
            "an index of kept results cannot be read",
            code="result-index-damaged",
            place=store.files.uri(name),
            expected="JSON as written by cpmon",
            found=str(error),
            effect="nothing was read or changed",
            remedy="rebuild it: cpmon store rebuild",
        ) from None


def rebuild_indexes(store: Store) -> None:
    """Rebuilds missing and damaged indexes from the files of months.

    The files do not record their versions: days whose samples were pruned are read as they are, all
    others are computed again.

    Raises:
        StoreError: an index cannot be written.
    """
    files: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(filter(is_of_month, store.files.names(FOLDER)), key=store.files.changed):
        if file.endswith(".parquet"):
            files[index_of(file)].append(file)
    for name, month_files in files.items():
        with suppress(StoreError):
            if read_index(store, name):
                continue
        index: Index = {}
        for file in month_files:
            reduction, level, _, own_name = file.split("/")[1:]
            try:
                days = _days(store, file)
            except (pa.ArrowException, OSError):  # unreadable: its days are not in the index
                continue
            month_file = MonthFile(own_name, dict.fromkeys(map(str, days), ""))
            index.setdefault(reduction, {})[level.removeprefix("level=")] = month_file
        store.files.replace(name, index_text(index).encode())


def index_text(index: Index) -> str:
    """An index as JSON."""
    return msgspec.json.encode(index, order="sorted").decode()


def texts_without(store: Store, files: Collection[str]) -> dict[str, str]:
    """New content of the indexes once some files of months are deleted: name -> JSON."""
    texts = {}
    for name in sorted(set(map(index_of, files))):
        index = read_index(store, name)
        for reduction, levels in index.items():
            index[reduction] = {
                level: month_file
                for level, month_file in levels.items()
                if result_file(reduction, level, system_of(name), month_file.file) not in files
            }
        texts[name] = index_text(index)
    return texts


def _pieces_in(reduction: str, level: str, system: str, month_file: MonthFile) -> Iterator[Piece]:
    file = result_file(reduction, level, system, month_file.file)
    by_day = {date.fromisoformat(day): version for day, version in month_file.days.items()}
    days = frozenset(by_day)
    for day, versions in by_day.items():
        version, _, shifts = versions.partition(".")
        yield Piece(level, system, day, version, shifts, file, days)


def result_file(reduction: str, level: str, system: str, own_name: str) -> str:
    """Path of a file of results below the store."""
    return f"{FOLDER}/{reduction}/level={level}/system={quote(system, safe='')}/{own_name}"


def _days(store: Store, file: str) -> list[date]:
    """The days that the intervals in a file belong to."""
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(store.files.read(file)), columns=["interval_end"])
    ends = table.column(0).drop_null().unique()
    return sorted({(end - INSIDE).date() for end in ends.to_pylist()})


def system_of(name: str) -> str:
    """The system of an index or a file of results, from its path."""
    return unquote(name.rsplit("/", 2)[1].removeprefix("system="))


FORMAT = "FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1, DICTIONARY_SIZE_LIMIT 2000"
"""COPY options of results. Larger dictionaries save little, since most columns are rates."""


class QueryWriter:
    """Runs statements, and writes the rows of queries to files.

    Attributes:
        connection: not shared, since temporary tables are local to a connection.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Takes over a connection and sets its time zone to UTC."""
        self.connection = connection
        self.connection.execute("SET TimeZone = 'UTC'")

    def write_query(self, query: str, path: Path) -> int:
        """Writes the rows of a query to a durable Parquet file; returns their number.

        Raises:
            OSError: the file cannot be written.
            CpmonError: the memory limit is too small.
        """
        ((count,),) = self.execute(f"COPY ({query}) TO {path_text(path)} ({FORMAT})").fetchall()
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
            return self.connection.execute(sql, values)
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
