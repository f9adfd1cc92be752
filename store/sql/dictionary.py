"""The dictionary of all records and fields: table `meta.dictionary` for SQL, and an HTML page."""

from __future__ import annotations

import html
import itertools
import json
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from string import Template

from ...core.sql import name, text
from ...schemas.arrow import CODE
from ...schemas.field import Field
from ...schemas.registry import by_record, records
from ...schemas.unplaced import Unplaced, unplaced
from ..columns import COLUMNS


def rows() -> Iterator[dict[str, object]]:
    """Yields a row for each field (placed or not), named bit or value, and label of an entry.

    A record without fields has one row; without a table name if only its name is known.
    """
    layouts = by_record()
    for record in records():
        layout = layouts.get((int(record["domain"]), int(record["record"])))
        if layout is None or not any(table.columns for table in layout.tables()):
            yield _record(record) | {"table_name": layout.name if layout else None}
            continue
        for table in layout.tables():
            for field in (*table.columns, *table.bits):
                yield _row(record, table.name, field)
            for code in table.codes:
                yield _row(record, table.name, code) | {"column_name": code.of}
            yield from (_unplaced(record, field) for field in unplaced(table))
            for group in table.groups:
                for label in group.labels:
                    yield _row(record, group.entry.name, label) | {"column_name": CODE.name}


def dictionary() -> str:
    """SELECT of `meta.dictionary`, with its rows inline as JSON.

    VALUES would take twenty times as long to parse, and registering a table would import pandas,
    which takes half a second. `system.main.from_json` is DuckDB's own, not a macro of that name.
    """
    kinds = json.dumps([{column: kind for column, (kind, _) in COLUMNS["dictionary"].items()}])
    columns = ", ".join(f"row.{name(column)}" for column in COLUMNS["dictionary"])
    values = f"{text(json.dumps(list(rows())))}, {text(kinds)}"
    dictionary_rows = f"SELECT unnest(system.main.from_json({values})) AS row"
    return f"SELECT {columns} FROM ({dictionary_rows})"


def _record(record: dict[str, str]) -> dict[str, object]:
    """A row with the facts of records.csv; the columns of fields are None."""
    return dict.fromkeys(COLUMNS["dictionary"]) | {
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
        "offset": None if field.behind else field.offset,
        "length": field.length or None,
        **{word: getattr(field, word) or None for word in texts},
    }


def _unplaced(record: dict[str, str], row: Unplaced) -> dict[str, object]:
    """A row of a field whose place is not known: it has no offset."""
    origin = "unplaced, or assumed by the scenario of a dump" if row.can_be_assumed else "unplaced"
    facts = {"type": row.type, "role": row.role, "unit": row.unit or None, "since": row.since}
    return _record(record) | {
        "table_name": row.dsect,
        "column_name": row.name,
        "name": row.name,
        **facts,
        "provenance": origin,
        "meaning": row.meaning,
    }


Row = dict[str, object]

CELLS = ("name", "offset", "length", "type", "role", "unit", "since", "until", "provenance")
HEADINGS = ("field", "at", "bytes", "type", "role", "unit", "since", "until", "source", "meaning")


def page(rows: Iterable[Row]) -> str:
    """The HTML page of some `rows`, with a section for each table."""
    template = Template((files(__package__) / "dictionary.html").read_text(encoding="utf-8"))
    sections = "\n".join(
        line
        for _, group in itertools.groupby(rows, key=lambda r: (r["record_name"], r["table_name"]))
        for line in _section(list(group))
    )
    return template.substitute(sections=sections)


def _section(rows: Sequence[Row]) -> Iterator[str]:
    first = rows[0]
    name = first["table_name"] or first["record_name"]
    about = f"{first['domain']}.{first['record']}, {first['kind']}: {first['title'] or ''}"
    yield f"<section><h2>{_safe(name)} <small>{_safe(about)}</small></h2>"
    if first["column_name"] is None:
        paragraph = (
            "It has no fields."
            if first["table_name"]
            else "Only its name is known; it lands unparsed."
        )
        yield f"<p>{paragraph}</p>"
    else:
        yield "<table><thead><tr>" + "".join(f"<th>{h}</th>" for h in HEADINGS) + "</tr></thead>"
        yield "<tbody>"
        yield from map(_page_row, rows)
        yield "</tbody></table>"
    yield "</section>"


def _page_row(row: Row) -> str:
    code = f" ({row['code']})" if row["code"] else ""
    cells = [*(row[cell] for cell in CELLS), f"{row['meaning'] or ''}{code}"]
    mark = ' class="bit"' if row["type"] == "bit" else ""
    return f"<tr{mark}>" + "".join(f"<td>{_safe(cell)}</td>" for cell in cells) + "</tr>"


def _safe(cell: object) -> str:
    return "" if cell is None else html.escape(str(cell))
