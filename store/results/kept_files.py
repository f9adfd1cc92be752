"""Files of kept results, and relations over them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import date

import msgspec
import pyarrow as pa

from ...core.errors import UnreadableError
from ...core.grace_period import DAY
from ...core.sql import text, union_all
from ..dumps.store import Store

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


def relation(
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
