"""Materializes filtered rows of reductions that several queries read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb

from ...core.sql import name


@contextmanager
def pinned(
    con: duckdb.DuckDBPyConnection, reductions: Iterable[str], where: str, values: Sequence[Any]
) -> Iterator[None]:
    """Restrict reductions to the rows that meet a condition, as temporary tables, in a context.

    The tables shadow the views of the same names, also for other views that read them. Reductions
    with stored results are not materialized, as they need no computation.

    Args:
        con: a connection on which the reductions are views.
        reductions: reductions with the columns of the condition.
        where: the SQL condition; `values` are those of its parameters.
    """
    kept = {row for (row,) in con.execute("SELECT DISTINCT reduction FROM meta.reduced").fetchall()}
    computed = {each: f"_pinned_{each}" for each in reductions if each not in kept}
    try:
        for each, table in computed.items():
            rows = f"SELECT * FROM {name(each)} WHERE {where}"
            con.execute(f"CREATE TEMP TABLE {name(table)} AS {rows}", values)
        for each, table in computed.items():  # rename last: no table is computed from filtered rows
            con.execute(f"ALTER TABLE temp.{name(table)} RENAME TO {name(each)}")
        yield
    finally:
        for table in (*computed, *computed.values()):
            con.execute(f"DROP TABLE IF EXISTS temp.{name(table)}")
