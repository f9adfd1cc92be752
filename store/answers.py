"""Runs the user's SQL on a store: checked by the guard, in the sandbox, streamed in parts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..core.interrupts import restore_interrupts

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from ..core.errors import CpmonError
    from .connection import Connection

FIRST_ROWS = 1000
"""Rows of the first part, from which the column widths of a text table are computed."""
CELLS = 200_000
"""Approximate number of cells of later parts; as Python objects they take some 20 MB."""
PART = 16 * 1024 * 1024
"""Maximum bytes of a part, except for a single longer row."""
MOST_REASON = 4_000
"""Maximum number of characters of an error of DuckDB, which may quote a value of any length."""
COPIES = 8
"""Maximum number of copies of a part in memory while it is printed."""

_ARROW_HAS = {
    *("boolean", "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint"),
    *("uinteger", "ubigint", "float", "double", "decimal", "uuid", "varchar", "blob", "enum"),
    *("date", "time", "time_ns", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns"),
    *("timestamp with time zone", "timestamptz_ns", '"null"'),
}
"""DuckDB's types that Arrow and the formats support; values of other types become texts."""


def ask(
    connection: Connection,
    sql: str,
    values: Mapping[str, Any] | None = None,
) -> Iterator[pa.Table]:
    """Run a query; yields its result in parts, at least one, as DuckDB computes them.

    Args:
        values: values of its parameters, by name; a run among them must exist.

    Raises:
        CpmonError: the statement is not a read-only query, refers to unknown names, or fails.
        KeyboardInterrupt: the user stopped it.
    """
    import duckdb

    from ..core.errors import CpmonError
    from ..core.memory import memory_error, need_memory
    from ..core.sql import UserSql
    from .connection import run_restricted
    from .query_scope import query_scope
    from .sandbox.guard import guarded
    from .sandbox.sandbox import run
    from .sql.database import storage_error

    statement = guarded(connection, UserSql(sql))
    if values and "run" in values:
        _check_run(connection, values["run"])
    parameters = dict(values) if values else None
    restore_interrupts()
    try:
        connection.point(query_scope(connection, statement))
        connection.make_named(sql)  # it may name relations that the checked statement does not
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
            or CpmonError(f"the query failed: {str(error)[:MOST_REASON]}")
        ) from None


def _reader(relation: duckdb.DuckDBPyRelation) -> pa.RecordBatchReader:
    """The rows of a result; columns of types that Arrow lacks are converted to text."""
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
    """The type that a type unknown to Arrow is cast to; "" if Arrow knows it.

    Args:
        kind: DuckDB's type; of a list, array, map or struct only the elements become texts.
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
    """The next batch of a reader; None at its end.

    Raises:
        duckdb.Error: the query fails at a row. Arrow raises it as an error of its own.
    """
    import duckdb
    import pyarrow as pa

    try:
        return next(reader, None)
    except (OSError, pa.ArrowException) as error:
        raise duckdb.Error(str(error)) from None


def _parts(reader: pa.RecordBatchReader, fetch: Any) -> Iterator[pa.Table]:
    """Joins batches of a reader to tables of about `CELLS` cells or `PART` bytes."""
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
    """Splits a table into pieces of about `PART` bytes, at least one row each."""
    rows = max(1, len(table) * PART // max(table.nbytes, PART))
    yield from (table.slice(begin, rows) for begin in range(0, max(len(table), 1), rows))


def _missing_table(connection: Connection, error: Exception) -> CpmonError | None:
    """The error for an unknown table, in place of DuckDB's, which suggests internal tables too."""
    match = re.search(r"Table with name (.+?) does not exist!", str(error))
    return no_table(connection, match[1]) if match else None


def no_table(connection: Connection, name: str) -> CpmonError:
    """The error for an unknown table, with the nearest public one."""
    from ..core.errors import nearest, unknown_of_many

    tables = {table.rpartition(".")[2]: table for table in relations(connection)}
    like = (
        nearest(name, tables.values()) if "." in name else tables.get(nearest(name, tables) or "")
    )
    look = "SHOW ALL TABLES, or .tables in the shell, lists what there is"
    return unknown_of_many("table", name, like, look)


def relations(connection: Connection) -> list[str]:
    """The public tables, as written in SQL."""
    return sorted(each.name for each in connection.documented() if not each.name.startswith("_"))


def _check_run(connection: Connection, run: Any) -> None:
    """Check that a parameter `run` names an existing run; else the result would just be empty."""
    from ..core.errors import unknown

    runs = [name for (name,) in connection.sql("SELECT run_id FROM meta.run").fetchall()]
    if run and run not in runs:
        raise unknown("run", run, runs)
