"""Rows of reductions that several questions are asked of: computed once."""

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
    """For a while reductions have the rows alone that a condition selects, as temporary tables.

    They stand in front of the views of the same names, also where other views read them. Those that
    are kept stay as they are, since they are not computed.

    Args:
        con: a connection on which the reductions are views.
        reductions: with the columns of the condition.
        where: the condition as SQL; `values` are those of its marks.
    """
    kept = {row for (row,) in con.execute("SELECT DISTINCT reduction FROM meta.reduced").fetchall()}
    computed = {each: f"_pinned_{each}" for each in reductions if each not in kept}
    try:
        for each, table in computed.items():
            rows = f"SELECT * FROM {name(each)} WHERE {where}"
            con.execute(f"CREATE TEMP TABLE {name(table)} AS {rows}", values)
        for each, table in computed.items():  # no other is computed from the rows of a few
            con.execute(f"ALTER TABLE temp.{name(table)} RENAME TO {name(each)}")
        yield
    finally:
        for table in (*computed, *computed.values()):
            con.execute(f"DROP TABLE IF EXISTS temp.{name(table)}")
