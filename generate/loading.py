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

from ..config import Document, Place
from ..config.document import dotted
from ..config.values import Moment
from ..core.errors import CpmonError, nearest, unknown
from ..schemas.release import is_within
from ..schemas.unplaced import still_unplaced
from .damage.requests import parse_damage
from .damage.stream import DamageError
from .feasibility import check_feasibility, check_figures, check_volumes
from .model.population import matching, user_ids
from .scenario.repetitions import (
    Difference,
    DifferenceKeys,
    Repetitions,
    SampleKeys,
    Samples,
    run_key,
)
from .scenario.scenario import Run, RunKeys, Scenario, ScenarioKeys
from .scenario.tables import Disturbance, Machine, Storage, below

_MULTITHREADING_SINCE = "6.3.0"
"""The first level that runs several threads on a core, and that parks processors."""
_CONTINUED_SINCE = "7.3.0"
"""The first level that continues a partition in another SYTCUP."""
_EXPANDED_UNTIL = "6.3.0"
"""The last level that has expanded storage."""


def _check_names(scenario: Scenario, place: Place) -> None:
    """Check the names of a scenario.

    Raises:
        CpmonError: a name has no definition; the error has its key and the defined names.
    """
    for noun, rows in (("[[users]]", scenario.users), ("[run.NAME]", scenario.runs)):
        if not rows:
            raise CpmonError(
                f"the scenario has no {noun}",
                code="scenario-incomplete",
                place=place(""),
                remedy=f"add a {noun}",
            )
    workloads = [workload.name for workload in scenario.workloads]
    for number, group in enumerate(scenario.users):
        if group.workload and group.workload not in workloads:
            key = f"users[{number}].workload"
            raise unknown("workload", group.workload, workloads, place=place(key))
    for run in scenario.runs:
        _check_run(scenario, run, place)


def _check_run(scenario: Scenario, run: Run, place: Place) -> None:
    if not run.run_id or "/" in run.run_id:
        raise CpmonError(
            f"run {run.run_id!r} cannot name the files of its dump",
            place=place(run.key),
            expected="a name, without a slash",
            found=repr(run.run_id),
        )
    groups = [group.name for group in scenario.users]
    for name in run.users:
        if name not in groups:
            key = dotted(f"{run.key}.users", name)
            raise unknown("group of users", name, groups, place=place(key))
    if run.base_run_id and run.base_run_id not in scenario.run_ids:
        key = f"{run.key}.base_run_id"
        raise unknown("base run", run.base_run_id, scenario.run_ids, place=place(key))
    machine, storage = run.machine, run.storage
    for key, used, since, until in (
        ("machine.threads", machine.threads > 1, _MULTITHREADING_SINCE, ""),
        ("machine.processors_per_record", machine.processors_per_record, _CONTINUED_SINCE, ""),
        ("storage.expanded_mib", storage.expanded_mib, "", _EXPANDED_UNTIL),
    ):
        if used:
            _check_level(run, place(key), key, since, until)
    for number, damage in enumerate(run.damage):
        try:
            parse_damage(damage)
        except DamageError as error:
            error.place, error.found = place(f"{run.key}.damage[{number}]"), error.found or damage
            raise
    for key, disturbances in (
        ("disturbances", scenario.disturbances),
        (f"{run.key}.disturbances", run.disturbances),
    ):
        for number, disturbance in enumerate(disturbances):
            _check_disturbance(scenario, run, disturbance, below(place, f"{key}[{number}]"))


def _check_level(run: Run, place: str, what: str, since: str, until: str = "") -> None:
    """Check that the CP level of a run has a feature that the run uses."""
    if is_within(run.cp_level, since, until):
        return
    raise CpmonError(
        f"run {run.run_id}: {what} does not match its CP level",
        code="scenario-cp-level-mismatch",
        place=place,
        expected=f"CP {since} or later" if since else f"CP {until} or earlier",
        found=run.cp_level,
        remedy=f"{'raise' if since else 'lower'} cp_level, or leave {what} out",
    )


def _check_disturbance(scenario: Scenario, run: Run, each: Disturbance, place: Place) -> None:
    if each.kind in ("logon", "logoff", "runaway"):
        if not matching(user_ids(scenario.groups_of(run)), each.users).any():
            raise CpmonError(
                f"{each.kind}: run {run.run_id} has no such users",
                place=place("users"),
                expected="user ids or patterns, separated by blanks, as in LINUX00* LINUX099",
                found=repr(each.users),
            )
    elif each.kind in ("vary-off", "vary-on", "park", "unpark"):
        parks = each.kind in ("park", "unpark")
        if parks:
            _check_level(run, place("kind"), each.kind, _MULTITHREADING_SINCE)
        if (each.processor is None) == (not each.device) or (parks and each.device):
            given = {"processor": each.processor, "device": each.device}
            named = [key for key, value in given.items() if value]
            raise CpmonError(
                f"{each.kind}: what is varied?",
                place=place(""),
                expected="processor" if parks else "either processor or device",
                found=" and ".join(named) or "neither",
            )
        if each.processor is not None and each.processor >= run.machine.processors:
            raise CpmonError(
                f"{each.kind}: run {run.run_id} has no processor {each.processor}",
                place=place("processor"),
                expected=f"1 to {run.machine.processors - 1}; the master stays online",
                found=str(each.processor),
            )
        if each.device:
            _check_device(scenario, each, place)
    elif each.kind == "interval" and each.interval_s is None:
        raise CpmonError(
            "interval: the new length is missing",
            code="scenario-interval-missing",
            place=place("interval_s"),
            expected="a whole number of seconds",
            remedy="add interval_s",
        )


def _check_device(scenario: Scenario, each: Disturbance, place: Place) -> None:
    """Check that the device exists, and that CP neither pages nor spools on it."""
    kinds = {f"{d:04X}": group.kind for group in scenario.volumes for d in group.devices}
    kind = kinds.get(each.device.upper().rjust(4, "0"))
    if kind is None:
        devices = list(kinds)
        raise CpmonError(
            f"{each.kind}: there is no device {each.device}",
            place=place("device"),
            expected=f"a device of [[volumes]], {devices[0]} to {devices[-1]}"
            if devices
            else "a [[volumes]]",
            found=each.device,
        )
    if kind != "user":
        raise CpmonError(
            f"{each.kind}: CP keeps {each.device} online, where it pages or spools",
            place=place("device"),
            expected="a device of a [[volumes]] of kind user",
            found=each.device,
        )


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
    _check_names(scenario, document.place)
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
