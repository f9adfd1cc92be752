"""Encodes the values of one record type: counters accumulate, wrap and count down by their role.

Fields that the model does not have are filled with varying values; such counters increase.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from ...schemas import Layout, Role, Type, layout
from ..model.measurement import TOD_PER_US
from ..numeric import F64, I64, U8, U64, Bool, floor_int
from ..records.events import EventBatch
from ..records.table import Counts, Values, unmodelled
from .container import Block
from .encoding import TIME, Encoding, Place


def filled(encoding: Encoding, names: Iterable[str], rows: int, number: int, end: int) -> Values:
    """Filler values of some fields in all rows of a sample, for fields that the release has.

    Args:
        number: of the sample, or of the interval of an event.
        end: TOD clock at its end.
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

CODES = {Type.CHAR: "cp037", Type.GUEST: "cp037", Type.COUNTED: "utf-8"}
"""Code pages of text fields."""

WRAPPING_ROWS = 7
"""A counter that wraps does so in every seventh record, from the first on."""


def text_bytes(texts: Any, width: int, code: str = "cp037") -> npt.NDArray[np.void]:
    """Texts as EBCDIC, or in another code, padded with blanks to `width` bytes.

    Args:
        texts: one text or (rows,) of them.

    Returns:
        (rows,) of `width` bytes; one row for one text.
    """
    strings = np.atleast_1d(np.asarray(texts, dtype=np.str_))
    if not strings.size:
        return np.empty(0, dtype=f"V{width}")
    padded = np.char.ljust(strings, width)
    return np.char.encode(padded, code).astype(f"S{width}").view(f"V{width}")


class Encoder:
    """Writes the records of one layout, sample after sample.

    Args:
        layout: what the bytes mean.
        rows: records in a sample, absent rows included.
        release: CP level, which determines the length of the records.
        fixed: values that do not change: keys, texts, sizes.
        ages: intervals in which counters increased before the first sample; one or (rows,).
        wrapping: name of a 4-byte counter that passes 2**32 in the first interval.
        entries, sizes: see `Encoding`.

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
        self._columns: dict[str, _Level | _Counter | None] = {}
        self._restarted = np.zeros(rows, dtype=np.bool_)
        self._records = np.tile(self.encoding.blank, (rows, 1))
        self._tods = TIME.view(self._records)
        for name, value in fixed.items():
            self._columns[name] = self._begin(name, value, None)
        self.encoding.check_conditions(self._records)

    def encode(self, tods: U64, values: Values, present: Bool | None = None) -> U8:
        """The records of one sample.

        Args:
            tods: time stamps, one for each present row.
            values: levels; deltas of counters, at the first sample those of a typical interval.
            present: (rows,) which rows have a record; the counters of the others stay.

        Returns:
            (present rows, record length) bytes, valid until the next call.

        Raises:
            LayoutError: no release has such a field.
        """
        for name, value in values.items():
            try:
                column = self._columns[name]
            except KeyError:
                self._columns[name] = self._begin(name, value, present)
            else:
                if column is not None:
                    column.update(value, present)
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
            if isinstance(column, _Counter):
                column.total[rows] = 0

    def current(self, rows: I64) -> dict[str, npt.NDArray[Any]]:
        """Values of some rows by field: levels as last written, counters in full, not wrapped.

        Args:
            rows: indices of rows.

        Returns:
            (rows,) or (rows, entries) each, copies.
        """
        current = {}
        for name, place in self.encoding.places.items():
            column = self._columns.get(name)
            written = place.view(self._records)
            current[name] = (column.total if isinstance(column, _Counter) else written)[rows]
        return current

    def _begin(self, name: str, value: Any, present: Bool | None) -> _Level | _Counter | None:
        """Write a field for the first time; None if the release does not have it."""
        place = self.encoding.place(name)
        if place is None:
            return None
        if not place.field.is_cumulative:
            level = _Level(place, self._records)
            level.update(value, present)
            return level
        first: I64 = np.broadcast_to(_whole(value), place.shape(self.rows))
        if present is not None:
            first = np.where(_spread(present, first.shape), first, 0)
        counter = _Counter(place, self._records, self._start(name, first))
        counter.write()
        return counter

    def _start(self, name: str, delta: I64) -> I64:
        """A counter's value at the first sample: the sum of deltas since IPL or logon."""
        shape = delta.shape
        start: I64 = floor_int(delta * _spread(np.asarray(self._ages), shape))
        if name == self._wrapping:
            # Start so near to 2**32 that the first interval passes it, in some rows only.
            chosen = _spread(np.arange(self.rows) % WRAPPING_ROWS == 0, shape)
            start = np.where((delta > 1) & chosen, (1 << 32) - delta // 2, start)
        return np.where(_spread(self._restarted, shape), delta, start)


class _Level:
    """A field that is no counter, in all rows."""

    __slots__ = ("_code", "_target")

    def __init__(self, place: Place, records: U8) -> None:
        self._target = place.view(records)
        self._code = CODES.get(place.field.type, "")

    def update(self, value: Any, _present: Bool | None) -> None:
        """Write the value into the records, a text in the code of its field."""
        if self._code and np.asarray(value).dtype.kind == "U":
            value = text_bytes(value, self._target.itemsize, self._code)
        self._target[...] = value


class _Counter:
    """A counter in all rows: its totals, and the view of the records that they are written to."""

    __slots__ = ("_down", "_target", "total")

    def __init__(self, place: Place, records: U8, start: I64) -> None:
        self.total = start
        self._down = place.field.role is Role.COUNTDOWN
        self._target = place.view(records)

    def update(self, delta: Any, present: Bool | None) -> None:
        """Add the deltas of an interval in all rows, or in those that are present, and write."""
        total = self.total
        if present is None:
            total += _whole(delta)
        else:
            np.add(total, _whole(delta), out=total, where=_spread(present, total.shape))
        self.write()

    def write(self) -> None:
        """Write the totals into the records, modulo the size of the field."""
        self._target[...] = COUNTDOWN_FROM - self.total if self._down else self.total


def _whole(delta: Any) -> Any:
    """Deltas as 64-bit integers."""
    return np.asarray(delta).astype(np.int64, copy=False)


def _spread(rows: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A value of each row, in a shape that broadcasts to `shape`."""
    return rows[:, None] if len(shape) > 1 and rows.ndim == 1 else rows


def encode_events(batches: Iterable[EventBatch], release: str) -> list[Block]:
    """Encodes event records of a release; batches without records are skipped.

    Raises:
        LayoutError: see `Encoding`.
    """
    return [_encode_batch(batch, release) for batch in batches if len(batch.tods)]


def _encode_batch(batch: EventBatch, release: str) -> Block:
    entries, sizes = (tuple(sorted(counts.items())) for counts in (batch.entries, batch.sizes))
    encoding = _event_encoding(layout(batch.name), release, entries, sizes)
    records = np.tile(encoding.blank, (len(batch.tods), 1))
    TIME.view(records)[...] = batch.tods
    others = unmodelled(encoding.layout) - batch.values.keys()
    more = filled(encoding, others, len(batch.tods), 0, int(batch.tods[-1])) if others else {}
    for name, value in [*batch.values.items(), *more.items()]:
        place = encoding.place(name)
        if place is not None:
            _Level(place, records).update(value, None)
    encoding.check_conditions(records)
    return Block(encoding.layout.domain, records, np.asarray(batch.tods, dtype=np.uint64))


@functools.lru_cache(maxsize=256)
def _event_encoding(
    table: Layout,
    release: str,
    entries: tuple[tuple[str, int], ...],
    sizes: tuple[tuple[str, int], ...],
) -> Encoding:
    return Encoding(table, release, dict(entries), dict(sizes))
