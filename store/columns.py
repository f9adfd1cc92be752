"""Columns of the catalogue tables that are not landed records, by table: `columns.csv`."""

from __future__ import annotations

import csv
from importlib.resources import files

Columns = dict[str, tuple[str, str]]
"""Column -> (DuckDB type, meaning)."""


def _read_columns() -> dict[str, Columns]:
    text = (files(__package__) / "columns.csv").read_text(encoding="utf-8")
    tables: dict[str, Columns] = {}
    for row in csv.DictReader(text.splitlines()):
        tables.setdefault(row["table"], {})[row["column"]] = row["type"], row["meaning"]
    return tables


COLUMNS = _read_columns()


def docs(table: str) -> dict[str, str]:
    """Column -> meaning, of a table in `COLUMNS`."""
    return {column: meaning for column, (_, meaning) in COLUMNS[table].items()}
