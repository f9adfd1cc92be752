"""Loads and checks scenarios: shipped ones by name, others from a TOML file.

A file has a table for each run, which inherits the machine and the storage.
"""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, TypeVar

from msgspec import field
from msgspec.structs import asdict

from ..config import Document
from ..config.values import Moment
from ..core.errors import CpmonError
from ..core.names import nearest
from ..schemas.unplaced import still_unplaced
from .checks.consistency import check_names
from .checks.feasibility import check_feasibility, check_figures, check_volumes
from .scenario.hardware import Machine, Storage
from .scenario.repetitions import (
    Difference,
    DifferenceKeys,
    Repetitions,
    SampleKeys,
    Samples,
    run_key,
)
from .scenario.scenario import Run, RunKeys, Scenario, ScenarioKeys
from .scenario.values import below

Part = TypeVar("Part", Machine, Storage)


class RunTable(RunKeys, frozen=True, kw_only=True):
    """The table of a run, with the keys of machine and storage that it overrides."""

    start: Moment
    machine: dict[str, Any] = field(default_factory=dict)
    storage: dict[str, Any] = field(default_factory=dict)
    samples: SampleKeys | None = None


class ScenarioTable(ScenarioKeys, frozen=True, kw_only=True):
    """A scenario file."""

    run: dict[str, RunTable] = field(default_factory=dict)
    differences: tuple[DifferenceKeys, ...] = ()


def scenario_names() -> list[str]:
    """The scenarios that come with cpmon."""
    names = (entry.name for entry in _shipped().iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_scenario(name_or_path: str | Path) -> Scenario:
    """A shipped scenario by name, or one from a TOML file.

    Raises:
        CpmonError: there is no such scenario, or something in it is wrong.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in scenario_names():
        shipped = _shipped() / f"{text}.toml"
        return parse_scenario(shipped.read_text(encoding="utf-8"), f"{text}.toml")
    path = Path(name_or_path)
    if not path.is_file():
        near = nearest(text, scenario_names())
        raise CpmonError(
            f"there is no scenario {text}",
            code="name-unknown",
            expected=f"{', '.join(scenario_names())}, or a TOML file",
            found=text,
            remedy=f"did you mean {near}?" if near else None,
        )
    return _checked(Document.load(path, "the scenario"))


def parse_scenario(text: str, file: str) -> Scenario:
    """A scenario from the text of a TOML file; `file` is its name in messages.

    Raises:
        CpmonError: something in it is wrong.
    """
    return _checked(Document(text, file, "the scenario"))


def _checked(document: Document) -> Scenario:
    """The scenario in a file, after all checks."""
    table = document.read(ScenarioTable)
    scenario = Scenario(
        **_values(table, ScenarioKeys),
        runs=tuple(_run(run_id, run, table, document) for run_id, run in table.run.items()),
        repetitions=_repetitions(table, document),
    )
    if scenario.repetitions is not None:
        check_figures(scenario.repetitions)
    still_unplaced(scenario.assumed, document.place)
    check_volumes(scenario, document.place)
    check_names(scenario, document.place)
    for run in scenario.runs:
        check_feasibility(scenario, run, document.place)
    return scenario


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
    """A part of the scenario with the overrides of a run; inherited keys are checked already."""
    if not own:
        return inherited
    values = {**document.values[name], **own}
    key = f"{run_key(run_id)}.{name}"
    return document.read_part(values, key, type(inherited))


def _repetitions(table: ScenarioTable, document: Document) -> Repetitions | None:
    """The repeated samples of a scenario, or None if it has none."""
    runs = {
        run_id: Samples(**asdict(run.samples), run_id=run_id, place=below(document.place, key))
        for run_id, run in table.run.items()
        if run.samples is not None
        for key in [f"{run_key(run_id)}.samples"]
    }
    differences = tuple(
        Difference(**asdict(each), place=below(document.place, f"differences[{number}]"))
        for number, each in enumerate(table.differences)
    )
    return Repetitions(runs, differences) if runs or differences else None


def _values(table: Any, kind: type[RunKeys | ScenarioKeys]) -> dict[str, Any]:
    """The values of a table's keys that belong to a base of its class."""
    return {name: getattr(table, name) for name in kind.__struct_fields__}


def _shipped() -> Traversable:
    """The folder of the scenarios that come with the package."""
    return files(__package__.rpartition(".")[0]) / "scenarios"
