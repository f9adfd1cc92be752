"""Rows of objects and intervals in the order of objects and time, column by column."""

from __future__ import annotations

import copy
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ..store.growth import by_object_and_time, object_codes, taken

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


class Ordered:
    """Rows of one system in the order of objects and time; not known is NaN.

    Attributes:
        ticks: ends of the intervals, microseconds since 1970. objects: a number for each object.
        chosen: which of all rows they are, of those `within` some ends.
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
        self._whole: Ordered | None = None
        self.chosen: Mask = np.empty(0, dtype=bool)
        ticks = rows.column(time).cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        objects = object_codes(rows, keys)
        order = by_object_and_time(objects, ticks)
        self.order: Integers = order[pc.is_valid(rows.column(known)).to_numpy()[order]]
        self._places = pa.array(self.order, pa.int32())
        self.ticks: Integers = ticks[self.order]
        self.objects: Integers = objects[self.order]

    def within(self, ends: pa.Array) -> Ordered:
        """Those rows alone whose intervals end at some times."""
        wanted = ends.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
        chosen = np.isin(self.ticks, wanted)
        part = copy.copy(self)
        part._values, part._gaps, part._whole, part.chosen = {}, {}, self, chosen
        part.order, part.ticks = self.order[chosen], self.ticks[chosen]
        part.objects = self.objects[chosen]
        return part

    def values(self, name: str) -> Floats:
        """A column of numbers; remembered until `forget`."""
        if name not in self._values:
            if self._whole:
                self._values[name] = self._whole.values(name)[self.chosen]
            else:
                numbers = self._rows.column(name).to_numpy()  # with NaN where it has NULL
                self._values[name] = taken(numbers, self._places).astype(np.float64, copy=False)
        return self._values[name]

    def put(self, name: str, values: Floats) -> None:
        """A column of numbers that rows need not have, or not these; until `forget`."""
        self._values[name] = values

    def gaps(self, name: str) -> Mask | None:
        """Where a column of numbers is not known; None if it is everywhere, of all rows."""
        if name not in self._gaps:
            if self._whole:
                missing = self._whole.gaps(name)
                self._gaps[name] = None if missing is None else missing[self.chosen]
            else:
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
