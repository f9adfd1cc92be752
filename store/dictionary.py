"""`meta.dictionary`: every field of every layout, as a table that SQL can search."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ..schemas.layout import Field, Layout
from ..schemas.registry import record_of, tables
from .views import name, text

COLUMNS = {
    "table_name": ("VARCHAR", "Table that the field lands in."),
    "column_name": ("VARCHAR", "IBM's name in lower case, without the prefix."),
    "domain": ("INTEGER", "Domain of the record."),
    "record": ("INTEGER", "Number of the record."),
    "offset": ("INTEGER", "Where the field starts in the record, or in the entry of a group."),
    "length": ("INTEGER", "Its bytes."),
    "type": ("VARCHAR", "How they are written."),
    "role": ("VARCHAR", "What the field is for; growth follows from it."),
    "unit": ("VARCHAR", "Unit of a number; NULL if it has none."),
    "since": ("VARCHAR", "First release that has it; NULL where no difference is known."),
    "until": ("VARCHAR", "Last release that has it; NULL where no difference is known."),
    "provenance": ("VARCHAR", "How sure its place is."),
    "meaning": ("VARCHAR", "What it says; NULL where that is not known."),
}


def rows() -> Iterator[dict[str, object]]:
    """A row for each field, keyed by COLUMNS."""
    for layout in tables().values():
        for field in layout.columns:
            yield _row(layout, field)


def create_sql() -> str:
    """The statement that creates the table, its rows as JSON.

    As VALUES they take twenty times as long to read, and handing over a table instead would
    import pandas, for half a second.
    """
    kinds = json.dumps([{column: kind for column, (kind, _) in COLUMNS.items()}])
    columns = ", ".join(f"row.{name(column)}" for column in COLUMNS)
    found = f"unnest(from_json({text(json.dumps(list(rows())))}, {text(kinds)}))"
    return f"CREATE TABLE meta.dictionary AS SELECT {columns} FROM (SELECT {found} AS row)"


def _row(layout: Layout, field: Field) -> dict[str, object]:
    record = record_of(layout)
    texts = ("type", "role", "unit", "since", "until", "provenance", "meaning")
    return {
        "table_name": layout.name,
        "column_name": field.name,
        "domain": record.domain,
        "record": record.record,
        "offset": field.offset,
        "length": field.length,
        **{word: getattr(field, word) or None for word in texts},
    }
