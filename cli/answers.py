"""Answers of a store: SQL of the user, through the guard, in the sandbox, in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from .interrupts import restore_interrupts

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ..core.errors import CpmonError
    from ..store.catalogue.connection import Connection

FIRST_ROWS = 1000
"""Rows of the first part: those that the widths of a text table are taken from."""
CELLS = 200_000
"""Cells of the other parts, about; as Python objects they take some 20 MB."""
PART = 16 * 1024 * 1024
"""Bytes of a part, at most, unless a single row is longer."""
COPIES = 8
"""So often a part is in memory at most while it is printed."""

_ARROW_HAS = {
    *("boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint"),
    *("uinteger", "ubigint", "float", "double", "decimal", "uuid", "varchar", "blob", "enum"),
    *("date", "time", "time_ns", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    *("timestamp with time zone", "timestamptz_ns", '"null"'),
}
"""DuckDB's types whose values Arrow and the formats hold; those of others become texts."""


def ask(
    connection: Connection,
    sql: str,
    values: Mapping[str, Any] | None = None,
) -> Iterator[pa.Table]:
    """The answer of one query, in parts, as DuckDB computes them; one part at least.

    Args:
        values: of its parameters, by name; a run among them must exist.

    Raises:
        CpmonError: it is no query that only reads, names what does not exist, or fails.
        KeyboardInterrupt: the user stopped it.
    """
    import duckdb

    from ..core.errors import CpmonError
    from ..core.memory import memory_error, need_memory
    from ..store.catalogue.connection import run_restricted
    from ..store.catalogue.query_scope import query_scope
    from ..store.sandbox.guard import guarded
    from ..store.sandbox.sandbox import run
    from ..store.views.database import storage_error

    statement = guarded(connection, sql)
    if values and "run" in values:
        _check_run(connection, values["run"])
    parameters = dict(values) if values else None
    restore_interrupts()
    try:
        connection.point(query_scope(connection, statement))
        connection.make_named(sql)  # which may name relations that the checked statement does not
        reader = run_restricted(
            connection, statement, lambda: _reader(connection.sql(statement, params=parameters))
        )
        for part in _parts(reader, lambda: run(connection, lambda: _next(reader))):
            need_memory(COPIES * part.nbytes)
            yield part
    except (duckdb.Error, MemoryError) as error:
        raise (
            storage_error(error)
            or memory_error(error)
            or _missing_table(connection, error)
            or CpmonError(f"the query failed: {error}")
        ) from None


def _reader(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """The rows of an answer, with texts in place of what Arrow has no type for."""
    from ..core.sql import name as quoted

    texts = [_text_type(kind) for kind in relation.types]
    if any(texts):
        columns = (
            (f"CAST(#{n} AS {text})" if text else f"#{n}") + f" AS {quoted(name)}"
            for n, (name, text) in enumerate(zip(relation.columns, texts, strict=True), start=1)
        )
        relation = relation.project(", ".join(columns))
    return relation.to_arrow_reader(FIRST_ROWS)


def _text_type(kind: Any) -> str:
    """The type to which values of one that Arrow does not have are cast; "" where it has it.

    Args:
        kind: DuckDB's; of a list, array, map or struct only the parts become texts.
    """
    from ..core.sql import name as quoted

    if kind.id in _ARROW_HAS:
        return ""
    if kind.id not in ("list", "array", "map", "struct", "tuple") or not kind.children:
        return "VARCHAR"
    parts = [(name, part) for name, part in kind.children if not isinstance(part, int)]
    texts = [_text_type(part) for _, part in parts]
    if not any(texts):
        return ""
    texts = [text or str(part) for text, (_, part) in zip(texts, parts, strict=True)]
    match kind.id:
        case "list":
            return f"{texts[0]}[]"
        case "array":
            return f"{texts[0]}[{dict(kind.children)['size']}]"
        case "struct":
            named = zip((quoted(name) for name, _ in parts), texts, strict=True)
            return f"STRUCT({', '.join(map(' '.join, named))})"
    return f"{kind.id.upper()}({', '.join(texts)})"


def _next(reader: pa.RecordBatchReader) -> pa.RecordBatch | None:
    """The next batch of a reader; None behind the last one.

    Raises:
        duckdb.Error: the query fails at one of its rows. Arrow raises it as an error of its own.
    """
    import duckdb
    import pyarrow as pa

    try:
        return next(reader, None)
    except (OSError, pa.ArrowException) as error:
        raise duckdb.Error(str(error)) from None


def _parts(reader: pa.RecordBatchReader, fetch: Any) -> Iterator[pa.Table]:
    """The batches of a reader, each time as many together as make `CELLS` cells or `PART` bytes."""
    import pyarrow as pa

    batch = fetch()
    first = pa.Table.from_batches([batch] if batch else [], reader.schema)
    yield from _pieces(first)
    rows = max(CELLS // max(len(reader.schema), 1), FIRST_ROWS)
    batches: list[pa.RecordBatch] = []
    while batch is not None:
        batch = fetch()
        batches += [batch] if batch else []
        long = sum(len(b) for b in batches) >= rows or sum(b.nbytes for b in batches) >= PART
        if batches and (batch is None or long):
            yield from _pieces(pa.Table.from_batches(batches))
            batches = []


def _pieces(table: pa.Table) -> Iterator[pa.Table]:
    """A table in pieces of about `PART` bytes, of a row at least."""
    rows = max(1, len(table) * PART // max(table.nbytes, PART))
    yield from (table.slice(begin, rows) for begin in range(0, max(len(table), 1), rows))


def _missing_table(connection: Connection, error: Exception) -> CpmonError | None:
    """The error for a table that there is not: DuckDB proposes internal ones too."""
    match = re.search(r"Table with name (.+?) does not exist!", str(error))
    return no_table(connection, match[1]) if match else None


def no_table(connection: Connection, name: str) -> CpmonError:
    """The error for a table that there is not, with the nearest one that people may ask."""
    from ..core.names import nearest, unknown_of_many

    tables = {table.rpartition(".")[2]: table for table in relations(connection)}
    like = (
        nearest(name, tables.values()) if "." in name else tables.get(nearest(name, tables) or "")
    )
    look = "SHOW ALL TABLES, or .tables in the shell, lists what there is"
    return unknown_of_many("table", name, like, look)


def relations(connection: Connection) -> list[str]:
    """The tables that people may ask, as they are written in SQL; without internal ones."""
    return sorted(each.name for each in connection.documented() if not each.name.startswith("_"))


def _check_run(connection: Connection, run: Any) -> None:
    """Refuse a parameter `run` that names none: it would be answered by an empty table."""
    from ..core.names import unknown

    runs = [name for (name,) in connection.sql("SELECT run_id FROM meta.run").fetchall()]
    if run and run not in runs:
        raise unknown("run", run, runs)
