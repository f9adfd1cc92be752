"""Scenarios by name or from a file of one's own, read and checked."""

from __future__ import annotations

from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from ..config import Document
from ..schemas.errors import CpmonError
from ..schemas.lookup import nearest
from .checks.consistency import check_names
from .checks.feasibility import check_feasibility, check_volumes
from .checks.figures import check_figures
from .scenario.reader import read_scenario
from .scenario.scenario import Scenario


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
    scenario = read_scenario(document)
    if scenario.repetitions is not None:
        check_figures(scenario.repetitions)
    check_volumes(scenario, document.place)
    check_names(scenario, document.place)
    for run in scenario.runs:
        check_feasibility(scenario, run, document.place)
    return scenario


def _shipped() -> Traversable:
    """The folder of the scenarios that come with the package."""
    return files(__package__.rpartition(".")[0]) / "scenarios"
