"""Where the views of a catalogue get their rows: table macros, which alone know the store's files.

The views over them have the same text in every store, so that a catalogue can be made from that of
another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from ..schemas.arrow import FINDING, schemas
from ..schemas.registry import fingerprint
from .classes import FILE, RULE, ClassRule, class_rules
from .companions import Columns
from .entries import Entry
from .meta import DUMP, INTERVAL, run_columns
from .store import Store
from .views import PLACE, landed_rows, name, sql_type, text


def sources(store: Store, present: set[str]) -> Iterator[Entry]:
    """A macro for each kind of file; without rows where there is none yet.

    Args:
        present: tables that some dump has landed in.
    """
    drifted = any(dump.get("layouts") != fingerprint() for dump in store.dumps())
    for table, schema in schemas().items():
        yield _macro(table, _parquet(store, table, schema, table in present, drifted))
    for table, schema in {"interval": INTERVAL, "finding": FINDING}.items():
        yield _macro(table, _parquet(store, table, schema, table in present, drifted=False))
    dumps = store.records / "*" / "*" / "*" / "dump.json"
    yield _macro("dump.json", _json(dumps, DUMP, bool(present)))
    any_run = any(store.runs.glob("*.json"))
    yield _macro("run.json", _json(store.runs / "*.json", run_columns(), any_run))
    yield _macro(FILE, _rules(class_rules(store)))


def _macro(table: str, rows: str) -> Entry:
    macro = landed_rows(table)
    create = f"CREATE MACRO {macro} AS TABLE SELECT * FROM {rows}"
    return Entry("MACRO TABLE", macro.removesuffix("()"), create)


def _parquet(store: Store, table: str, schema: pa.Schema, present: bool, drifted: bool) -> str:
    """A relation with the columns of a landed table, read from every dump; empty if there is none.

    Args:
        present: some dump has landed in the table.
        drifted: some dump was landed by other layouts, so its files may lack columns.
    """
    place: Columns = {p: ("VARCHAR", said) for p, said in PLACE.items()}
    empty = _empty({**place, **{f.name: (sql_type(f.type), "") for f in schema}})
    if not present:
        return empty
    pattern = store.records.absolute() / "*" / "*" / "*" / f"{table}.parquet"
    files = (
        f"read_parquet({text(str(pattern))}, union_by_name = {drifted}, hive_partitioning = true, "
        "hive_types = {'system': VARCHAR, 'date': DATE, 'dump': VARCHAR})"
    )
    if not drifted:
        return files  # the columns of the first file are those of all: only it is opened to bind
    return f"(SELECT * FROM {empty} UNION ALL BY NAME SELECT * FROM {files})"


def _json(files: Path, columns: Columns, present: bool) -> str:
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
