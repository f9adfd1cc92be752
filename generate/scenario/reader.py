"""Scenario files: TOML with a table for each run, which inherits the machine and the storage."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from msgspec import field
from msgspec.structs import asdict

from ...config import Document
from ...config.values import Moment, converter
from .hardware import Machine, Storage
from .repetitions import Difference, DifferenceKeys, Repetitions, SampleKeys, Samples, run_key
from .scenario import Run, RunKeys, Scenario, ScenarioKeys

Part = TypeVar("Part", Machine, Storage)


class RunTable(RunKeys, frozen=True, kw_only=True):
    """The table of a run, with what it changes of the machine and the storage."""

    start: Moment
    machine: dict[str, Any] = field(default_factory=dict)
    storage: dict[str, Any] = field(default_factory=dict)
    samples: SampleKeys | None = None


class ScenarioTable(ScenarioKeys, frozen=True, kw_only=True):
    """A scenario file."""

    run: dict[str, RunTable] = field(default_factory=dict)
    differences: tuple[DifferenceKeys, ...] = ()


def read_scenario(document: Document) -> Scenario:
    """The scenario in a file, each value checked by itself.

    Raises:
        CpmonError: a key is unknown or missing, or has a wrong value.
    """
    table = document.read(ScenarioTable, converter(Path()))
    return Scenario(
        **_values(table, ScenarioKeys),
        runs=tuple(_run(run_id, run, table, document) for run_id, run in table.run.items()),
        repetitions=_repetitions(table, document),
    )


def _run(run_id: str, run: RunTable, scenario: ScenarioTable, document: Document) -> Run:
    return Run(
        **_values(run, RunKeys),
        run_id=run_id,
        start=run.start,
        machine=_inherited("machine", scenario.machine, run.machine, run_id, document),
        storage=_inherited("storage", scenario.storage, run.storage, run_id, document),
    )


def _inherited(
    name: str, inherited: Part, own: dict[str, Any], run_id: str, document: Document
) -> Part:
    """A part of the scenario with what a run changes; what it inherits is right already."""
    if not own:
        return inherited
    values = {**document.values[name], **own}
    key = f"{run_key(run_id)}.{name}"
    return document.read_part(values, key, type(inherited), converter(Path()))


def _repetitions(table: ScenarioTable, document: Document) -> Repetitions | None:
    """The repeated samples of a scenario, or None if it has none."""
    samples = tuple(
        Samples(**asdict(run.samples), run_id=run_id)
        for run_id, run in table.run.items()
        if run.samples is not None
    )
    differences = tuple(
        Difference(**asdict(difference), key=f"differences[{number}]")
        for number, difference in enumerate(table.differences)
    )
    if not samples and not differences:
        return None
    return Repetitions(document.place, samples, differences)


def _values(table: Any, kind: type[RunKeys | ScenarioKeys]) -> dict[str, Any]:
    """The values of a table's keys that belong to a base of its class."""
    return {name: getattr(table, name) for name in kind.__struct_fields__}
