"""The construct Struct of a layout: slow, obvious, and the measure for the fast path.

It parses one record (or one entry of a group) at a time. Tests hold the columns against it for
every layout, `cpmon show` explains with it, and it can build a record from values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import construct as c

from .field import HEADER, HEADER_LENGTH, REST, Field, Type
from .layout import Condition, Group, Layout

Context = Any
"""What construct hands to a lambda: the values parsed so far, with `_` for those around them."""

Number = Callable[[Context], Any]

EBCDIC = "cp037"
PAD = " \0"
"""What fills a text field up on the right: blanks, or zeros where CP never wrote it."""


@functools.cache
def struct(layout: Layout, release: str = "") -> c.Construct:
    """A Struct whose values have the names and values of the landed columns.

    Fields past the record's own length, and those that `release` does not have, are None; `tail`
    has the bytes behind the last byte known, or None. A group is a list of its entries, under the
    group's name.
    """
    if layout.parent:
        raise TypeError(f"{layout.name} describes entries; parse its record {layout.parent}")
    header = [f.name / c.Pointer(f.offset, _wire(f, lambda _: HEADER_LENGTH)) for f in HEADER]
    return c.Struct(*header, *_body(layout, lambda this: this.mrhdrlen, lambda _: 0, release))


def _body(layout: Layout, length: Number, base: Number, release: str) -> list[c.Construct]:
    """The members of a layout whose `length` bytes start at `base` of the stream.

    What the release does not have is None, as if the record were too short.
    """
    gone = layout.absent(release)

    def member(field: Field) -> c.Construct:
        wire = c.Padding(field.length) if field.type is Type.RESERVED else _wire(field, length)
        at = c.Pointer(lambda this: base(this) + field.offset, c.Peek(wire) if field.of else wire)
        fitting = c.If(lambda this: field.is_inside(length(this)) and field.name not in gone, at)
        return fitting if field.type is Type.RESERVED else field.name / fitting

    members = [member(f) for f in layout.fields]
    members += [_witness(layout, g.when, length, base) for g in layout.groups if g.when]
    groups = tuple(g for g in layout.groups if g.name not in gone)
    members += [g.name / _entries(g, length, base, release) for g in groups]
    members += [g.name / c.Computed(lambda _: []) for g in layout.groups if g not in groups]
    return [*members, "tail" / _tail(layout, groups, length, base)]


def _entries(group: Group, length: Number, base: Number, release: str) -> c.Construct:
    start, stride = _operand(group.start), _stride(group, length)
    body = _body(group.entry, lambda this: stride(this._), lambda this: this._base, release)
    return c.Array(
        lambda this: entry_count(group, this, length(this)),
        c.Pointer(
            lambda this: base(this) + start(this) + this._index * stride(this),
            c.Struct("_base" / c.Tell, *body),
        ),
    )


def _witness(layout: Layout, when: Condition, length: Number, base: Number) -> c.Construct:
    """The bytes that decide whether a group is there, under a name of its own."""
    field = layout.field(when.field)
    bytes_ = c.Peek(c.Pointer(lambda this: base(this) + field.offset, c.Bytes(len(when.prefix))))
    return _witnessed(when) / c.If(lambda this: field.end <= length(this), bytes_)


def _witnessed(when: Condition) -> str:
    return f"_{when.field}_{when.prefix.hex()}"


def _operand(operand: int | str) -> Number:
    return lambda this: operand if isinstance(operand, int) else this[operand]


def _stride(group: Group, length: Number) -> Number:
    """From one entry to the next; entries that share the rest of a record do so evenly."""
    if group.stride != REST:
        return _operand(group.stride)
    start, count = _operand(group.start), _operand(group.count)
    return lambda this: max(0, length(this) - start(this)) // max(1, count(this) or 0)


def entry_count(group: Group, values: Context, length: int) -> int:
    """How many entries of a group lie inside a record: those that it claims and that fit.

    Args:
        values: the record's fields, as parsed.
        length: bytes of the record.
    """
    if group.when:
        prefix = values[_witnessed(group.when)]
        if prefix is None or (prefix == group.when.prefix) is group.when.negated:
            return 0
    named = (values[o] for o in (group.start, group.stride, group.count) if o in values)
    if None in list(named):
        return 0
    start, count = (_operand(o)(values) for o in (group.start, group.count))
    stride = _stride(group, lambda _: length)(values)
    if start < 0 or stride <= 0:
        return 0
    return int(max(0, min(count, (length - start) // stride)))


def _tail(layout: Layout, groups: tuple[Group, ...], length: Number, base: Number) -> c.Construct:
    def start(this: Context) -> int:
        ends = [f.end_in(length(this)) for f in layout.fields[-1:]]
        ends.append(layout.length)
        for group in groups:
            count = entry_count(group, this, length(this))
            if count:
                ends.append(_operand(group.start)(this) + count * _stride(group, length)(this))
        return int(max(ends))

    return c.If(
        lambda this: length(this) > start(this),
        c.Pointer(
            lambda this: base(this) + start(this),
            c.Bytes(lambda this: length(this) - start(this)),
        ),
    )


def _wire(field: Field, length: Number) -> c.Construct:
    """The bytes of a field of a record that is `length` bytes long, as a value."""
    if field.is_number:
        return c.BytesInteger(field.length, signed=field.type is Type.SIGNED)

    def size(this: Context) -> int:
        return field.end_in(length(this)) - field.offset

    raw = c.Bytes(size)
    if field.type in (Type.CHAR, Type.GUEST):

        def decode(text: bytes, _: Context) -> str:
            is_ascii = field.type is Type.GUEST and text[:1].isalnum()
            return text.decode("latin-1" if is_ascii else EBCDIC).rstrip(PAD)

        return c.ExprAdapter(raw, decode, lambda text, this: text.ljust(size(this)).encode(EBCDIC))
    if field.type is Type.PACKED:
        return c.ExprAdapter(raw, lambda b, _: b.hex().upper(), lambda text, _: bytes.fromhex(text))
    return raw
