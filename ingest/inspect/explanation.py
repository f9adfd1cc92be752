"""Explains one record: every field with its bytes and its value, in the order of the record.

The values are those of the construct parser, which is also what the columns are tested against.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...schemas.field import HEADER, HEADER_LENGTH, LARGEST_COUNT, REST, Field, Type
from ...schemas.layout import Group, Layout, Sequel
from ...schemas.structs import raw_name, struct
from ..codec import moment, tod_to_unix_us

TOD_UNITS_PER_S = 4096e6
HEADER_MEANING = {
    "mrhdrlen": "bytes of the record",
    "mrhdrzer": "always 0",
    "mrhdrdm": "domain",
    "mrhdrrc": "number of the record",
    "mrhdrtod": "when the record was made",
}


@dataclass(frozen=True)
class Line:
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


def explain(record: bytes, layout: Layout | None, release: str = "") -> list[Line]:
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


def _header(record: bytes, values: Mapping[str, Any]) -> Iterator[Line]:
    for field in HEADER:
        raw, value = record[field.offset : field.end], values[field.name]
        meaning, note = HEADER_MEANING[field.name], _note(field, value)
        yield Line(field.name, field.offset, field.length, raw, value, field, (), note, meaning)


@dataclass(frozen=True)
class _Part:
    """A record, or the entry of a group in it, that reaches from `base` to `limit`."""

    record: bytes
    base: int
    limit: int
    group: tuple[tuple[str, int], ...] = ()

    def lines(self, layout: Layout, values: Mapping[str, Any]) -> Iterator[Line]:
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
            yield Line(field.name, at, size, raw, value, field, self.group, note, field.meaning)
            if raw is not None:
                yield from self._bits(layout, field)
        if layout.sequel:
            yield from self._sequel(layout.sequel, values)
            return
        for group in layout.groups:
            yield from self._entries(group, values)
        tail = values["tail"]
        if tail:
            start = self.limit - len(tail)
            yield from _stretch("tail", start, self.record[: self.limit], self.group)

    def _sequel(self, sequel: Sequel, values: Mapping[str, Any]) -> Iterator[Line]:
        """The fields of a part, or behind a text."""
        base: int = values[f"_{sequel.start}_at"]
        limit = base + int(values[f"_{sequel.start}_has"])
        yield from _Part(self.record, base, limit, self.group).lines(sequel.layout, values)

    def _bits(self, layout: Layout, field: Field) -> Iterator[Line]:
        for bit in layout.bits_of(field):
            at = self.base + bit.offset
            number = (self.record[at] & bit.mask) >> bit.shift
            raw, value = self.record[at : at + 1], bool(number) if bit.is_boolean else number
            yield Line(bit.name, at, 1, raw, value, bit, self.group, "", bit.meaning)

    def _entries(self, group: Group, values: Mapping[str, Any]) -> Iterator[Line]:
        for number, entry in enumerate(values[group.name]):
            start: int = entry["_base"]
            length = _stride(group, values, self.limit - self.base)
            behind = min(start + length, self.limit)
            inside = (*self.group, (group.name, number))
            code = group.codes[number] if group.codes else None
            raw, meaning = self.record[start:behind], group.meaning
            yield Line(group.name, start, len(raw), raw, code, None, inside, meaning=meaning)
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
) -> Iterator[Line]:
    """The bytes of a record from `start` on that no field explains."""
    raw = record[start:]
    if raw:
        meaning = "bytes behind the last field known" if name == "tail" else "no layout is known"
        yield Line(name, start, len(raw), raw, raw, None, group, "", meaning)


def _named(layout: Layout, field: Field, raw: bytes | None) -> str:
    """The names that the layout has for the value of a field."""
    number = int.from_bytes(raw or b"")
    values = ((code.name, *code.named_value) for code in layout.codes_of(field) if raw)
    return ", ".join(name for name, value, mask in values if number & mask == value)


def _note(field: Field, value: Any) -> str:
    """A clock as a time in UTC, a duration in seconds."""
    if field.type is Type.CLOCK and value is not None and value <= LARGEST_COUNT:
        return f"{moment(value):%Y-%m-%d %H:%M:%S.%f} UTC"
    if field.type is Type.TOD and value:
        us = int(tod_to_unix_us(np.array([value], np.uint64))[0])
        return f"{moment(us):%Y-%m-%d %H:%M:%S.%f} UTC"
    if field.type is Type.TIMER and value:
        return f"{value / TOD_UNITS_PER_S:,.6f} s"
    return ""
