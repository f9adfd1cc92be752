"""What an export registers: the files of each table, and what their paths say of their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

import pyarrow as pa

from ...schemas.arrow import FINDING, INTERVAL, schemas
from ..dumps.landed_dump import LandedDump
from ..dumps.store import Store
from ..dumps.table_files import table_files
from ..results.kept_files import files_of, schema_of
from ..results.reduced import INTERVAL as FINEST
from ..results.reduced import LEVELS, ByDay, Kept, kept, meanings
from ..views.views import PLACE, describe

if TYPE_CHECKING:
    from ..views.view import View

LANDED, REDUCED, ROLLUP = "landed", "reduced", "rollup"
NAMESPACES = (LANDED, REDUCED, ROLLUP)
"""Tables as they landed, what reductions kept by interval or run, roll-ups."""

_DAY = "Day of the first record of the dump, UTC."
_LEVEL = "Length of what a row covers: 15m or hour."


@dataclass(frozen=True)
class Column:
    """A column of a table; `kind` is an Arrow type that stores have."""

    name: str
    kind: pa.DataType
    doc: str


@dataclass(frozen=True)
class Source:
    """A table.

    Attributes:
        namespace, name: of the table.
        columns: those of the files.
        places: columns that are in the path of a file and not in it.
        files: name below the store -> the values of `places` in it. That of a month has only that
            of the first one; it has the columns itself.
    """

    namespace: str
    name: str
    columns: tuple[Column, ...]
    places: tuple[Column, ...]
    files: Mapping[str, tuple[str | date, ...]]

    def __str__(self) -> str:
        return f"{self.namespace}.{self.name}"


def sources(store: Store, views: Sequence[View]) -> Iterator[Source]:
    """All tables of a store that have a file, and what is kept of reductions."""
    layouts = {**schemas(), "interval": INTERVAL, "finding": FINDING}
    places = (
        Column("system", pa.string(), PLACE["system"]),
        Column("date", pa.date32(), _DAY),
        Column("dump", pa.string(), PLACE["dump"]),
    )
    for table in sorted(store.tables()):
        if table in layouts:
            columns = tuple(Column(f.name, f.type, describe(f)) for f in layouts[table])
            dumps = sorted(store.manifest.dumps_with(table), key=lambda dump: dump.is_merged)
            places_of = {f"{dump.folder}/{table}.parquet": _place(dump) for dump in dumps}
            # A file of a month that has rows of dumps which are left out goes as a whole.
            of_table = table_files(store.manifest, f"{table}.parquet", dumps)
            whole = {file.name for file in of_table if not file.dumps}
            files = {file: place for file, place in places_of.items() if file in whole}
            yield Source(LANDED, table, columns, places, files)
    docs = {view.name: {column.name: column.doc for column in view.columns} for view in views}
    for name, result in sorted(kept(store, views).items()):
        yield from _of_reduction(store, name, result, docs[name])


def _of_reduction(
    store: Store, name: str, result: Kept, docs: Mapping[str, str]
) -> Iterator[Source]:
    if not result.days.expected:
        files = [file.name for file in result.files]
        yield Source(REDUCED, name, _columns(store, files[-1], docs), (), dict.fromkeys(files, ()))
        return
    fine = dict.fromkeys(whole_files(result.days, FINEST), ())
    if fine:
        yield Source(REDUCED, name, _columns(store, result.newest([FINEST]), docs), (), fine)
    rolled = {file: (level,) for level in LEVELS[1:] for file in whole_files(result.days, level)}
    if rolled:
        docs = meanings(store, name)
        columns = _columns(store, result.newest(LEVELS[1:]), docs)
        yield Source(ROLLUP, name, columns, (Column("level", pa.string(), _LEVEL),), rolled)


def whole_files(days: ByDay, level: str) -> list[str]:
    """Files of which all rows are up to date.

    A month of which a day was made again has outdated ones, until it is merged again.
    """
    return [file.name for file in files_of(days.of_level(level).values()) if not file.days]


def _columns(store: Store, file: str, docs: Mapping[str, str]) -> tuple[Column, ...]:
    schema = schema_of(store, file)
    return tuple(Column(field.name, field.type, docs.get(field.name, "")) for field in schema)


def _place(dump: LandedDump) -> tuple[str | date, ...]:
    if dump.is_merged:
        return (dump.system,)
    day = dump.folder.rpartition("/date=")[2].partition("/")[0]
    return dump.system, date.fromisoformat(day), dump.dump
