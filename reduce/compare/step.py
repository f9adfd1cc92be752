"""Steps of a calculation that a publication shows: from printed values, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Annotated, Any

from msgspec import Meta

from ...config import Table
from ...config.values import Text
from ..render.printing import Printed, blank, exact, fixed
from .samples import mean, quotient_of

OPERATIONS = ("divide", "minus")


class Step(Table, frozen=True):
    """Two operands and what is done with them; later steps go on with what is printed.

    An operand is a number, the label of a step above, or a table with a row and some runs (`of`):
    the mean of their printed cells. `about` stands where other cells have their run; `digits` are
    decimals, or places before the point if negative. `table` is the block that the cell stands in.
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
        """The result.

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
        rounded = fixed(quotient_of(first, second) if self.divide else first - second, self.digits)
        return Printed(f"{rounded:f}", rounded)


def _value(
    operand: Any, printed: Mapping[str, Mapping[str, Printed]], done: Mapping[str, Printed]
) -> Decimal | str:
    """The number that an operand stands for, or why there is none."""
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
