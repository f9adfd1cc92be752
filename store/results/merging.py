"""Merges the daily results of a past month into one file per reduction and level.

A year of daily results is some 60,000 files, which every query would list and every catalogue file
name. A day that is computed again has its own file until the next merge.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import duckdb

from ...core.errors import UnreadableError
from ..dumps.cleanup import replace_and_remove
from ..dumps.store import Store
from ..files.plain_paths import path_text
from ..sandbox.sandbox import Limits, limit
from ..views.database import database
from .kept_files import (
    MonthFile,
    Piece,
    QueryWriter,
    files_of,
    index_of,
    index_text,
    kept_rows,
    read_index,
)
from .lineage import Lineage
from .reduced import ByDay, by_day, day_pieces, versions_of

Place = tuple[str, str]
"""(reduction, level)."""


def merge(store: Store, chosen: Iterable[Lineage], limits: Limits | None = None) -> int:
    """Merges the daily results of past months; returns the number of files that were replaced.

    A month is past for a system once it has a day of a later one. Queries read the daily files
    until the index lists the file of the month.

    Args:
        chosen: reductions; those that are not by time are ignored.
        limits: resource limits of DuckDB.

    Raises:
        StoreError: a file cannot be written, or an index cannot be read.
        UnreadableError: results of a month cannot be read; all others are merged.
        CpmonError: the memory limit is too small.
        BusyError: another process is merging, in object storage.
    """
    with store.alone():  # another merge would delete the files that this one reads
        return _merge_months(store, chosen, limits)


def _merge_months(store: Store, chosen: Iterable[Lineage], limits: Limits | None) -> int:
    dumps = store.dumps()
    latest: dict[str, date] = {}
    for dump in dumps:
        latest[dump.system] = max([latest.get(dump.system, date.min), *dump.days])
    by_time = [lineage for lineage in chosen if lineage.by_time and lineage.public]
    daily = (piece for lineage in by_time for piece in day_pieces(store, lineage.name))
    if not any(_is_past(piece, latest) for piece in daily):
        return 0
    versions = versions_of(store, dumps)
    months = _mergeable((by_day(store, lineage, versions) for lineage in by_time), latest)
    if not months:
        return 0
    with store.files.scratch() as scratch, database(store) as connection:
        connection.execute(f"SET temp_directory = {path_text(scratch)}")
        limit(connection, limits or Limits())
        writer, count, failures = QueryWriter(connection), 0, []
        for name, pieces in months.items():
            try:
                count += _merge(store, name, pieces, writer, scratch)
            except UnreadableError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return count


def _is_past(piece: Piece, latest: Mapping[str, date]) -> bool:
    """Whether the month of a piece is past. `latest`: system -> its last day."""
    return piece.day < latest.get(piece.system, date.min).replace(day=1)


def _mergeable(
    states: Iterable[ByDay], latest: Mapping[str, date]
) -> dict[str, dict[Place, list[Piece]]]:
    """The pieces of past months that are in several files, by the name of their index."""
    pieces: defaultdict[tuple[str, Place], list[Piece]] = defaultdict(list)
    for state in states:
        for _, levels in sorted(state.pieces.items()):
            for level, piece in levels.items():
                if _is_past(piece, latest):
                    pieces[index_of(piece.file), (state.name, level)].append(piece)
    months: defaultdict[str, dict[Place, list[Piece]]] = defaultdict(dict)
    for (index, place), group in pieces.items():
        if len({piece.file for piece in group}) > 1:
            months[index][place] = group
    return months


def _merge(
    store: Store,
    name: str,
    pieces: Mapping[Place, Sequence[Piece]],
    writer: QueryWriter,
    scratch: Path,
) -> int:
    """Merges pieces of a system and month; returns the number of deleted files.

    `name` is that of their index.
    """
    index, old = read_index(store, name), set()
    for (reduction, level), group in pieces.items():
        days = {
            str(piece.day): f"{piece.version}.{piece.shifts}" if piece.shifts else piece.version
            for piece in group
        }
        digest = hashlib.blake2b(repr(days).encode(), digest_size=8).hexdigest()
        own_name = f"{group[0].day:%Y-%m}.{digest}.parquet"
        target = f"{group[0].file.rpartition('/')[0]}/{own_name}"
        rows = kept_rows(store, files_of(group), union=True)
        with _readable(store.files.uri(target)):
            writer.write_query(f"SELECT * FROM {rows}", scratch / own_name)
        store.files.publish({target: scratch / own_name})
        index.setdefault(reduction, {})[level] = MonthFile(own_name, days)
        old |= {piece.file for piece in group} - {target}
    store.files.create(name, index_text({}).encode())
    replace_and_remove(store.files, {name: index_text(index)}, sorted(old))
    return len(old)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Maps read errors of DuckDB to UnreadableError, which names the results."""
    try:
        yield
    except (duckdb.Error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the new file cannot be written
            raise
        raise UnreadableError(
            "kept results of a month cannot be merged",
            code="result-merge-failed",
            place=place,
            found=str(error).split("\n", maxsplit=1)[0],
            effect="they are unchanged; all other results are kept, and merged where due",
            remedy="run cpmon store repair, then cpmon reduce",
        ) from error
