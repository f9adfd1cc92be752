"""Single records out of a dump: by kind, place, time or the value of a field, as far as asked for.

Windows are read only while records are taken, so the first record of a large dump comes at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..schemas.errors import CpmonError
from ..schemas.field import Field, Type
from ..schemas.layout import Layout
from ..schemas.lookup import nearest as like_name
from ..schemas.lookup import unknown
from ..schemas.registry import by_record, layout, layouts, record_names
from .codec import I64, tod_to_unix_us
from .columns import Decoded, decode
from .configuration import SYSTEM, Configuration
from .findings import Findings
from .monwrite import Framer
from .reader import by_kind
from .sources import Source
from .windows import Window, windows

Kind = tuple[int, int]
Mask = npt.NDArray[np.bool_]

NUMBER = re.compile(r"(\d+)[./](\d+)")
TRUE, FALSE = frozenset({"1", "true", "yes", "on"}), frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class Picked:
    """One record as it stands in the dump.

    Attributes:
        data: its bytes, header included.
        offset: where it starts in the dump, decompressed.
        tod_us: its time stamp, microseconds since 1970 UTC.
        release: of the system that wrote it, as far as the dump has said so; "" if not.
    """

    data: bytes
    offset: int
    tod_us: int
    domain: int
    record: int
    release: str = ""

    @property
    def layout(self) -> Layout | None:
        """What its bytes mean, if that is known."""
        return by_record().get((self.domain, self.record))

    @property
    def name(self) -> str:
        """IBM's name of the record in capitals, or nothing."""
        return record_names().get((self.domain, self.record), "").upper()


@dataclass(frozen=True)
class Wanted:
    """Which records are wanted; what is not said does not matter.

    Attributes:
        kinds: (domain, record) of each kind.
        at: an offset in the dump that lies within the record.
        since_us, until_us: span of the time stamp, microseconds since 1970, both included.
        where: field or bit -> value, as text; all of them must fit.
        skip: how many of the records that fit are left out first.
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
    found = names.get(text.strip().lower())
    if found is None:
        raise unknown("record", text.upper(), (name.upper() for name in names))
    return found


def pick(source: Source, wanted: Wanted, release: str = "") -> Iterator[Picked]:
    """The records wanted, in the order of the dump, read as they are taken.

    Args:
        release: of the system that wrote the dump, if it is to be another than the dump says.

    Raises:
        DumpError: it is no monitor data.
        CpmonError: no record at that offset; a field of `where` that no kind wanted has, or a
            value that it cannot have.
    """
    kinds, skip = _kinds_with(wanted), wanted.skip
    configuration = Configuration()
    for window in windows(source, Framer(Findings())):
        _note(window, configuration)
        said = release or configuration.release
        chosen = _chosen(window, wanted, kinds, said)
        taken, skip = chosen[skip:], max(skip - len(chosen), 0)
        for number in taken.tolist():
            yield _picked(window, number, said)
        if _behind(window, wanted):
            return


def _note(window: Window, configuration: Configuration) -> None:
    """Take what a window's system configuration records say."""
    known = layout(SYSTEM[0])
    numbers = window.index.where(known.domain, known.record)
    if len(numbers):
        starts, lengths = window.index.start[numbers], window.index.length[numbers]
        configuration.take(decode(known, window.data, starts, lengths), numbers)


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


def _picked(window: Window, number: int, release: str) -> Picked:
    index = window.index
    start, length = int(index.start[number]), int(index.length[number])
    us = int(tod_to_unix_us(index.tod[number : number + 1])[0])
    return Picked(
        window.data[start : start + length].tobytes(),
        window.base + start,
        us,
        int(index.domain[number]),
        int(index.record[number]),
        release,
    )


def _behind(window: Window, wanted: Wanted) -> bool:
    """Whether nothing wanted can follow the window."""
    return wanted.at is not None and window.base + len(window.data) > wanted.at


def _chosen(window: Window, wanted: Wanted, kinds: frozenset[Kind], release: str) -> I64:
    """Numbers of the records wanted, ascending."""
    index = window.index
    mask = np.ones(len(index), np.bool_)
    if wanted.at is not None:
        place = wanted.at - window.base
        mask &= (index.start <= place) & (place < index.start + index.length)
    if wanted.since_us is not None or wanted.until_us is not None:
        tod = tod_to_unix_us(index.tod)
        mask &= tod >= (np.iinfo(np.int64).min if wanted.since_us is None else wanted.since_us)
        mask &= tod <= (np.iinfo(np.int64).max if wanted.until_us is None else wanted.until_us)
    if not kinds:
        return np.flatnonzero(mask)
    found = [np.empty(0, np.int64)]
    for kind, numbers in by_kind(index):
        if kind in kinds:
            inside = numbers[mask[numbers]]
            known = by_record().get(kind)
            found.append(_fitting(window, known, inside, wanted.where, release))
    return np.sort(np.concatenate(found))


def _fitting(
    window: Window, known: Layout | None, numbers: I64, where: Mapping[str, str], release: str
) -> I64:
    """Those records of one kind whose fields have the values of `where`."""
    if not where or not len(numbers):
        return numbers
    if known is None:
        return numbers[:0]
    index = window.index
    decoded = decode(known, window.data, index.start[numbers], index.length[numbers], release)
    mask = np.ones(len(numbers), np.bool_)
    for name, value in where.items():
        mask &= _matches(decoded, name, value, len(numbers))
    return numbers[mask]


def _kinds_with(wanted: Wanted) -> frozenset[Kind]:
    """The kinds wanted; with `where`, those of them that have all its fields.

    Raises:
        CpmonError: no kind has them.
    """
    if not wanted.where:
        return wanted.kinds
    every = {_kind(known): known for known in layouts()}
    names = {kind: _names(every[kind]) for kind in every if kind in (wanted.kinds or every)}
    for name in wanted.where:
        if not any(name in known for known in names.values()):
            raise _unknown_field(name, names)
    found = frozenset(k for k, known in names.items() if known >= set(wanted.where))
    if not found:
        raise CpmonError("no record has all of these fields", found=", ".join(wanted.where))
    return found


def _unknown_field(name: str, names: Mapping[Kind, frozenset[str]]) -> CpmonError:
    """Of one record all fields are told, of all records only the nearest."""
    every = sorted({known for of_kind in names.values() for known in of_kind})
    if len(names) == 1:
        return unknown("field", name, every)
    like = like_name(name, every)
    remedy = f"did you mean {like}?" if like else "name the record with --record"
    return CpmonError(f"no record has a field {name}", found=name, remedy=remedy)


def _kind(known: Layout) -> Kind:
    return known.domain, known.record


def _names(known: Layout) -> frozenset[str]:
    """Names of the fields and bits of a record and of its entries."""
    parts = list(known.tables())
    return frozenset(f.name for part in parts for f in (*part.columns, *part.bits))


def _matches(decoded: Decoded, name: str, value: str, records: int) -> Mask:
    """(records,) whether a field, a bit, or some entry's has the value."""
    found = np.zeros(records, np.bool_)
    of = decoded.layout
    for known in of.columns:
        if known.name == name:
            found |= _equal(known, decoded.columns[name], value)
    for bit in of.bits:
        if bit.name == name:
            found |= _bit_equal(bit, of.field(bit.of), decoded.columns[bit.of], value)
    for entries in decoded.entries:
        inside = _matches(entries.decoded, name, value, len(entries.record))
        found[entries.record[inside]] = True
    return found


def _equal(known: Field, column: pa.Array, value: str) -> Mask:
    if known.is_number:
        return _mask(pc.equal(column, pa.scalar(_number(known, value), column.type)))
    if known.is_text:
        text = pc.utf8_upper(column.cast(pa.string()))
        return _mask(pc.equal(text, value.strip().upper()))
    return _mask(pc.equal(column, pa.scalar(_bytes(known, value), pa.binary())))


def _bit_equal(bit: Field, flag: Field, column: pa.Array, value: str) -> Mask:
    """Bits of a flag that landed as a number, or as bytes where it has no machine width."""
    wanted = _bit_value(bit, value)
    place = bit.offset - flag.offset
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    if flag.is_number:
        words = column.fill_null(0).to_numpy(zero_copy_only=False).astype(np.uint64)
        byte = words >> np.uint64(8 * (flag.length - 1 - place)) & np.uint64(0xFF)
    else:
        pieces = pc.binary_slice(column.fill_null(b"\0" * flag.length), place, place + 1)
        byte = np.frombuffer(b"".join(pieces.to_pylist()), np.uint8).astype(np.uint64)
    return np.asarray(valid & ((byte & np.uint64(bit.mask)) >> np.uint64(bit.shift) == wanted))


def _mask(equal: pa.Array) -> Mask:
    return np.asarray(equal.fill_null(False).to_numpy(zero_copy_only=False))


def _number(known: Field, value: str) -> int:
    low, high = 0, 1 << 8 * known.length
    if known.type is Type.SIGNED:
        low, high = -high // 2, high // 2
    try:
        found = int(value, 0)
    except ValueError:
        raise _no_value(known, value, "a number such as 12 or 0x0c") from None
    if not low <= found < high:
        raise _no_value(known, value, f"{low} to {high - 1}")
    return found


def _bit_value(bit: Field, value: str) -> int:
    word = value.strip().lower()
    if bit.is_boolean and word in TRUE | FALSE:
        return int(word in TRUE)
    if not bit.is_boolean and word.isdigit():
        return int(word)
    raise _no_value(bit, value, "true or false" if bit.is_boolean else "a number")


def _bytes(known: Field, value: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except ValueError:
        raise _no_value(known, value, "bytes as hexadecimal digits") from None


def _no_value(known: Field, value: str, expected: str) -> CpmonError:
    return CpmonError(f"{known.name} has no such value", expected=expected, found=value)
