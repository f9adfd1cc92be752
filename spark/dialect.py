"""The SQL of the catalogue, as DuckDB runs it, in the words of Spark.

sqlglot parses and writes; what it passes on as it is, or takes for something else, is rewritten in
the tree: macros become what they stand for, so that Spark's optimizer sees plain expressions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.optimizer.simplify import simplify

from ..store.views.relations import macros

Names = Callable[[str, str], str]
"""Schema and name of a relation -> the temporary view that stands for it."""

_EPOCH = exp.cast(exp.Literal.string("1970-01-01"), exp.DataType.Type.TIMESTAMPNTZ)
_TYPES = {
    exp.DataType.Type.UBIGINT: "DECIMAL(20, 0)",
    exp.DataType.Type.UINT: "BIGINT",
    exp.DataType.Type.USMALLINT: "INT",
    exp.DataType.Type.UTINYINT: "SMALLINT",
    exp.DataType.Type.INT128: "DECIMAL(38, 0)",
    exp.DataType.Type.TIMESTAMP: "TIMESTAMP_NTZ",
}
"""Types that Spark lacks -> those that hold the same values."""


def spark_sql(sql: str, names: Names) -> str:
    """A query, or an expression, of DuckDB as one of Spark.

    Args:
        names: what the relations are called that it reads; those of a WITH stay as they are.

    Raises:
        sqlglot.errors.SqlglotError: sqlglot cannot read it, or write it for Spark.
    """
    return written(rewritten(sqlglot.parse_one(sql, dialect="duckdb"), names))


def rewritten(tree: exp.Expr, names: Names) -> exp.Expr:
    """The tree of a query of DuckDB as one that is written for Spark."""
    tree = tree.transform(_expanded)
    for table in list(tree.find_all(exp.Table)):
        _rename(table, names)
    for node in reversed(list(tree.walk())):  # what is inside a node first
        ported = _ported(node)
        if ported is not node:
            if node is tree:
                tree = ported
            node.replace(ported)
    return tree


def written(tree: exp.Expr) -> str:
    """The text of a tree for Spark; names are quoted; comments are gone, which may be hints."""
    level = sqlglot.ErrorLevel.RAISE
    return tree.sql("spark", identify=True, comments=False, unsupported_level=level)


def _expanded(node: exp.Expr) -> exp.Expr:
    """A call of a macro as what it stands for, with nothing in it that is known beforehand."""
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
    """Name of a macro -> its parameters and what it stands for."""
    by_name = {}
    for statement in sqlglot.parse(macros(), dialect="duckdb"):
        if isinstance(statement, exp.Create):
            function = statement.this
            parameters = [parameter.name for parameter in function.expressions]
            by_name[function.this.name.lower()] = parameters, statement.expression
    return by_name


def _rename(table: exp.Table, names: Names) -> None:
    if isinstance(table.this, exp.Anonymous):  # a macro of rows: _landed."useact"()
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
    """Whether it is a table of a WITH: one before it there, or any of one around it."""
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
    """A node as Spark has it, where sqlglot leaves it as it is."""
    match node:
        case exp.DataType() if node.this in _TYPES:
            return exp.DataType.build(_TYPES[node.this], dialect="spark")
        case exp.BitwiseLeftShift(this=exp.Cast(this=exp.Literal() as one), expression=bits):
            return exp.Literal.number(int(one.name) << int(bits.name))  # Spark has it in 32 bits
        case exp.Anonymous() if node.name.lower() == "to_microseconds":
            (microseconds,) = node.expressions
            return exp.Interval(
                this=exp.Literal.string(microseconds.name), unit=exp.var("MICROSECOND")
            )
        case exp.UnixToTime(this=microseconds):  # Spark's own takes the zone of the session
            return exp.func("TIMESTAMPADD", exp.var("MICROSECOND"), microseconds, _EPOCH.copy())
    return node
