"""Columns of the tables that a catalogue has beside landed records, by table: `columns.csv`."""

from __future__ import annotations

import csv
from importlib.resources import files

Columns = dict[str, tuple[str, str]]
"""Column -> its type in DuckDB, and its meaning."""


def _read_columns() -> dict[str, Columns]:
    text = (files(__package__) / "columns.csv").read_text(encoding="utf-8")
    tables: dict[str, Columns] = {}
    for row in csv.DictReader(text.splitlines()):
        tables.setdefault(row["table"], {})[row["column"]] = row["type"], row["meaning"]
    return tables


COLUMNS = _read_columns()


def docs(table: str) -> dict[str, str]:
    """Column -> its meaning."""
    return {column: meaning for column, (_, meaning) in COLUMNS[table].items()}
