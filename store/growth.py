"""Growth of counters of a table at hand: what `interval.<table>` computes, without a window.

`views.interval_view` says in SQL what growth is, for any store and any engine. Of one system whose
intervals are in one dump each, the sample before is found by ordering whole numbers, which takes a
fraction of the time that windows over texts take; `cpmon reduce` works on such rows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..schemas.arrow import owner_keys
from ..schemas.field import Field, Role
from ..schemas.layout import Layout
from .stored_rows import readable
from .views import WIDEST, interval_view

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

SPARSE = 8
"""Times as many objects and intervals as rows, from which on no table of all of them is made."""
INT32_MAX = 2**31 - 1
INTERVALS = "SELECT system, interval_end, previous_end FROM meta.interval"
"""The query of what `growth` takes as intervals, in the order of time."""


def growth_columns(layout: Layout, wanted: Collection[str]) -> list[str]:
    """The columns of landed rows that `growth` takes.

    Args:
        wanted: columns of `interval.<table>`, among others.
    """
    needed = {"interval_end", "tod_us", *owner_keys(layout), *(f.name for f in _widest(layout))}
    wanted = {*wanted} - {"seconds"}
    return [c for c in interval_view(layout).columns if c in needed or c in wanted]


def growth_of_parts(layout: Layout, parts: Iterable[pa.Table], intervals: pa.Table) -> pa.Table:
    """The growth of rows that come some at a time, in the order of time; one part at least."""
    found: list[pa.Table] = []
    before: pa.Table | None = None
    for part in parts:
        rows = part if before is None else pa.concat_tables([before, part])
        found.append(growth(layout, rows, intervals, len(rows) - len(part)))
        before = _last_two(rows)
    return pa.concat_tables(found)


def growth(layout: Layout, rows: pa.Table, intervals: pa.Table, before: int = 0) -> pa.Table:
    """Landed rows as `interval.<table>` shows them.

    Args:
        rows: with `growth_columns`, as `StoredRows` has them, of one system; no two dumps hold the
            same interval.
        intervals: of `INTERVALS`; rows of others, or of none, are left out.
        before: so many rows come first that others grow from, and are not shown themselves.

    Returns:
        The same columns, and `seconds`; in the same order of rows. Whole numbers are as wide as
        they landed: `as_in_views` has them as the views do.
    """
    ends, _ = _numbers(intervals.column("interval_end"))
    mine, known = _numbers(rows.column("interval_end"))
    at = _places(mine, ends)
    there = at >= 0 if known is None else (at >= 0) & known
    if not there.all():
        before = int(there[:before].sum())
        rows, at = rows.filter(pa.array(there)), at[there]
    samples = _Samples(rows, layout, at, _previous(intervals, ends))
    counters = {f.name: f for f in layout.columns if f.is_cumulative and f.is_number}
    columns: dict[str, Any] = {}
    for column in rows.column_names:
        if column in counters:
            columns[column] = samples.growth(counters[column])
        else:
            columns[column] = readable(rows.column(column))
    columns["seconds"] = samples.seconds()
    return pa.table(columns).slice(before)


def _last_two(rows: pa.Table) -> pa.Table:
    """The rows of the last interval, and of the one before: the last may go on in other rows."""
    ends, _ = _numbers(rows.column("interval_end"))
    last = ends.max(initial=0)
    return rows.filter(pa.array(ends >= ends[ends < last].max(initial=0)))


def object_codes(rows: pa.Table, keys: Collection[str]) -> Integers:
    """(rows,) the same number for rows of the same object, from 0; NULL is an object as well."""
    columns = [_encoded(rows.column(key)) for key in keys]
    counts = [len(column.dictionary) + bool(column.null_count) for column in columns]
    wide = math.prod(counts) > INT32_MAX
    codes: Integers = np.zeros(len(rows), dtype=np.int64 if wide else np.int32)
    for column, count in zip(columns, counts, strict=True):
        codes *= count
        codes += column.indices.fill_null(count - 1).to_numpy()
    return _without_gaps(codes)


def _encoded(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column as numbers of its values."""
    if not pa.types.is_dictionary(column.type):
        column = column.dictionary_encode()
    found = column.unify_dictionaries().combine_chunks()
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _without_gaps(codes: Integers) -> Integers:
    """Numbers in the same order, of which none is left out."""
    several = codes.max(initial=-1) + 1
    if several > SPARSE * len(codes):
        return np.unique(codes, return_inverse=True)[1]
    there = np.zeros(several, dtype=np.bool_)
    there[codes] = True
    return codes if there.all() else (np.cumsum(there) - 1)[codes]


def by_object_and_time(objects: Integers, ticks: Integers) -> Integers:
    """(rows,) places of rows in the order of objects, each in the order of time."""
    if (ticks[1:] >= ticks[:-1]).all():  # as they landed
        few = len(objects) == 0 or objects.max() < 1 << 16
        return np.argsort(objects.astype(np.uint16) if few else objects, kind="stable")
    return np.lexsort((ticks, objects))


def taken(values: npt.NDArray[Any], places: pa.Array) -> npt.NDArray[Any]:
    """Numbers at some places: by places of 32 bits in a third of the time that numpy takes."""
    found: npt.NDArray[Any] = pc.take(pa.array(values), places, boundscheck=False).to_numpy()
    return found


def _widest(layout: Layout) -> list[Field]:
    """The counters that never wrap: where one fell, its owner started again."""
    found = (f for f in layout.columns if f.is_cumulative and f.is_number)
    return [field for field in found if field.length == WIDEST]


def _places(ticks: Integers, ends: Integers) -> Integers:
    """(rows,) places of times among ordered ones, -1 where they are not there."""
    if not len(ticks):
        return np.empty(0, dtype=np.int32)
    begins = np.append(0, np.flatnonzero(ticks[1:] != ticks[:-1]) + 1)  # many have the same
    few = ticks[begins]
    places = np.searchsorted(ends, few)
    there = places < len(ends)
    there[there] = ends[places[there]] == few[there]
    places = np.where(there, places, -1).astype(np.int32)
    return np.repeat(places, np.diff(begins, append=len(ticks)))


def _previous(intervals: pa.Table, ends: Integers) -> Integers:
    """(intervals,) the place of the one directly before each; -1 where there is none."""
    wanted, known = _numbers(intervals.column("previous_end"))
    places = _places(wanted, ends)
    return places if known is None else np.where(known, places, np.int32(-1))


def samples_before(
    objects: Integers, at: Integers, previous: Integers
) -> tuple[npt.NDArray[np.int32], Mask]:
    """(rows,) the row of the same object in the interval before, any if none; whether there is one.

    Where an object has several rows in an interval, the first of them follows, and the last is
    followed.

    Args:
        objects: (rows,) numbers from 0. at: (rows,) places of their intervals.
        previous: (intervals,) places of those before; -1 for none.
    """
    first, behind = int(at.min(initial=len(previous))), int(at.max(initial=-1)) + 1
    at, previous = at - first, np.maximum(previous[first:behind] - first, -1)
    several = int(objects.max(initial=-1)) + 1
    if several * len(previous) > SPARSE * len(objects):
        return _before_in_order(objects, at, previous)
    rows = np.arange(len(objects), dtype=np.int32)
    # A row for each interval, and one for none.
    table = np.full((len(previous) + 1) * several, -1, dtype=np.int32)
    here = np.multiply(at, several, dtype=np.int64)
    here += objects
    table[here] = rows
    starts = (previous % (len(previous) + 1)).astype(np.int32) * np.int32(several)
    before = taken(table, pa.array(taken(starts, pa.array(at)) + objects))
    follows = before >= 0
    if (taken(table, pa.array(here)) != rows).any():
        table[here[::-1]] = rows[::-1]
        follows &= taken(table, pa.array(here)) == rows
    return np.maximum(before, 0), follows


def _before_in_order(
    objects: Integers, at: Integers, previous: Integers
) -> tuple[npt.NDArray[np.int32], Mask]:
    """The same where few of the objects are there in an interval."""
    order = by_object_and_time(objects, at)
    objects, at = objects[order], at[order]
    before = np.zeros(len(order), dtype=np.int32)
    before[order[1:]] = order[:-1]
    follows: Mask = np.zeros(len(order), dtype=np.bool_)
    follows[order[1:]] = (objects[1:] == objects[:-1]) & (at[:-1] == previous[at[1:]])
    return before, follows


class _Samples:
    """Rows, and the place of the sample before of each, of the same object.

    Attributes:
        before: (rows,) place; of any row where there is none.
        steady: (rows,) whether it is there, and none of the widest counters fell since.
    """

    def __init__(self, rows: pa.Table, layout: Layout, at: Integers, previous: Integers) -> None:
        """Find the samples before.

        Args:
            at: (rows,) places of their intervals. previous: (intervals,) of those before.
        """
        self._rows = rows
        objects = object_codes(rows, owner_keys(layout))
        before, self.steady = samples_before(objects, at, previous)
        self._before = pa.array(before)
        for field in _widest(layout):
            then, now, both = self._pair(field)
            self.steady &= ~(now < then) if both is None else ~((now < then) & both)
        self._bits = _bits(self.steady)

    def seconds(self) -> pa.Array:
        """Elapsed since the sample before."""
        ticks, _ = _numbers(self._rows.column("tod_us"))
        elapsed = ticks - taken(ticks, self._before)
        return self._known(np.divide(elapsed, 1e6, out=elapsed.view(np.float64)), None)

    def growth(self, field: Field) -> pa.Array:
        """Of a counter, by the rules of `counter_delta` and `countdown_delta`.

        What wrapped is found by numbers that wrap as well: they are as wide as the counter.
        """
        then, now, both = self._pair(field)
        delta = (now - then).view(f"u{field.length}")
        if field.length < WIDEST:
            return self._known(delta, both)
        grown = delta.view(np.int64)
        fits = grown >= 0  # neither fallen nor beyond what a BIGINT holds
        if not fits.all():
            both = fits if both is None else both & fits
        return self._known(grown, both)

    def _known(self, values: npt.NDArray[Any], where: Mask | None) -> pa.Array:
        """Figures of rows, as a column without a copy; NULL where not steady, or not known."""
        bits = self._bits if where is None else _bits(self.steady & where)
        kind = pa.from_numpy_dtype(values.dtype)
        return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(values)])

    def _pair(self, field: Field) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Mask | None]:
        """Lower and higher value of something that grows, and where both are known."""
        now, known = _numbers(self._rows.column(field.name))
        then = taken(now, self._before)
        both = None if known is None else known & known[self._before.to_numpy()]
        return (now, then, both) if field.role is Role.COUNTDOWN else (then, now, both)


def _bits(known: Mask) -> pa.Buffer:
    return pa.py_buffer(np.packbits(known, bitorder="little"))


def _numbers(column: pa.ChunkedArray) -> tuple[npt.NDArray[Any], Mask | None]:
    """(rows,) whole numbers, times as microseconds, and 0 for NULL; where they are known.

    None for everywhere.
    """
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.int64())
    if not column.null_count:
        return column.to_numpy(), None
    known = pc.is_valid(column).to_numpy()
    return pc.fill_null(column, pa.scalar(0, column.type)).to_numpy(), known
