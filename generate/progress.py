"""Records between two samples: what they said at the first, and how far counters have come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..schemas import layout
from .counters import Encoder, Values
from .noise import F64, I64

Fields = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Progress:
    """Some rows of one record type in the course of an interval.

    Attributes:
        rows: (rows,) which they are, ascending.
        counts: number of entries of each group that the records have.
        begun: (rows,) or (rows, entries) by field: the values at the interval's beginning.
        grown: the same of counters: what they grow by during the interval.
    """

    rows: I64
    counts: Mapping[str, int]
    begun: Fields
    grown: Fields

    @classmethod
    def of(cls, encoder: Encoder, counts: Mapping[str, int], flows: Values, rows: I64) -> Progress:
        """What some rows hold before an interval's growth is added to them."""
        begun = encoder.held(rows)
        grown = {}
        for name in flows.keys() & begun.keys():
            shape = (encoder.rows, *begun[name].shape[1:])
            grown[name] = np.broadcast_to(np.asarray(flows[name]), shape)[rows]
        return cls(rows, counts, begun, grown)

    def at(self, places: I64, share: float | F64, target: str) -> dict[str, npt.NDArray[Any]]:
        """The fields that another record type has too, at some moments of the interval.

        Levels are those of its beginning.

        Args:
            places: (events,) indices into the rows.
            share: one or (events,): how much of the growth has happened.
            target: layout whose fields are wanted.
        """
        table = layout(target)
        wanted = {field.name for field in table.columns if not field.of}
        wanted |= {group.name for group in table.groups}
        found = {}
        for name, begun in self.begun.items():
            if name.partition(".")[0] not in wanted:
                continue
            found[name] = begun[places]
            if name in self.grown:
                part = self.grown[name][places] * _spread(share, begun.ndim)
                found[name] = found[name] + np.floor(part).astype(np.int64)
        return found


def _spread(share: float | F64, dimensions: int) -> float | F64:
    """Shares of events as what goes with (events, entries), where that is the shape."""
    return share[:, None] if isinstance(share, np.ndarray) and dimensions > 1 else share
