"""Values to the bytes of one record type: counters add up, wrap and count down by their role."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

import numpy as np
import numpy.typing as npt

from ..schemas import Field, Layout, LayoutError, Role, Type
from .clock import U64
from .noise import F64

Values = Mapping[str, Any]
U8 = npt.NDArray[np.uint8]

COUNTDOWN_FROM = 0x7FFFFFFF00000000
"""Where a processor's timer that runs downwards begins."""

WRAPPING_ROWS = 7
"""Of a counter that wraps, every so manieth record does, beginning with the first."""


def ebcdic(texts: Any, width: int) -> npt.NDArray[np.void]:
    """Texts as EBCDIC, padded with blanks to `width` bytes.

    Args:
        texts: one text or (rows,) of them.

    Returns:
        (rows,) of `width` bytes; one row for one text.
    """
    padded = np.char.ljust(np.atleast_1d(np.asarray(texts, dtype=np.str_)), width)
    return np.char.encode(padded, "cp037").astype(f"S{width}").view(f"V{width}")


class Encoder:
    """Writes the records of one layout, sample after sample.

    Args:
        layout: what the bytes mean.
        rows: records in a sample.
        release: CP level, which decides how long the records are.
        fixed: values that stay: keys, texts, sizes.
        ages: intervals for which counters have grown before the first sample; one or (rows,).
        wrapping: names of 4-byte counters that pass 2**32 in the first interval.
    """

    def __init__(
        self,
        layout: Layout,
        rows: int,
        release: str,
        fixed: Values,
        ages: float | F64 = 0.0,
        wrapping: Set[str] = frozenset(),
    ) -> None:
        self.layout = layout
        self.length = layout.length_at(release)
        self._ages = ages
        self._wrapping = wrapping
        self._counters: dict[str, U64] = {}
        self._fields = {field.name: field for field in layout.columns}
        self._block = np.zeros(rows, dtype=layout.dtype)
        self._block["mrhdrlen"] = self.length
        self._block["mrhdrdm"] = layout.domain
        self._block["mrhdrrc"] = layout.record
        for field in layout.columns:
            if field.type is Type.CHAR:
                self._block[field.name] = ebcdic("", field.length)
        self._set(fixed)

    @property
    def rows(self) -> int:
        """Records in a sample."""
        return len(self._block)

    def encode(self, tods: U64, levels: Values, flows: Values) -> U8:
        """The records of one sample.

        Args:
            tods: (rows,) time stamps.
            levels: values as they are.
            flows: what counters grew by in the interval; at the first sample, a typical interval.

        Returns:
            (rows, record length) bytes, good until the next call.

        Raises:
            LayoutError: a flow goes to a field that the layout does not call a counter.
        """
        self._block["mrhdrtod"] = tods
        self._set(levels)
        for name, delta in flows.items():
            self._block[name] = self._count(self._field(name), delta)
        flat = self._block.view(np.uint8).reshape(self.rows, -1)
        return flat[:, : self.length]

    def _field(self, name: str) -> Field:
        return self._fields.get(name) or self.layout.field(name)

    def _set(self, values: Values) -> None:
        for name, value in values.items():
            if self._field(name).is_cumulative:
                raise LayoutError(f"{self.layout.name}.{name} is a counter: give its growth")
            self._block[name] = value

    def _count(self, field: Field, delta: Any) -> U64:
        """The counter's new value, as written."""
        if not field.is_cumulative:
            raise LayoutError(
                f"{self.layout.name}.{field.name} does not count",
                expected=f"{Role.COUNTER} or {Role.COUNTDOWN}",
                found=str(field.role),
            )
        grown = np.broadcast_to(np.asarray(delta, dtype=np.int64), (self.rows,))
        if field.name in self._counters:
            self._counters[field.name] += grown.astype(np.uint64)
        else:
            self._counters[field.name] = self._start(field, grown)
        total = self._counters[field.name]
        if field.role is Role.COUNTDOWN:
            return np.uint64(COUNTDOWN_FROM) - total
        bits = 8 * field.length
        return total if bits == 64 else total & np.uint64((1 << bits) - 1)

    def _start(self, field: Field, grown: npt.NDArray[np.int64]) -> U64:
        """Value at the first sample: what the time since IPL or logon has brought."""
        start: U64 = np.floor(grown * self._ages).astype(np.uint64)
        if field.name in self._wrapping:
            # So near to 2**32 that the first interval passes it; not everywhere, to be seen apart.
            near = np.uint64(1 << 32) - (grown // 2).astype(np.uint64)
            here = (grown > 1) & (np.arange(self.rows) % WRAPPING_ROWS == 0)
            start = np.where(here, near, start)
        return start
