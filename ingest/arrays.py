"""Rows of arrays: the base of dataclasses whose fields are arrays of one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

import numpy as np

from .codec import I64, Mask


@dataclass(frozen=True)
class Rows:
    """Arrays of (rows,), which are selected and joined together."""

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))

    def __getitem__(self, chosen: slice | Mask | I64) -> Self:
        return type(self)(*(getattr(self, f.name)[chosen] for f in fields(self)))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The rows of one or more parts, one after the other."""
        return cls(*(np.concatenate([getattr(p, f.name) for p in parts]) for f in fields(cls)))
