"""No value of any field ends a reduction, report, comparison, exception, validation or page."""

from __future__ import annotations

import tempfile
from collections.abc import Collection
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.schemas import layouts
from tests import values
from tests.values import (
    ENDS,
    RUNS,
    VALUES,
    Choice,
    Choices,
    climbing,
    constant,
    faults,
    mixed,
    places,
)

LOW, HIGH = [*VALUES][:4], [*VALUES][4:]


def check(choices: Choices, folder: Path, *, every: bool = True) -> None:
    """All commands work; else the field is named that they fail for."""
    found = faults(choices, folder, every=every)
    if found:
        names = {place.name for name in RUNS for place in places(values.whole(name))}
        field = values.culprit(names, lambda some: fails(choices, some, every=every))
        pytest.fail("\n".join([f"because of {field or 'several fields'}:", *found]))


def fails(choices: Choices, names: Collection[str], *, every: bool) -> bool:
    """Whether a command fails where only these fields are set."""

    def of_these(choose: Choice) -> Choice:
        return lambda place: choose(place) if place.name in names else None

    first, other = map(of_these, choices)
    with tempfile.TemporaryDirectory() as folder:
        return bool(faults((first, other), Path(folder), every=every))


def test_every_field_of_every_layout_is_set():
    tables = (table for layout in layouts() for table in layout.tables())
    fields = {f"{table.name}.{field.name}" for table in tables for field in table.columns}
    assert {p.name for name in RUNS for p in places(values.whole(name))} == fields


def test_the_field_that_fails_is_found_by_halving():
    names = [f"t.{number}" for number in range(100)]
    assert values.culprit(names, lambda some: "t.37" in some) == "t.37"
    assert values.culprit(names, lambda some: {"t.1", "t.99"} <= {*some}) == ""


@pytest.mark.long
@pytest.mark.parametrize("names", [*zip(LOW, HIGH, strict=True)], ids=" and ".join)
def test_no_value_of_all_figures_at_once_ends_a_command(names: tuple[str, str], tmp_path: Path):
    """Each of the two runs has all fields, so each can have a value of its own."""
    first, other = (constant(VALUES[name]) for name in names)
    check((first, other), tmp_path, every=False)


@pytest.mark.slow
def test_neither_highest_deltas_nor_chance_end_a_report_rule_or_page(tmp_path: Path):
    check((climbing, mixed(2, structure=False)), tmp_path)


@pytest.mark.long
def test_keys_lengths_and_counts_by_chance_end_no_command_with_a_failure_of_cpmon(tmp_path: Path):
    """A run or system may be gone then, which is a usage error of the command that names it."""
    choices = mixed(3, structure=True), mixed(4, structure=True)
    assert faults(choices, tmp_path, every=False, ends={*ENDS, Status.USAGE}) == []
