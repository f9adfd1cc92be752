"""The dictionary as one HTML page: searchable, in one file, without a network."""

from __future__ import annotations

import html
import itertools
from collections.abc import Iterable, Iterator, Sequence
from importlib.resources import files
from string import Template

Row = dict[str, object]

CELLS = ("name", "offset", "length", "type", "role", "unit", "since", "until", "provenance")
HEADINGS = ("field", "at", "bytes", "type", "role", "unit", "since", "until", "source", "meaning")


def page(rows: Iterable[Row]) -> str:
    """The page of some rows of `dictionary.rows`, a section for each table."""
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
            "It has no fields." if first["table_name"] else "Known by name only; it lands as it is."
        )
        yield f"<p>{paragraph}</p>"
    else:
        yield "<table><thead><tr>" + "".join(f"<th>{h}</th>" for h in HEADINGS) + "</tr></thead>"
        yield "<tbody>"
        yield from map(_row, rows)
        yield "</tbody></table>"
    yield "</section>"


def _row(row: Row) -> str:
    code = f" ({row['code']})" if row["code"] else ""
    cells = [*(row[cell] for cell in CELLS), f"{row['meaning'] or ''}{code}"]
    mark = ' class="bit"' if row["type"] == "bit" else ""
    return f"<tr{mark}>" + "".join(f"<td>{_safe(cell)}</td>" for cell in cells) + "</tr>"


def _safe(cell: object) -> str:
    return "" if cell is None else html.escape(str(cell))
