"""Selects single records of a dump by kind, offset, time or the value of a field.

Windows are read only while records are taken, so the first record of a large dump comes at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...core.errors import CpmonError, unknown
from ...core.errors import nearest as like_name
from ...schemas.field import Field, Type
from ...schemas.layout import Layout
from ...schemas.registry import by_record, record_names
from ..codec import I64, Mask, are_within, tod_to_unix_us
from ..container.monwrite import Framer
from ..container.record_index import Kind
from ..container.source import Source
from ..container.windows import ByteWindow, windows
from ..decode.columns import Decoded, decode
from ..decode.configuration import SYSTEM, Configuration, decode_records
from ..findings import Findings

NUMBER = re.compile(r"(\d+)[./](\d+)")
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class SelectedRecord:
    """One record as the dump has it.

    Attributes:
        data: its bytes, header included.
        offset: where it starts in the dump, decompressed.
        tod_us: its time stamp, microseconds since 1970 UTC.
        release: of the system that wrote it, from the configuration so far; "" if unknown.
    """

    data: bytes
    offset: int
    tod_us: int
    domain: int
    record: int
    release: str = ""

    @property
    def layout(self) -> Layout | None:
        """Its layout; None if there is none."""
        return by_record().get((self.domain, self.record))

    @property
    def name(self) -> str:
        """IBM's name of the record in capitals, or nothing."""
        return record_names().get((self.domain, self.record), "").upper()


@dataclass(frozen=True)
class RecordFilter:
    """The conditions that a record must meet; by default there is none.

    Attributes:
        kinds: (domain, record) of each kind.
        at: an offset in the dump that lies within the record.
        since_us, until_us: microseconds since 1970; time stamps later than the one, up to the
            other.
        where: field or bit -> value, as text; all of them must match.
        skip: number of matching records to skip.
    """

    kinds: frozenset[Kind] = frozenset()
    at: int | None = None
    since_us: int | None = None
    until_us: int | None = None
    where: Mapping[str, str] = field(default_factory=dict)
    skip: int = 0


def kind_of(text: str) -> Kind:
    """(domain, record) of "0.4", "SYTRSP" or "sytrsp".

    Raises:
        CpmonError: there is no record of that name.
    """
    if numbers := NUMBER.fullmatch(text.strip()):
        return int(numbers[1]), int(numbers[2])
    names = {name: kind for kind, name in record_names().items()}
    kind = names.get(text.strip().lower())
    if kind is None:
        raise unknown("record", text.upper(), (name.upper() for name in names))
    return kind


def select_records(
    source: Source, query: RecordFilter, release: str = ""
) -> Iterator[SelectedRecord]:
    """Yields the records that match, in the order of the dump, reading only as they are taken.

    Args:
        release: overrides the release that the dump names.

    Raises:
        DumpError: it is no monitor data.
        CpmonError: no record at that offset; a field of `where` that no selected kind has, or a
            value that it cannot have.
    """
    kinds, skip = _kinds_with(query), query.skip
    configuration = Configuration()
    for window in windows(source, Framer(Findings())):
        if (system := decode_records(window.data, window.index, SYSTEM[0])) is not None:
            configuration.take(*system, window.index.start[system[1]] + window.base)
        written_by = release or configuration.level
        chosen = _chosen(window, query, kinds, written_by)
        taken, skip = chosen[skip:], max(skip - len(chosen), 0)
        for number in taken.tolist():
            yield _select(window, number, written_by)
        limit = window.frames.limit
        if query.at is not None and len(limit) and window.base + int(limit[-1]) > query.at:
            return  # no later window can have the record


def nearest(source: Source, offset: int) -> tuple[int | None, int | None]:
    """Offsets of the records before and behind an offset that lies in none."""
    before: int | None = None
    for window in windows(source, Framer(Findings())):
        starts = np.sort(window.index.start) + window.base
        place = int(np.searchsorted(starts, offset, side="right"))
        if place:
            before = int(starts[place - 1])
        if place < len(starts):
            return before, int(starts[place])
    return before, None


def _select(window: ByteWindow, number: int, release: str) -> SelectedRecord:
    index = window.index
    start, length = int(index.start[number]), int(index.length[number])
    us = int(tod_to_unix_us(index.tod[number : number + 1])[0])
    return SelectedRecord(
        window.data[start : start + length].tobytes(),
        window.base + start,
        us,
        int(index.domain[number]),
        int(index.record[number]),
        release,
    )


def _chosen(window: ByteWindow, query: RecordFilter, kinds: frozenset[Kind], release: str) -> I64:
    """Numbers of the records that match, ascending."""
    index = window.index
    mask = are_within(tod_to_unix_us(index.tod), query.since_us, query.until_us)
    if query.at is not None:
        place = query.at - window.base
        mask &= (index.start <= place) & (place < index.start + index.length)
    if not kinds:
        return np.flatnonzero(mask)
    parts = [np.empty(0, np.int64)]
    for kind, numbers in index.by_kind():
        if kind in kinds:
            inside = numbers[mask[numbers]]
            parts.append(_with_values(window, kind, inside, query.where, release))
    return np.sort(np.concatenate(parts))


def _with_values(
    window: ByteWindow, kind: Kind, numbers: I64, where: Mapping[str, str], release: str
) -> I64:
    """Those records of one kind, which has the fields of `where`, with the values there."""
    if not where or not len(numbers):
        return numbers
    starts, lengths = window.index.start[numbers], window.index.length[numbers]
    decoded = decode(by_record()[kind], window.data, starts, lengths, release)
    masks = [_matches(decoded, name, value) for name, value in where.items()]
    return numbers[np.all(masks, axis=0)]


def _kinds_with(query: RecordFilter) -> frozenset[Kind]:
    """The kinds to search; with `where`, those of them that have all its fields.

    Raises:
        CpmonError: no kind has them.
    """
    if not query.where:
        return query.kinds
    names = {
        kind: {f.name for part in layout.tables() for f in (*part.columns, *part.bits)}
        for kind, layout in by_record().items()
        if not query.kinds or kind in query.kinds
    }
    for name in query.where:
        if not any(name in columns for columns in names.values()):
            raise _unknown_field(name, names)
    kinds = frozenset(k for k, columns in names.items() if columns >= set(query.where))
    if not kinds:
        raise CpmonError("no record has all of these fields", found=", ".join(query.where))
    return kinds


def _unknown_field(name: str, names: Mapping[Kind, set[str]]) -> CpmonError:
    """Names all fields of a single record, else only the nearest name."""
    every = sorted(set().union(*names.values()))
    if len(names) == 1:
        return unknown("field", name, every)
    like = like_name(name, every)
    remedy = f"did you mean {like}?" if like else "name the record with --record"
    return CpmonError(
        f"no record has a field {name}", code="name-unknown", found=name, remedy=remedy
    )


def _matches(decoded: Decoded, name: str, value: str) -> Mask:
    """(records,) whether a field, a bit, or some entry's has the value."""
    mask = np.zeros(len(decoded.tail), np.bool_)
    of = decoded.layout
    for column in of.columns:
        if column.name == name:
            mask |= _equal(column, decoded.columns[name], value)
    for bit in of.bits:
        if bit.name == name:
            mask |= _bit_equal(bit, of.field(bit.of), decoded.columns[bit.of], value)
    for entries in decoded.entries:
        inside = _matches(entries.decoded, name, value)
        mask[entries.record[inside]] = True
    return mask


def _equal(of: Field, column: pa.Array, value: str) -> Mask:
    expected: int | str | bytes
    if of.is_number:
        expected = of.landed(_number(of, value))
    elif of.is_text:
        column, expected = pc.utf8_upper(column.cast(pa.string())), value.strip().upper()
    else:
        try:
            expected = bytes.fromhex(value)
        except ValueError:
            raise _no_value(of, value, "bytes as hexadecimal digits") from None
    equal = pc.equal(column, pa.scalar(expected, column.type))
    return np.asarray(equal.fill_null(False).to_numpy(zero_copy_only=False))


def _bit_equal(bit: Field, flag: Field, column: pa.Array, value: str) -> Mask:
    """Bits of a flag that landed as a number, or as bytes where it has no machine width."""
    expected = _bit_value(bit, value)
    place = bit.offset - flag.offset
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    if flag.is_number:
        words = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
        byte = words >> np.uint64(8 * (flag.length - 1 - place)) & np.uint64(0xFF)
    else:
        pieces = pc.binary_slice(column.fill_null(b"\0" * flag.length), place, place + 1)
        byte = np.frombuffer(b"".join(pieces.to_pylist()), np.uint8).astype(np.uint64)
    return np.asarray(valid & ((byte & np.uint64(bit.mask)) >> np.uint64(bit.shift) == expected))


def _number(of: Field, value: str) -> int:
    low, high = 0, 1 << 8 * of.length
    if of.type is Type.SIGNED:
        low, high = -high // 2, high // 2
    try:
        number = int(value, 0)
    except ValueError:
        raise _no_value(of, value, "a number such as 12 or 0x0c") from None
    if not low <= number < high:
        raise _no_value(of, value, f"{low} to {high - 1}")
    return number


def _bit_value(bit: Field, value: str) -> int:
    word = value.strip().lower()
    if bit.is_boolean and word in TRUE | FALSE:
        return int(word in TRUE)
    if not bit.is_boolean and word.isdigit():
        return int(word)
    raise _no_value(bit, value, "true or false" if bit.is_boolean else "a number")


def _no_value(of: Field, value: str, expected: str) -> CpmonError:
    return CpmonError(f"{of.name} has no such value", expected=expected, found=value)
