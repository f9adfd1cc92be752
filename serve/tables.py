"""The tables of a store with their meaning, and the queries that SQL can be begun with."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.errors import unknown
from ..queries import queries
from ..reduce.page.page import rendered
from ..store.connection import Connection
from ..store.sql.views import Documented


def tables_page(con: Connection, chosen: Mapping[str, str]) -> bytes:
    """The page of all tables and shipped queries, or that of the columns of a table.

    Raises:
        CpmonError: there is no such table.
    """
    tables = _tables(con)
    name = chosen.get("table")
    if name and name not in tables:
        raise unknown("table", name, tables)
    table = tables[name] if name else None
    return rendered("tables-of-store.html", tables=tables, table=table, queries=queries())


def table_columns(con: Connection) -> dict[str, list[str]]:
    """Name of a table, as SQL names it -> its columns."""
    return {name: [*each.columns] for name, each in _tables(con).items()}


def _tables(con: Connection) -> dict[str, Documented]:
    every = {each.name: each for each in con.documented() if not each.name.startswith("_")}
    return dict(sorted(every.items()))
