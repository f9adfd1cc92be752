"""Rows of objects and intervals, grouped into spans of time: sums and the like, all at once.

Rows are ordered once by object and time; the rows of a span then stand together, so that each
figure is one pass over a column.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..store.growth import by_object_and_time, object_codes

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

HIGH = 95
"""Percentile, by nearest rank."""
SORTED = 8
"""With more ranks than these, sorting is faster than selecting."""


class Ordered:
    """Rows of one system in the order of objects and time; not known is NaN.

    Attributes:
        ticks: ends of the intervals, microseconds since 1970. objects: a number for each object.
    """

    def __init__(self, rows: pa.Table, time: str, keys: tuple[str, ...], known: str) -> None:
        """Order rows.

        Args:
            rows: with columns `time` (timestamps, not NULL) and `keys`.
            known: a column; rows where it is NULL are left out.
        """
        self._rows = rows
        self._values: dict[str, Floats] = {}
        self._gaps: dict[str, Mask | None] = {}
        self._whole: tuple[Ordered, Mask] | None = None
        ticks = rows.column(time).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        objects = object_codes(rows, keys)
        order = by_object_and_time(objects, ticks)
        self.order: Integers = order[pc.is_valid(rows.column(known)).to_numpy()[order]]
        self.ticks: Integers = ticks[self.order]
        self.objects: Integers = objects[self.order]

    def within(self, ends: pa.Array) -> Ordered:
        """Those rows alone whose intervals end at some times."""
        wanted = ends.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        chosen = np.isin(self.ticks, wanted)
        part = copy.copy(self)
        part._values, part._gaps, part._whole = {}, {}, (self, chosen)
        part.order, part.ticks = self.order[chosen], self.ticks[chosen]
        part.objects = self.objects[chosen]
        return part

    def values(self, name: str) -> Floats:
        """A column of numbers; remembered until `forget`."""
        if name not in self._values:
            if self._whole:
                whole, chosen = self._whole
                self._values[name] = whole.values(name)[chosen]
            else:
                column = self._rows.column(name).cast(pa.float64())
                self._values[name] = column.to_numpy(zero_copy_only=False)[self.order]
        return self._values[name]

    def put(self, name: str, values: Floats) -> None:
        """A column of numbers that rows need not have, or not these; until `forget`."""
        self._values[name] = values

    def gaps(self, name: str) -> Mask | None:
        """Where a column of numbers is not known; None if it is everywhere."""
        if name not in self._gaps:
            missing = np.isnan(self.values(name))
            self._gaps[name] = missing if missing.any() else None
        return self._gaps[name]

    def forget(self, keep: AbstractSet[str]) -> None:
        """Give the memory of other columns back."""
        for name in self._values.keys() - keep:
            del self._values[name]
            self._gaps.pop(name, None)

    def known(self, name: str) -> Mask:
        """Whether a column of any kind is known."""
        found = pc.is_valid(self._rows.column(name)).to_numpy()
        return np.asarray(found[self.order], dtype=bool)

    def taken(self, name: str, places: Integers, *, valid: Any = None) -> pa.Array:
        """What a column says at some places, NULL where they are not valid."""
        rows = self.order[places] if len(self.order) else places
        mask = None if valid is None else ~valid
        found = self._rows.column(name).take(pa.array(rows, pa.int64(), mask=mask))
        return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


class Spans:
    """The spans of ordered rows, by object and time; `len` is their number.

    Spans that are made of whole finer ones add up what those came to.
    """

    def __init__(self, rows: Ordered, length: timedelta, finer: Spans | None = None) -> None:
        """Group rows into spans of that length; those of a day begin at midnight UTC.

        Args:
            finer: spans of the same rows whose length divides this one.
        """
        self._rows, self._finer = rows, finer
        width = length // timedelta(microseconds=1)
        # An interval that ends on the dot belongs to what ends there.
        ends = ((rows.ticks - 1) // width + 1) * width
        begins = np.ones(len(ends), dtype=bool)
        begins[1:] = (rows.objects[1:] != rows.objects[:-1]) | (ends[1:] != ends[:-1])
        self._starts: Integers = np.flatnonzero(begins)
        self._parts = (
            self._starts if finer is None else np.searchsorted(finer._starts, self._starts)
        )
        self.ends = pa.array(ends[self._starts], pa.int64()).cast(pa.timestamp("us"))
        self.sizes: Integers = np.diff(np.append(self._starts, len(ends)))
        self._memo: dict[tuple[str, ...], npt.NDArray[Any]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def forget(self, keep: AbstractSet[str]) -> None:
        """Give the memory of other columns back."""
        for said in [said for said in self._memo if not keep >= {*said[1:]}]:
            del self._memo[said]
        self._rows.forget(keep)

    def first(self, name: str) -> pa.Array:
        """What a column says at the first interval of each span."""
        return self._rows.taken(name, self._starts)

    def last(self, name: str) -> pa.Array:
        """What it says at the last interval where it is known."""
        last: Integers = self._of("last", name)
        return self._rows.taken(name, np.maximum(last, 0), valid=last >= self._starts)

    def begins(self, seconds: str) -> pa.Array:
        """When the first interval of each began, from the lengths of intervals."""
        return pa.array(self._of("begin", seconds), pa.int64()).cast(pa.timestamp("us"))

    def count(self, name: str) -> Integers:
        """Of how many intervals a column is known."""
        return self.sizes if self._rows.gaps(name) is None else self._of("count", name)

    def sum(self, name: str, where: str | None = None) -> Floats:
        """The sum of a column, of those rows only where another one is known."""
        if where is None or self._covers(where, name):
            some, found = self.count(name), self._of("sum", name)
        else:
            some, found = self._of("count", name, where), self._of("sum", name, where)
        return found if some is self.sizes else np.where(some > 0, found, np.nan)

    def _covers(self, where: str, name: str) -> bool:
        """Whether one column is known wherever another is."""
        missing, mine = self._rows.gaps(where), self._rows.gaps(name)
        return missing is None or (mine is not None and bool((mine | ~missing).all()))

    def high(self, name: str) -> tuple[Floats, Floats]:
        """The greatest value of a column, and its 95th percentile."""
        greatest, known = self._of("greatest", name), self.count(name)
        rank = np.maximum(-(-known * HIGH // 100) - 1, 0)
        if (rank >= known - 1).all():  # of few values the greatest is meant
            return greatest, greatest
        vary = np.flatnonzero(greatest > self._of("least", name))
        if not len(vary):
            return greatest, greatest
        padded = np.full((len(self), int(self.sizes.max())), np.nan)
        padded.ravel()[self._flat] = self._rows.values(name)
        if len(vary) < len(self):
            padded, rank = padded[vary], rank[vary]
        ranks = np.unique(rank)
        if len(ranks) > SORTED:
            padded.sort(axis=1)  # what is not known comes last
        else:
            padded.partition(ranks, axis=1)
        high = greatest.copy()
        high[vary] = np.take_along_axis(padded, rank[:, None], axis=1)[:, 0]
        return greatest, high

    @functools.cached_property
    def _flat(self) -> Integers:
        """The place of each row where every span has as much room as the longest."""
        width = int(self.sizes.max())
        rows: Integers = np.arange(len(self._rows.order))
        return rows + np.repeat(np.arange(len(self)) * width - self._starts, self.sizes)

    def _of(self, figure: str, *columns: str) -> npt.NDArray[Any]:
        """One figure a span, from those of finer spans or from the rows."""
        if (figure, *columns) not in self._memo:
            by = _FIGURES[figure]
            values = (
                self._finer._of(figure, *columns) if self._finer else self._row(figure, *columns)
            )
            found = by.reduceat(values, self._parts) if len(values) else values
            self._memo[figure, *columns] = found
        return self._memo[figure, *columns]

    def _row(self, figure: str, name: str, where: str | None = None) -> npt.NDArray[Any]:
        """What one row adds to a figure."""
        rows = self._rows
        match figure:
            case "last":
                known = rows.known(name)
                return np.where(known, np.arange(len(known)), -1)
            case "begin":
                return rows.ticks - np.rint(rows.values(name) * 1e6).astype(np.int64)
            case "greatest" | "least":
                return rows.values(name)
        missing = rows.gaps(name)
        if where is not None and (others := rows.gaps(where)) is not None:
            missing = others if missing is None else missing | others
        values = rows.values(name)
        if figure == "count":
            return np.ones(len(values), np.int64) if missing is None else 1 - missing
        return values if missing is None else np.where(missing, 0.0, values)


_FIGURES = {
    "last": np.maximum,
    "begin": np.minimum,
    "greatest": np.fmax,
    "least": np.fmin,
    "count": np.add,
    "sum": np.add,
}
"""How a figure of a span comes from those of its parts."""
