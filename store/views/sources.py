"""Where the views of a catalogue get their rows: table macros, which alone know the store's files.

The views over them have the same text in every store, so that a catalogue can be made from that of
another one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ...schemas.arrow import FINDING, INTERVAL, schemas
from ...schemas.registry import fingerprint, tables
from ...schemas.unplaced import unplaced
from ..columns import COLUMNS, Columns
from ..dumps.landed_dump import ABOUT, LandedDump
from ..dumps.store import Store
from ..dumps.table_files import TableFile, alike, anywhere, table_files
from ..runs.classes import FILE, class_rules
from ..runs.runs import run_names
from .entries import Entry, macro, replacing
from .meta import run_columns
from .views import PLACE, landed_rows, name, path_text, sql_type, text, union_all

MOST_NAMED = 1_000
"""Files that are named one by one; more are found by a pattern, which takes a look at all dumps."""


Landed = Mapping[str, Sequence[TableFile]]
"""Tables, and `ABOUT` -> their files."""


def landed_files(store: Store) -> dict[str, Sequence[TableFile]]:
    """All tables that have landed, and `ABOUT` -> patterns of their files.

    They find what lands later as well. While dumps are merged they would find some twice, and they
    would find those that are left out: then the files are named as the manifest has them.
    """
    kinds = {ABOUT: store.manifest.are_merged(), **store.manifest.tables()}
    return {table: _all_files(store, table, some) for table, some in kinds.items() if some}


def sources(
    store: Store,
    present: Landed,
    *,
    shut: bool = False,
    snapshot: Mapping[str, Path] | None = None,
) -> Iterator[Entry]:
    """A macro for each kind of file; without rows where there is none yet.

    Args:
        present: as `landed_files` has them.
        shut: what dumps brought shows no rows until `source_of` or `shown` lets it.
        snapshot: table -> file that has what all dumps say.
    """
    drifted = is_drifted(store.dumps())
    landed, snapshots = {} if shut else present, {} if shut else snapshot or {}
    for table, none in _empty_tables(fingerprint()).items():
        rows = parquet(store, table, landed.get(table, ()), drifted)
        yield _macro(table, _file(snapshots[table]) if table in snapshots else rows, none)
    rows = _dump_rows(store, landed.get(ABOUT, ()))
    rows = _file(snapshots[ABOUT]) if ABOUT in snapshots else rows
    yield _macro(ABOUT, rows, empty(COLUMNS["dump"]))
    yield _macro("run.json", json_rows(_run_files(store), run_columns()))
    rules = [
        f"({rule.position}, {text(rule.name)}, {text(rule.pattern)}, {text(rule.like)})"
        for rule in class_rules(store)
    ]
    yield _macro(FILE, values(COLUMNS["class_rule"], rules))


def _run_files(store: Store) -> list[str]:
    """The files of runs: by a pattern, which finds those of tomorrow, unless some are left out."""
    names = run_names(store)
    if names and not store.left_out:
        names = ["runs/*.json"]
    return [store.files.engine_path(name) for name in names]


def source_of(store: Store, table: str, dumps: Iterable[LandedDump], where: str) -> str:
    """The statement that makes the macro of a landed table show some rows of some dumps only.

    Nothing else is looked at, however much there is in the store.

    Args:
        where: a condition.
    """
    return f"{replacing(_macro(table, parquet_rows(store, table, dumps)).create)} WHERE {where}"


def shown(store: Store, files: Landed) -> Iterator[str]:
    """The statements that make the macros of landed tables show the rows of some files, only.

    Args:
        files: maybe none of a table.
    """
    drifted = is_drifted(store.dumps())
    for table, some in files.items():
        rows = _dump_rows(store, some) if table == ABOUT else parquet(store, table, some, drifted)
        yield replacing(_macro(table, rows).create)


def shown_by_all(store: Store, tables: Iterable[str]) -> Iterator[str]:
    """The statements that make the macros of some tables show all rows of the store."""
    kinds = store.manifest.tables()
    files = {}
    for table in tables:
        dumps = store.manifest.dumps_with(table)
        is_few = len(dumps) <= MOST_NAMED
        files[table] = (
            files_of(store, table, dumps) if is_few else _all_files(store, table, kinds[table])
        )
    yield from shown(store, files)


def files_of(store: Store, table: str, dumps: Iterable[LandedDump]) -> list[TableFile]:
    """The files of a table, or of `ABOUT`, that some dumps have, in order."""
    return table_files(store.manifest, _name(table), dumps)


def _all_files(store: Store, table: str, kinds: Iterable[bool]) -> list[TableFile]:
    """The files of all dumps that have a table, by patterns where these find just those."""
    if store.is_merging or store.manifest.left_out:
        return files_of(store, table, store.dumps())
    return anywhere(_name(table), kinds)


def _name(table: str) -> str:
    return table if table == ABOUT else f"{table}.parquet"


def _file(file: Path) -> str:
    """A relation over a file of a snapshot."""
    return f"read_parquet({path_text(file)})"


def parquet_rows(store: Store, table: str, dumps: Iterable[LandedDump]) -> str:
    """A relation over what some dumps hold of a landed table."""
    dumps = tuple(dumps)
    merged = {dump.folder for dump in dumps if dump.is_merged}
    beside = (dump for dump in store.dumps() if dump.folder in merged) if merged else ()
    return parquet(store, table, files_of(store, table, dumps), is_drifted((*dumps, *beside)))


def _macro(table: str, rows: str, none: str = "") -> Entry:
    """The macro of a table. `none`: a relation with its columns and no rows, to stand in for it."""
    return macro(landed_rows(table), f"SELECT * FROM {rows}", none)


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


def _dump_rows(store: Store, files: Sequence[TableFile]) -> str:
    """A relation over what is said about dumps."""
    parts = [
        _of_dumps(
            json_rows([store.files.engine_path(file.name) for file in some], COLUMNS["dump"]), some
        )
        for _, some in alike(files)
    ]
    return union_all(parts or [empty(COLUMNS["dump"])])


def _of_dumps(rows: str, files: Sequence[TableFile]) -> str:
    """A relation with the rows of only those dumps that are named, if any are."""
    names = ", ".join(text(dump) for file in files for dump in file.dumps)
    return f"(SELECT * FROM {rows} WHERE dump IN ({names}))" if names else rows


def json_rows(files: Sequence[str], columns: Columns) -> str:
    """A relation with some columns, read from JSON objects; empty if there is no file.

    Args:
        files: absolute paths, or patterns that something matches.
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
