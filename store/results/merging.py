"""Merges the daily results of a past month into one file per reduction and level.

A year of daily results is some 60,000 files, which every query would list and every catalogue file
name. A day that is computed again has its own file until the next merge.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import duckdb

from ...core.errors import UnreadableError
from ..files.plain_paths import path_text
from ..format.store import Store
from ..sandbox.sandbox import Limits, limit
from ..sql.database import database
from .entries import Entries, Entry, Piece, entry_of_days, replace
from .lineage import Lineage
from .reduced import ByDay, by_day, versions_of
from .result_files import QueryWriter, files_of, result_rows

Place = tuple[str, str]
"""(reduction, level)."""


def merge(store: Store, chosen: Iterable[Lineage], limits: Limits | None = None) -> int:
    """Merges the daily results of past months; returns the number of files that were replaced.

    A month is past for a system once it has a day of a later one. Queries read the daily files
    until the manifest names the file of the month.

    Args:
        chosen: reductions; those that are not by time are ignored.
        limits: resource limits of DuckDB.

    Raises:
        StoreError: a file cannot be written, or the manifest cannot be read.
        UnreadableError: results of a month cannot be read; all others are merged.
        CpmonError: the memory limit is too small.
    """
    dumps, entries = store.dumps(), Entries(store)
    latest: dict[str, date] = {}
    for dump in dumps:
        latest[dump.system] = max([latest.get(dump.system, date.min), *dump.days])
    in_parts = entries.in_parts()
    names = {name for name, _, _ in in_parts}
    by_time = [each for each in chosen if each.by_time and each.public and each.name in names]
    versions = versions_of(store, dumps, entries=entries)
    months = _mergeable((by_day(store, lineage, versions) for lineage in by_time), latest)
    if not months:
        return 0
    with store.files.scratch() as scratch, database(store) as connection:
        connection.execute(f"SET temp_directory = {path_text(scratch)}")
        limit(connection, limits or Limits())
        writer, count, failures = QueryWriter(connection), 0, []
        for pieces in months.values():
            try:
                count += _merge(store, pieces, writer, scratch)
            except UnreadableError as error:
                failures.append(error)
    if failures:
        raise failures[0]
    return count


def _mergeable(
    states: Iterable[ByDay], latest: Mapping[str, date]
) -> dict[str, dict[Place, list[Piece]]]:
    """The pieces of past months that are in several files, by their folder of the manifest.

    Args:
        latest: system -> its last day.
    """
    pieces: defaultdict[tuple[str, Place], list[Piece]] = defaultdict(list)
    for state in states:
        for _, levels in sorted(state.pieces.items()):
            for level, piece in levels.items():
                if piece.day < latest.get(piece.system, date.min).replace(day=1):
                    pieces[piece.place, (state.name, level)].append(piece)
    months: defaultdict[str, dict[Place, list[Piece]]] = defaultdict(dict)
    for (month, place), group in pieces.items():
        if len({piece.file for piece in group}) > 1:
            months[month][place] = group
    return months


def _merge(
    store: Store, pieces: Mapping[Place, Sequence[Piece]], writer: QueryWriter, scratch: Path
) -> int:
    """Merges pieces of a system and month; returns the number of files that it replaces."""
    merged: list[Entry] = []
    for (reduction, level), group in pieces.items():
        days = {piece.day: (piece.version, piece.shifts) for piece in group}
        merged.append(entry_of_days(reduction, level, group[0].system, days))
        target, path = merged[-1].file, scratch / "merged"
        rows = result_rows(store, files_of(group), union=True)
        with _readable(store.files.uri(target)):
            writer.write_query(f"SELECT * FROM {rows}", path, merged[-1])
        store.files.publish({target: path})
    new = {entry.file for entry in merged}
    old = [piece for group in pieces.values() for piece in group if piece.file not in new]
    is_merged = replace(store, merged, old)  # else another process has merged or replaced some
    return len({piece.file for piece in old}) if is_merged else 0


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
            remedy="see which with cpmon store check, take it out with cpmon store drop, then run"
            " cpmon reduce",
        ) from error
