"""The construct Struct of a layout: slow, obvious, and the measure for the fast path.

It parses one record (or one entry of a group) at a time. Tests hold the columns against it for
every layout, `cpmon show` explains with it, and it can build a record from values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import construct as c

from .layout import HEADER, Field, Group, Layout, Type

Context = Any
"""What construct hands to a lambda: the values parsed so far, with `_` for those around them."""

Number = Callable[[Context], Any]

EBCDIC = "cp037"
PAD = " \0"
"""What fills a text field up on the right: blanks, or zeros where CP never wrote it."""


@functools.cache
def struct(layout: Layout) -> c.Construct:
    """A Struct whose values have the names and values of the landed columns.

    Fields past the record's own length are None; `tail` has the bytes behind the last byte known,
    or None. A group is a list of its entries, under the group's name.
    """
    if layout.parent:
        raise TypeError(f"{layout.name} describes entries; parse its record {layout.parent}")
    header = [f.name / c.Pointer(f.offset, _wire(f)) for f in HEADER]
    return c.Struct(*header, *_body(layout, lambda this: this.mrhdrlen, lambda _: 0))


def _body(layout: Layout, length: Number, base: Number) -> list[c.Construct]:
    """The members of a layout whose `length` bytes start at `base` of the stream."""

    def member(field: Field) -> c.Construct:
        wire = c.Padding(field.length) if field.type is Type.RESERVED else _wire(field)
        at = c.Pointer(lambda this: base(this) + field.offset, c.Peek(wire) if field.of else wire)
        fitting = c.If(lambda this: field.end <= length(this), at)
        return fitting if field.type is Type.RESERVED else field.name / fitting

    members = [member(f) for f in layout.fields]
    members += [g.name / _entries(g, length) for g in layout.groups]
    return [*members, "tail" / _tail(layout, length, base)]


def _entries(group: Group, length: Number) -> c.Construct:
    start, stride = _operand(group.start), _operand(group.stride)
    body = _body(group.entry, lambda this: stride(this._), lambda this: this._base)
    return c.Array(
        lambda this: entry_count(group, this, length(this)),
        c.Pointer(
            lambda this: start(this) + this._index * stride(this),
            c.Struct("_base" / c.Tell, *body),
        ),
    )


def _operand(operand: int | str) -> Number:
    return lambda this: operand if isinstance(operand, int) else this[operand]


def entry_count(group: Group, values: Context, length: int) -> int:
    """How many entries of a group lie inside a record: those that it claims and that fit."""
    start, stride, count = (_operand(o)(values) for o in (group.start, group.stride, group.count))
    if None in (start, stride, count) or start < 0 or stride <= 0:
        return 0
    return max(0, min(int(count), (length - int(start)) // int(stride)))


def _tail(layout: Layout, length: Number, base: Number) -> c.Construct:
    def start(this: Context) -> int:
        ends = [layout.length]
        for group in layout.groups:
            count = entry_count(group, this, length(this))
            if count:
                ends.append(_operand(group.start)(this) + count * _operand(group.stride)(this))
        return int(max(ends))

    return c.If(
        lambda this: length(this) > start(this),
        c.Pointer(
            lambda this: base(this) + start(this),
            c.Bytes(lambda this: length(this) - start(this)),
        ),
    )


def _wire(field: Field) -> c.Construct:
    if field.is_number:
        return c.BytesInteger(field.length, signed=field.type is Type.SIGNED)
    raw = c.Bytes(field.length)
    if field.type is Type.CHAR:
        return c.ExprAdapter(raw, _text, lambda text, _: _ebcdic(text, field.length))
    if field.type is Type.PACKED:
        return c.ExprAdapter(raw, lambda b, _: b.hex().upper(), lambda text, _: bytes.fromhex(text))
    return raw


def _text(raw: bytes, _: Context) -> str:
    return raw.decode(EBCDIC).rstrip(PAD)


def _ebcdic(text: str, length: int) -> bytes:
    return text.ljust(length).encode(EBCDIC)
