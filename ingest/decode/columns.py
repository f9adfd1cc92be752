"""Decodes all records of one layout into Arrow columns, by a layout compiled to array reads.

Records are first copied side by side into a block that fits the cache; then every band, a run of
neighbouring fields of one width, is transposed out of it in one call. Measured against a C loop
that goes record by record: see `bench/`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...schemas.arrow import SHORT, arrow_type
from ...schemas.field import COUNT_LENGTH, REST, WIDEST, Field, Type
from ...schemas.layout import Group, Layout, Sequel
from ..codec import (
    DECODERS,
    I64,
    U8,
    Mask,
    as_arrow,
    clock_to_unix_us,
    dictionary,
    items,
    strings,
    utf8_texts,
)


@dataclass(frozen=True)
class Decoded:
    """The records of one layout, column by column.

    `columns` and `tail` are in the order of the records given. `entries` has, for each group, the
    decoded entries and the record (0-based) that each one belongs to. `impossible` has what is NULL
    because no system can have that value. `cut` has the numbers of the records in which a text or
    part reaches behind the end.
    """

    layout: Layout
    columns: dict[str, pa.Array]
    tail: pa.Array
    entries: tuple[Entries, ...] = ()
    impossible: tuple[Impossible, ...] = ()
    cut: I64 = dataclasses.field(default_factory=lambda: np.empty(0, np.int64))


@dataclass(frozen=True)
class Entries:
    """The entries of one group in many records, one after another.

    `record`, `position`: (entries,) the record each belongs to and its place there, from 0.
    `cut`: numbers of the records that claim more entries than they have room for.
    """

    decoded: Decoded
    record: I64
    position: I64
    cut: I64


@dataclass(frozen=True)
class Impossible:
    """Values of a field that are beyond its limit, in many records.

    `record`: (values,) numbers of the records, ascending. `first`: the value in the first of them.
    """

    field: Field
    record: I64
    first: int


def merge(parts: list[Decoded], taken: I64) -> Decoded:
    """The rows `taken` of all parts laid end to end, with the entries of their groups."""

    def merged(chunks: list[pa.Array]) -> pa.Array:
        whole = pa.chunked_array(chunks).unify_dictionaries().combine_chunks()
        return whole.take(pa.array(taken))

    first = parts[0]
    columns = {name: merged([p.columns[name] for p in parts]) for name in first.columns}
    place = np.empty(len(taken), np.int64)
    place[taken] = np.arange(len(taken))
    places = np.split(place, np.cumsum([len(p.tail) for p in parts])[:-1])
    groups = zip(*(p.entries for p in parts), strict=True)
    entries = tuple(_merge_entries(group, places) for group in groups)
    impossible = tuple(_merge_impossible(parts, places))
    return Decoded(first.layout, columns, merged([p.tail for p in parts]), entries, impossible)


def _merge_impossible(parts: list[Decoded], places: list[I64]) -> Iterator[Impossible]:
    """The impossible values of several parts; `places`: where each part's records went."""
    fields: dict[Field, list[Impossible]] = {}
    for part, at in zip(parts, places, strict=True):
        for values in part.impossible:
            moved = Impossible(values.field, at[values.record], values.first)
            fields.setdefault(values.field, []).append(moved)
    for field, several in fields.items():
        record = np.sort(np.concatenate([values.record for values in several]))
        first = min(several, key=lambda values: int(values.record.min())).first
        yield Impossible(field, record, first)


def _merge_entries(parts: tuple[Entries, ...], places: list[I64]) -> Entries:
    """The entries of one group in several parts; `places`: where each part's records went."""
    record = np.concatenate([at[p.record] for p, at in zip(parts, places, strict=True)])
    position = np.concatenate([p.position for p in parts])
    cut = np.concatenate([at[p.cut] for p, at in zip(parts, places, strict=True)])
    order = np.lexsort((position, record))
    decoded = merge([p.decoded for p in parts], order)
    return Entries(decoded, record[order], position[order], np.sort(cut))


BLOCK_BYTES = 512 * 1024
"""Half of a core's second-level cache: a block and the columns made of it stay in it."""


@dataclass(frozen=True)
class Band:
    """Neighbouring fields of one format, read as the rows of one (fields, records) array."""

    offset: int
    wire: np.dtype[Any]
    fields: tuple[Field, ...]

    @property
    def landed(self) -> np.dtype[Any]:
        """What it is converted to: wider, where unsigned numbers land in signed ones.

        Those of 64 bits stay unsigned here, and land as the signed numbers of the same bits.
        """
        native = self.wire.newbyteorder("=")
        if native.kind != "u" or native.itemsize == WIDEST:
            return native
        return np.dtype(np.int32 if native.itemsize <= SHORT else np.int64)


def decode(layout: Layout, window: U8, starts: I64, lengths: I64, release: str = "") -> Decoded:
    """Decodes all records of one layout.

    Args:
        layout: what the bytes mean; fields past a record's own length become NULL.
        window: bytes of the dump.
        starts: (records,) where each record starts in the window.
        lengths: (records,) bytes of each; the window holds all of them.
        release: CP level that wrote them, "4.3.0" or "7.3.0+callevel.5"; fields it does not have
            become NULL. Empty if not known: then the bytes of a replaced field are read in each of
            its meanings.
    """
    whole = before = _decode_placed(layout, window, starts, lengths, release)
    if layout.sequel is None:
        return whole
    cut = np.zeros(len(starts), bool)
    # Each stretch between two texts is decoded for all records at once, since it has one length,
    # wherever it begins. The tail is that behind the last stretch, up to the end of its part.
    while sequel := before.layout.sequel:
        start, following, is_cut, text = _place(before, sequel, window, starts, lengths)
        cut |= is_cut
        starts, lengths, part = starts + start, following, sequel.layout
        before = _decode_placed(part, window, starts, np.minimum(lengths, part.length), release)
        columns = {**whole.columns, **text, **before.columns}
        whole = replace(whole, columns=columns, impossible=whole.impossible + before.impossible)
    tail = _tails(window, starts, before.layout.length, lengths)
    return replace(whole, tail=tail, cut=np.flatnonzero(cut))


def _decode_placed(layout: Layout, window: U8, starts: I64, lengths: I64, release: str) -> Decoded:
    """`decode` of the fields of fixed offsets, and of groups."""
    if len(lengths) == 0 or lengths.min() == lengths.max():
        length = int(lengths[0]) if len(lengths) else layout.length
        return _decode_equal(layout, window, starts, length, release)
    distinct = np.unique(lengths)
    members = [np.flatnonzero(lengths == length) for length in distinct]
    parts = [
        _decode_equal(layout, window, starts[m], int(n), release)
        for m, n in zip(members, distinct, strict=True)
    ]
    return merge(parts, np.argsort(np.concatenate(members), kind="stable"))


def _place(
    before: Decoded, sequel: Sequel, window: U8, starts: I64, lengths: I64
) -> tuple[I64, I64, Mask, dict[str, pa.Array]]:
    """The place of a sequel in each record.

    Returns:
        Where it begins, (records,) from what it follows; its bytes, 0 where a record has none;
        whether what it says reaches behind the end; the column of the text that it follows, if any.
    """
    text = before.layout.text
    if text is None:
        start, size = (
            np.asarray(before.columns[name].fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
            for name in (sequel.start, sequel.size)
        )
        room = np.where((start >= 0) & (size >= 0), lengths - start, -1).clip(0)
        is_cut = (start < 0) | (size > room)
        return np.where(room > 0, start, 0), np.minimum(size, room).clip(0), is_cut, {}
    counted = np.flatnonzero(lengths >= text.end)
    counts = np.zeros(len(starts), np.int64)
    raw = gather(window, starts[counted] + text.offset, COUNT_LENGTH)
    counts[counted] = raw.view(">u2")[:, 0]
    has = (lengths >= text.end) & (text.end + counts <= lengths)
    size = np.where(has, counts, 0)
    start = np.where(has, text.end + size, 0)
    texts = utf8_texts(pieces(window, np.where(has, starts + text.end, 0), size))
    column = pc.if_else(pa.array(has), texts, pa.scalar(None, texts.type))
    return start, np.where(has, lengths - start, 0), (lengths > 0) & ~has, {text.name: column}


def gather(window: U8, starts: I64, length: int) -> U8:
    """(records, length): equally long pieces of the window, copied side by side."""
    if length == 0 or len(starts) == 0:
        return np.empty((len(starts), length), np.uint8)
    return items(window, length)[starts].view(np.uint8).reshape(-1, length)


def copied(window: U8, starts: I64, lengths: I64) -> U8:
    """Pieces of the window end to end, in the order given. `starts`, `lengths`: (pieces,)."""
    if len(lengths) and lengths.min() == lengths.max():
        return gather(window, starts, int(lengths[0])).ravel()
    data = np.empty(int(lengths.sum()), np.uint8)
    copy_pieces(window, starts, lengths, data, np.cumsum(lengths) - lengths)
    return data


def copy_pieces(window: U8, starts: I64, lengths: I64, target: U8, places: I64) -> None:
    """Copy pieces of the window to places of another array, all of one length at once."""
    for length in np.unique(lengths).tolist():
        if length:
            chosen = np.flatnonzero(lengths == length)
            rows = gather(window, starts[chosen], length)
            items(target, length)[places[chosen]] = rows.view(f"V{length}")[:, 0]


def pieces(window: U8, starts: I64, lengths: I64) -> pa.BinaryArray:
    """Pieces of the window as binary values, in the order given. `starts`, `lengths`: (pieces,)."""
    return strings(copied(window, starts, lengths), lengths, pa.binary())


@dataclass(frozen=True)
class RecordPlan:
    """How records of one layout and one length are read.

    `bands` and `opaque` (text, digits, bytes) cover the fields inside the record. `kinds` are the
    Arrow types of all columns, in order; `missing` those of the fields behind its end, or not in
    the release. `limited` are those with a largest possible value. `groups` are those that the
    release has.
    """

    bands: tuple[Band, ...]
    opaque: tuple[Field, ...]
    missing: dict[str, pa.DataType]
    kinds: dict[str, pa.DataType]
    limited: tuple[Field, ...]
    groups: frozenset[str]


@functools.cache
def plan(layout: Layout, length: int, release: str = "") -> RecordPlan:
    """The plan for records of `length` bytes, or entries of a group of that many."""
    gone = layout.absent(release)
    placed = [f for f in layout.placed if f.type is not Type.COUNTED]
    inside = [f for f in placed if f.is_inside(length) and f.name not in gone]
    runs: list[list[Field]] = []
    for field in (f for f in inside if f.is_number):
        last = runs[-1][-1] if runs else None
        if last and last.end == field.offset and last.wire == field.wire:
            runs[-1].append(field)
        else:
            runs.append([field])
    return RecordPlan(
        bands=tuple(Band(b[0].offset, np.dtype(b[0].wire), tuple(b)) for b in runs),
        opaque=tuple(f for f in inside if not f.is_number),
        missing={f.name: arrow_type(f) for f in placed if f not in inside},
        kinds={f.name: arrow_type(f) for f in placed},
        limited=tuple(f for f in inside if f.limit is not None),
        groups=frozenset(g.name for g in layout.groups if g.name not in gone),
    )


def _decode_equal(layout: Layout, window: U8, starts: I64, length: int, release: str) -> Decoded:
    """`decode` for records of one length."""
    how = plan(layout, length, release)
    absent = {kind: pa.nulls(len(starts), kind) for kind in how.missing.values()}
    columns = {name: absent.get(how.missing.get(name)) for name in how.kinds}
    numbers, opaques = _read(how, window, starts, length)
    impossible = tuple(_impossible(how, numbers))
    valid = {v.field.name: np.bincount(v.record, minlength=len(starts)) == 0 for v in impossible}
    for name, row in numbers.items():
        columns[name] = as_arrow(row, how.kinds[name], valid.get(name))
    for field, raw in zip(how.opaque, opaques, strict=True):
        if field.type in DECODERS:
            columns[field.name] = dictionary(raw, DECODERS[field.type])
        else:
            columns[field.name] = strings(raw, np.full(len(raw), raw.shape[1]), pa.binary())
    end = max(layout.length, *(f.end_in(length) for f in layout.fields[-1:]), 0)
    entries, ends = [], np.full(len(starts), end, np.int64)
    for group in layout.groups:
        mask = _have_group(layout, group, how, window, starts, length)
        found, behind = _decode_group(group, numbers, mask, window, starts, length, release)
        entries.append(found)
        ends = np.maximum(ends, behind)
    tails = _tails(window, starts, ends, length)
    return Decoded(layout, columns, tails, tuple(entries), impossible)


def _read(
    how: RecordPlan, window: U8, starts: I64, length: int
) -> tuple[dict[str, npt.NDArray[Any]], list[U8]]:
    """The fields of a plan: numbers by name, each (records,); others (records, width) each."""
    count = len(starts)
    numbers = [np.empty((len(band.fields), count), band.landed) for band in how.bands]
    ends = [f.end_in(length) for f in how.opaque]
    opaques = [
        np.empty((count, end - f.offset), np.uint8) for f, end in zip(how.opaque, ends, strict=True)
    ]
    step = max(BLOCK_BYTES // max(length, 1), 1)
    for first in range(0, count, step):
        block = gather(window, starts[first : first + step], length)
        rows = slice(first, first + len(block))
        for band, target in zip(how.bands, numbers, strict=True):
            shape, strides = (len(band.fields), len(block)), (band.wire.itemsize, length)
            target[:, rows] = np.ndarray(shape, band.wire, block, band.offset, strides)
        for field, end, raw in zip(how.opaque, ends, opaques, strict=True):
            raw[rows] = block[:, field.offset : end]
    return {
        field.name: clock_to_unix_us(row) if field.type is Type.CLOCK else row
        for band, target in zip(how.bands, numbers, strict=True)
        for field, row in zip(band.fields, target, strict=True)
    }, opaques


def _impossible(how: RecordPlan, numbers: dict[str, npt.NDArray[Any]]) -> Iterator[Impossible]:
    """The fields that are beyond their limit in some record."""
    for field in how.limited:
        row = numbers[field.name]
        if len(row) and int(row.max()) > (field.limit or 0):
            beyond = np.flatnonzero(row > field.limit)
            yield Impossible(field, beyond, int(row[beyond[0]]))


def _have_group(
    layout: Layout, group: Group, how: RecordPlan, window: U8, starts: I64, length: int
) -> Mask:
    """(records,) whether the record has the group: by its release and by its condition."""
    none, when = np.zeros(len(starts), bool), group.when
    if group.name not in how.groups:
        return none
    if when is None:
        return ~none
    field = layout.field(when.field)
    if field.end > length:
        return none
    found = gather(window, starts + field.offset, when.reach)
    equal = np.zeros(len(starts), bool)
    for prefix in when.prefixes:
        equal |= (found[:, : len(prefix)] == np.frombuffer(prefix, np.uint8)).all(axis=1)
    return np.asarray(equal != when.negated)


def _decode_group(
    group: Group,
    values: dict[str, npt.NDArray[Any]],
    mask: Mask,
    window: U8,
    starts: I64,
    length: int,
    release: str,
) -> tuple[Entries, I64]:
    """The entries that records claim and have room for, and (records,) the byte behind them.

    There are none where an operand is missing, and the byte is 0. `mask`: records with the group.
    """

    def operand(value: int | str) -> I64:
        if isinstance(value, str) and value in values:
            return values[value].astype(np.int64)
        return np.full(len(mask), value if isinstance(value, int) else 0, np.int64)

    start, claimed = operand(group.start), np.where(mask, operand(group.count), 0)
    stride = operand(group.stride)
    if group.stride == REST:
        stride = (length - start).clip(0) // claimed.clip(1)
    operands = (group.start, group.stride, group.count)
    complete = all(o in values for o in operands if isinstance(o, str) and o != REST)
    usable = complete & (start >= 0) & (stride > 0) & (claimed > 0)
    room = (length - start) // stride.clip(1)
    count = np.where(usable, np.minimum(claimed, room), 0).clip(0)
    record = np.repeat(np.arange(len(starts)), count)
    position = np.arange(len(record)) - (np.cumsum(count) - count)[record]
    at = starts[record] + start[record] + stride[record] * position
    decoded = decode(group.entry, window, at, stride[record], release)
    cut = np.flatnonzero(isinstance(group.count, str) & (count < claimed))
    behind = np.where(count > 0, start + stride * count, 0)
    return Entries(decoded, record, position, cut), behind


def _tails(window: U8, starts: I64, ends: I64 | int, lengths: I64 | int) -> pa.Array:
    """The bytes of each record behind the last one known; NULL where there are none."""
    spare = np.asarray(lengths - ends)
    if not (spare > 0).any():
        return pa.nulls(len(starts), pa.binary())
    spare = spare.clip(0)
    tails = pieces(window, starts + ends, spare)
    return pc.if_else(pa.array(spare > 0), tails, pa.scalar(None, pa.binary()))
