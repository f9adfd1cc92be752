"""Explains one record, field by field with bytes and values, and prints the explanation.

The values are those of the construct parser, which is also what the columns are tested against.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from ...schemas.field import HEADER, HEADER_LENGTH, LARGEST_COUNT, REST, Field, Type
from ...schemas.layout import Group, Layout
from ...schemas.structs import raw_name, struct
from ..codec import moment, tod_to_unix_us, utc_text
from .record_filter import SelectedRecord

HEADER_MEANING = {
    "mrhdrlen": "bytes of the record",
    "mrhdrzer": "always 0",
    "mrhdrdm": "domain",
    "mrhdrrc": "number of the record",
    "mrhdrtod": "when the record was made",
}


@dataclass(frozen=True)
class FieldLine:
    """One field, bit, entry or stretch of bytes of a record.

    Attributes:
        offset: of its first byte in the record, header included.
        raw: its bytes; None where the record ends before it, or its release does not have it.
        value: as the columns have it; None without one.
        field: the row of the layout; None for entries and bytes without one.
        group: name and number of the entries that the line is in, outermost first.
        note: the value in words, such as the time that a TOD clock shows, or the name of a code.
    """

    name: str
    offset: int
    length: int
    raw: bytes | None
    value: Any = None
    field: Field | None = None
    group: tuple[tuple[str, int], ...] = ()
    note: str = ""
    meaning: str = ""

    @property
    def is_bit(self) -> bool:
        """Whether the line is about bits of the field above it."""
        return self.field is not None and self.field.type is Type.BIT

    @property
    def is_entry(self) -> bool:
        """Whether the line is the head of a group's entry."""
        return self.field is None and bool(self.group) and self.name == self.group[-1][0]

    @property
    def path(self) -> str:
        """The name with the entries around it: `cpu[1].lcucpuid`."""
        around = [f"{name}[{number}]" for name, number in self.group]
        return ".".join(around if self.is_entry else [*around, self.name])


def explain(record: bytes, layout: Layout | None, release: str = "") -> list[FieldLine]:
    """Lists the fields of a record with their values.

    Args:
        record: as written, header included.
        layout: of its kind; None if there is none, then all behind the header is one line.
        release: that wrote it, such as "5.3.0"; it decides where releases differ.
    """
    if layout is None:
        header = {f.name: int.from_bytes(record[f.offset : f.end], "big") for f in HEADER}
        return [*_header(record, header), *_stretch("data", HEADER_LENGTH, record)]
    values = struct(layout, release).parse(record)
    return [*_header(record, values), *_Part(record, 0, len(record)).lines(layout, values)]


def _header(record: bytes, values: Mapping[str, Any]) -> Iterator[FieldLine]:
    for field in HEADER:
        raw, value = record[field.offset : field.end], values[field.name]
        meaning, note = HEADER_MEANING[field.name], _note(field, value)
        yield FieldLine(
            field.name, field.offset, field.length, raw, value, field, (), note, meaning
        )


@dataclass(frozen=True)
class _Part:
    """A record, or the entry of a group in it, that reaches from `base` to `limit`."""

    record: bytes
    base: int
    limit: int
    group: tuple[tuple[str, int], ...] = ()

    def lines(self, layout: Layout, values: Mapping[str, Any]) -> Iterator[FieldLine]:
        """Its fields, then its groups."""
        for field in layout.fields:
            reserved = field.type is Type.RESERVED
            value = None if reserved else values[field.name]
            at, behind = self.base + field.offset, self.base + field.end_in(self.limit - self.base)
            missing = behind > self.limit if reserved else value is None
            if value is not None and field.type is Type.COUNTED:
                behind += int(values[raw_name(field)])
            raw = None if missing else self.record[at:behind]
            if reserved and missing:
                continue
            size, note = behind - at, _note(field, value) or _named(layout, field, raw)
            yield FieldLine(
                field.name, at, size, raw, value, field, self.group, note, field.meaning
            )
            if raw is not None:
                yield from self._bits(layout, field)
        if layout.sequel:
            # The fields of a part, or behind a text.
            base: int = values[f"_{layout.sequel.start}_at"]
            limit = base + int(values[f"_{layout.sequel.start}_has"])
            part = _Part(self.record, base, limit, self.group)
            yield from part.lines(layout.sequel.layout, values)
            return
        for group in layout.groups:
            yield from self._entries(group, values)
        tail = values["tail"]
        if tail:
            start = self.limit - len(tail)
            yield from _stretch("tail", start, self.record[: self.limit], self.group)

    def _bits(self, layout: Layout, field: Field) -> Iterator[FieldLine]:
        for bit in layout.bits_of(field):
            at = self.base + bit.offset
            number = (self.record[at] & bit.mask) >> bit.shift
            raw, value = self.record[at : at + 1], bool(number) if bit.is_boolean else number
            yield FieldLine(bit.name, at, 1, raw, value, bit, self.group, "", bit.meaning)

    def _entries(self, group: Group, values: Mapping[str, Any]) -> Iterator[FieldLine]:
        for number, entry in enumerate(values[group.name]):
            start: int = entry["_base"]
            length = _stride(group, values, self.limit - self.base)
            behind = min(start + length, self.limit)
            inside = (*self.group, (group.name, number))
            code = group.codes[number] if group.codes else None
            raw, meaning = self.record[start:behind], group.meaning
            yield FieldLine(group.name, start, len(raw), raw, code, None, inside, meaning=meaning)
            yield from _Part(self.record, start, behind, inside).lines(group.entry, entry)


def _stride(part: Group, values: Mapping[str, Any], length: int) -> int:
    """Bytes of one entry. `length`: of the record; entries may share what is behind their start."""

    def number(operand: int | str) -> int:
        return operand if isinstance(operand, int) else int(values[operand])

    if part.stride == REST:
        return (length - number(part.start)) // number(part.count)
    return number(part.stride)


def _stretch(
    name: str, start: int, record: bytes, group: tuple[tuple[str, int], ...] = ()
) -> Iterator[FieldLine]:
    """The bytes of a record from `start` on that no field explains."""
    raw = record[start:]
    if raw:
        meaning = "bytes behind the last field known" if name == "tail" else "no layout is known"
        yield FieldLine(name, start, len(raw), raw, raw, None, group, "", meaning)


def _named(layout: Layout, field: Field, raw: bytes | None) -> str:
    """The names that the layout has for the value of a field."""
    number = int.from_bytes(raw or b"")
    values = ((code.name, *code.named_value) for code in layout.codes_of(field) if raw)
    return ", ".join(name for name, value, mask in values if number & mask == value)


def _note(field: Field, value: Any) -> str:
    """A clock as a time in UTC, a duration in seconds."""
    if field.type is Type.CLOCK and value is not None and value <= LARGEST_COUNT:
        return utc_text(value)
    if field.type is Type.TOD and value:
        return utc_text(int(tod_to_unix_us(np.array([value], np.uint64))[0]))
    if field.type is Type.TIMER and value:
        return f"{value / 4096e6:,.6f} s"  # 4096 units of the clock are a microsecond
    return ""


SHOWN = 16
"""Bytes of a field that a table shows; the hexdump and the other formats have all of them."""


def heading(record: SelectedRecord, dump: str) -> str:
    """Two lines: which record it is, and where and when it was written."""
    layout = record.layout
    number = f"{record.domain}.{record.record}"
    title = f"  {layout.title}" if layout and layout.title else ""
    basis = f"{layout.kind}, layout {layout.provenance}" if layout else "no layout known"
    place = f"offset {record.offset:#x} of {dump}, {len(record.data)} bytes"
    return (
        f"{record.name or 'unknown record'} ({number}){title}\n"
        f"{utc_text(record.tod_us)}, {place}, {basis}\n"
    )


def table(lines: Sequence[FieldLine]) -> pa.Table:
    """The lines that have bytes, for a reader: bits and entries are indented."""
    shown = [line for line in lines if line.raw is not None]
    return pa.table(
        {
            "field": [_indented_name(line) for line in shown],
            "offset": [line.offset for line in shown],
            "hex": [f"{line.offset:04X}" for line in shown],
            "bytes": [_short(line.raw or b"") for line in shown],
            "value": [_value_text(line) for line in shown],
            "unit": [line.field.unit if line.field else "" for line in shown],
            "meaning": [line.meaning for line in shown],
        }
    )


def footnote(lines: Sequence[FieldLine]) -> str:
    """The fields that this record does not have, if there are any."""
    missing = [line.path for line in lines if line.raw is None]
    return f"not in this record: {', '.join(missing)}\n" if missing else ""


def rows(record: SelectedRecord, lines: Sequence[FieldLine], dump: str) -> pa.Table:
    """A row for each line, with the place of its record; values as text."""
    about = _about(record, dump)
    rows = [about | _row(line) for line in lines]
    numbers = ("record_offset", "domain", "record", "offset", "length")
    kinds = {"tod": pa.timestamp("us"), **dict.fromkeys(numbers, pa.int64())}
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in rows[0]])
    return pa.Table.from_pylist(rows, schema=schema)


def document(record: SelectedRecord, lines: Sequence[FieldLine], dump: str) -> dict[str, Any]:
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


def _row(line: FieldLine) -> dict[str, Any]:
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


def _indented_name(line: FieldLine) -> str:
    depth = len(line.group) + line.is_bit - line.is_entry
    return "  " * depth + line.name + (f"[{line.group[-1][1]}]" if line.is_entry else "")


def _value_text(line: FieldLine) -> str:
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


WIDTH = 16
EBCDIC = "cp037"
PALETTE = ("cyan", "yellow", "green", "magenta")
RESERVED = "bright_black"

Paint = Callable[[str, str], str]
"""Text and colour to coloured text."""


def plain(text: str, _colour: str) -> str:
    """No colour."""
    return text


def hexdump(record: bytes, lines: Sequence[FieldLine], paint: Paint = plain) -> Iterator[str]:
    """The lines of the dump: offset, bytes, EBCDIC, and the fields that begin there.

    A bar precedes the first byte of a field. Second views of a field are not marked.

    Args:
        lines: of `explain` for the record.
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
            letter = record[at : at + 1].decode(EBCDIC)
            is_shown = letter.isascii() and letter.isprintable()
            letters += paint(letter if is_shown else ".", colours[at])
            names += [paint(name, colours[at]) for name in starts.get(at, ())]
        spare = " " * max(first + WIDTH - len(record), 0)
        yield f"+{first:04X} {cells}  *{letters}{spare}*  {' '.join(names)}".rstrip()


def _marks(record: bytes, lines: Sequence[FieldLine]) -> tuple[dict[int, list[str]], list[str]]:
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
