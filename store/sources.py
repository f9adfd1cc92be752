"""Where the views of a catalogue get their rows: table macros, which alone know the store's files.

The views over them have the same text in every store, so that a catalogue can be made from that of
another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from ..schemas.arrow import FINDING, schemas
from ..schemas.registry import fingerprint
from .classes import FILE, RULE, ClassRule, class_rules
from .companions import Columns
from .entries import Entry, replacing
from .meta import DUMP, INTERVAL, run_columns
from .store import Store
from .views import PLACE, landed_rows, name, sql_type, text


def sources(store: Store, present: set[str]) -> Iterator[Entry]:
    """A macro for each kind of file; without rows where there is none yet.

    Args:
        present: tables that some dump has landed in.
    """
    drifted = _is_drifted(store)
    for table, schema in _parquet_schemas().items():
        pattern = [store.records.absolute() / "*" / "*" / "*" / f"{table}.parquet"]
        rows = _parquet(table, pattern if table in present else [], drifted)
        yield _macro(table, rows, _none(schema))
    dumps = store.records / "*" / "*" / "*" / "dump.json"
    yield _macro("dump.json", json_rows(dumps, DUMP, present=bool(present)), _empty(DUMP))
    any_run = any(store.runs.glob("*.json"))
    yield _macro("run.json", json_rows(store.runs / "*.json", run_columns(), present=any_run))
    yield _macro(FILE, _rules(class_rules(store)))


def source_of(store: Store, table: str, dumps: Iterable[Path], where: str) -> str:
    """The statement that makes the macro of a landed table show some rows of some dumps only.

    Nothing else is looked at, however much there is in the store.

    Args:
        dumps: their folders. where: a condition.
    """
    return f"{replacing(_macro(table, parquet_rows(store, table, dumps)).create)} WHERE {where}"


def parquet_rows(store: Store, table: str, dumps: Iterable[Path]) -> str:
    """A relation over what some dumps, in these folders, hold of a landed table."""
    files = [folder.absolute() / f"{table}.parquet" for folder in dumps]
    return _parquet(table, [file for file in files if file.exists()], _is_drifted(store))


def _macro(table: str, rows: str, none: str = "") -> Entry:
    """The macro of a table. `none`: a relation with its columns and no rows, to stand in for it."""
    macro = landed_rows(table)
    create, stand_in = (
        f"CREATE MACRO {macro} AS TABLE SELECT * FROM {relation}" for relation in (rows, none)
    )
    held = replacing(stand_in) if none else ""
    return Entry("MACRO TABLE", macro.removesuffix("()"), create, stand_in=held)


def _parquet_schemas() -> dict[str, pa.Schema]:
    """The tables that land as Parquet."""
    return {**schemas(), "interval": INTERVAL, "finding": FINDING}


def _is_drifted(store: Store) -> bool:
    """Whether some dump was landed by other layouts, so that its files may lack columns."""
    return bool(store.layouts() - {fingerprint()})


def _none(schema: pa.Schema) -> str:
    """A relation with the columns of a landed table and no rows."""
    place: Columns = {p: ("VARCHAR", said) for p, said in PLACE.items()}
    return _empty({**place, **{f.name: (sql_type(f.type), "") for f in schema}})


def _parquet(table: str, places: Sequence[Path], drifted: bool) -> str:
    """A relation with the columns of a landed table, read from files; empty if there are none.

    Args:
        places: files, or a pattern of them.
        drifted: files may lack columns of records.
    """
    empty = _none(_parquet_schemas()[table])
    if not places:
        return empty
    drifted = drifted and table in schemas()
    listed = ", ".join(text(str(place)) for place in places)
    files = (
        f"read_parquet([{listed}], union_by_name = {drifted}, hive_partitioning = true, "
        "hive_types = {'system': VARCHAR, 'date': DATE, 'dump': VARCHAR})"
    )
    if not drifted:
        return files  # the columns of the first file are those of all: only it is opened to bind
    return f"(SELECT * FROM {empty} UNION ALL BY NAME SELECT * FROM {files})"


def json_rows(files: Path, columns: Columns, *, present: bool) -> str:
    """A relation with some columns, read from JSON objects; empty if no file is present."""
    if not present:
        return _empty(columns)
    types = ", ".join(f"{text(n)}: {text(kind)}" for n, (kind, _) in columns.items())
    return (
        f"read_json({text(str(files.absolute()))}, columns = {{{types}}}, format = 'unstructured')"
    )


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
