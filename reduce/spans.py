"""Rows of objects and intervals, grouped into spans of time: sums and the like, all at once.

Rows are ordered once by object and time; the rows of a span then stand together, so that each
figure is one pass over a column.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import timedelta
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..store.lateness import INSIDE_US
from .ordered import Floats, Integers, Mask, Ordered

HIGH = 95
"""Percentile, by nearest rank."""
SHORT = 128
"""So many values are sorted whole."""
HEAP = 64
"""Of more about as many, each heap by itself: that takes a third of the time."""
OF_HEAP = 12
"""Of a sorted heap that are looked at first: a twentieth of it is three."""


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
        ends = ((rows.ticks - INSIDE_US) // width + 1) * width
        begins = np.ones(len(ends), dtype=bool)
        begins[1:] = (rows.objects[1:] != rows.objects[:-1]) | (ends[1:] != ends[:-1])
        self._starts: Integers = np.flatnonzero(begins)
        self._parts = (
            self._starts if finer is None else np.searchsorted(finer._starts, self._starts)
        )
        self.ends = pa.array(ends[self._starts], pa.int64()).cast(pa.timestamp("us"))
        self.sizes: Integers = np.diff(np.append(self._starts, len(ends)))
        self._memo: dict[tuple[str, ...], npt.NDArray[Any]] = {}
        self._highs: dict[str, tuple[Floats, Floats]] = {}

    def __len__(self) -> int:
        return len(self._starts)

    def forget(self, keep: AbstractSet[str]) -> None:
        """Give the memory of other columns back."""
        for said in [said for said in self._memo if not keep >= {*said[1:]}]:
            del self._memo[said]
        self._highs.clear()
        self._rows.forget(keep)

    def met(self, some: Ordered) -> Integers:
        """The places of those that some of the rows are in."""
        return np.flatnonzero(self._chosen(some))

    def holds(self, some: Ordered) -> bool:
        """Whether all rows of each, or none, are among some of the rows."""
        chosen = self._chosen(some)
        return bool(((chosen == 0) | (chosen == self.sizes)).all())

    def _chosen(self, some: Ordered) -> Integers:
        """How many rows of each are among some of the rows."""
        if not len(self):
            return self.sizes
        found: Integers = np.add.reduceat(some.chosen.astype(np.int64), self._starts)
        return found

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
        if name not in self._highs:
            self._highs[name] = self._high(name)
        return self._highs[name]

    def _high(self, name: str) -> tuple[Floats, Floats]:
        greatest, known = self._of("greatest", name), self.count(name)
        places = known + -known * HIGH // 100
        if not places.any():  # of few values the greatest is meant
            return greatest, greatest
        values = self._rows.values(name)
        if self._rows.gaps(name) is not None:
            values = np.fmax(values, -np.inf)
        longest = int(self.sizes.max())
        if longest <= SHORT:
            room = np.full((len(self), longest), -np.inf)
            room[self._within] = values
            room.sort(axis=1)
            high = _at(room, places)
        else:
            room = np.full((len(self), *_heaps(longest)), -np.inf)
            room.ravel()[self._spread] = values
            high = _from_greatest(room, places)
        return greatest, np.where(known > 0, high, np.nan)

    @functools.cached_property
    def _within(self) -> Mask:
        """(spans, longest): where values are, if every span has as much room as the longest."""
        return np.arange(self.sizes.max()) < self.sizes[:, None]

    @functools.cached_property
    def _spread(self) -> Integers:
        """(rows,) places of values in heaps.

        Values that follow each other go to different ones, so that great ones are in all of them.
        """
        heaps, room = _heaps(int(self.sizes.max()))
        at = np.arange(len(self._rows.ticks)) - np.repeat(self._starts, self.sizes)
        first = np.repeat(np.arange(len(self)) * heaps * room, self.sizes)
        return first + at % heaps * room + at // heaps

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
            case "greatest":
                return rows.values(name)
        missing = rows.gaps(name)
        if where is not None and (others := rows.gaps(where)) is not None:
            missing = others if missing is None else missing | others
        values = rows.values(name)
        if figure == "count":
            return np.ones(len(values), np.int64) if missing is None else 1 - missing
        return values if missing is None else np.where(missing, 0.0, values)


class Taken(Spans):
    """Spans of some rows that are spans of all rows as well: what those come to holds for them."""

    def __init__(self, rows: Ordered, length: timedelta, finer: Spans | None, whole: Spans) -> None:
        """Take the spans that `rows` are in.

        Args:
            whole: spans of the same length of all rows, each of which is in `rows` or is not.
        """
        super().__init__(rows, length, finer)
        self._of_all, self._places = whole, whole.met(rows)

    def count(self, name: str) -> Integers:
        """Of how many intervals a column is known."""
        return self._of_all.count(name)[self._places]

    def sum(self, name: str, where: str | None = None) -> Floats:
        """The sum of a column, of those rows only where another one is known."""
        return self._of_all.sum(name, where)[self._places]

    def _high(self, name: str) -> tuple[Floats, Floats]:
        greatest, high = self._of_all.high(name)
        return greatest[self._places], high[self._places]

    def _of(self, figure: str, *columns: str) -> npt.NDArray[Any]:
        if figure == "last":  # a place among the rows
            return super()._of(figure, *columns)
        return self._of_all._of(figure, *columns)[self._places]


def levels_of(
    rows: Ordered, lengths: Mapping[str, timedelta], whole: Mapping[str, Spans] | None = None
) -> dict[str, Spans]:
    """Spans of several lengths by name, each length dividing the next.

    Args:
        whole: the same of all rows, where these are some of them.
    """
    found: dict[str, Spans] = {}
    finer: Spans | None = None
    for name, length in lengths.items():
        if whole and whole[name].holds(rows):
            finer = Taken(rows, length, finer, whole[name])
        else:
            finer = Spans(rows, length, finer)
        found[name] = finer
    return found


def _heaps(longest: int) -> tuple[int, int]:
    """How many heaps so many values are put into, and how many there is room for in each."""
    heaps = -(-longest // HEAP)
    return heaps, -(-longest // heaps)


def _from_greatest(values: Floats, places: Integers) -> Floats:
    """(spans,) the values at some places from the greatest, of (spans, heaps, room) values.

    The values are put into another order.
    """
    values.sort(axis=2)
    first = values[:, :, -OF_HEAP:].reshape(len(values), -1)
    first.sort(axis=1)
    found = _at(first, places)
    missed = np.flatnonzero(found < values[:, :, -OF_HEAP - 1].max(axis=1))
    rest = values.reshape(len(values), -1)[missed]
    rest.sort(axis=1)
    found[missed] = _at(rest, places[missed])
    return found


def _at(rows: Floats, places: Integers) -> Floats:
    """(rows,) the values at some places from the end."""
    return np.take_along_axis(rows, rows.shape[1] - 1 - places[:, None], axis=1)[:, 0]


_FIGURES = {
    "last": np.maximum,
    "begin": np.minimum,
    "greatest": np.fmax,
    "count": np.add,
    "sum": np.add,
}
"""How a figure of a span comes from those of its parts."""
