"""SQL that people write: one query that reads, or nothing at all is run.

The type that DuckDB gives a statement does not say enough: a SELECT may have a COPY in its WITH,
and EXPLAIN ANALYZE runs whatever stands behind it. So the parsed statement is looked through, and
every node of it must be one that reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import duckdb

from ..schemas.errors import CpmonError

_READING = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*EXPLAIN\b(?:\s+ANALYZE\b)?"
    r"(?:\s*\(\s*(?:ANALYZE|FORMAT)\b[^()]*\))?",
    re.IGNORECASE | re.DOTALL,
)
_TABLES_FROM_FUNCTIONS = {
    *("range", "generate_series", "repeat", "repeat_row", "unnest", "summary", "query_table"),
    *("histogram", "histogram_values", "json_each", "json_tree", "glob", "seq_scan"),
    *("read_parquet", "parquet_scan", "read_csv", "read_csv_auto", "sniff_csv"),
    *("read_json", "read_json_auto", "read_json_objects", "read_json_objects_auto"),
    *("read_ndjson", "read_ndjson_auto", "read_ndjson_objects", "read_text", "read_blob"),
    *("parquet_metadata", "parquet_file_metadata", "parquet_full_metadata", "parquet_schema"),
    *("parquet_kv_metadata", "parquet_bloom_probe"),
    *("duckdb_columns", "duckdb_constraints", "duckdb_databases", "duckdb_functions"),
    *("duckdb_indexes", "duckdb_keywords", "duckdb_memory", "duckdb_optimizers"),
    *("duckdb_schemas", "duckdb_settings", "duckdb_tables", "duckdb_types", "duckdb_views"),
    *("duckdb_dependencies", "duckdb_extensions", "duckdb_temporary_files"),
    *("pragma_collations", "pragma_database_size", "pragma_platform", "pragma_show"),
    *("pragma_storage_info", "pragma_table_info", "pragma_version", "pragma_user_agent"),
    *("icu_calendar_names", "pg_timezone_names", "test_all_types", "test_vector_types"),
}
"""DuckDB's own functions in FROM that do no more than read; what they may read, the seal says."""

_CHANGING = {"nextval", "setval", "write_log", "setseed", "getenv"}
"""Functions that change something, or tell of the process, wherever they are called."""


def select_only(connection: duckdb.DuckDBPyConnection, sql: str) -> None:
    """Refuse SQL that is anything but one query that reads.

    Raises:
        CpmonError: it does not parse, has a part that could write, or several statements.
    """
    try:
        statements = connection.extract_statements(sql)
    except (duckdb.Error, UnicodeError) as error:
        raise CpmonError(f"the SQL cannot be read: {error}") from None
    kinds = [_kind(statement) for statement in statements]
    refused = [kind for kind in kinds if kind not in ("SELECT", "EXPLAIN")]
    if refused or not kinds:
        raise _refused(refused[0] if refused else "nothing")
    if len(kinds) > 1:
        raise CpmonError(
            "one query at a time",
            found=f"{len(kinds)} statements",
            effect="none of them was run",
            remedy="ask them one by one, or put them together with WITH or UNION ALL",
        )
    _check(connection, sql, explained=kinds == ["EXPLAIN"])


def _kind(statement: duckdb.Statement) -> str:
    """What kind of statement it is; DuckDB has kinds that its Python module has no name for."""
    try:
        return statement.type.name
    except ValueError:
        return "a statement of another kind"


def _check(connection: duckdb.DuckDBPyConnection, sql: str, *, explained: bool) -> None:
    """Refuse a statement with a node that does not read."""
    begin = _EXPLAIN.match(sql) if explained else None
    query = sql[begin.end() :] if begin else sql
    ((text,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parsed = json.loads(text)
    if parsed["error"]:
        raise _refused("EXPLAIN of no query" if explained else "a query that cannot be looked into")
    for part in _parts(parsed["statements"]):
        kind = part.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _READING:
            raise _refused(f"{kind.removesuffix('_QUERY_NODE').replace('_', ' ')} in a query")
        called = part.get("function_name")
        if isinstance(called, str) and called.lower() in _CHANGING:
            raise _refused(f"the function {called}")
        function = part.get("function") if kind == "TABLE_FUNCTION" else None
        if isinstance(function, dict):
            name = str(function.get("function_name")).lower()
            if name not in _TABLES_FROM_FUNCTIONS and _is_own(connection, name):
                raise _refused(f"the function {name}")


def _is_own(connection: duckdb.DuckDBPyConnection, name: str) -> bool:
    """Whether DuckDB brings a function of that name; others are macros of the catalogue."""
    return bool(
        connection.execute(
            "SELECT 1 FROM duckdb_functions() WHERE internal AND lower(function_name) = ?"
            " AND function_type IN ('table', 'table_macro', 'pragma') LIMIT 1",
            [name],
        ).fetchall()
    )


def _parts(parsed: Any) -> Iterator[dict[str, Any]]:
    """All objects of a parsed statement, however deep."""
    waiting = [parsed]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting.extend(part.values())
        elif isinstance(part, list):
            waiting.extend(part)


def _refused(found: str) -> CpmonError:
    remedy = "to keep a result, write it with -o FILE (in the shell: .output FILE)"
    if found == "MULTI":
        found, remedy = "PIVOT without its values", "name the values: PIVOT t ON a IN (1, 2)"
    return CpmonError(
        "only queries are allowed",
        expected="SELECT, WITH, FROM, DESCRIBE, SHOW or EXPLAIN",
        found=found,
        effect="nothing was run",
        remedy=remedy,
    )
