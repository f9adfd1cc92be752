"""Rows of objects and intervals, grouped into spans of time: sums and the like, all at once.

Rows are ordered once by object and time; the rows of a span then stand together, so that each
figure is one pass over a column.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

HIGH = 95
"""Percentile, by nearest rank."""
SORTED = 8
"""With more ranks than these, sorting is faster than selecting."""


class Ordered:
    """Rows of one system in the order of objects and time; not known is NaN.

    Attributes:
        ticks: ends of the intervals, microseconds since 1970. objects: a number for each object.
    """

    def __init__(self, rows: pa.Table, time: str, keys: tuple[str, ...]) -> None:
        """Order rows.

        Args:
            rows: with columns `time` (timestamps, not NULL) and `keys`.
        """
        self._rows, self._values = rows, dict[str, Floats]()
        ticks = rows.column(time).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        objects = _codes(rows, keys)
        self.order: Integers = np.lexsort((ticks, objects))
        self.ticks: Integers = ticks[self.order]
        self.objects: Integers = objects[self.order]

    def values(self, name: str) -> Floats:
        """A column of numbers; remembered until `forget`."""
        if name not in self._values:
            column = self._rows.column(name).cast(pa.float64())
            self._values[name] = column.to_numpy(zero_copy_only=False)[self.order]
        return self._values[name]

    def forget(self) -> None:
        """Give the memory of columns back."""
        self._values.clear()

    def known(self, name: str) -> npt.NDArray[np.bool_]:
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
    """The spans of ordered rows, by object and time; `len` is their number."""

    def __init__(self, rows: Ordered, length: timedelta) -> None:
        """Group rows into spans of that length; those of a day begin at midnight UTC."""
        self._rows = rows
        width = length // timedelta(microseconds=1)
        # An interval that ends on the dot belongs to what ends there.
        ends = ((rows.ticks - 1) // width + 1) * width
        begins = np.ones(len(ends), dtype=bool)
        begins[1:] = (rows.objects[1:] != rows.objects[:-1]) | (ends[1:] != ends[:-1])
        self._starts: Integers = np.flatnonzero(begins)
        self.ends = pa.array(ends[self._starts], pa.int64()).cast(pa.timestamp("us"))
        self.sizes: Integers = np.diff(np.append(self._starts, len(ends)))
        self._span: Integers = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self._place: Integers = np.arange(len(ends)) - self._starts[self._span]

    def __len__(self) -> int:
        return len(self._starts)

    def first(self, name: str) -> pa.Array:
        """What a column says at the first interval of each span."""
        return self._rows.taken(name, self._starts)

    def last(self, name: str) -> pa.Array:
        """What it says at the last interval where it is known."""
        known = self._rows.known(name)
        last: Integers = self._reduce(np.maximum, np.where(known, np.arange(len(known)), -1))
        return self._rows.taken(name, np.maximum(last, 0), valid=last >= self._starts)

    def begins(self, seconds: str) -> pa.Array:
        """When the first interval of each began, from the lengths of intervals."""
        lengths = np.rint(self._rows.values(seconds) * 1e6).astype(np.int64)
        first = self._reduce(np.minimum, self._rows.ticks - lengths)
        return pa.array(first, pa.int64()).cast(pa.timestamp("us"))

    def count(self, name: str) -> Integers:
        """Of how many intervals a column is known."""
        known = ~np.isnan(self._rows.values(name))
        found: Integers = self._reduce(np.add, known.astype(np.int64))
        return found

    def sum(self, name: str, where: str | None = None) -> Floats:
        """The sum of a column, of those rows only where another one is known."""
        values = self._rows.values(name)
        unknown = np.isnan(values)
        if where is not None and where != name:
            unknown = unknown | np.isnan(self._rows.values(where))
        if not unknown.any():
            total: Floats = self._reduce(np.add, values)
            return total
        total = self._reduce(np.add, np.where(unknown, 0.0, values))
        return np.where(self._reduce(np.logical_or, ~unknown), total, np.nan)

    def high(self, name: str) -> tuple[Floats, Floats]:
        """The greatest value of a column, and its 95th percentile."""
        values, known = self._rows.values(name), self.count(name)
        greatest: Floats = self._reduce(np.fmax, values)
        rank = np.maximum(-(-known * HIGH // 100) - 1, 0)
        if (rank >= known - 1).all():  # of few values the greatest is meant
            return greatest, greatest
        padded = np.full((len(self), int(self.sizes.max())), np.nan)
        padded[self._span, self._place] = values
        ranks = np.unique(rank)
        if len(ranks) > SORTED:
            padded.sort(axis=1)  # what is not known comes last
        else:
            padded.partition(ranks, axis=1)
        chosen = np.take_along_axis(padded, rank[:, None], axis=1)[:, 0]
        return greatest, np.where(known > 0, chosen, np.nan)

    def _reduce(self, by: np.ufunc, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """One value a span."""
        found: npt.NDArray[Any] = by.reduceat(values, self._starts) if len(values) else values
        return found


def _codes(rows: pa.Table, keys: tuple[str, ...]) -> Integers:
    """The same number for rows of the same object; NULL is an object as well."""
    codes: Integers = np.zeros(len(rows), dtype=np.int64)
    for key in keys:
        column = rows.column(key).combine_chunks().dictionary_encode(null_encoding="encode")
        if isinstance(column, pa.ChunkedArray):
            column = column.combine_chunks()
        several = max(len(column.dictionary), 1)
        codes = codes * several + column.indices.to_numpy(zero_copy_only=False)
    return codes
