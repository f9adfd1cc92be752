"""Change statements: what a publication says about two runs, printed from the same values."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import Meta

from ...config import Table
from ...config.values import Text
from ..render.printing import DASH, Printed, blank, change, fixed, percent, significant
from .samples import Samples, confidence

NOT_SIGNIFICANT = "not significant"
Digits = Annotated[int, Meta(ge=0, le=9)]


class Wording(StrEnum):
    """How a change is stated."""

    WORDS = "words"
    """5% decrease, no change."""
    PERCENT = "percent"
    """With its sign: 285.4%, -39.17%."""
    SIZE = "size"
    """Without it, where the label says which way: 39%."""
    CONFIDENCE = "confidence"
    """Level of a t-test of the samples: 99%, or not significant."""


class ChangeStatement(Table, frozen=True):
    """How a row differs between two runs.

    `digits` are decimals; with `significant` above 0 the number has so many significant digits
    instead. `table` is the block that the cell stands in, by default that of the spec.
    """

    label: Text
    row: Text
    run: Text
    base: Text
    wording: Wording = Wording.WORDS
    digits: Digits = 0
    significant: Digits = 0
    table: Text = Text()

    def cell(self, value: Printed, base: Printed) -> Printed:
        """The change from base to value."""
        if self.wording is Wording.WORDS:
            return change(value, base, self.digits)
        if base.value is not None and base.value.is_zero():
            return DASH
        exactly = percent(value, base)
        if exactly is None:
            return blank(value.reason or base.reason)
        wide = self.significant
        rounded = significant(exactly, wide) if wide else fixed(exactly, self.digits)
        shown = abs(rounded) if self.wording is Wording.SIZE else rounded
        return Printed(f"{shown:f}%", rounded)

    def tested_cell(self, samples: Samples, base_samples: Samples) -> Printed:
        """The result of a t-test: the confidence level, or that there is none worth a name."""
        if min(len(samples), len(base_samples)) < 2:
            return blank(f"{self.row}: a t-test needs two samples of {self.base} and {self.run}")
        level = confidence(list(samples.values()), list(base_samples.values()))
        return Printed(NOT_SIGNIFICANT if level is None else f"{level}%", None)
