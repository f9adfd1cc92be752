"""The rows of files as SQL: relations over Parquet and JSON, whichever files there are."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence

from ...core.sql import name, text, union_all
from ...schemas.arrow import FINDING, INTERVAL, schemas
from ...schemas.registry import fingerprint, tables
from ...schemas.unplaced import unplaced
from ..columns import Columns
from ..dumps.landed_dump import LandedDump
from ..dumps.manifest import TableFile, alike, table_files
from ..dumps.store import Store
from .views import PLACE, sql_type


def files_of(store: Store, table: str, dumps: Iterable[LandedDump]) -> list[TableFile]:
    """The files of a table that some dumps have, in order."""
    return table_files(store.manifest, f"{table}.parquet", dumps)


def is_drifted(dumps: Iterable[LandedDump]) -> bool:
    """Whether some dump was landed by other layouts, so that its files may lack columns."""
    return bool({dump.layouts for dump in dumps} - {fingerprint()})


@functools.lru_cache(maxsize=2)
def _empty_tables(_fingerprint: str) -> dict[str, str]:
    """Each table that lands as Parquet -> a relation with its columns and no rows."""
    place: Columns = {p: ("VARCHAR", doc) for p, doc in PLACE.items()}
    return {
        table: empty({**place, **{f.name: (sql_type(f.type), "") for f in schema}})
        for table, schema in {**schemas(), "interval": INTERVAL, "finding": FINDING}.items()
    }


def parquet(store: Store, table: str, files: Sequence[TableFile], drifted: bool) -> str:
    """A relation with the columns of a landed table, read from files; empty if there are none.

    Args:
        drifted: files may lack columns. Else the columns of the first file are those of
            all: only it is opened to bind.
    """
    empty = _empty_tables(fingerprint())[table]
    drifted = drifted and table != "finding"
    parts = [empty] if drifted or not files else []
    for is_merged, some in alike(files):
        hive = "true, hive_types = {'system': VARCHAR, 'date': DATE, 'dump': VARCHAR}"
        places = "false" if is_merged else hive
        names = ", ".join(text(store.files.engine_path(file.name)) for file in some)
        rows = f"read_parquet([{names}], union_by_name = {drifted}, hive_partitioning = {places})"
        if not drifted and table in tables():
            absent = (
                f", CAST(NULL AS BIGINT) AS {name(f.name)}" for f in unplaced(tables()[table])
            )
            rows = f"(SELECT *{''.join(absent)} FROM {rows})"
        parts.append(_of_dumps(rows, some))
    return union_all(parts)


def _of_dumps(rows: str, files: Sequence[TableFile]) -> str:
    """A relation with the rows of only those dumps that are named, if any are."""
    names = ", ".join(text(dump) for file in files for dump in file.dumps)
    return f"(SELECT * FROM {rows} WHERE dump IN ({names}))" if names else rows


def json_rows(files: Sequence[str], columns: Columns) -> str:
    """A relation with some columns, read from JSON objects; empty if there is no file.

    Args:
        files: paths as DuckDB takes them.
    """
    if not files:
        return empty(columns)
    types = ", ".join(f"{text(n)}: {text(kind)}" for n, (kind, _) in columns.items())
    listed = ", ".join(map(text, files))
    return f"read_json([{listed}], columns = {{{types}}}, format = 'unstructured')"


def values(columns: Columns, rows: Sequence[str]) -> str:
    """A relation of a few rows, which stand in the text itself; each as SQL."""
    if not rows:
        return empty(columns)
    typed = ", ".join(f"CAST({name(n)} AS {kind}) AS {name(n)}" for n, (kind, _) in columns.items())
    names = ", ".join(map(name, columns))
    return f"(SELECT {typed} FROM (VALUES {', '.join(rows)}) AS row({names}))"


def empty(columns: Columns) -> str:
    """A relation with some columns and no rows."""
    typed = ", ".join(f"CAST(NULL AS {kind}) AS {name(n)}" for n, (kind, _) in columns.items())
    return f"(SELECT {typed} WHERE false)"
