"""The scope of a user's query: its bounds on interval ends, read from its parse tree.

A query about four hours then takes the same time in a large store as in a small one. A SELECT from
one table whose WHERE has a lower bound on `interval_end` reads no earlier rows. If all records that
a query reads are bounded like this, its scope is the time range that these bounds span.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any

from .connection import LIVE, Connection
from .sandbox.guard import nodes_of
from .sql.scope import ALL, Scope

Node = dict[str, Any]
Bounds = tuple[datetime, datetime | None]

TIME = "interval_end"
_OF_RECORDS = ("meta.interval", "meta.dump", "meta.finding", "meta.user_class")
"""Relations of schema `meta` over records; the others are the same in every scope."""
_LOWER, _UPPER = {"GREATERTHAN", "GREATERTHANOREQUALTO"}, {"LESSTHAN", "LESSTHANOREQUALTO"}
_MOMENT = timedelta(microseconds=1)


def query_scope(connection: Connection, sql: str) -> Scope:
    """Scope of a query; `ALL` if it may read rows of any time.

    Args:
        sql: a single, read-only query.
    """
    if TIME not in sql.lower() or not sql.lower().startswith(("select", "with", "from")):
        return ALL
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [sql]).fetchall()
    nodes = [*nodes_of(json.loads(tree))]
    record_nodes = {id(node) for node in nodes if _is_of_records(node, connection)}
    selects = [node for node in nodes if node.get("type") == "SELECT_NODE"]
    bounded = [
        bounds
        for node in selects
        if id(node["from_table"]) in record_nodes and (bounds := _bounds(node, connection))
    ]
    if not bounded or len(bounded) < len(record_nodes):
        return ALL
    since, ends = min(b[0] for b in bounded), [b[1] for b in bounded]
    until = None if None in ends else max(filter(None, ends))
    return Scope(None, since - _MOMENT, until)


def _is_of_records(node: Node, connection: Connection) -> bool:
    """Whether a node names a relation whose rows depend on the scope, or a table function."""
    if node.get("type") == "TABLE_FUNCTION":
        return True
    if node.get("type") != "BASE_TABLE":
        return False
    *schema, table = (part.lower() for part in node["qualified_name"]["path"])
    if schema[-1:] == ["meta"]:
        return f"meta.{table}" in _OF_RECORDS
    return bool(schema) or table.removeprefix(LIVE) in connection.lineages


def _bounds(select: Node, connection: Connection) -> Bounds | None:
    """First and last interval end that a SELECT from one table can show; None if unbounded."""
    table = select["from_table"]
    if table["type"] != "BASE_TABLE" or table["sample"] or table["column_name_alias"]:
        return None
    if not _is_timed(table, connection):
        return None
    alias = table["alias"] or table["table_name"]
    lower, upper = [], []
    for condition in _conjuncts(select["where_clause"]):
        if condition["type"] == "COMPARE_BETWEEN":
            if _is_time(condition["input"], alias):
                lower.append(_moment(condition["lower"]))
                upper.append(_moment(condition["upper"]))
        elif condition["class"] == "COMPARISON":
            kind = condition["type"].removeprefix("COMPARE_")
            left, right = condition["left"], condition["right"]
            if _is_time(left, alias) and kind in _LOWER | _UPPER:
                (lower if kind in _LOWER else upper).append(_moment(right))
            elif _is_time(right, alias) and kind in _LOWER | _UPPER:
                (upper if kind in _LOWER else lower).append(_moment(left))
    since = max(filter(None, lower), default=None)
    return (since, min(filter(None, upper), default=None)) if since is not None else None


def _is_timed(table: Node, connection: Connection) -> bool:
    """Whether each row of a table depends on its own interval only."""
    lineage = connection.lineages.get(table["table_name"].lower().removeprefix(LIVE))
    if table["schema_name"].lower() not in ("", "main") or lineage is None:
        return True
    return lineage.by_time and not lineage.tells_since_when


def _conjuncts(condition: Node | None) -> Iterator[Node]:
    if condition is not None and condition["type"] == "CONJUNCTION_AND":
        for child in condition["children"]:
            yield from _conjuncts(child)
    elif condition is not None:
        yield condition


def _is_time(part: Node, alias: str) -> bool:
    if part["class"] != "COLUMN_REF":
        return False
    *table, column = part["column_names"]
    return column.lower() == TIME and table[-1:] in ([], [alias])


def _moment(part: Node) -> datetime | None:
    """The time that a constant expresses; None for other expressions."""
    if part["class"] == "CAST" and part["type_expr"].get("type_name") == "TIMESTAMP":
        part = part["child"]
    literal = part.get("literal") if part["class"] == "CONSTANT" else None
    if isinstance(literal, dict) and literal.get("kind") == "STRING":
        with suppress(ValueError):
            time = datetime.fromisoformat(str(literal["text"]).strip())
            return time if time.tzinfo is None else None
    return None
