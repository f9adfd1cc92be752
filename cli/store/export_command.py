"""`cpmon store export`: a store as Iceberg tables, or its rows as a DuckDB file, Parquet or CSV."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...core.text import counted
from ..options import Text, limit_options, need_folder, store_option, system_option
from ..output import (
    TARGET_FILE,
    TARGET_FOLDER,
    check_target,
    parents_option,
    say,
    write_file,
    written_to,
)
from ..site_settings import opened, store_at
from ..spans import UTC_ZONE, day_of_store, read_span, span_options

if TYPE_CHECKING:
    import pyarrow as pa

    from ...store.connection import Connection
    from ...store.sql.scope import Scope
    from ...store.sql.views import Documented


@click.command("export", short_help="Write a store as DuckDB, Parquet, CSV or Iceberg.")
@click.argument("relations", nargs=-1, metavar="[RELATION]...", type=Text())
@store_option
@click.option("--duckdb", type=TARGET_FILE, metavar="FILE", help="Write one DuckDB file.")
@click.option("--parquet", type=TARGET_FOLDER, metavar="DIR", help="Write Parquet files there.")
@click.option("--csv", type=TARGET_FOLDER, metavar="DIR", help="Write CSV files there.")
@click.option(
    "--iceberg",
    type=TARGET_FOLDER,
    metavar="DIR",
    help="Register the files of the store in an Iceberg catalogue there.",
)
@parents_option
@system_option
@span_options("UTC")
@limit_options
def export(
    relations: tuple[str, ...],
    store: Path,
    duckdb: Path | None,
    parquet: Path | None,
    csv: Path | None,
    iceberg: Path | None,
    system: str | None,
    since: str | None,
    until: str | None,
) -> None:
    """Write what a store shows as data for other programs, or register its files with Iceberg.

    Each RELATION becomes a table, or a file RELATION.parquet or RELATION.csv; names may be patterns
    in quotes, as 'interval.*', which takes the records that have landed. Without names these are
    the reductions and meta.*. The DuckDB file has comments on tables and columns, is replaced as a
    whole, and can be read by DuckDB 1.1 and later. --system, --since and --until choose rows of
    relations that have a system, or a time.

    --iceberg copies no row: run it again after ingest, reduce and prune, and only what is new is
    added, what is gone removed. It needs the extra cpmon[iceberg] and a store in a local folder.

    \b
    Examples:
      cpmon store export --store perf/ --duckdb perf.duckdb
      cpmon store export users_by_time 'rollup.*' --store perf/ --parquet files/ --since -7d
      cpmon store export --store perf/ --iceberg perf-iceberg/
    """
    targets = [each for each in (duckdb, parquet, csv, iceberg) if each is not None]
    if len(targets) != 1:
        raise click.UsageError("give one of --duckdb, --parquet, --csv and --iceberg")
    (target,) = targets
    check_target(target)
    if iceberg:
        if relations or system or since or until:
            raise click.UsageError("--iceberg registers whole files of all tables; name nothing")
        _register(store, iceberg)
        return
    from ...core.grace_period import bounds_of_ends
    from ...store.export.database_file import write_database
    from ...store.sql.scope import Scope

    span = read_span(since, until, day=lambda: day_of_store(store_at(store), UTC_ZONE, system))
    scope = Scope(system, *bounds_of_ends(span.since, span.until))
    with opened(store) as connection:
        chosen = _chosen(connection, relations)
        contents = ((relation, _rows(connection, relation, scope)) for relation in chosen)
        if duckdb:
            with written_to(duckdb):
                duckdb.parent.mkdir(parents=True, exist_ok=True)
                written = sum(rows for _, rows in write_database(duckdb, contents))
        else:
            written = _write_files(contents, target, "csv" if csv else "parquet")
    say(f"{target}: {counted(len(chosen), 'relation')}, {counted(written, 'row')}")


def _chosen(connection: Connection, names: Sequence[str]) -> list[Documented]:
    """The relations that names and patterns choose, in the order of names."""
    public = {each.name: each for each in connection.documented() if each.name[:1] != "_"}
    chosen: dict[str, Documented] = {}
    records, tables = ("monitor", "interval"), connection.tables
    # Patterns choose tables of records that have landed.
    landed = [
        name
        for name in sorted(public)
        if name.rpartition(".")[0] not in records or name.rpartition(".")[2] in tables
    ]
    for name in names:
        pattern = name.lower().removeprefix("main.")
        found = [pattern] if pattern in public else []
        found = found or [each for each in landed if fnmatchcase(each, pattern)]
        if not found:
            from ...store.answers import no_table

            raise no_table(connection, name)
        chosen |= {each: public[each] for each in found}
    if not names:
        usual = (each for each in sorted(public) if each.rpartition(".")[0] in ("", "meta"))
        chosen = {each: public[each] for each in usual}
    return list(chosen.values())


def _rows(connection: Connection, relation: Documented, scope: Scope) -> Iterator[pa.Table]:
    """The rows of a relation in a scope, in parts."""
    from dataclasses import replace

    from ...core.sql import relation_name
    from ...store.answers import ask

    time = "interval_end"
    if "system" not in relation.columns:
        scope = replace(scope, system=None)
    if time not in relation.columns:
        scope = replace(scope, since=None, until=None)
    elif relation.name.startswith("monitor."):
        time = "coalesce(interval_end, tod)"  # events have no interval
    condition = scope.condition(time)
    return ask(connection, f"SELECT * FROM {relation_name(relation.name)} WHERE {condition}")


def _write_files(
    contents: Iterable[tuple[Documented, Iterator[pa.Table]]], folder: Path, form: str
) -> int:
    """Writes a file for each relation, as `cpmon query` does; returns the number of rows."""
    from ...render.render import render_parts

    total = 0

    def counting(parts: Iterator[pa.Table]) -> Iterator[pa.Table]:
        nonlocal total
        for part in parts:
            total += len(part)
            yield part

    for relation, parts in contents:
        write_file(folder / f"{relation.name}.{form}", render_parts(counting(parts), form))
    return total


def _register(store: Path, folder: Path) -> None:
    """Registers the files of a store as Iceberg tables, and prints what has changed."""
    from ...reduce.reductions.reductions import reductions
    from ...store.export.iceberg import export as run

    need_folder(store, "an export to Iceberg")
    tables = list(run(store_at(store), reductions(), folder))
    changed = [table for table in tables if table.added or table.removed]
    for table in changed:
        say(f"{table.name}: {counted(table.added, 'file')} added, {table.removed:,} removed")
    files = sum(table.files for table in tables)
    of_files = f"{counted(len(tables), 'table')} of {counted(files, 'file')}"
    say(f"{folder}: {of_files}, {len(changed):,} changed")
