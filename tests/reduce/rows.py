"""Rows of a view as dicts, for tests that work columns out by hand."""

from __future__ import annotations

from typing import Any

import duckdb


def rows(
    con: duckdb.DuckDBPyConnection, view: str, where: str, values: list[Any]
) -> list[dict[str, Any]]:
    """The rows of a view under a condition, with its columns' names."""
    found = con.execute(f"SELECT * FROM {view} WHERE {where}", values)
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]
