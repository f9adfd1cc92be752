"""Where the views of a catalogue get their rows: table macros, which alone know the store's files.

The views over them have the same text in every store, so that a catalogue can be made from that of
another one.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from ...schemas.arrow import FINDING, schemas
from ...schemas.registry import fingerprint
from ..dumps.manifest import ABOUT, LandedDump
from ..dumps.store import Store
from ..runs.classes import FILE, RULE, ClassRule, class_rules
from ..runs.companions import Columns
from ..runs.runs import run_names
from .entries import Entry, replacing
from .meta import DUMP, INTERVAL, run_columns
from .views import PLACE, landed_rows, name, sql_type, text

MOST_NAMED = 1_000
"""Files that are named one by one; more are found by a pattern, which takes a look at all dumps."""


def sources(
    store: Store,
    present: set[str],
    *,
    shut: bool = False,
    snapshot: Mapping[str, Path] | None = None,
) -> Iterator[Entry]:
    """A macro for each kind of file; without rows where there is none yet.

    Args:
        present: tables that some dump has landed in.
        shut: what dumps brought shows no rows until `source_of` or `shown` lets it.
        snapshot: table -> file that has what all dumps say.
    """
    drifted = _is_drifted(store)
    landed, snapshots = set() if shut else present, {} if shut else snapshot or {}
    for table, none in _empty_tables(fingerprint()).items():
        pattern = [_anywhere(store, f"{table}.parquet")] if table in landed else []
        rows = _file(snapshots[table]) if table in snapshots else parquet(table, pattern, drifted)
        yield _macro(table, rows, none)
    dumps = [_anywhere(store, ABOUT)] if landed else []
    rows = _file(snapshots[ABOUT]) if ABOUT in snapshots else json_rows(dumps, DUMP)
    yield _macro(ABOUT, rows, _empty(DUMP))
    runs = [store.files.uri("runs/*.json")] if run_names(store) else []
    yield _macro("run.json", json_rows(runs, run_columns()))
    yield _macro(FILE, _rules(class_rules(store)))


def source_of(store: Store, table: str, dumps: Iterable[LandedDump], where: str) -> str:
    """The statement that makes the macro of a landed table show some rows of some dumps only.

    Nothing else is looked at, however much there is in the store.

    Args:
        where: a condition.
    """
    return f"{replacing(_macro(table, parquet_rows(store, table, dumps)).create)} WHERE {where}"


def shown(store: Store, files: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The statements that make the macros of landed tables show all rows of some files, only.

    Args:
        files: name of a table, or of what stands beside tables -> their addresses; maybe none.
    """
    drifted = _is_drifted(store)
    for table, paths in files.items():
        rows = json_rows(paths, DUMP) if table == ABOUT else parquet(table, paths, drifted)
        yield replacing(_macro(table, rows).create)


def shown_by_all(store: Store, tables: Iterable[str]) -> Iterator[str]:
    """The statements that make the macros of some tables show all rows of the store."""
    by_table = store.manifest.tables()
    landed = {table: by_table.get(table, []) for table in tables}
    yield from shown(
        store,
        {
            table: files_of(store, table, dumps)
            if len(dumps) <= MOST_NAMED
            else [_anywhere(store, f"{table}.parquet")]
            for table, dumps in landed.items()
        },
    )


def files_of(store: Store, table: str, dumps: Iterable[LandedDump]) -> list[str]:
    """Where the files of a table are that some dumps have, in order."""
    folders = sorted(dump.folder for dump in dumps if table in dump.tables)
    return [store.files.uri(f"{folder}/{table}.parquet") for folder in folders]


def _file(file: Path) -> str:
    """A relation over a file of a snapshot."""
    return f"read_parquet({text(str(file))})"


def _anywhere(store: Store, file: str) -> str:
    """The pattern of the files of that name in all dumps."""
    return store.files.uri(f"records/*/*/*/{file}")


def parquet_rows(store: Store, table: str, dumps: Iterable[LandedDump]) -> str:
    """A relation over what some dumps hold of a landed table."""
    return parquet(table, files_of(store, table, dumps), _is_drifted(store))


def _macro(table: str, rows: str, none: str = "") -> Entry:
    """The macro of a table. `none`: a relation with its columns and no rows, to stand in for it."""
    macro = landed_rows(table)
    create, stand_in = (
        f"CREATE MACRO {macro} AS TABLE SELECT * FROM {relation}" for relation in (rows, none)
    )
    held = replacing(stand_in) if none else ""
    return Entry("MACRO TABLE", macro.removesuffix("()"), create, stand_in=held)


def _is_drifted(store: Store) -> bool:
    """Whether some dump was landed by other layouts, so that its files may lack columns."""
    return bool(store.manifest.layouts() - {fingerprint()})


@functools.lru_cache(maxsize=2)
def _empty_tables(_fingerprint: str) -> dict[str, str]:
    """Each table that lands as Parquet -> a relation with its columns and no rows."""
    place: Columns = {p: ("VARCHAR", doc) for p, doc in PLACE.items()}
    return {
        table: _empty({**place, **{f.name: (sql_type(f.type), "") for f in schema}})
        for table, schema in {**schemas(), "interval": INTERVAL, "finding": FINDING}.items()
    }


def parquet(table: str, places: Sequence[str], drifted: bool) -> str:
    """A relation with the columns of a landed table, read from files; empty if there are none.

    Args:
        places: absolute paths, or a pattern of them.
        drifted: files may lack columns of records.
    """
    empty = _empty_tables(fingerprint())[table]
    if not places:
        return empty
    drifted = drifted and table not in ("interval", "finding")
    files = (
        f"read_parquet({_listed(places)}, union_by_name = {drifted}, hive_partitioning = true, "
        "hive_types = {'system': VARCHAR, 'date': DATE, 'dump': VARCHAR})"
    )
    if not drifted:
        return files  # the columns of the first file are those of all: only it is opened to bind
    return f"(SELECT * FROM {empty} UNION ALL BY NAME SELECT * FROM {files})"


def json_rows(files: Sequence[str], columns: Columns) -> str:
    """A relation with some columns, read from JSON objects; empty if there is no file.

    Args:
        files: absolute paths, or patterns that something matches.
    """
    if not files:
        return _empty(columns)
    types = ", ".join(f"{text(n)}: {text(kind)}" for n, (kind, _) in columns.items())
    return f"read_json({_listed(files)}, columns = {{{types}}}, format = 'unstructured')"


def _listed(files: Sequence[str]) -> str:
    return f"[{', '.join(map(text, files))}]"


def _rules(rules: Sequence[ClassRule]) -> str:
    """The rules of the user classes: few, so they stand in the text itself."""
    if not rules:
        return _empty(RULE)
    rows = ", ".join(
        f"({rule.position}, {text(rule.name)}, {text(rule.pattern)}, {text(rule.like)})"
        for rule in rules
    )
    typed = ", ".join(f"CAST({name(n)} AS {kind}) AS {name(n)}" for n, (kind, _) in RULE.items())
    return f"(SELECT {typed} FROM (VALUES {rows}) AS rule({', '.join(map(name, RULE))}))"


def _empty(columns: Columns) -> str:
    typed = ", ".join(f"CAST(NULL AS {kind}) AS {name(n)}" for n, (kind, _) in columns.items())
    return f"(SELECT {typed} WHERE false)"
