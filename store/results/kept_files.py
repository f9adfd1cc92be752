"""Files of kept results: how they are written, and relations over them.

Those of the days of a month that is over are merged (`merging`), one a reduction and level:

    reduced/processors_by_time/level=hour/system=VMSYS1/2001-12.<digest>.parquet
    reduced/months/system=VMSYS1/2001-12.json     the days in such files, and their versions
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
    """The rows of a day of a reduction at one level.

    Attributes:
        version: of what they were made from.
        shifts: tells which hours the roll-ups are of; empty for intervals.
        file: its name below the store. It has the rows of other days as well where `month` is not
            None.
        month: all days in the file of a month.
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
    """A file, by its name, and the days of which its rows are read; without days all are."""

    name: str
    days: tuple[Day, ...] = ()


def schema_of(store: Store, file: str) -> pa.Schema:
    """The columns of a file.

    Raises:
        UnreadableError: it is missing or damaged, or has a list: no result has any.
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
        remedy="put it aside: cpmon store repair; then cpmon reduce computes it again",
    )


def files_of(pieces: Iterable[Piece]) -> tuple[KeptFile, ...]:
    """The files that have the rows of some pieces, by name."""
    by_name: dict[str, list[Piece]] = {}
    for piece in pieces:
        by_name.setdefault(piece.file, []).append(piece)
    files = []
    for name, of_file in sorted(by_name.items()):
        days = tuple(sorted((piece.system, piece.day) for piece in of_file))
        is_whole = of_file[0].month in (None, {day for _, day in days})
        files.append(KeptFile(name, () if is_whole else days))
    return tuple(files)


def kept_rows(
    store: Store, files: Collection[KeptFile], *, hive: bool = False, union: bool = False
) -> str:
    """A relation over the rows of files, as SQL.

    Args:
        hive: the level is in their path.
        union: columns may differ, so that all files are opened to see, and not only the first.
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
    """A condition on system and interval end, as SQL."""
    listed = ", ".join(f"({text(system)}, DATE '{day}')" for system, day in days)
    return f"((system, {DAY}) IN ({listed}))"


def _parquet(store: Store, files: Sequence[str], *, hive: bool, union: bool) -> str:
    listed = ", ".join(text(store.files.engine_path(file)) for file in files)
    types = ", hive_types = {'level': VARCHAR, 'system': VARCHAR}" if hive else ""
    return f"read_parquet([{listed}], union_by_name = {union}, hive_partitioning = {hive}{types})"


class MonthFile(msgspec.Struct):
    """A file of a month: its name, and the versions of the days in it, with those of shifts."""

    file: str
    days: dict[str, str]


FOLDER = "reduced"
MONTHS = f"{FOLDER}/months"
Index = dict[str, dict[str, MonthFile]]
"""Reduction -> level -> file, of a system and month."""


def month_pieces(store: Store) -> dict[str, list[Piece]]:
    """Reduction -> its pieces that are in files of months, up to date or not.

    Raises:
        StoreError: an index cannot be read.
    """
    pieces: defaultdict[str, list[Piece]] = defaultdict(list)
    for name in store.files.names(MONTHS):
        if name.endswith(".json") and name not in store.left_out.files:
            system = system_of(name)
            for reduction, levels in read_index(store, name).items():
                for level, of_level in levels.items():
                    of_file = _of_file(reduction, level, system, of_level)
                    pieces[reduction] += (p for p in of_file if p.file not in store.left_out.files)
    return pieces


def is_of_month(file: str) -> bool:
    """Whether a file of results is of a month: its name begins "2001-12."."""
    return re.match(r"\d{4}-\d\d\.", file.rpartition("/")[2]) is not None


def index_of(file: str) -> str:
    """The index that names a file of a month."""
    _, system, own = file.rsplit("/", 2)
    return f"{MONTHS}/{system}/{own[: len('2001-12')]}.json"


def read_index(store: Store, name: str) -> Index:
    """An index; empty where there is none.

    Raises:
        StoreError: it cannot be read.
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
            expected="JSON, as cpmon wrote it",
            found=str(error),
            effect="nothing was read or changed",
            remedy="make it again: cpmon store rebuild",
        ) from None


def rebuild_indexes(store: Store) -> None:
    """Make the indexes again that are missing or damaged, from the files of months themselves.

    These do not say what they were made from: days whose samples were pruned are shown as they are,
    others are computed again.

    Raises:
        StoreError: the disk refuses it.
    """
    files: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(filter(is_of_month, store.files.names(FOLDER)), key=store.files.changed):
        if file.endswith(".parquet"):
            files[index_of(file)].append(file)
    for name, of_month in files.items():
        with suppress(StoreError):
            if read_index(store, name):
                continue
        index: Index = {}
        for file in of_month:
            reduction, level, _, own = file.split("/")[1:]
            try:
                days = _days(store, file)
            except (pa.ArrowException, OSError):  # it cannot be read: its days are not kept
                continue
            of_level = MonthFile(own, dict.fromkeys(map(str, days), ""))
            index.setdefault(reduction, {})[level.removeprefix("level=")] = of_level
        store.files.replace(name, index_text(index).encode())


def index_text(index: Index) -> str:
    """An index as text."""
    return msgspec.json.encode(index, order="sorted").decode()


def texts_without(store: Store, files: Collection[str]) -> dict[str, str]:
    """What indexes are to hold when some files of months are removed: name -> text."""
    texts = {}
    for name in sorted(set(map(index_of, files))):
        index = read_index(store, name)
        for reduction, levels in index.items():
            index[reduction] = {
                level: of_level
                for level, of_level in levels.items()
                if result_file(reduction, level, system_of(name), of_level.file) not in files
            }
        texts[name] = index_text(index)
    return texts


def _of_file(reduction: str, level: str, system: str, of_month: MonthFile) -> Iterator[Piece]:
    file = result_file(reduction, level, system, of_month.file)
    named = {date.fromisoformat(day): version for day, version in of_month.days.items()}
    days = frozenset(named)
    for day, versions in named.items():
        version, _, shifts = versions.partition(".")
        yield Piece(level, system, day, version, shifts, file, days)


def result_file(reduction: str, level: str, system: str, own: str) -> str:
    """Where a file of results belongs, by its own name."""
    return f"{FOLDER}/{reduction}/level={level}/system={quote(system, safe='')}/{own}"


def _days(store: Store, file: str) -> list[date]:
    """The days that the rows of a file count to."""
    import pyarrow.parquet as pq

    table = pq.read_table(pa.BufferReader(store.files.read(file)), columns=["interval_end"])
    ends = table.column(0).drop_null().unique()
    return sorted({(end - INSIDE).date() for end in ends.to_pylist()})


def system_of(name: str) -> str:
    """The system whose index or file it is."""
    return unquote(name.rsplit("/", 2)[1].removeprefix("system="))


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
        import duckdb  # here, so that landing a dump does without it

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
