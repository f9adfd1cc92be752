"""`meta.dictionary`: every record and field, as a table that SQL can search."""

from __future__ import annotations

import json
from collections.abc import Iterator

from ...schemas.arrow import CODE
from ...schemas.field import Field
from ...schemas.registry import by_record, records
from .views import name, text

COLUMNS = {
    "table_name": ("VARCHAR", "Table that the field lands in; NULL of a record without a layout."),
    "column_name": (
        "VARCHAR",
        "Column of the table that has it: its own, or `code`; NULL of a record without a layout.",
    ),
    "name": (
        "VARCHAR",
        "IBM's name in lower case, without the prefix; NULL of a record without a layout.",
    ),
    "domain": ("INTEGER", "Domain of the record."),
    "record": ("INTEGER", "Number of the record."),
    "record_name": ("VARCHAR", "IBM's name of the record, in lower case."),
    "kind": ("VARCHAR", "When CP writes the record: sample, event or config."),
    "title": ("VARCHAR", "What the record is about."),
    "offset": ("INTEGER", "Where the field starts in the record, or in the entry of a group."),
    "length": ("INTEGER", "Its bytes; NULL up to the end of the record."),
    "type": ("VARCHAR", "How they are written."),
    "role": ("VARCHAR", "What the field is for; its delta follows from it."),
    "unit": ("VARCHAR", "Unit of a number; NULL if it has none."),
    "since": ("VARCHAR", "First release that has it; NULL where no difference is known."),
    "until": ("VARCHAR", "Last release that has it; NULL where no difference is known."),
    "provenance": ("VARCHAR", "How sure its place is."),
    "code": (
        "VARCHAR",
        "Mask of a bit in its byte, in hexadecimal, or what `code` says of the entry.",
    ),
    "meaning": ("VARCHAR", "What it says; NULL where that is not known."),
}


def rows() -> Iterator[dict[str, object]]:
    """A row for each field, named bit, and label of an entry, keyed by COLUMNS.

    Records without fields have one row, and those that are known by name only no table in it.
    """
    own = by_record()
    for record in records():
        layout = own.get((int(record["domain"]), int(record["record"])))
        if layout is None or not any(table.columns for table in layout.tables()):
            yield _record(record) | {"table_name": layout.name if layout else None}
            continue
        for table in layout.tables():
            for field in (*table.columns, *table.bits):
                yield _row(record, table.name, field)
            for group in table.groups:
                for label in group.labels:
                    yield _row(record, group.entry.name, label) | {"column_name": CODE.name}


def create_sql() -> str:
    """The statement that creates the table, its rows as JSON.

    As VALUES they take twenty times as long to read, and handing over a table instead would
    import pandas, for half a second.
    """
    kinds = json.dumps([{column: kind for column, (kind, _) in COLUMNS.items()}])
    columns = ", ".join(f"row.{name(column)}" for column in COLUMNS)
    dictionary_rows = f"unnest(from_json({text(json.dumps(list(rows())))}, {text(kinds)}))"
    return (
        f"CREATE TABLE meta.dictionary AS SELECT {columns} FROM (SELECT {dictionary_rows} AS row)"
    )


def _record(record: dict[str, str]) -> dict[str, object]:
    """What records.csv says, under the table's columns; nothing of a field."""
    return dict.fromkeys(COLUMNS) | {
        "domain": int(record["domain"]),
        "record": int(record["record"]),
        "record_name": record["dsect"],
        "kind": record["kind"],
        "title": record["title"] or None,
        "provenance": record["provenance"],
    }


def _row(record: dict[str, str], table: str, field: Field) -> dict[str, object]:
    texts = ("type", "role", "unit", "since", "until", "provenance", "code", "meaning")
    return _record(record) | {
        "table_name": table,
        "column_name": field.name,
        "name": field.name,
        "offset": field.offset,
        "length": field.length or None,
        **{word: getattr(field, word) or None for word in texts},
    }
