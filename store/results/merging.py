"""Merges the kept results of the days of a month, when it is over, into a file a level.

A year of days is some 60,000 files; a question would list them, and a catalogue name them, whatever
day it is about. A day that is computed again stands in a file of its own until the next merge.
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
"""A reduction and a level."""


def merge(store: Store, chosen: Iterable[Lineage], limits: Limits | None = None) -> int:
    """Merge the days of months that are over; returns the number of files they were in.

    A month is over for a system when a later one has begun. Readers find the files of days until
    the index names that of the month.

    Args:
        chosen: reductions; those that are not by time have no days. limits: what DuckDB may use.

    Raises:
        StoreError: the disk refuses it, or an index cannot be read.
        UnreadableError: results of a month cannot be read; all others are merged.
        CpmonError: the memory limit is too small.
        BusyError: another process merges, in object storage.
    """
    with store.alone():  # another merge would remove what this one reads
        return _merge_months(store, chosen, limits)


def _merge_months(store: Store, chosen: Iterable[Lineage], limits: Limits | None) -> int:
    dumps = store.dumps()
    latest: dict[str, date] = {}
    for dump in dumps:
        latest[dump.system] = max([latest.get(dump.system, date.min), *dump.days])
    by_time = [lineage for lineage in chosen if lineage.by_time and lineage.public]
    loose = (piece for lineage in by_time for piece in day_pieces(store, lineage.name))
    if not any(_is_over(piece, latest) for piece in loose):
        return 0
    versions = versions_of(store, dumps)
    months = _mergeable((by_day(store, lineage, versions) for lineage in by_time), latest)
    if not months:
        return 0
    with store.files.scratch() as scratch, database(store) as connection:
        connection.execute(f"SET temp_directory = {path_text(scratch)}")
        limit(connection, limits or Limits())
        writer, count, failures = QueryWriter(connection), 0, []
        for name, of in months.items():
            try:
                count += _merge(store, name, of, writer, scratch)
            except UnreadableError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return count


def _is_over(piece: Piece, latest: Mapping[str, date]) -> bool:
    """Whether the month of a piece is over. `latest`: system -> its last day."""
    return piece.day < latest.get(piece.system, date.min).replace(day=1)


def _mergeable(
    states: Iterable[ByDay], latest: Mapping[str, date]
) -> dict[str, dict[Place, list[Piece]]]:
    """The pieces of months that are over and in several files, by the name of their index."""
    pieces: defaultdict[tuple[str, Place], list[Piece]] = defaultdict(list)
    for state in states:
        for _, levels in sorted(state.pieces.items()):
            for level, piece in levels.items():
                if _is_over(piece, latest):
                    pieces[index_of(piece.file), (state.name, level)].append(piece)
    months: defaultdict[str, dict[Place, list[Piece]]] = defaultdict(dict)
    for (index, place), of_place in pieces.items():
        if len({piece.file for piece in of_place}) > 1:
            months[index][place] = of_place
    return months


def _merge(
    store: Store,
    name: str,
    pieces: Mapping[Place, Sequence[Piece]],
    writer: QueryWriter,
    scratch: Path,
) -> int:
    """Merge pieces of a system and month. `name`: of their index."""
    index, old = read_index(store, name), set()
    for (reduction, level), of_level in pieces.items():
        days = {str(piece.day): _version(piece) for piece in of_level}
        digest = hashlib.blake2b(repr(days).encode(), digest_size=8).hexdigest()
        own = f"{of_level[0].day:%Y-%m}.{digest}.parquet"
        target = f"{of_level[0].file.rpartition('/')[0]}/{own}"
        rows = kept_rows(store, files_of(of_level), union=True)
        with _readable(store.files.uri(target)):
            writer.write_query(f"SELECT * FROM {rows}", scratch / own)
        store.files.publish({target: scratch / own})
        index.setdefault(reduction, {})[level] = MonthFile(own, days)
        old |= {piece.file for piece in of_level} - {target}
    store.files.create(name, index_text({}).encode())
    replace_and_remove(store.files, {name: index_text(index)}, sorted(old))
    return len(old)


@contextmanager
def _readable(place: str) -> Iterator[None]:
    """Say which results are not merged, where DuckDB cannot read them.

    Raises:
        UnreadableError: one is damaged or missing.
    """
    try:
        yield
    except (duckdb.Error, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # the disk refuses the new file
            raise
        raise UnreadableError(
            "kept results of a month cannot be merged",
            code="result-merge-failed",
            place=place,
            found=str(error).split("\n", maxsplit=1)[0],
            effect="they stay as they are; all other results are kept, and merged where due",
            remedy="cpmon store repair, then cpmon reduce",
        ) from error


def _version(piece: Piece) -> str:
    return f"{piece.version}.{piece.shifts}" if piece.shifts else piece.version
