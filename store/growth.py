"""Growth of counters of a table at hand: what `interval.<table>` computes, without a window.

`views.interval_view` says in SQL what growth is, for any store and any engine. Of one system whose
intervals are in one dump each, the sample before is found by ordering whole numbers, which takes a
fraction of the time that windows over texts take; `cpmon reduce` works on such rows.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..schemas.arrow import owner_keys
from ..schemas.field import Field, Role
from ..schemas.layout import Layout
from .views import WIDEST, interval_view, name

Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

INTERVALS = "SELECT interval_end, previous_end FROM meta.interval ORDER BY interval_end"
"""The query of what `growth` takes as intervals."""


def growth_select(layout: Layout, wanted: Collection[str]) -> str:
    """The query of the rows that `growth` takes, in the order in which they landed.

    Args:
        wanted: columns of `interval.<table>`, among others.
    """
    needed = {"interval_end", "tod_us", *owner_keys(layout), *(f.name for f in _widest(layout))}
    shown = interval_view(layout).columns
    columns = [c for c in shown if c in needed or (c in wanted and c != "seconds")]
    listed = ", ".join(f"r.{name(column)}" for column in columns)
    return f"SELECT {listed} FROM monitor.{name(layout.name)} AS r WHERE interval_end IS NOT NULL"


def growth(layout: Layout, rows: pa.Table, intervals: pa.Table) -> pa.Table:
    """Rows of `growth_select` as `interval.<table>` shows them.

    Args:
        rows: of one system; no two dumps hold the same interval.
        intervals: of `INTERVALS`; rows of others are left out.

    Returns:
        The same columns, and `seconds`; in the same order of rows.
    """
    ends, _ = _numbers(intervals.column("interval_end").cast(pa.int64()))
    mine, _ = _numbers(rows.column("interval_end").cast(pa.int64()))
    at = np.searchsorted(ends, mine)
    there = np.append(ends, 0)[at] == mine
    if not there.all():
        rows, mine, at = rows.filter(pa.array(there)), mine[there], at[there]
    before, known = _numbers(intervals.column("previous_end").cast(pa.int64()))
    samples = _Samples(rows, layout, mine, before[at], None if known is None else known[at])
    counters = {f.name: f for f in layout.columns if f.is_cumulative and f.is_number}
    columns: dict[str, Any] = {}
    for column in rows.column_names:
        if column in counters:
            columns[column] = samples.growth(counters[column])
        else:
            columns[column] = rows.column(column)
    columns["seconds"] = samples.seconds()
    return pa.table(columns)


def object_codes(rows: pa.Table, keys: Collection[str]) -> Integers:
    """(rows,) the same number for rows of the same object; NULL is an object as well."""
    codes: Integers = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        column = rows.column(key).combine_chunks().dictionary_encode(null_encoding="encode")
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        several = max(len(column.dictionary), 1)
        codes = codes * several + column.indices.to_numpy(zero_copy_only=False)
    return codes


def by_object_and_time(objects: Integers, ticks: Integers) -> Integers:
    """(rows,) places of rows in the order of objects, each in the order of time."""
    if (ticks[1:] >= ticks[:-1]).all():  # as they landed
        few = len(objects) == 0 or objects.max() < 1 << 16
        return np.argsort(objects.astype(np.uint16) if few else objects, kind="stable")
    return np.lexsort((ticks, objects))


def _widest(layout: Layout) -> list[Field]:
    """The counters that never wrap: where one fell, its owner started again."""
    found = (f for f in layout.columns if f.is_cumulative and f.is_number)
    return [field for field in found if field.length == WIDEST]


class _Samples:
    """Rows, and the place of the sample before of each, of the same object.

    Attributes:
        before: (rows,) place; of any row where there is none.
        steady: (rows,) whether it is there, and none of the widest counters fell since.
    """

    def __init__(
        self, rows: pa.Table, layout: Layout, ends: Integers, wanted: Integers, known: Mask | None
    ) -> None:
        """Find the samples before.

        Args:
            ends: (rows,) of their intervals. wanted: of those before, where that is `known`.
        """
        self._rows = rows
        objects = object_codes(rows, owner_keys(layout))
        order = by_object_and_time(objects, ends)
        earlier, later = order[:-1], order[1:]
        follows = (objects[earlier] == objects[later]) & (ends[earlier] == wanted[later])
        self.before: Integers = np.zeros(len(order), dtype=np.int64)
        self.before[later] = earlier
        self.steady: Mask = np.zeros(len(order), dtype=np.bool_)
        self.steady[later] = follows if known is None else follows & known[later]
        for field in _widest(layout):
            then, now, both = self._pair(field)
            self.steady &= ~(now < then) if both is None else ~((now < then) & both)

    def seconds(self) -> pa.Array:
        """Elapsed since the sample before."""
        ticks, _ = _numbers(self._rows.column("tod_us"))
        return pa.array((ticks - ticks[self.before]) / 1e6, mask=~self.steady)

    def growth(self, field: Field) -> pa.Array:
        """Of a counter, by the rules of `counter_delta` and `countdown_delta`."""
        then, now, both = self._pair(field)
        valid = self.steady if both is None else self.steady & both
        delta = now - then
        if field.length == WIDEST:
            delta = delta.view(np.int64)
            valid = valid & (delta >= 0)  # neither fallen nor beyond what a BIGINT holds
        elif (fell := now < then).any():
            delta[fell] += 1 << 8 * field.length
        return pa.array(delta, mask=~valid)

    def _pair(self, field: Field) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Mask | None]:
        """Lower and higher value of something that grows, and where both are known."""
        now, known = _numbers(self._rows.column(field.name))
        then = now[self.before]
        both = None if known is None else known & known[self.before]
        return (now, then, both) if field.role is Role.COUNTDOWN else (then, now, both)


def _numbers(column: pa.ChunkedArray) -> tuple[npt.NDArray[Any], Mask | None]:
    """(rows,) whole numbers of 64 bits, 0 for NULL; where they are known, None for everywhere."""
    known = None
    if column.null_count:
        known = pc.is_valid(column).to_numpy()
        column = pc.fill_null(column, pa.scalar(0, column.type))
    values = column.to_numpy()
    return values if values.dtype == np.uint64 else values.astype(np.int64, copy=False), known
