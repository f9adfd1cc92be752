"""Renders an explained record: heading, table of its fields, flat rows, JSON, hexdump."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ...schemas.field import Type
from ..codec import moment
from .explanation import Line
from .record_filter import SelectedRecord

SHOWN = 16
"""Bytes of a field that a table shows; the hexdump and the other formats have all of them."""

ROWS = pa.schema(
    [
        ("dump", pa.string()),
        ("record_offset", pa.int64()),
        ("tod", pa.timestamp("us")),
        ("domain", pa.int64()),
        ("record", pa.int64()),
        ("name", pa.string()),
        ("field", pa.string()),
        ("offset", pa.int64()),
        ("length", pa.int64()),
        ("bytes", pa.string()),
        ("value", pa.string()),
        ("note", pa.string()),
        ("unit", pa.string()),
        ("role", pa.string()),
        ("provenance", pa.string()),
        ("meaning", pa.string()),
    ]
)


def heading(record: SelectedRecord, dump: str) -> str:
    """Two lines: which record it is, and where and when it was written."""
    layout = record.layout
    number = f"{record.domain}.{record.record}"
    title = f"  {layout.title}" if layout and layout.title else ""
    basis = f"{layout.kind}, layout {layout.provenance}" if layout else "no layout known"
    when = f"{moment(record.tod_us):%Y-%m-%d %H:%M:%S.%f} UTC"
    return (
        f"{record.name or 'unknown record'} ({number}){title}\n"
        f"{when}, offset {record.offset:#x} of {dump}, {len(record.data)} bytes, {basis}\n"
    )


def table(lines: Sequence[Line]) -> pa.Table:
    """The lines that have bytes, for a reader: bits and entries are indented."""
    shown = [line for line in lines if line.raw is not None]
    columns = {n: pa.array([value(x) for x in shown], kind) for n, (kind, value) in COLUMNS.items()}
    return pa.table(columns)


def footnote(lines: Sequence[Line]) -> str:
    """The fields that this record does not have, if there are any."""
    missing = [line.path for line in lines if line.raw is None]
    return f"not in this record: {', '.join(missing)}\n" if missing else ""


def rows(record: SelectedRecord, lines: Sequence[Line], dump: str) -> pa.Table:
    """A row for each line, with where the record stands; values as text."""
    about = _about(record, dump)
    return pa.Table.from_pylist([about | _row(line) for line in lines], schema=ROWS)


def document(record: SelectedRecord, lines: Sequence[Line], dump: str) -> dict[str, Any]:
    """The record for JSON: numbers stay numbers, bytes are hexadecimal."""
    layout, about = record.layout, _about(record, dump)
    return {
        "schema_version": 1,
        **about,
        "tod": about["tod"].isoformat(timespec="microseconds"),
        "title": layout.title if layout else None,
        "layout": str(layout.provenance) if layout else None,
        "release": record.release or None,
        "length": len(record.data),
        "fields": [_row(line) | {"value": _plain(line.value)} for line in lines],
    }


def _about(record: SelectedRecord, dump: str) -> dict[str, Any]:
    return {
        "dump": dump,
        "record_offset": record.offset,
        "tod": moment(record.tod_us).replace(tzinfo=None),
        "domain": record.domain,
        "record": record.record,
        "name": record.name or None,
    }


def _row(line: Line) -> dict[str, Any]:
    column = line.field
    # The header is in no layout; its place is published.
    in_layout = column if column and column.role else None
    return {
        "field": line.path,
        "offset": line.offset,
        "length": line.length,
        "bytes": None if line.raw is None else line.raw.hex(),
        "value": None if line.value is None else str(_plain(line.value)),
        "note": line.note or None,
        "unit": (column.unit or None) if column else None,
        "role": str(in_layout.role) if in_layout else None,
        "provenance": str(in_layout.provenance) if in_layout else None,
        "meaning": line.meaning or None,
    }


def _plain(value: Any) -> Any:
    return value.hex() if isinstance(value, bytes) else value


def _indented_name(line: Line) -> str:
    depth = len(line.group) + line.is_bit - line.is_entry
    return "  " * depth + line.name + (f"[{line.group[-1][1]}]" if line.is_entry else "")


def _value_text(line: Line) -> str:
    """The value for a reader: flags as they are written, times, durations and codes in words."""
    value, column = line.value, line.field
    if value is None or isinstance(value, bytes):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    is_bits = column is not None and column.type is Type.BITS
    text = f"X'{value:0{2 * line.length}X}'" if is_bits else str(value)
    return f"{text} = {line.note}" if line.note else text


def _short(raw: bytes) -> str:
    more = f" + {len(raw) - SHOWN} more" if len(raw) > SHOWN else ""
    return raw[:SHOWN].hex(" ", -4).upper() + more


COLUMNS: dict[str, tuple[pa.DataType, Callable[[Line], Any]]] = {
    "field": (pa.string(), _indented_name),
    "offset": (pa.int64(), lambda line: line.offset),
    "hex": (pa.string(), lambda line: f"{line.offset:04X}"),
    "bytes": (pa.string(), lambda line: _short(line.raw or b"")),
    "value": (pa.string(), _value_text),
    "unit": (pa.string(), lambda line: line.field.unit if line.field else ""),
    "meaning": (pa.string(), lambda line: line.meaning),
}
"""What a reader sees of a line: type and value of each column."""


WIDTH = 16
EBCDIC = "cp037"
PALETTE = ("cyan", "yellow", "green", "magenta")
RESERVED = "bright_black"

Paint = Callable[[str, str], str]
"""Text and colour to coloured text."""


def plain(text: str, _colour: str) -> str:
    """No colour."""
    return text


def hexdump(record: bytes, lines: Sequence[Line], paint: Paint = plain) -> Iterator[str]:
    """The lines of the dump: offset, bytes, EBCDIC, and the fields that begin there.

    A bar stands before the first byte of a field. Second views of a field are not marked.

    Args:
        lines: what `explain` says of the record.
        paint: colours a text; neighbouring fields get different colours.
    """
    starts, colours = _marks(record, lines)
    for first in range(0, len(record), WIDTH):
        cells, letters, names = "", "", []
        for at in range(first, first + WIDTH):
            if at >= len(record):
                cells += "   "
                continue
            cells += "|" if at in starts else " "
            cells += paint(f"{record[at]:02X}", colours[at])
            letters += paint(_letter(record[at]), colours[at])
            names += [paint(name, colours[at]) for name in starts.get(at, ())]
        spare = " " * max(first + WIDTH - len(record), 0)
        yield f"+{first:04X} {cells}  *{letters}{spare}*  {' '.join(names)}".rstrip()


def _marks(record: bytes, lines: Sequence[Line]) -> tuple[dict[int, list[str]], list[str]]:
    """Names of what begins at an offset, and the colour of each byte."""
    starts: dict[int, list[str]] = {}
    colours = [RESERVED] * len(record)
    turn = 0
    for line in lines:
        if line.raw is None or line.is_bit or (line.field and line.field.of):
            continue
        name = f"{line.path}:" if line.is_entry else line.name
        starts.setdefault(line.offset, []).append(name)
        if line.is_entry or (line.field and line.field.type is Type.RESERVED):
            continue
        colours[line.offset : line.offset + line.length] = [PALETTE[turn]] * line.length
        turn = (turn + 1) % len(PALETTE)
    return starts, colours


def _letter(byte: int) -> str:
    letter = bytes([byte]).decode(EBCDIC)
    return letter if letter.isascii() and letter.isprintable() else "."
