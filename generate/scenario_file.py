"""Scenario files: the ones that come with cpmon, and those of a user; TOML to `Scenario`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ..schemas.lookup import nearest
from .agree import check_names
from .fit import check_fit
from .hardware import Machine, Partition, Storage, VolumeGroup
from .population import Disturbance, Transactions, UserGroup, Workload
from .repetitions import read_repetitions
from .scenario import Monitor, Run, Scenario
from .tables import ScenarioError, read_table, unknown_key
from .targets import Targets

_SECTIONS: dict[str, type] = {
    "machine": Machine,
    "storage": Storage,
    "monitor": Monitor,
    "transactions": Transactions,
}
_LISTS: dict[str, type] = {
    "users": UserGroup,
    "volumes": VolumeGroup,
    "partitions": Partition,
    "workloads": Workload,
    "disturbances": Disturbance,
}


def scenario_names() -> list[str]:
    """The scenarios that come with cpmon."""
    names = (entry.name for entry in _shipped().iterdir())
    return sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml"))


def load_scenario(name_or_path: str | Path) -> Scenario:
    """A shipped scenario by name, or one from a TOML file.

    Raises:
        ScenarioError: there is no such scenario, or something in it is wrong.
    """
    text = str(name_or_path)
    if isinstance(name_or_path, str) and text in scenario_names():
        shipped = _shipped() / f"{text}.toml"
        return parse_scenario(shipped.read_text(encoding="utf-8"), f"{text}.toml")
    path = Path(name_or_path)
    if not path.is_file():
        near = nearest(text, scenario_names())
        raise ScenarioError(
            f"there is no scenario {text}",
            expected=f"{', '.join(scenario_names())}, or a TOML file",
            found=text,
            remedy=f"did you mean {near}?" if near else None,
        )
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(
            "a scenario cannot be read", place=str(path), expected="TOML in UTF-8", found=str(error)
        ) from None
    return parse_scenario(content, path.name)


def parse_scenario(text: str, file: str) -> Scenario:
    """A scenario from the text of a TOML file; `file` is its name in messages."""
    try:
        top = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{file} is not TOML: {error}", place=file) from error
    parts: dict[str, Any] = {}
    for name, kind in _SECTIONS.items():
        if name in top:
            parts[name] = read_table(kind, _table(top[name], file, name), file, name)
    for name, kind in _LISTS.items():
        parts[name] = _rows(kind, top.get(name, []), file, name)
    if "runs" in top:
        raise unknown_key("runs", ["run"], file, "")
    runs = {
        run_id: _table(values, file, f"run.{run_id}")
        for run_id, values in _table(top.get("run", {}), file, "run").items()
    }
    parts["runs"] = tuple(_run(run_id, values, top, file) for run_id, values in runs.items())
    samples = {run_id: values["samples"] for run_id, values in runs.items() if "samples" in values}
    repetitions = read_repetitions(samples, top.get("differences", []), file)
    if repetitions is not None:
        parts["repetitions"] = repetitions
    taken = (*_SECTIONS, *_LISTS, "run", "differences")
    plain = {key: value for key, value in top.items() if key not in taken}
    scenario = read_table(Scenario, {**plain, **parts}, file, "")
    check_names(scenario, file)
    for run in scenario.runs:
        check_fit(scenario, run, file)
    return scenario


def _shipped() -> Traversable:
    """The folder of the scenarios that come with the package."""
    return files(__package__.rpartition(".")[0]) / "scenarios"


def _rows(kind: type, rows: Any, file: str, name: str) -> tuple[Any, ...]:
    if not isinstance(rows, list):
        raise ScenarioError(
            f"{name} is a list of tables", place=f"{file}: {name}", expected=f"[[{name}]]"
        )
    places = [f"{name}[{number}]" for number in range(1, len(rows) + 1)]
    return tuple(
        read_table(kind, _table(row, file, place), file, place)
        for row, place in zip(rows, places, strict=True)
    )


def _run(run_id: str, values: Mapping[str, Any], top: Mapping[str, Any], file: str) -> Run:
    """A run, with the scenario's machine and storage but for what it says of them itself."""
    place = f"run.{run_id}"
    parts = {key: value for key, value in values.items() if key != "samples"}
    parts["run_id"] = run_id
    targets = _table(values.get("targets", {}), file, f"{place}.targets")
    parts["targets"] = read_table(Targets, targets, file, f"{place}.targets")
    for name in ("machine", "storage"):
        own = _table(values.get(name, {}), file, f"{place}.{name}")
        whole = {**_table(top.get(name, {}), file, name), **own}
        parts[name] = read_table(_SECTIONS[name], whole, file, f"{place}.{name}" if own else name)
    parts["disturbances"] = _rows(
        Disturbance, values.get("disturbances", []), file, f"{place}.disturbances"
    )
    return read_table(Run, parts, file, place)


def _table(value: Any, file: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ScenarioError(
            f"{place} is a table", place=f"{file}: {place}", expected="a table", found=repr(value)
        )
    return value
