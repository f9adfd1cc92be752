"""Claims: what the text of a publication says about two runs, printed from the same values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..render.printing import DASH, Printed, blank, change, fixed, percent, significant
from .samples import Samples, confidence

NOT_SIGNIFICANT = "not significant"


class Wording(StrEnum):
    """How a claim is said."""

    WORDS = "words"
    """5% decrease, no change."""
    PERCENT = "percent"
    """With its sign: 285.4%, -39.17%."""
    SIZE = "size"
    """Without it, where the label says which way: 39%."""
    CONFIDENCE = "confidence"
    """Level of a t-test of the samples: 99%, or not significant."""


@dataclass(frozen=True, slots=True)
class Claim:
    """How a row differs between two runs.

    `digits` are decimals; with `significant` above 0 the number has so many significant digits
    instead. `table` is the block that the claim's cell stands in.
    """

    label: str
    row: str
    run: str
    base: str
    wording: Wording
    digits: int
    significant: int
    table: str

    def cell(self, value: Printed, base: Printed) -> Printed:
        """The change from base to value, as it is said."""
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


def tested(claim: Claim, of_run: Samples, of_base: Samples) -> Printed:
    """The verdict of a t-test: the confidence level, or that there is none worth a name."""
    if min(len(of_run), len(of_base)) < 2:
        return blank(f"{claim.row}: a t-test needs two samples of {claim.base} and {claim.run}")
    level = confidence(list(of_run.values()), list(of_base.values()))
    return Printed(NOT_SIGNIFICANT if level is None else f"{level}%", None)
