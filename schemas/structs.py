"""The construct Struct of a layout: the slow, obvious reference decoder.

It parses one record or entry at a time. Tests compare the columns with it for every layout, `cpmon
show` uses it, and it can build a record from values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import construct as c

from .field import (
    FIRST_EBCDIC,
    HEADER,
    HEADER_LENGTH,
    LAST_CONTROL,
    REST,
    Field,
    Type,
    clock_to_unix_us,
    utf8,
)
from .layout import Condition, Group, Layout, Sequel

Context = Any
"""Argument of construct's lambdas: the values parsed so far; `_` is the enclosing context."""

Number = Callable[[Context], Any]

EBCDIC = "cp037"
PAD = " \0"
"""Padding of text on the right: blanks, or zeros if CP never wrote the field."""


@functools.cache
def struct(layout: Layout, release: str = "") -> c.Construct:
    """A Struct whose values have the names and values of the landed columns.

    Fields past the record's own length, and those that `release` does not have, are None; `tail`
    has the bytes after the last known byte, or None. A group is a list of its entries, under the
    group's name.
    """
    if layout.parent:
        raise TypeError(f"{layout.name} describes entries; parse its record {layout.parent}")
    header = [f.name / c.Pointer(f.offset, _wire(f, lambda _: HEADER_LENGTH)) for f in HEADER]
    return c.Struct(*header, *_body(layout, lambda this: this.mrhdrlen, lambda _: 0, release))


def _body(layout: Layout, length: Number, base: Number, release: str) -> list[c.Construct]:
    """The members of a layout whose `length` bytes start at `base` of the stream.

    Fields that the release does not have are None, as in a record that is too short.
    """
    gone = layout.absent(release)

    def member(field: Field) -> c.Construct:
        wire = c.Padding(field.length) if field.type is Type.RESERVED else _wire(field, length)
        at = c.Pointer(lambda this: base(this) + field.offset, c.Peek(wire) if field.of else wire)
        fitting = c.If(lambda this: field.is_inside(length(this)) and field.name not in gone, at)
        return fitting if field.type is Type.RESERVED else field.name / fitting

    members = [part for f in layout.fields for part in _members(f, member(f), length, base)]
    members += [_witness(layout, g.when, length, base) for g in layout.groups if g.when]
    groups = tuple(g for g in layout.groups if g.name not in gone)
    members += [g.name / _entries(g, length, base, release) for g in groups]
    members += [g.name / c.Computed(lambda _: []) for g in layout.groups if g not in groups]
    if layout.sequel:
        return [*members, *_sequel(layout, layout.sequel, length, base, release)]
    return [*members, "tail" / _tail(layout, groups, length, base)]


def _members(
    field: Field, member: c.Construct, length: Number, base: Number
) -> Iterator[c.Construct]:
    """The members for the value of a field.

    If bytes do not follow from the value, they are a member of their own; the value is computed.
    """
    if field.type not in COMPUTED and field.type is not Type.COUNTED:
        yield member
        return
    raw = raw_name(field)
    yield raw / member.subcon
    if field.type in COMPUTED:
        value = COMPUTED[field.type]
        yield field.name / c.Computed(lambda this: _mapped(this[raw], value))
        return
    text = f"_{field.name}_bytes"

    def room(this: Context) -> bool:
        return this[raw] is not None and field.end + this[raw] <= length(this)

    content = c.Pointer(lambda this: base(this) + field.end, c.Bytes(lambda this: this[raw]))
    yield text / c.If(room, content)
    yield field.name / c.Computed(lambda this: _mapped(this[text], utf8))


def raw_name(field: Field) -> str:
    """The member with the bytes of a clock or counted text, whose value is computed."""
    return f"_{field.name}_raw"


def _guest_text(text: bytes) -> str:
    if text[:1].isalnum():
        return text.decode("latin-1").rstrip(PAD)
    is_ebcdic = all(FIRST_EBCDIC <= byte < LAST_CONTROL for byte in text.rstrip(b"\0"))
    return text.decode(EBCDIC).rstrip(PAD) if is_ebcdic else text.hex().upper()


COMPUTED: dict[Type, Callable[[Any], Any]] = {
    Type.CLOCK: clock_to_unix_us,
    Type.GUEST: _guest_text,
}
"""Types whose bytes do not follow from the value."""


def _mapped(value: Any, function: Callable[[Any], Any]) -> Any:
    return None if value is None else function(value)


def _sequel(
    layout: Layout, sequel: Sequel, length: Number, base: Number, release: str
) -> Iterator[c.Construct]:
    """The members of a sequel; all None if the record has none.

    `_<start>_at` and `_<start>_has`: its first byte in the stream, and its length.
    """
    at, has = f"_{sequel.start}_at", f"_{sequel.start}_has"
    text = layout.text

    def start(this: Context) -> int | None:
        if text is None:
            return this[sequel.start] if this[sequel.size] is not None else None
        content = this[f"_{text.name}_bytes"]
        return None if content is None else text.end + len(content)

    def size(this: Context) -> int:
        begin = start(this)
        if begin is None or begin > length(this):
            return 0
        room = length(this) - begin
        return int(room if text else max(min(this[sequel.size], room), 0))

    yield at / c.Computed(lambda this: base(this) + (start(this) or 0))
    yield has / c.Computed(size)
    yield from _body(sequel.layout, lambda this: this[has], lambda this: this[at], release)


def _entries(group: Group, length: Number, base: Number, release: str) -> c.Construct:
    def stride(this: Context) -> int:
        return _stride(group, this, length(this))

    body = _body(group.entry, lambda this: stride(this._), lambda this: this._base, release)
    at = c.Pointer(
        lambda this: base(this) + _operand(group.start, this) + this._index * stride(this),
        c.Struct("_base" / c.Tell, *body),
    )
    return c.Array(lambda this: _entry_count(group, this, length(this)), at)


def _witness(layout: Layout, when: Condition, length: Number, base: Number) -> c.Construct:
    """A member with the bytes that the condition of a group compares."""
    field = layout.field(when.field)
    bytes_ = c.Peek(c.Pointer(lambda this: base(this) + field.offset, c.Bytes(when.reach)))
    return _witnessed(when) / c.If(lambda this: field.end <= length(this), bytes_)


def _witnessed(when: Condition) -> str:
    return f"_{when.field}_{'_'.join(prefix.hex() for prefix in when.prefixes)}"


def _operand(operand: int | str, values: Context) -> Any:
    return operand if isinstance(operand, int) else values[operand]


def _stride(group: Group, values: Context, length: int) -> int:
    """Distance of entries; entries that share the rest of a record have equal parts."""
    if group.stride != REST:
        return int(_operand(group.stride, values))
    start, count = _operand(group.start, values), _operand(group.count, values)
    return int(max(0, length - start) // max(1, count or 0))


def _entry_count(group: Group, values: Context, length: int) -> int:
    """Number of entries of a group in a record: the claimed number, as far as they fit.

    Args:
        values: the record's fields, as parsed.
        length: bytes of the record.
    """
    if group.when:
        found = values[_witnessed(group.when)]
        if found is None or not group.when.holds(found):
            return 0
    if None in [values[o] for o in (group.start, group.stride, group.count) if o in values]:
        return 0
    start, count = (_operand(o, values) for o in (group.start, group.count))
    stride = _stride(group, values, length)
    if start < 0 or stride <= 0:
        return 0
    return int(max(0, min(count, (length - start) // stride)))


def _tail(layout: Layout, groups: tuple[Group, ...], length: Number, base: Number) -> c.Construct:
    def start(this: Context) -> int:
        ends = [layout.length, *(f.end_in(length(this)) for f in layout.fields[-1:])]
        for group in groups:
            if count := _entry_count(group, this, length(this)):
                stride = _stride(group, this, length(this))
                ends.append(_operand(group.start, this) + count * stride)
        return int(max(ends))

    rest = c.Bytes(lambda this: length(this) - start(this))
    at = c.Pointer(lambda this: base(this) + start(this), rest)
    return c.If(lambda this: length(this) > start(this), at)


def _wire(field: Field, length: Number) -> c.Construct:
    """The bytes of a field of a record that is `length` bytes long, as a value."""
    if field.is_number or field.type is Type.COUNTED:
        return c.BytesInteger(field.length, signed=field.type is Type.SIGNED)

    def size(this: Context) -> int:
        return field.end_in(length(this)) - field.offset

    raw = c.Bytes(size)
    if field.type is Type.CHAR:
        return c.ExprAdapter(
            raw,
            lambda text, _: text.decode(EBCDIC).rstrip(PAD),
            lambda text, this: text.ljust(size(this)).encode(EBCDIC),
        )
    if field.type is Type.PACKED:
        return c.ExprAdapter(raw, lambda b, _: b.hex().upper(), lambda text, _: bytes.fromhex(text))
    return raw
