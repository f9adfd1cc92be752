"""Guards SQL of users for Spark: only one query over relations of the store is allowed.

Like the guard for DuckDB it parses the text, checks that every table of the tree is a relation of
the store, and generates the SQL that runs from that tree.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError

from ..core.errors import CpmonError
from .dialect import Names, rewritten, written

_REFUSED = (
    *(exp.DDL, exp.DML, exp.Command, exp.Into, exp.Hint, exp.Lock, exp.QueryTransform),
    *(exp.Pragma, exp.Set, exp.Use, exp.Describe, exp.Show, exp.Attach, exp.Detach, exp.Copy),
)
"""Nodes that do not only read, or that change how queries run."""

_FUNCTIONS = {
    *("reflect", "try_reflect", "java_method"),
    *("from_protobuf", "to_protobuf", "from_avro", "to_avro", "from_xml", "schema_of_xml"),
    *("input_file_name", "input_file_block_start", "input_file_block_length"),
    *("python_worker_logs", "read_files"),
}
"""Functions of Spark that run Java code, read other files, or return paths of files."""


def guarded(query: str, names: Names, values: Mapping[str, Any]) -> str:
    """Check the SQL of a user, and translate it to Spark.

    Args:
        query: in the SQL of DuckDB.
        names: maps a relation to its view; raises CpmonError for an unknown one.
        values: of its parameters, by name.

    Raises:
        CpmonError: it cannot be parsed, does not only read, or names an unknown relation.
    """
    try:
        statements = [s for s in sqlglot.parse(query, dialect="duckdb") if s is not None]
        if len(statements) != 1:
            raise _refused(f"{len(statements)} statements" if statements else "nothing")
        tree = _check(statements[0])
        _name_columns(tree)
        text = written(rewritten(tree.transform(lambda node: _valued(node, values)), names))
        _check_functions(text)
    except ParseError as error:
        (first, *_) = error.errors or [{}]
        place = f"line {first.get('line')}, column {first.get('col')}" if first else None
        found = first.get("description") or str(error)
        raise CpmonError("the SQL cannot be read", place=place, found=found) from None
    except SqlglotError as error:
        raise CpmonError(f"the SQL cannot be read: {error}") from None
    except RecursionError:
        raise _refused("a query that is nested too deeply") from None
    return text


def _check(tree: exp.Expr) -> exp.Query:
    """Check that a tree only reads relations."""
    if not isinstance(tree, exp.Query):
        raise _refused(tree.key)
    for node in tree.walk():
        if isinstance(node, _REFUSED):
            raise _refused(node.key)
        if isinstance(node, exp.Table) and not isinstance(node.this, exp.Identifier):
            raise _refused(f"the function {node.this.sql('duckdb')} as a table")
        if isinstance(node, exp.Table) and node.catalog:
            raise _refused(f"the catalog {node.catalog}")
    return tree


def _name_columns(tree: exp.Query) -> None:
    """Name columns without a name by their expression, as DuckDB does."""
    for select in tree.selects:
        if isinstance(select, exp.Count) and isinstance(select.this, exp.Star):
            select.replace(exp.alias_(select.copy(), "count_star()", quoted=True))
        elif not select.output_name and not select.is_star:
            select.replace(exp.alias_(select.copy(), select.sql("duckdb").lower(), quoted=True))


def _check_functions(text: str) -> None:
    """Check the functions in the text that runs, whatever produced them."""
    tokens = sqlglot.tokenize(text, dialect="spark")
    for token, after in itertools.pairwise(tokens):
        called = token.text.lower()
        is_call = after.text == "("
        if is_call and (called in _FUNCTIONS or called.startswith("xpath")):
            raise _refused(f"the function {called}")


def _valued(node: exp.Expr, values: Mapping[str, Any]) -> exp.Expr:
    """Replace a parameter by its value.

    Raises:
        CpmonError: it has no value.
    """
    if not isinstance(node, (exp.Parameter, exp.Placeholder)):
        return node
    if node.name not in values:
        raise CpmonError(
            f"the parameter {node.name or '?'} has no value",
            code="parameter-without-value",
            effect="nothing was run",
            remedy="write the value itself; only shipped queries have parameters",
        )
    return exp.convert(values[node.name])


def _refused(found: str) -> CpmonError:
    return CpmonError(
        "only queries are allowed",
        code="spark-query-not-allowed",
        expected="one SELECT, WITH or FROM over relations of the store",
        found=found,
        effect="nothing was run",
        remedy="to keep a result, write it with -o FILE; other SQL runs without --engine spark",
    )
