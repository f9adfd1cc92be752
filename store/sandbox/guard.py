"""The guard of users' SQL: accepts a single read-only query or expression, and nothing else.

What was checked is what runs: DuckDB parses the text into a tree, every node of the tree must be on
an allowlist, and DuckDB generates the SQL to run from that tree; the user's text itself never runs,
neither alone nor as a part of a larger statement. Of a part its frame is compared as well: the tree
of a statement with the part is the one with a plain part, but for the place where it stands.
DuckDB cannot serialize EXPLAIN, so the guard prepends it again.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import duckdb

from ...core.errors import CpmonError
from ...core.sql import CheckedSql, UserSql, text

_QUERIES = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}
_RELATIONS = {
    *("BASE_TABLE", "SUBQUERY", "JOIN", "TABLE_FUNCTION", "EXPRESSION_LIST", "EMPTY"),
    *("PIVOT", "SHOW_REF"),
}
_EXPRESSIONS = {
    *("BETWEEN", "CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION"),
    *("CONSTANT", "DEFAULT", "FUNCTION", "LAMBDA", "LAMBDA_REF", "OPERATOR", "PARAMETER"),
    *("POSITIONAL_REFERENCE", "STAR", "SUBQUERY", "TYPE", "WINDOW"),
}
_TABLE_FUNCTIONS = {
    *("range", "generate_series", "repeat", "repeat_row", "unnest", "summary", "query_table"),
    *("histogram", "histogram_values", "json_each", "json_tree", "glob", "seq_scan"),
    *("read_parquet", "parquet_scan", "read_csv", "read_csv_auto", "sniff_csv"),
    *("read_json", "read_json_auto", "read_json_objects", "read_json_objects_auto"),
    *("read_ndjson", "read_ndjson_auto", "read_ndjson_objects", "read_text", "read_blob"),
    *("parquet_metadata", "parquet_file_metadata", "parquet_full_metadata", "parquet_schema"),
    *("parquet_kv_metadata", "parquet_bloom_probe"),
    *("duckdb_columns", "duckdb_constraints", "duckdb_databases", "duckdb_functions"),
    *("duckdb_indexes", "duckdb_keywords", "duckdb_memory", "duckdb_optimizers"),
    *("duckdb_schemas", "duckdb_tables", "duckdb_types", "duckdb_views"),
    *("duckdb_dependencies", "duckdb_extensions", "duckdb_temporary_files"),
    *("pragma_collations", "pragma_database_size", "pragma_platform", "pragma_show"),
    *("pragma_storage_info", "pragma_table_info", "pragma_version", "pragma_user_agent"),
    *("icu_calendar_names", "pg_timezone_names", "test_all_types", "test_vector_types"),
}
"""DuckDB's read-only functions in FROM; the sandbox restricts the files that they can read."""

_FILE = re.compile(r"[^?]+\.(parquet|csv|tsv|json|jsonl|ndjson)(\.(gz|zst))?", re.IGNORECASE)
"""Files that a name in FROM may open, with the readers above. `?` is excluded: DuckDB may take the
text after it as the name of another reader."""
_DATABASES = ("duckdb", "ddb", "db")
"""Suffixes of database files to DuckDB, also as the last part of a qualified name: "x"."db"."""
_PLAIN = re.compile(r"[\w $#@-]+")
_OF_NAMES = {"query_table", "histogram", "histogram_values"}
"""Functions whose first argument names a table, and therefore possibly a file."""

_OF_VALUES = {"range", "generate_series", "unnest"}
"""Functions in FROM that read no relation."""

_REFUSED_FUNCTIONS = {
    *("nextval", "setval", "write_log", "setseed", "getenv", "json_serialize_plan"),
}
"""Functions that change state, show the environment or plan another query; refused anywhere."""

_SETTING = "current_setting"
_SETTINGS = {"memory_limit", "max_memory", "threads", "worker_threads", "timezone", "calendar"}
"""Settings that queries may see; others tell where the store and folders of the user lie."""
_HIDDEN = "pg_settings"
"""A view of DuckDB's of all settings."""

_FORMATS = {"default", "text", "json", "html", "graphviz", "yaml", "mermaid"}
"""Output formats of EXPLAIN."""

_OF_TREE = "SELECT * FROM json_execute_serialized_sql"
"""Begin of the SQL that executes a tree of which DuckDB cannot generate SQL."""
_NUL = "a NUL character in the SQL"
_ANALYZE = ("ANALYZE", "ANALYSE")


def guarded(
    connection: duckdb.DuckDBPyConnection, sql: UserSql, *, explain: bool = True
) -> CheckedSql:
    """Checks a user's SQL and returns the SQL to run; a subquery unless it is an EXPLAIN.

    Args:
        explain: whether EXPLAIN is allowed; False if the SQL becomes a part of another query.

    Raises:
        CpmonError: the SQL does not parse, is not read-only, or has several statements.
    """
    try:
        statements = connection.extract_statements(sql.unchecked)
    except (duckdb.Error, UnicodeError) as error:
        raise CpmonError(f"the SQL cannot be read: {error}") from None
    kinds = [_kind(statement) for statement in statements]
    allowed = ("SELECT", "EXPLAIN") if explain else ("SELECT",)
    refused = [kind for kind in kinds if kind not in allowed]
    if refused or not kinds:
        raise _refused(refused[0] if refused else "nothing")
    if len(kinds) > 1:
        raise CpmonError(
            "one query at a time",
            code="statements-multiple",
            found=f"{len(kinds)} statements",
            effect="nothing was run",
            remedy="run them one by one, or combine them with WITH or UNION ALL",
        )
    if kinds == ["SELECT"]:
        return CheckedSql(_rewritten(connection, sql.unchecked))
    prefix, query = _explained(statements[0].query)
    return CheckedSql(prefix + _rewritten(connection, query, explained=True))


def checked_view(sql: UserSql, reductions: Collection[str]) -> tuple[CheckedSql, tuple[str, ...]]:
    """A query of relations, and their names in lower case, without those of its own WITH.

    Args:
        reductions: names that its WITH must not define, since the query may read them as well.

    Raises:
        CpmonError: it is not a single read-only query, or it reads files or table functions.
    """
    with duckdb.connect(":memory:") as connection:
        written = guarded(connection, sql, explain=False)
        _, tree = _checked(connection, sql.unchecked, explained=False)
    if written.startswith(_OF_TREE):  # neither a WITH around it nor Spark reaches into a tree
        raise _unwritten()
    ctes: set[str] = set()
    names: dict[str, None] = {}
    for node in nodes_of(tree):
        ctes.update(entry["key"].lower() for entry in (node.get("cte_map") or {}).get("map", ()))
        if node.get("type") == "TABLE_FUNCTION":
            function = node["function"]["function_name"].lower()
            if function not in _OF_VALUES:
                raise _refused(f"the function {function}")
        if node.get("type") == "BASE_TABLE":
            path = [part.lower() for part in node["qualified_name"]["path"]]
            if len(path) > 2 or not all(part.isidentifier() for part in path):
                raise _refused(f"the name {'.'.join(path)}")
            names[".".join(path)] = None
    if hidden := sorted(ctes.intersection(reductions)):
        raise _refused(f"a WITH with the name of a reduction, {hidden[0]}")
    return written, tuple(name for name in names if name not in ctes)


def condition_tree(
    connection: duckdb.DuckDBPyConnection, condition: UserSql, relation: str
) -> tuple[CheckedSql, list[str]]:
    """The query for the rows of a relation that meet a condition, and the columns that it names.

    Raises:
        CpmonError: the condition is not an expression over the columns of one row.
    """
    try:
        written, clause = _in_frame(
            connection, condition, f"SELECT * FROM {relation} WHERE (\n", "where_clause"
        )
    except CpmonError as error:
        raise CpmonError(
            "a condition is not an expression over the columns of a row",
            place=condition.unchecked,
            expected="an expression such as cpu_util > 50 AND userid <> 'TCPIP'",
            found=error.problem,
            effect="nothing was run",
        ) from None
    columns = [n["column_names"] for n in nodes_of(clause) if n.get("class") == "COLUMN_REF"]
    return written, [".".join(names) for names in columns]


def checked_expression(expression: UserSql) -> CheckedSql:
    """An expression over the columns of a row.

    Raises:
        CpmonError: it is not one; the problem says what it is.
    """
    with duckdb.connect(":memory:") as connection:
        written, _ = _in_frame(connection, expression, "SELECT (\n", "select_list")
    return CheckedSql(written.removeprefix("SELECT "))


def _in_frame(
    connection: duckdb.DuckDBPyConnection, part: UserSql, begin: str, key: str
) -> tuple[CheckedSql, Any]:
    """A query that ends with an expression in parentheses, and the tree of that expression.

    Args:
        begin: of the query, up to the parenthesis. key: of the node that has the expression.

    Raises:
        CpmonError: the part is not an expression over the columns of a row; `problem` says why.
    """
    sql = f"{begin}{part.unchecked}\n)"
    written = guarded(connection, UserSql(sql), explain=False)
    (node,), (frame,) = (
        [s["node"] for s in _checked(connection, query, explained=False)[1]["statements"]]
        for query in (sql, f"{begin}TRUE\n)")
    )
    clause, plain = node.pop(key, None), frame.pop(key)
    is_one = not isinstance(plain, list) or len(clause or ()) == len(plain)
    refused = {"SUBQUERY", "WINDOW", "STAR", "PARAMETER"} & {
        n.get("class") for n in nodes_of(clause)
    }
    if clause is None or node != frame or not is_one or refused or written.startswith(_OF_TREE):
        raise CpmonError(", ".join(sorted(refused)).lower() or "more than that")
    return written, clause


def nodes_of(part: Any) -> Iterator[dict[str, Any]]:
    """Yields all nodes of a parse tree, parents before children."""
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    for child in part if isinstance(part, list) else ():
        yield from nodes_of(child)


def _kind(statement: duckdb.Statement) -> str:
    """Kind of a statement; DuckDB has kinds without a name in its Python module."""
    try:
        return statement.type.name
    except ValueError:
        return "a statement of another kind"


def _explained(statement: str) -> tuple[str, str]:
    """Splits a user's EXPLAIN into a generated EXPLAIN prefix and its query.

    The query is parsed and checked before it runs, so a wrong split does no harm.
    """
    data = statement.encode()
    tokens = [at for at, kind in duckdb.tokenize(statement) if kind != duckdb.token_type.comment]
    ends = {at for at, _ in duckdb.tokenize(statement)} | {len(data)}

    def word(number: int) -> str:
        """A token in upper case; empty after the last one."""
        if number >= len(tokens):
            return ""
        end = min(end for end in ends if end > tokens[number])
        return data[tokens[number] : end].decode().strip().upper()

    at, analyze, form = 1, False, ""
    if word(at) in _ANALYZE:
        analyze, at = True, at + 1
    if word(at) == "(" and word(at + 1) in (*_ANALYZE, "FORMAT"):
        at += 1
        while word(at) not in (")", ""):
            analyze = analyze or word(at) in _ANALYZE
            if word(at) == "FORMAT":
                at += 1
                form = word(at).strip("'\"").lower()
                if form not in _FORMATS:
                    raise _refused(f"EXPLAIN with the format {form}")
            at += 1
        at += 1
    options = ["ANALYZE"] * analyze + [f"FORMAT {form}"] * bool(form)
    rest = data[tokens[at] :].decode() if at < len(tokens) else ""
    return f"EXPLAIN ({', '.join(options)}) " if options else "EXPLAIN ", rest


def _unwritten() -> CpmonError:
    return CpmonError(
        "a query that DuckDB cannot write again",
        expected="SELECT ... UNION ALL SELECT ... instead of VALUES, list_filter instead of IF in a"
        " list comprehension",
        found="VALUES, or a list comprehension with IF",
    )


def _rewritten(
    connection: duckdb.DuckDBPyConnection, query: str, *, explained: bool = False
) -> str:
    """The SQL that DuckDB generates from the checked tree of a query.

    If it does not parse to the same tree (VALUES in a WITH, a list comprehension with IF), the tree
    itself is executed; only its EXPLAIN, which shows no rows, uses the generated SQL.
    """
    tree, checked = _checked(connection, query, explained=explained)
    ((written,),) = connection.execute("SELECT json_deserialize_sql(?)", [tree]).fetchall()
    try:
        reparsed = _checked(connection, written, explained=explained)[1]
    except CpmonError:
        reparsed = None
    if reparsed == checked or (explained and reparsed is not None):
        return str(written)
    return f"{_OF_TREE}({text(tree)})"


def _checked(
    connection: duckdb.DuckDBPyConnection, query: str, *, explained: bool
) -> tuple[str, Any]:
    """The checked tree of a query: as serialized by DuckDB, and parsed, without text positions."""
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parts: list[dict[str, Any]] = []

    def part(node: dict[str, Any]) -> dict[str, Any]:
        parts.append(node)
        return {key: value for key, value in node.items() if not key.startswith("query_location")}

    try:
        parsed = json.loads(tree, object_hook=part)
    except RecursionError:
        raise _refused("a query that is nested too deeply") from None
    if parsed["error"] or len(parsed["statements"]) != 1:
        raise _refused("EXPLAIN of no query" if explained else "a query that cannot be looked into")
    for node in parts:
        _check(node)
        if any(isinstance(value, str) and "\0" in value for value in node.values()):
            raise _refused(_NUL)
    return tree, parsed


def _check(part: dict[str, Any]) -> None:
    """Raises CpmonError if a node is not read-only."""
    kind, expression = part.get("type"), part.get("class")
    called = part.get("function_name")
    if expression is not None and expression not in _EXPRESSIONS:
        raise _refused(f"{expression} in a query")
    if isinstance(kind, str) and kind.endswith("_NODE") and kind not in _QUERIES:
        raise _refused(f"{kind.removesuffix('_QUERY_NODE').replace('_', ' ')} in a query")
    if expression is None and {"alias", "sample"} <= part.keys() and kind not in _RELATIONS:
        raise _refused(f"{kind} in a query")
    if isinstance(called, str) and called.lower() in _REFUSED_FUNCTIONS:
        raise _refused(f"the function {called}")
    if isinstance(called, str) and called.lower() == _SETTING:
        _check_setting(part["arguments"])
    function = part.get("function") if kind == "TABLE_FUNCTION" else None
    if isinstance(function, dict):
        name = str(function.get("function_name")).lower()
        if name not in _TABLE_FUNCTIONS and name in _builtin_functions():
            raise _refused(f"the function {name}")
        if name in _OF_NAMES:
            for number, argument in enumerate(function["arguments"]):
                if number == 0 or argument["name"].lower() == "source":
                    for path in _paths(name, argument["expression"]):
                        _check_source(path)
    if kind in ("BASE_TABLE", "SHOW_REF") and "qualified_name" in part:
        _check_source(part["qualified_name"]["path"])


def _check_setting(arguments: Sequence[dict[str, Any]]) -> None:
    """Raises CpmonError for a setting that is computed, or tells where folders lie."""
    for argument in arguments:
        literal = argument["expression"].get("literal") or {}
        if str(literal.get("text", "")).lower() not in _SETTINGS:
            raise _refused(f"a setting other than {', '.join(sorted(_SETTINGS))}")


def _paths(function: str, expression: dict[str, Any]) -> Iterator[Sequence[str]]:
    """Yields the names in an argument; raises CpmonError for computed names."""
    literal = expression.get("literal") or {}
    if expression["class"] == "COLUMN_REF":
        yield expression["column_names"]
    elif literal.get("kind") == "STRING":
        yield literal["text"].replace('"', "").split(".")
    elif expression["class"] == "FUNCTION" and expression["function_name"] == "list_value":
        for argument in expression["arguments"]:
            yield from _paths(function, argument["expression"])
    else:
        raise _refused(f"the function {function} of a name that is computed")


def _check_source(path: Sequence[str]) -> None:
    """Raises CpmonError for a name that could open a file which queries must not read.

    If no table has a name, DuckDB looks for a file; it joins the parts of the name with dots.
    """
    name = ".".join(path)
    if path[-1:] and path[-1].lower() == _HIDDEN:
        raise _refused(f"the table {_HIDDEN}")
    is_table = (
        all(map(_PLAIN.fullmatch, path)) and name.rpartition(".")[2].lower() not in _DATABASES
    )
    if "." in name and not is_table and not _FILE.fullmatch(name):
        raise CpmonError(
            "a query cannot open this file",
            expected="a table, or a file of the store that ends in .parquet, .csv, .tsv or .json",
            found=name,
            effect="nothing was run",
        )


@functools.cache
def _builtin_functions() -> frozenset[str]:
    """Names of DuckDB's built-in functions in FROM; others are macros of the catalogue."""
    with duckdb.connect(":memory:") as connection:
        rows = connection.execute(
            "SELECT DISTINCT lower(function_name) FROM duckdb_functions()"
            " WHERE internal AND function_type IN ('table', 'table_macro', 'pragma')"
        ).fetchall()
    return frozenset(name for (name,) in rows)


def _refused(node_type: str) -> CpmonError:
    code = "query-not-allowed"
    remedy = "to keep a result, write it with -o FILE (in the shell: .output FILE)"
    if node_type == "MULTI":
        node_type = "PIVOT without its values"
        code, remedy = "pivot-values-missing", "name the values: PIVOT t ON a IN (1, 2)"
    if node_type == _NUL:
        code, remedy = "nul-in-sql", "write it as chr(0)"
    return CpmonError(
        "only queries are allowed",
        code=code,
        expected="SELECT, WITH, FROM, DESCRIBE, SHOW or EXPLAIN",
        found=node_type,
        effect="nothing was run",
        remedy=remedy,
    )
