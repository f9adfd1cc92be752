"""Scenario files: the ones that come with cpmon, and those of a user; TOML to `Scenario`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from ..schemas.lookup import nearest
from .fit import check_fit
from .scenario import (
    Machine,
    Monitor,
    Run,
    Scenario,
    Storage,
    Targets,
    Transactions,
    UserGroup,
    VolumeGroup,
)
from .tables import ScenarioError, read_table, unknown_key

_SECTIONS: dict[str, type] = {
    "machine": Machine,
    "storage": Storage,
    "monitor": Monitor,
    "transactions": Transactions,
}
_LISTS: dict[str, type] = {"users": UserGroup, "volumes": VolumeGroup}


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
    if "run" in top:
        parts["runs"] = tuple(
            _run(run_id, _table(values, file, f"run.{run_id}"), file)
            for run_id, values in _table(top["run"], file, "run").items()
        )
    if "runs" in top:
        raise unknown_key("runs", ["run"], file, "")
    plain = {k: v for k, v in top.items() if k not in (*_SECTIONS, *_LISTS, "run")}
    scenario = read_table(Scenario, {**plain, **parts}, file, "")
    _check_names(scenario, file)
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


def _run(run_id: str, values: Mapping[str, Any], file: str) -> Run:
    place = f"run.{run_id}"
    targets = _table(values.get("targets", {}), file, f"{place}.targets")
    parts = dict(values, run_id=run_id)
    parts["targets"] = read_table(Targets, targets, file, f"{place}.targets")
    return read_table(Run, parts, file, place)


def _table(value: Any, file: str, place: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ScenarioError(
            f"{place} is a table", place=f"{file}: {place}", expected="a table", found=repr(value)
        )
    return value


def _check_names(scenario: Scenario, file: str) -> None:
    """Names that must agree: user groups of the runs, base runs; and that runs can name files."""
    for noun, rows in (("[[users]]", scenario.users), ("[run.NAME]", scenario.runs)):
        if not rows:
            raise ScenarioError(f"{file} has no {noun}", place=file, remedy=f"add a {noun}")
    groups = [group.name for group in scenario.users]
    for run in scenario.runs:
        if not run.run_id or "/" in run.run_id:
            raise ScenarioError(
                f"run {run.run_id!r} cannot name the files of its dump",
                place=f"{file}: run.{run.run_id}",
                expected="a name, without a slash",
                found=repr(run.run_id),
            )
        place = f"run.{run.run_id}.users"
        for name, count in run.users.items():
            if name not in groups:
                raise unknown_key(name, groups, file, place)
            if type(count) is not int or count < 1:
                raise ScenarioError(
                    f"{place}.{name} cannot be {count!r}",
                    place=f"{file}: {place}.{name}",
                    expected="a whole number, at least 1",
                    found=repr(count),
                )
        if run.base_run_id and run.base_run_id not in scenario.run_ids:
            raise ScenarioError(
                f"run {run.run_id} is compared with {run.base_run_id}, which is no run",
                place=f"{file}: run.{run.run_id}.base_run_id",
                expected=", ".join(scenario.run_ids),
                found=run.base_run_id,
            )
