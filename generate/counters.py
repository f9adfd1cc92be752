"""Values to the bytes of one record type: counters add up, wrap and count down by their role."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from ..schemas import Layout, LayoutError, Role
from .clock import U64
from .form import TIME, Counts, Form, Place
from .monwrite import U8
from .noise import F64, I64

Values = Mapping[str, Any]
Mask = npt.NDArray[np.bool_]

COUNTDOWN_FROM = 0x7FFFFFFF00000000
"""Where a processor's timer that runs downwards begins."""

WRAPPING_ROWS = 7
"""Of a counter that wraps, every so manieth record does, beginning with the first."""

_I64 = np.dtype(np.int64)


def ebcdic(texts: Any, width: int) -> npt.NDArray[np.void]:
    """Texts as EBCDIC, padded with blanks to `width` bytes.

    Args:
        texts: one text or (rows,) of them.

    Returns:
        (rows,) of `width` bytes; one row for one text.
    """
    plain = np.atleast_1d(np.asarray(texts, dtype=np.str_))
    if not plain.size:
        return np.empty(0, dtype=f"V{width}")
    padded = np.char.ljust(plain, width)
    return np.char.encode(padded, "cp037").astype(f"S{width}").view(f"V{width}")


class Encoder:
    """Writes the records of one layout, sample after sample.

    A value is one number or (rows,) of them; of a field in entries, `group.field`, one number or
    what can be spread over (rows, entries). Values of fields that the release does not have are
    left out.

    Args:
        layout: what the bytes mean.
        rows: records in a sample, those of absent rows counted.
        release: CP level, which decides how long the records are.
        fixed: values that stay: keys, texts, sizes.
        ages: intervals for which counters have grown before the first sample; one or (rows,).
        wrapping: names of 4-byte counters that pass 2**32 in the first interval.
        entries, sizes: see `Form`.

    Raises:
        LayoutError: see `Form`; or a group is asked for in records that are said not to have it.
    """

    def __init__(
        self,
        layout: Layout,
        rows: int,
        release: str,
        fixed: Values,
        ages: float | F64 = 0.0,
        wrapping: Set[str] = frozenset(),
        *,
        entries: Counts | None = None,
        sizes: Counts | None = None,
    ) -> None:
        self.layout = layout
        self.rows = rows
        self.form = Form(layout, release, entries, sizes)
        self._ages = ages
        self._wrapping = wrapping
        self._counters: dict[str, _Counter | None] = {}
        self._levels: dict[str, npt.NDArray[Any] | None] = {}
        self._fresh = np.zeros(rows, dtype=np.bool_)
        self._records = np.tile(self.form.blank, (rows, 1))
        self._tods = TIME.of(self._records)
        self._set(fixed)
        self.form.check_conditions(self._records)

    @property
    def length(self) -> int:
        """Bytes of a record."""
        return self.form.length

    def encode(self, tods: U64, levels: Values, flows: Values, present: Mask | None = None) -> U8:
        """The records of one sample.

        Args:
            tods: time stamps, one for each present row.
            levels: values as they are.
            flows: what counters grew by in the interval; at the first sample, a typical interval.
            present: (rows,) which rows have a record; the counters of the others stay.

        Returns:
            (present rows, record length) bytes, good until the next call.

        Raises:
            LayoutError: a flow goes to a field that the layout does not call a counter.
        """
        self._set(levels)
        for name, grown in flows.items():
            counter = self._counters.get(name)
            if counter is not None:
                counter.grow(_whole(grown), present)
            elif name not in self._counters:
                self._begin(name, _whole(grown), present)
        if present is None:
            self._tods[...] = tods
            return self._records
        self._tods[present] = tods
        return self._records[present]

    def restart(self, rows: Mask | None = None) -> None:
        """Let the counters of some rows begin anew at zero: a logon, or an IPL for all of them.

        The next sample of such a row holds what its interval brought.

        Args:
            rows: (rows,); all of them by default.
        """
        chosen = np.ones(self.rows, dtype=np.bool_) if rows is None else rows
        self._fresh |= chosen
        for counter in self._counters.values():
            if counter is not None:
                counter.total[chosen] = 0

    def held(self, rows: I64) -> dict[str, npt.NDArray[Any]]:
        """What some rows hold by field: levels as last written, counters in full, not wrapped.

        Args:
            rows: indices of rows.

        Returns:
            (rows,) or (rows, entries) each, copies.
        """
        found: dict[str, npt.NDArray[Any]] = {}
        for name, place in self.form.places.items():
            counter = self._counters.get(name)
            found[name] = place.of(self._records)[rows] if counter is None else counter.total[rows]
        return found

    def _set(self, values: Values) -> None:
        for name, value in values.items():
            try:
                target = self._levels[name]
            except KeyError:
                target = self._levels[name] = self._level(name)
            if target is not None:
                target[...] = value

    def _level(self, name: str) -> npt.NDArray[Any] | None:
        """The bytes of a field that does not count; None if the release does not have it."""
        place = self.form.place(name)
        if self.form.field(name).is_cumulative:
            raise LayoutError(f"{self.layout.name}.{name} is a counter: give its growth")
        return place.of(self._records) if place else None

    def _begin(self, name: str, grown: I64, present: Mask | None) -> None:
        """A counter's first sample: it starts, and is written; None if the release has it not."""
        counter = self._counters[name] = self._begun(name, grown, present)
        if counter is not None:
            counter.write()

    def _begun(self, name: str, grown: I64, present: Mask | None) -> _Counter | None:
        """A counter at its first sample; None if the release does not have it."""
        place, field = self.form.place(name), self.form.field(name)
        if not field.is_cumulative:
            raise LayoutError(
                f"{self.layout.name}.{name} does not count",
                expected=f"{Role.COUNTER} or {Role.COUNTDOWN}",
                found=str(field.role),
            )
        if place is None:
            return None
        first: I64 = np.broadcast_to(grown, place.shape(self.rows))
        if present is not None:
            first = np.where(_spread(present, first.shape), first, 0)
        return _Counter(place, self._records, self._start(name, first))

    def _start(self, name: str, grown: I64) -> I64:
        """Value at the first sample: what the time since IPL or logon has brought."""
        shape = grown.shape
        start: I64 = np.floor(grown * _spread(np.asarray(self._ages), shape)).astype(np.int64)
        if name in self._wrapping:
            # So near to 2**32 that the first interval passes it; not everywhere, to be seen apart.
            chosen = _spread(np.arange(self.rows) % WRAPPING_ROWS == 0, shape)
            start = np.where((grown > 1) & chosen, (1 << 32) - grown // 2, start)
        return np.where(_spread(self._fresh, shape), grown, start)


class _Counter:
    """One counter in all rows: what it has come to, and the bytes where that is written."""

    __slots__ = ("_down", "_target", "total")

    def __init__(self, place: Place, records: U8, start: I64) -> None:
        self.total = start
        self._down = place.field.role is Role.COUNTDOWN
        self._target = place.of(records)

    def grow(self, grown: I64, present: Mask | None) -> None:
        """Add to it in all rows, or in those that are present, and write it."""
        total = self.total
        if present is None:
            total += grown
        else:
            np.add(total, grown, out=total, where=_spread(present, total.shape))
        self._target[...] = COUNTDOWN_FROM - total if self._down else total

    def write(self) -> None:
        """Put the value into the records; what is too large for the field wraps."""
        self._target[...] = COUNTDOWN_FROM - self.total if self._down else self.total


def _whole(grown: Any) -> Any:
    """Growth as whole numbers of the type in which counters add up."""
    if isinstance(grown, np.ndarray) and grown.dtype is _I64:
        return grown
    return np.asarray(grown).astype(np.int64)


def _spread(rows: npt.NDArray[Any], shape: tuple[int, ...]) -> npt.NDArray[Any]:
    """A value of each row as one that goes with (rows, entries), where that is the shape."""
    return rows[:, None] if len(shape) > 1 and rows.ndim == 1 else rows
