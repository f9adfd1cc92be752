"""Translates SQL from DuckDB to Spark: that of the catalogue, and that of users after a check.

sqlglot parses and writes; nodes that it does not translate, or translates wrongly, are rewritten in
the tree. Macros are expanded, so that Spark's optimizer sees plain expressions.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.simplify import simplify

from ..core.errors import CpmonError
from ..store.sql.landed_views import macros

Names = Callable[[str, str], str]
"""Schema and name of a relation -> its temporary view."""

_EPOCH = exp.cast(exp.Literal.string("1970-01-01"), exp.DataType.Type.TIMESTAMPNTZ)
_TYPES = {
    exp.DataType.Type.UBIGINT: "DECIMAL(20, 0)",
    exp.DataType.Type.UINT: "BIGINT",
    exp.DataType.Type.USMALLINT: "INT",
    exp.DataType.Type.UTINYINT: "SMALLINT",
    exp.DataType.Type.INT128: "DECIMAL(38, 0)",
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP_NTZ",
}
"""Types that Spark lacks -> types with the same values."""


def spark_sql(sql: str, names: Names) -> str:
    """Translate a query or an expression of DuckDB to Spark, with functions that a query may call.

    Args:
        names: maps the relations that it reads to views; those of a WITH keep their names.

    Raises:
        sqlglot.errors.SqlglotError: sqlglot cannot parse it, or write it for Spark.
        CpmonError: it calls a function that queries cannot call.
    """
    text = written(rewritten(sqlglot.parse_one(sql, dialect="duckdb"), names))
    _check_functions(text)
    return text


def rewritten(tree: exp.Expr, names: Names) -> exp.Expr:
    """Rewrite the tree of a query of DuckDB for Spark."""
    tree = tree.transform(_expanded)
    for table in list(tree.find_all(exp.Table)):
        _rename(table, names)
    for node in reversed(list(tree.walk())):  # inner nodes first
        ported = _ported(node)
        if ported is not node:
            if node is tree:
                tree = ported
            node.replace(ported)
    return tree


def written(tree: exp.Expr) -> str:
    """The text of a tree for Spark; names are quoted, comments removed, since they can be hints."""
    level = sqlglot.ErrorLevel.RAISE
    return tree.sql("spark", identify=True, comments=False, unsupported_level=level)


def _expanded(node: exp.Expr) -> exp.Expr:
    """Expand a call of a macro, and simplify constant parts."""
    if isinstance(node, exp.Anonymous) and (macro := _macros().get(node.name.lower())):
        parameters, body = macro
        values = dict(zip(parameters, node.expressions, strict=True))

        def argument(part: exp.Expr) -> exp.Expr:
            is_parameter = isinstance(part, exp.Column) and part.name in values and not part.table
            return exp.paren(values[part.name].copy()) if is_parameter else part

        meaning = exp.paren(body.copy().transform(argument).transform(_expanded))
        plain: exp.Expr = simplify(meaning)
        return plain
    return node


@functools.cache
def _macros() -> dict[str, tuple[list[str], exp.Expr]]:
    """Name of a macro -> its parameters and its body."""
    by_name = {}
    for statement in sqlglot.parse(macros(), dialect="duckdb"):
        if isinstance(statement, exp.Create):
            function = statement.this
            parameters = [parameter.name for parameter in function.expressions]
            by_name[function.this.name.lower()] = parameters, statement.expression
    return by_name


def _rename(table: exp.Table, names: Names) -> None:
    if isinstance(table.this, exp.Anonymous):  # a table macro: _landed."useact"()
        name = names(table.db, table.this.name)
    elif table.db or not _is_common(table):
        name = names(table.db, table.name)
    else:
        return
    if not table.alias and table.name != name:
        table.set("alias", exp.TableAlias(this=exp.to_identifier(table.this.name)))
    table.set("this", exp.to_identifier(name))
    table.set("db", None)


def _is_common(table: exp.Table) -> bool:
    """Whether an earlier item of the same WITH, or an enclosing WITH, defines a table."""
    name = table.name.lower()
    node: exp.Expr = table
    while outer := node.parent:
        visible: list[exp.Expr] = []
        with_ = outer.args.get("with_")
        if isinstance(outer, exp.With):
            place = next(n for n, each in enumerate(outer.expressions) if each is node)
            visible = outer.expressions[: place + bool(outer.args.get("recursive"))]
        elif isinstance(with_, exp.With) and with_ is not node:
            visible = with_.expressions
        if any(each.alias.lower() == name for each in visible):
            return True
        node = outer
    return False


def _ported(node: exp.Expr) -> exp.Expr:
    """Translate a node that sqlglot does not translate."""
    match node:
        case exp.DataType() if node.this in _TYPES:
            return exp.DataType.build(_TYPES[node.this], dialect="spark")
        case exp.BitwiseLeftShift(this=exp.Cast(this=exp.Literal() as one), expression=bits):
            return exp.Literal.number(int(one.name) << int(bits.name))  # 32 bits in Spark
        case exp.Anonymous() if node.name.lower() == "count_star":  # as DuckDB writes count(*)
            return exp.Count(this=exp.Star())
        case exp.Anonymous() if node.name.lower() == "to_microseconds":
            (microseconds,) = node.expressions
            return exp.Interval(
                this=exp.Literal.string(microseconds.name), unit=exp.var("MICROSECOND")
            )
        case exp.UnixToTime(this=microseconds):  # that of Spark uses the zone of the session
            return exp.func("TIMESTAMPADD", exp.var("MICROSECOND"), microseconds, _EPOCH.copy())
    return node


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
