"""Statements below a comparison table, computed from its printed values.

Change statements compare two runs; steps are a calculation with printed values, one after the
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from enum import StrEnum
from statistics import mean
from typing import Annotated, Any

from msgspec import Meta

from ...config import Table
from ...config.values import Text
from ...render.printing import Printed, blank, exact, fixed, percent, significant
from .change_test import Samples, confidence

NOT_SIGNIFICANT = "not significant"
Digits = Annotated[int, Meta(ge=0, le=9)]


class Wording(StrEnum):
    """How a change is expressed."""

    WORDS = "words"
    """5% decrease, no change."""
    PERCENT = "percent"
    """Percentage with sign: 285.4%, -39.17%."""
    SIZE = "size"
    """Percentage without sign, for labels that state the direction: 39%."""
    CONFIDENCE = "confidence"
    """Confidence level of a t-test of the samples: 99%, or not significant."""


class ChangeStatement(Table, frozen=True):
    """The change of a row between two runs.

    `digits` are decimals; `significant` above 0 sets significant digits instead. `table` is the
    block of the cell, by default that of the spec.
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
        return percent(value, base, self._words if self.wording is Wording.WORDS else self._percent)

    def _words(self, exactly: Decimal) -> Printed:
        rounded = fixed(exactly, self.digits)
        direction = "increase" if rounded > 0 else "decrease"
        text = "no change" if rounded.is_zero() else f"{abs(rounded):f}% {direction}"
        return Printed(text, rounded)

    def _percent(self, exactly: Decimal) -> Printed:
        wide = self.significant
        rounded = significant(exactly, wide) if wide else fixed(exactly, self.digits)
        shown = abs(rounded) if self.wording is Wording.SIZE else rounded
        return Printed(f"{shown:f}%", rounded)

    def tested_cell(self, samples: Samples, base_samples: Samples) -> Printed:
        """The result of a t-test: the confidence level, or NOT_SIGNIFICANT."""
        if min(len(samples), len(base_samples)) < 2:
            return blank(f"{self.row}: a t-test needs two samples of {self.base} and {self.run}")
        level = confidence(list(samples.values()), list(base_samples.values()))
        return Printed(NOT_SIGNIFICANT if level is None else f"{level}%", None)


OPERATIONS = ("divide", "minus")


class Step(Table, frozen=True):
    """A calculation with two operands; later steps use its printed result.

    An operand is a number, the label of a step above, or a table with a row and some runs (`of`):
    the mean of their printed cells. `about` takes the place of the run of the cell; `digits` are
    decimals, or places before the point if negative. `table` is the block of the cell.
    """

    label: Text
    about: Text
    table: Text
    digits: Annotated[int, Meta(ge=-9, le=9)] = 0
    divide: Any = None
    minus: Any = None

    def cell(
        self, printed: Mapping[str, Mapping[str, Printed]], done: Mapping[str, Printed]
    ) -> Printed:
        """Compute the step.

        Args:
            printed: run -> row label -> cell.
            done: the steps above, by label.
        """
        numbers: list[Decimal] = []
        for operand in self.divide or self.minus:
            value = _value(operand, printed, done)
            if isinstance(value, str):
                return blank(value)
            numbers.append(value)
        first, second = numbers
        if self.divide and second.is_zero():
            return blank(f"{self.label}: divides by zero")
        rounded = fixed(first / second if self.divide else first - second, self.digits)
        return Printed(f"{rounded:f}", rounded)


def _value(
    operand: Any, printed: Mapping[str, Mapping[str, Printed]], done: Mapping[str, Printed]
) -> Decimal | str:
    """The number of an operand, or the reason why it has none."""
    if isinstance(operand, str):
        cells = [done[operand]]
    elif isinstance(operand, dict):
        cells = [printed[run][operand["row"]] for run in operand["of"]]
    else:
        return exact(operand)
    values = []
    for cell in cells:
        if cell.value is None:
            return cell.reason or f"{cell.text} is no number"
        values.append(cell.value)
    return mean(values)
