"""Steps of a calculation that a publication shows: from printed values, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from ..render.printing import Printed, blank, fixed
from .samples import mean, quotient_of


@dataclass(frozen=True, slots=True)
class Cells:
    """An operand: the mean of what some runs print in a row."""

    row: str
    of: tuple[str, ...]


Operand = Decimal | str | Cells
"""A number, the label of a step above, or printed cells."""


@dataclass(frozen=True, slots=True)
class Step:
    """Two operands and what is done with them; later steps go on with what is printed.

    `about` stands where other cells have their run; `digits` are decimals, or places before the
    point if negative. `table` is the block that the cell stands in.
    """

    label: str
    about: str
    operation: str
    operands: tuple[Operand, Operand]
    digits: int
    table: str

    def cell(
        self, printed: Mapping[str, Mapping[str, Printed]], done: Mapping[str, Printed]
    ) -> Printed:
        """The result.

        Args:
            printed: run -> row label -> cell.
            done: the steps above, by label.
        """
        values = []
        for operand in self.operands:
            found = _value(operand, printed, done)
            if isinstance(found, str):
                return blank(found)
            values.append(found)
        first, second = values
        if self.operation == "divide" and second.is_zero():
            return blank(f"{self.label}: divides by zero")
        exactly = first - second if self.operation == "minus" else quotient_of(first, second)
        rounded = fixed(exactly, self.digits)
        return Printed(f"{rounded:f}", rounded)


def _value(
    operand: Operand,
    printed: Mapping[str, Mapping[str, Printed]],
    done: Mapping[str, Printed],
) -> Decimal | str:
    """The number that an operand stands for, or why there is none."""
    if isinstance(operand, Decimal):
        return operand
    cells = [done[operand]] if isinstance(operand, str) else _cells(operand, printed)
    values = []
    for cell in cells:
        if cell.value is None:
            return cell.reason or f"{cell.text} is no number"
        values.append(cell.value)
    return mean(values)


def _cells(operand: Cells, printed: Mapping[str, Mapping[str, Printed]]) -> list[Printed]:
    return [printed[run][operand.row] for run in operand.of]
