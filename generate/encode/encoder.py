"""The encoding of records: places of fields in a release, and values written to them.

A field of a group is called `group.field`, one of a group in a group's entry `group.inner.field`.
A label of a group (`plsdgx44` of PRCDIA) names one entry. Counters accumulate, wrap and count down
by their role. Fields that the model does not have are filled with varying values; such counters
increase.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...core.errors import LayoutError
from ...schemas import HEADER, HEADER_LENGTH, Field, Group, Layout, Role, Type, layout, release_key
from ...schemas.field import COUNT_LENGTH, REST
from ...schemas.layout import Sequel
from ...schemas.release import LATEST, is_within
from ...schemas.unplaced import unplaced
from ..model.measurement import TOD_PER_US
from ..numeric import F64, I64, U8, U64, Bool, floor_int
from ..records.table import Counts, Values, named_rows, unmodelled
from .container import LARGEST_RECORD, Block

_UNDESCRIBED = 64
"""Length of a record of which only the header is known. Invented."""


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """A field's first byte in a record, NumPy format and, in entries, their number and distance.

    `entries` is 0 for a field outside of entries.
    """

    field: Field
    offset: int
    wire: str
    entries: int = 0
    stride: int = 0

    def shape(self, rows: int) -> tuple[int, ...]:
        """Shape of the field's values: (rows,) or (rows, entries)."""
        return (rows, self.entries) if self.entries else (rows,)

    def view(self, records: U8) -> npt.NDArray[Any]:
        """A writable view of the field in all records, (rows, length) and contiguous."""
        rows, length = records.shape
        strides = (length, self.stride) if self.entries else (length,)
        return np.ndarray(self.shape(rows), self.wire, records, self.offset, strides)


_HEADER = {field.name: Place(field, field.offset, field.wire) for field in HEADER}
TIME = _HEADER["mrhdrtod"]
"""The time stamp in the header of every record."""


class Encoding:
    """The places of the fields of one record type in one release.

    Args:
        layout: what the bytes mean.
        release: CP level, which determines the length and the fields of records and entries.
        entries: number of entries of each group that the record locates; groups that are not
            named are not written. Groups at fixed offsets are always written.
        sizes: bytes of parts without a length of their own: a text up to the end of the record,
            an entry without fields of known length.

    Attributes:
        places: of the fields that the release has, by name.
        blank: (length,) a record without values: header, blanks, and locators of its entries.

    Raises:
        LayoutError: no such group, an entry without a size, a record longer than a frame.
    """

    def __init__(
        self,
        layout: Layout,
        release: str,
        entries: Counts | None = None,
        sizes: Counts | None = None,
    ) -> None:
        self.layout = layout
        self.release = release
        self.places: dict[str, Place] = {}
        self._entries, self._sizes = dict(entries or {}), dict(sizes or {})
        self._requested = tuple(self._entries)
        self._located: dict[str, int] = {}
        self._texts: dict[int, int] = {}
        rows = list(named_rows(layout))
        self._named = {name: row for name, row in rows if isinstance(row, Field)}
        self._groups = {name: row for name, row in rows if isinstance(row, Group)}
        length = layout.written_at(release)
        self._is_later = release_key(release) > release_key(LATEST)
        if self._is_later and layout.length == HEADER_LENGTH and not layout.lengths:
            length = _UNDESCRIBED
        self._unknown = slice(layout.length, length)
        self.length = self._lay(layout.at(release), "", 0, length)
        unknown = {*self._entries, *self._sizes}
        if unknown:
            raise LayoutError(
                f"{layout.name} has no such groups in {release}", found=", ".join(sorted(unknown))
            )
        if self.length > LARGEST_RECORD:
            raise LayoutError(
                f"a record {layout.name} is longer than a frame has room for",
                expected=f"at most {LARGEST_RECORD} bytes",
                found=str(self.length),
            )
        self.blank = self._blank()

    def place(self, name: str) -> Place | None:
        """The place of a field; None if the release does not have it, or it is unknown.

        Raises:
            LayoutError: no release has it, or its group or size was not requested.
        """
        place = self.places.get(name)
        if place is not None or name in {row.name for row in unplaced(self.layout)}:
            return place
        field, group = self._named.get(name), name.rpartition(".")[0]
        if field is None:
            beside = [other for other in self._named if other.rpartition(".")[0] == group]
            raise LayoutError(
                f"{self.layout.name} has no field {name}",
                expected=", ".join(beside or self._named),
                found=name,
            )
        if field.is_open or (group in self._groups and not self._groups[group].end):
            raise LayoutError(
                f"this {self.layout.name} is written without {name}",
                code="record-part-missing",
                remedy="name its group in `entries`, or its length in `sizes`",
            )
        return None

    def check_conditions(self, records: U8) -> None:
        """Check that the values of records do not exclude a requested group.

        Raises:
            LayoutError: a reader would take a record for one without its entries.
        """
        for name in self._requested:
            when = self._groups[name].when
            if when is None:
                continue
            owner = name.removesuffix(self._groups[name].name)
            at = self.places[owner + when.field].offset
            found = np.unique(records[:, at : at + when.reach], axis=0)
            others = [row for row in map(bytes, found) if not when.holds(row)]
            if others:
                prefixes = " or ".join(prefix.hex() for prefix in when.prefixes)
                raise LayoutError(
                    f"{self.layout.name} has its group {name} in other records",
                    expected=f"{when.field}{' not' * when.negated} from {prefixes} on",
                    found=others[0].hex(),
                )

    def _lay(self, table: Layout, prefix: str, base: int, length: int, count: int = 0) -> int:
        """Find the places in a record, or in `count` entries; returns the length so far.

        `base`: first byte of the record or of the first entry.
        """
        distance = length if count else 0
        for field in (f for f in table.placed if f.type is not Type.COUNTED):
            size = field.length
            if field.is_open:
                size = self._sizes.pop(prefix + field.name, 0) or max(length - field.offset, 0)
                length = max(length, field.offset + size)
            if size and field.offset + size <= length:
                wire = f"V{size}" if field.is_open else field.wire
                place = Place(field, base + field.offset, wire, count, distance)
                self.places[prefix + field.name] = place
        for group in (group for group in table.groups if group.end):
            # Entries at fixed offsets reach up to the end of the record.
            start, stride = int(group.start), int(group.stride)
            number = min(int(group.count), (length - start) // stride)
            if number > 0:
                self._lay(group.entry, f"{prefix}{group.name}.", base + start, stride, number)
            for label in group.labels:
                if label.is_inside(length):
                    self.places[prefix + label.name] = Place(label, base + label.offset, label.wire)
        for group in table.groups:
            if prefix + group.name in self._entries:
                length = self._append(group, prefix, base, length)
        if table.sequel:
            length = max(length, self._follow(table, table.sequel, prefix, base))
        return length

    def _follow(self, table: Layout, sequel: Sequel, prefix: str, base: int) -> int:
        """Find the places in a part after the fields or after a text; returns the length so far."""
        begin = table.length
        if table.text is not None:
            name = prefix + table.text.name
            size = self._sizes.pop(name, 0)
            self._texts[base + table.text.offset] = size
            if size:
                self.places[name] = Place(table.text, base + begin, f"V{size}")
            begin += size
        size = self._lay(sequel.layout, prefix, base + begin, sequel.layout.length)
        if sequel.size:
            self._located |= {prefix + sequel.start: begin, prefix + sequel.size: size}
        return begin + size

    def _append(self, group: Group, prefix: str, base: int, length: int) -> int:
        """Find the places in appended entries; returns the length with them."""
        name = prefix + group.name
        start = length if isinstance(group.start, str) else group.start
        count = self._entries.pop(name)
        entry = group.entry.at(self.release)
        rows: list[Field | Group] = [*entry.fields, *entry.groups]
        ends = [row.end for row in rows if is_within(self.release, row.since, "")]
        size = self._sizes.pop(name, 0) or max(ends, default=0)
        if count:
            size = self._lay(
                entry, f"{name}.", base + start, size, 0 if group.count == 1 else count
            )
        if not size:
            raise LayoutError(
                f"entries of {entry.name} have no length",
                code="entry-sizes-missing",
                remedy="give their sizes",
            )
        located = zip((group.start, group.stride, group.count), (start, size, count), strict=True)
        self._located |= {prefix + at: n for at, n in located if isinstance(at, str) and at != REST}
        return start + size * count

    def _blank(self) -> U8:
        """See `blank`; bytes of unknown fields of later releases are not zero."""
        record = np.zeros((1, self.length), dtype=np.uint8)
        if self._is_later:
            behind = record[0, self._unknown]
            noise = hashlib.shake_128(self.layout.name.encode()).digest(len(behind))
            behind[...] = np.frombuffer(noise, dtype=np.uint8)
        _HEADER["mrhdrlen"].view(record)[...] = self.length
        _HEADER["mrhdrdm"].view(record)[...] = self.layout.domain
        _HEADER["mrhdrrc"].view(record)[...] = self.layout.record
        for place in self.places.values():
            # A field over the bytes of another one has no value of its own.
            if place.field.type is Type.CHAR and not place.field.of:
                place.view(record)[...] = np.void(b"\x40" * int(place.wire[1:]))
        for offset, size in self._texts.items():
            record[0, offset : offset + COUNT_LENGTH] = divmod(size, 256)
        for name, value in self._located.items():
            self.places[name].view(record)[...] = value
        return record.reshape(-1)


def filled(encoding: Encoding, names: Iterable[str], rows: int, number: int, end: int) -> Values:
    """Filler values of some fields in all rows, for fields that the release has.

    `number`: of the sample, which ends at TOD clock `end`, or of the interval of an event.
    """
    present = sorted(encoding.places.keys() & set(names))
    return {name: _value(name, encoding.places[name], rows, number, end) for name in present}


def _value(name: str, place: Place, rows: int, number: int, end: int) -> Any:
    """(rows,) or (rows, entries), or one value for all of them."""
    field, seed = place.field, zlib.crc32(name.encode())
    # Numbers of rows, or of entries row by row.
    each = np.arange(rows * max(place.entries, 1), dtype=np.int64).reshape(place.shape(rows))
    if field.is_cumulative:
        # Deltas of times are some milliseconds.
        unit = 1000 * TOD_PER_US if field.type is Type.TIMER else 1
        return (1 + (seed + 7 * each) % 97) * unit
    if field.type is Type.TOD:
        return np.uint64(end)
    if field.is_number:
        most = 1 << min(8 * field.length - 1, 20)
        return (seed + 31 * each + number) % most
    if field.type in (Type.CHAR, Type.GUEST):
        letter = chr(ord("A") + seed % 26)
        texts = np.char.add(letter, (each + number % 7).astype(np.str_))
        return texts.astype(f"<U{field.length}")
    digits = bytes((seed >> n % 24) % 10 << 4 | (seed >> n % 20) % 10 for n in range(field.length))
    return np.void(digits)


COUNTDOWN_FROM = 0x7FFFFFFF00000000
"""Start value of a processor timer that counts down."""

_CODES = {Type.CHAR: "cp037", Type.GUEST: "cp037", Type.COUNTED: "utf-8"}


def text_bytes(texts: Any, width: int, code: str = "cp037") -> npt.NDArray[np.void]:
    """(rows,): one or (rows,) texts as EBCDIC, or in another code, padded to `width` bytes."""
    strings = np.atleast_1d(np.asarray(texts, dtype=np.str_))
    if not strings.size:
        return np.empty(0, dtype=f"V{width}")
    padded = np.char.ljust(strings, width)
    return np.char.encode(padded, code).astype(f"S{width}").view(f"V{width}")


class Encoder:
    """Writes the records of one layout, sample after sample.

    Args:
        rows: records in a sample, absent rows included.
        fixed: values that do not change: keys, texts, sizes.
        ages: intervals in which counters increased before the first sample; one or (rows,).
        wrapping: name of a 4-byte counter that passes 2**32 in the first interval.
        layout, release, entries, sizes: see `Encoding`.

    Raises:
        LayoutError: see `Encoding`; or the fixed values of records exclude a requested group.
    """

    def __init__(
        self,
        layout: Layout,
        rows: int,
        release: str,
        fixed: Values,
        ages: float | F64 = 0.0,
        wrapping: str = "",
        *,
        entries: Counts | None = None,
        sizes: Counts | None = None,
    ) -> None:
        self.layout = layout
        self.rows = rows
        self.encoding = Encoding(layout, release, entries, sizes)
        self._ages = ages
        self._wrapping = wrapping
        self._columns: dict[str, _EncodedColumn | None] = {}
        self._restarted = np.zeros(rows, dtype=np.bool_)
        self._records = np.tile(self.encoding.blank, (rows, 1))
        self._tods = TIME.view(self._records)
        for name, value in fixed.items():
            self._columns[name] = self._begin(name, value, None)
        self.encoding.check_conditions(self._records)

    def encode(
        self, tods: U64, values: Values, present: Bool | None = None, counting: Bool | None = None
    ) -> U8:
        """The records of one sample.

        Args:
            tods: time stamps, one for each present row.
            values: levels; deltas of counters, at the first sample those of a typical interval.
            present: (rows,) which rows have a record.
            counting: (rows,) those whose counters go on; the others' stay. As present by default.

        Returns:
            (present rows, record length) bytes, valid until the next call.

        Raises:
            LayoutError: no release has such a field.
        """
        counting = present if counting is None else counting
        for name, value in values.items():
            if name not in self._columns:
                self._columns[name] = self._begin(name, value, counting)
            elif (column := self._columns[name]) is not None:
                column.update(value, counting)
        if present is None:
            self._tods[...] = tods
            return self._records
        self._tods[present] = tods
        return self._records[present]

    def restart(self, rows: Bool) -> None:
        """Restart the counters of some rows, (rows,), at zero, as at a logon.

        The next sample of such a row has the delta of its interval.
        """
        self._restarted |= rows
        for column in self._columns.values():
            if column is not None and column.total is not None:
                column.total[rows] = 0

    def current(self, rows: I64) -> dict[str, npt.NDArray[Any]]:
        """Copies of the values of rows by index: levels as last written, counters not wrapped.

        Returns:
            (rows,) or (rows, entries) by field.
        """
        current = {}
        for name, place in self.encoding.places.items():
            column = self._columns.get(name)
            total = None if column is None else column.total
            current[name] = (place.view(self._records) if total is None else total)[rows]
        return current

    def _begin(self, name: str, value: Any, present: Bool | None) -> _EncodedColumn | None:
        """Write a field for the first time; None if the release does not have it."""
        place = self.encoding.place(name)
        if place is None:
            return None
        column = _EncodedColumn(place, self._records)
        if not place.field.is_cumulative:
            column.update(value)
            return column
        first: I64 = np.broadcast_to(_whole(value), place.shape(self.rows))
        if present is not None:
            first = np.where(_spread(present, first.shape), first, 0)
        column.write(self._start(name, first))
        return column

    def _start(self, name: str, delta: I64) -> I64:
        """A counter's value at the first sample: the sum of deltas since IPL or logon."""
        shape = delta.shape
        start: I64 = floor_int(delta * _spread(np.asarray(self._ages), shape))
        if name == self._wrapping:
            # Start so near to 2**32 that the first interval passes it, in every seventh row.
            chosen = _spread(np.arange(self.rows) % 7 == 0, shape)
            start = np.where((delta > 1) & chosen, (1 << 32) - delta // 2, start)
        return np.where(_spread(self._restarted, shape), delta, start)


class _EncodedColumn:
    """A field in all rows of some records; `total` has the sums of a counter, not wrapped."""

    __slots__ = ("_field", "_target", "total")

    def __init__(self, place: Place, records: U8) -> None:
        self.total: I64 | None = None
        self._field, self._target = place.field, place.view(records)

    def update(self, value: Any, present: Bool | None = None) -> None:
        """Write a level, a text in the code of its field; or add deltas of present rows."""
        if self.total is not None:
            where = True if present is None else _spread(present, self.total.shape)
            self.write(np.add(self.total, _whole(value), out=self.total, where=where))
            return
        code = _CODES.get(self._field.type)
        if code and np.asarray(value).dtype.kind == "U":
            value = text_bytes(value, self._target.itemsize, code)
        self._target[...] = value

    def write(self, total: I64) -> None:
        """Set the totals of a counter; the records have them modulo the size of the field."""
        self.total = total
        self._target[...] = COUNTDOWN_FROM - total if self._field.role is Role.COUNTDOWN else total


def _whole(delta: Any) -> Any:
    return np.asarray(delta).astype(np.int64, copy=False)


def _spread(rows: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A value of each row, in a shape that broadcasts to `shape`."""
    return rows[:, None] if len(shape) > 1 and rows.ndim == 1 else rows


@dataclasses.dataclass(frozen=True, slots=True)
class EventBatch:
    """Event records of one type.

    Attributes:
        name: of the layout.
        tods: (records,) time stamps, in any order.
        values: one or (records,) each, as written: counters are totals.
        entries, sizes: see `Encoding`.
    """

    name: str
    tods: U64
    values: Values = dataclasses.field(default_factory=dict)
    entries: Counts = dataclasses.field(default_factory=dict)
    sizes: Counts = dataclasses.field(default_factory=dict)


_event_encoding = functools.lru_cache(maxsize=256)(Encoding)


def encode_events(batches: Iterable[EventBatch], release: str) -> list[Block]:
    """Encodes event records of a release; batches without records are skipped.

    Raises:
        LayoutError: see `Encoding`.
    """
    blocks = []
    for batch in (batch for batch in batches if len(batch.tods)):
        entries, sizes = (tuple(sorted(counts.items())) for counts in (batch.entries, batch.sizes))
        encoding = _event_encoding(layout(batch.name), release, entries, sizes)
        records = np.tile(encoding.blank, (len(batch.tods), 1))
        TIME.view(records)[...] = batch.tods
        others = unmodelled(encoding.layout) - batch.values.keys()
        more = filled(encoding, others, len(batch.tods), 0, int(batch.tods[-1])) if others else {}
        for name, value in [*batch.values.items(), *more.items()]:
            place = encoding.place(name)
            if place is not None:
                _EncodedColumn(place, records).update(value)
        encoding.check_conditions(records)
        tods = np.asarray(batch.tods, dtype=np.uint64)
        blocks.append(Block(encoding.layout.domain, records, tods))
    return blocks
