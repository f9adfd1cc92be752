"""Whether the names in a scenario agree: groups, workloads, base runs, users, devices, damage."""

from __future__ import annotations

from collections.abc import Sequence

from .damaging import parse_damage
from .dasd import device_numbers
from .population import Disturbance
from .roster import matching, user_ids
from .scenario import Run, Scenario
from .tables import ScenarioError, unknown_key
from .tape import DamageError

_OF_USERS = ("logon", "logoff", "runaway")
_OF_HARDWARE = ("vary-off", "vary-on")


def check_names(scenario: Scenario, file: str) -> None:
    """Check the names of a scenario.

    Raises:
        ScenarioError: with the key that names what is not there, and what is.
    """
    for noun, rows in (("[[users]]", scenario.users), ("[run.NAME]", scenario.runs)):
        if not rows:
            raise ScenarioError(f"{file} has no {noun}", place=file, remedy=f"add a {noun}")
    workloads = [workload.name for workload in scenario.workloads]
    for number, group in enumerate(scenario.users, start=1):
        if group.workload and group.workload not in workloads:
            place = f"{file}: users[{number}].workload"
            raise _unknown("workload", group.workload, workloads, place)
    for run in scenario.runs:
        _check_run(scenario, run, file)


def _check_run(scenario: Scenario, run: Run, file: str) -> None:
    place = f"{file}: run.{run.run_id}"
    if not run.run_id or "/" in run.run_id:
        raise ScenarioError(
            f"run {run.run_id!r} cannot name the files of its dump",
            place=place,
            expected="a name, without a slash",
            found=repr(run.run_id),
        )
    groups = [group.name for group in scenario.users]
    for name, count in run.users.items():
        if name not in groups:
            raise unknown_key(name, groups, file, f"run.{run.run_id}.users")
        if type(count) is not int or count < 0:
            raise ScenarioError(
                f"run.{run.run_id}.users.{name} cannot be {count!r}",
                place=f"{place}.users.{name}",
                expected="a whole number, at least 0",
                found=repr(count),
            )
    if run.base_run_id and run.base_run_id not in scenario.run_ids:
        raise _unknown("base run", run.base_run_id, scenario.run_ids, f"{place}.base_run_id")
    for number, damage in enumerate(run.damage, start=1):
        try:
            parse_damage(damage)
        except DamageError as error:
            raise ScenarioError(
                error.problem,
                place=f"{place}.damage[{number}]",
                expected=error.expected,
                found=error.found or damage,
                remedy=error.remedy,
            ) from None
    everything = [
        ("disturbances", scenario.disturbances),
        (f"run.{run.run_id}.disturbances", run.disturbances),
    ]
    for where, disturbances in everything:
        for number, one in enumerate(disturbances, start=1):
            _check_disturbance(scenario, run, one, f"{file}: {where}[{number}]")


def _check_disturbance(scenario: Scenario, run: Run, one: Disturbance, place: str) -> None:
    if one.kind in _OF_USERS and not matching(user_ids(scenario.groups_of(run)), one.users).any():
        raise ScenarioError(
            f"{one.kind}: run {run.run_id} has no such users",
            place=f"{place}.users",
            expected="user ids or patterns, separated by blanks, as in LINUX00* LINUX099",
            found=repr(one.users),
        )
    if one.kind in _OF_HARDWARE:
        _check_hardware(scenario, run, one, place)
    if one.kind == "interval" and one.interval_s is None:
        raise ScenarioError(
            "interval: the new length is missing",
            place=f"{place}.interval_s",
            expected="a whole number of seconds",
            remedy="add interval_s",
        )


def _check_hardware(scenario: Scenario, run: Run, one: Disturbance, place: str) -> None:
    if (one.processor is None) == (not one.device):
        raise ScenarioError(
            f"{one.kind}: what is varied?",
            place=place,
            expected="either processor or device",
            found="both" if one.device else "neither",
        )
    if one.processor is not None and one.processor >= run.machine.processors:
        raise ScenarioError(
            f"{one.kind}: run {run.run_id} has no processor {one.processor}",
            place=f"{place}.processor",
            expected=f"1 to {run.machine.processors - 1}; the master stays online",
            found=str(one.processor),
        )
    if one.device:
        devices = [f"{number:04X}" for number in device_numbers(scenario.volumes).tolist()]
        if one.device.upper().rjust(4, "0") not in devices:
            raise ScenarioError(
                f"{one.kind}: there is no device {one.device}",
                place=f"{place}.device",
                expected=f"a device of [[volumes]], {devices[0]} to {devices[-1]}"
                if devices
                else "a [[volumes]]",
                found=one.device,
            )
        _check_not_of_cp(scenario, one, place)


def _check_not_of_cp(scenario: Scenario, one: Disturbance, place: str) -> None:
    """What CP pages or spools on stays online."""
    number, users = int(one.device, 16), [g for g in scenario.volumes if g.kind == "user"]
    if number not in device_numbers(tuple(users)).tolist():
        raise ScenarioError(
            f"{one.kind}: CP keeps {one.device} online, where it pages or spools",
            place=f"{place}.device",
            expected="a device of a [[volumes]] of kind user",
            found=one.device,
        )


def _unknown(noun: str, name: str, known: Sequence[str], place: str) -> ScenarioError:
    return ScenarioError(
        f"there is no {noun} {name}",
        place=place,
        expected=", ".join(known) or f"a {noun} of this scenario",
        found=name,
    )
