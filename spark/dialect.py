"""Translates the SQL of the catalogue from DuckDB to Spark.

sqlglot parses and writes; nodes that it does not translate, or translates wrongly, are rewritten in
the tree. Macros are expanded, so that Spark's optimizer sees plain expressions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from ..store.views.relations import macros

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
    """Translate a query or an expression of DuckDB to Spark.

    Args:
        names: maps the relations that it reads to views; those of a WITH keep their names.

    Raises:
        sqlglot.errors.SqlglotError: sqlglot cannot parse it, or write it for Spark.
    """
    return written(rewritten(sqlglot.parse_one(sql, dialect="duckdb"), names))


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
        case exp.Anonymous() if node.name.lower() == "to_microseconds":
            (microseconds,) = node.expressions
            return exp.Interval(
                this=exp.Literal.string(microseconds.name), unit=exp.var("MICROSECOND")
            )
        case exp.UnixToTime(this=microseconds):  # that of Spark uses the zone of the session
            return exp.func("TIMESTAMPADD", exp.var("MICROSECOND"), microseconds, _EPOCH.copy())
    return node
