"""Steps of a calculation that a publication shows: from printed values, one after the other."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .printing import Printed, blank, exact, fixed
from .row import MOST_DIGITS
from .samples import mean, quotient_of
from .toml_table import TomlTable

OPERATIONS = ("divide", "minus")
OPERANDS = "two of: a number, the label of a step above, { row = LABEL, of = [RUN, ...] }"


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


def parse_step(
    table: TomlTable, above: Sequence[Step], rows: Collection[str], runs: Collection[str]
) -> Step:
    """A step of a spec.

    Args:
        table: the step as TOML has it.
        above: the steps before it.
        rows: labels of the table's rows.
        runs: all that the spec knows.

    Raises:
        CpmonError: a key is missing, unknown or wrong.
    """
    known = {step.label for step in above}
    kinds = [kind for kind in OPERATIONS if table.has(kind)]
    if len(kinds) != 1:
        raise table.wrong("divide", "one of divide and minus")
    given = table.raw(kinds[0])
    operands = [_operand(value, known, rows, runs) for value in given] if _is_pair(given) else []
    if len(operands) != 2 or operands[0] is None or operands[1] is None:
        raise table.wrong(kinds[0], OPERANDS)
    step = Step(
        label=table.text("label"),
        about=table.text("about"),
        operation=kinds[0],
        operands=(operands[0], operands[1]),
        digits=_digits(table),
        table=table.text("table"),
    )
    if step.label in known:
        raise table.wrong("label", "a label that no step above has")
    table.done()
    return step


def _is_pair(given: Any) -> bool:
    return isinstance(given, list) and len(given) == 2


def _operand(
    value: Any, steps: Collection[str], rows: Collection[str], runs: Collection[str]
) -> Operand | None:
    """An operand; None if it is none."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return exact(value)
    if isinstance(value, str):
        return value if value in steps else None
    if not isinstance(value, dict) or value.keys() != {"row", "of"} or value["row"] not in rows:
        return None
    of = value["of"]
    known = isinstance(of, list) and of and all(run in runs for run in of)
    return Cells(value["row"], tuple(of)) if known else None


def _digits(table: TomlTable) -> int:
    digits = table.raw("digits", 0)
    if not isinstance(digits, int) or abs(digits) > MOST_DIGITS:
        raise table.wrong("digits", f"an integer from -{MOST_DIGITS} to {MOST_DIGITS}")
    return digits


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
