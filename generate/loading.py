"""Loads and checks scenarios: shipped ones by name, others from a TOML file.

A file has a table for each run, which inherits the machine and the storage. Its names must have
definitions, its pages fit in storage, its times in a second, and its samples have their figures.
"""

from __future__ import annotations

import datetime as dt
import functools
import re
import textwrap
import tomllib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import field
from msgspec.structs import asdict

from ..config import Document, Place
from ..config.document import dotted
from ..config.values import Moment
from ..core.errors import CpmonError, nearest, unknown
from ..schemas.release import is_within
from ..schemas.unplaced import still_unplaced
from .activity.dispatching import LOCK_NAMES
from .damage.kinds import DamageError
from .damage.requests import parse_damage
from .model.measurement import FrameCounts
from .model.population import matching, user_ids
from .model.processors import MOST_PARTITIONS
from .records.table import Expression
from .scenario.scenario import (
    Event,
    Machine,
    Monitor,
    Run,
    RunKeys,
    Scenario,
    ScenarioKeys,
)

_MULTITHREADING_SINCE = "6.3.0"
"""The first level that runs several threads on a core, and that parks processors."""


_MOST_STORAGE_MIB = 2047
"""Of a guest whose addresses have 31 bits."""

_SERIAL = re.compile("[A-Z0-9$#@]{1,6}")

_DISTURBING = ("slow", "full", "path-off", "path-on", "contention")
_OF_MACHINE = {
    *("area-add", "partition-off", "partition-on", "weight", "cap", "uncap"),
    *_DISTURBING,
}
_OF_USERS = {
    *("logon", "logoff", "runaway", "define-cpu", "detach-cpu", "share", "reboot", "guest-clock"),
    *("quickdsp", "process-start", "process-end", "mount", "unmount"),
    *("cpu-offline", "cpu-online", "interface-up", "interface-down"),
    *("define-disk", "detach-disk", "define-adapter", "detach-adapter"),
}
_OF_PROCESSOR = {"define-cpu", "detach-cpu", "cpu-offline", "cpu-online"}
"""Kinds of events of one virtual processor."""


def _check_names(scenario: Scenario, place: Place) -> None:
    """Check that the names of a scenario have definitions."""
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
        if group.storage_mib > _MOST_STORAGE_MIB and group.architecture != "Z":
            raise CpmonError(
                f"users {group.name}: an {group.architecture} guest has no room for that",
                place=place(f"users[{number}].storage_mib"),
                expected=f"at most {_MOST_STORAGE_MIB}, or architecture Z",
                found=str(group.storage_mib),
            )
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
        # From 7.3.0 on a partition can continue in another SYTCUP.
        ("machine.processors_per_record", machine.processors_per_record, "7.3.0", ""),
        ("storage.expanded_mib", storage.expanded_mib, "", "6.3.0"),
    ):
        if used:
            _check_level(run, place(key), key, since, until)
    for number, damage in enumerate(run.damage):
        try:
            parse_damage(damage)
        except DamageError as error:
            error.place, error.found = place(f"{run.key}.damage[{number}]"), error.found or damage
            raise
    for key, events in (
        ("events", scenario.events),
        (f"{run.key}.events", run.events),
    ):
        for number, event in enumerate(events):
            _check_event(scenario, run, event, _below(place, f"{key}[{number}]"))


def _check_level(run: Run, place: str, what: str, since: str, until: str = "") -> None:
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


def _check_event(scenario: Scenario, run: Run, each: Event, place: Place) -> None:
    if each.kind in _OF_USERS:
        if not matching(user_ids(scenario.groups_of(run)), each.users).any():
            raise CpmonError(
                f"{each.kind}: run {run.run_id} has no such users",
                place=place("users"),
                expected="user ids or patterns, separated by blanks, as in LINUX00* LINUX099",
                found=repr(each.users),
            )
        _check_item(scenario, each, place)
        if each.kind in _OF_PROCESSOR and each.processor is None:
            raise CpmonError(
                f"{each.kind}: which virtual processor?",
                place=place("processor"),
                expected="its address, 1 or more: the base processor stays",
                found="none",
            )
    elif each.kind in ("measurement-off", "measurement-on", "attach", "detach", "volume"):
        _check_device(scenario, each, place)
    elif each.kind in _OF_MACHINE:
        _check_machine(scenario, run.machine, each, place)
    elif each.kind in ("sample-disable", "sample-enable") and each.domain is None:
        raise CpmonError(
            f"{each.kind}: of which domain?",
            place=place("domain"),
            expected="user or io",
            found="none",
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


def _check_item(scenario: Scenario, each: Event, place: Place) -> None:
    """Check that guests have the process, interface or file system that an event names."""
    if each.kind in ("process-start", "process-end"):
        names: Iterable[str] = (p.command for group in scenario.users for p in group.processes)
    elif each.kind in ("mount", "unmount"):
        names = (f.directory for group in scenario.users for f in group.file_systems)
    elif each.kind in ("interface-up", "interface-down"):
        names = (i.name for group in scenario.users for i in group.interfaces)
    elif each.kind.endswith(("-disk", "-adapter")):
        _check_virtual(scenario, each, place)
        return
    else:
        return
    known = list(dict.fromkeys(names))
    if each.name not in known:
        raise CpmonError(
            f"{each.kind}: no guest has {each.name or 'a thing without a name'}",
            place=place("name"),
            expected=", ".join(known)
            or "a [[users.processes]], [[users.file_systems]] or [[users.interfaces]]",
            found=repr(each.name),
        )


def _check_virtual(scenario: Scenario, each: Event, place: Place) -> None:
    """Check that users have the virtual disk or adapter that an event names."""
    key = "virtual_disks" if each.kind.endswith("-disk") else "adapters"
    numbers = {d.device.upper().rjust(4, "0") for g in scenario.users for d in getattr(g, key)}
    if each.device.upper().rjust(4, "0") not in numbers:
        raise CpmonError(
            f"{each.kind}: no user has such a device",
            place=place("device"),
            expected=", ".join(sorted(numbers)) or f"a [[users.{key}]]",
            found=repr(each.device),
        )


def _check_machine(scenario: Scenario, machine: Machine, each: Event, place: Place) -> None:
    """Check that the machine has the volume or the partition that an event names."""
    if each.kind in _DISTURBING:
        _check_disturbed(scenario, each, place)
        return
    if each.kind != "area-add":
        names = [partition.name for partition in scenario.partitions]
        if each.kind in ("weight", "cap", "uncap") and not machine.dedicated:
            names.append(machine.partition)
        if each.name not in names:
            raise unknown("partition", each.name, names, place=place("name"))
        return
    areas = {d: g for g in scenario.volumes if g.kind != "user" for d in g.devices}
    group = areas.get(int(each.device or "0", 16))
    if group is None or group.count < 2:
        raise CpmonError(
            f"{each.kind}: no page or spool volume {each.device} joins others of its kind",
            place=place("device"),
            expected="a device of a [[volumes]] of kind page or spool, with 2 or more",
            found=repr(each.device),
        )


def _check_disturbed(scenario: Scenario, each: Event, place: Place) -> None:
    """Check that the system has the volume, channel path or lock that an event names."""
    kinds = {"slow": ("page", "spool", "user"), "full": ("page",)}.get(each.kind, ())
    volumes = [g for g in scenario.volumes if g.kind in kinds and (g.count > 1 or kinds[1:])]
    devices = [f"{device:04X}" for group in volumes for device in group.devices]
    paths = {path for g in scenario.volumes for path in textwrap.wrap(g.channel_paths, 2)}
    noun, key, names, name = (
        ("device", "device", devices, each.device.upper())
        if kinds
        else ("lock", "name", LOCK_NAMES.tolist(), each.name)
        if each.kind == "contention"
        else ("channel path", "name", sorted(paths), each.name)
    )
    if name not in names:
        raise unknown(noun, name, names, place=place(key))


def _check_device(scenario: Scenario, each: Event, place: Place) -> None:
    """Check that the device exists, and that CP neither pages nor spools on it."""
    kinds = {f"{d:04X}": group.kind for group in scenario.volumes for d in group.devices}
    kind = kinds.get(each.device.upper().rjust(4, "0"))
    if kind is None:
        devices = list(kinds)
        given = f"a device of [[volumes]], {devices[0]} to {devices[-1]}" if devices else None
        raise CpmonError(
            f"{each.kind}: there is no device {each.device}",
            place=place("device"),
            expected=given or "a [[volumes]]",
            found=each.device,
        )
    if kind != "user":
        raise CpmonError(
            f"{each.kind}: CP keeps {each.device} online, where it pages or spools",
            place=place("device"),
            expected="a device of a [[volumes]] of kind user",
            found=each.device,
        )
    if each.kind == "volume" and not _SERIAL.fullmatch(each.name):
        raise CpmonError(
            "volume: which one is mounted?",
            place=place("name"),
            expected="its serial, 1 to 6 letters and digits",
            found=repr(each.name),
        )


def _check_feasibility(scenario: Scenario, run: Run, place: Place) -> None:
    """Check that what one run of a scenario needs fits."""
    for target, needed in _targets()["needs"].items():
        if getattr(run.targets, target) is not None and getattr(run.targets, needed) is None:
            raise CpmonError(
                f"run {run.run_id}: {target} needs {needed}",
                code="scenario-target-incomplete",
                place=place(f"{run.key}.targets.{target}"),
                found=f"{target} without {needed}",
                remedy=f"add {needed}, or remove {target}",
            )
    figures = _figures(scenario, run)
    for row in _targets()["room"]:
        need = SimpleNamespace(**{"remedy": "", **row})
        target, unit = need.target, need.unit
        demanded, room = (
            Expression.compiled(text, target).value(figures) for text in (need.demanded, need.room)
        )
        if demanded > room:
            raise CpmonError(
                f"run {run.run_id}: {target} does not fit",
                code="scenario-target-infeasible",
                place=place(f"{run.key}.targets.{target}"),
                expected=f"room for at most {room:,.1f} {unit}",
                found=f"{demanded:,.1f} {unit}",
                remedy=f"lower {target}, or {need.remedy}" if need.remedy else f"lower {target}",
            )
    if run.machine.mode == "lpar":
        _check_partitions(scenario, run, place)
    _check_clock(scenario, run, place)
    _check_user_ids(scenario, run, place)


@functools.cache
def _targets() -> dict[str, Any]:
    """`feasibility.toml`."""
    return tomllib.loads((files(__package__) / "feasibility.toml").read_text(encoding="utf-8"))


def _figures(scenario: Scenario, run: Run) -> dict[str, Any]:
    """The names of the expressions in `feasibility.toml`."""
    frames, targets, processors = FrameCounts(scenario, run), run.targets, run.machine.cpus
    users = sum(group.count for group in scenario.groups_of(run))
    resident = users * (targets.resident_pages_per_user or 0)

    def others(percent: float | None, master: float | None) -> float:
        """Percent of each processor besides the master."""
        whole = percent or 0.0
        if processors == 1:
            return whole
        return (processors * whole - (whole if master is None else master)) / (processors - 1)

    return {
        **{key: value or 0 for key, value in asdict(targets).items()},
        "paging_rate": targets.paging_rate or 0,
        "frames": frames,
        "users": users,
        "above": resident * frames.users_above_share,
        "processors": processors,
        "others": others(targets.total_util, targets.master_total_util),
        "others_emul": others(targets.emul_util, targets.master_emul_util),
    }


def _check_partitions(scenario: Scenario, run: Run, place: Place) -> None:
    machine, others = run.machine, scenario.partitions
    if len(others) >= MOST_PARTITIONS:
        raise CpmonError(
            "there are too many partitions",
            place=place(f"partitions[{MOST_PARTITIONS - 1}]"),
            expected=f"at most {MOST_PARTITIONS - 1} beside this system's",
            found=str(len(others)),
        )
    parts = [(p.name, p.processor_type or machine.processor_type) for p in others]
    for number, part in enumerate(parts):
        if part in parts[:number] or part[0] == machine.partition:
            raise CpmonError(
                "a partition is described twice",
                place=place(f"partitions[{number}].name"),
                expected="one entry for each type of its processors, and none for this system's",
                found=f"{part[0]} with {part[1]}",
            )
    own = (machine.processor_type, machine.processors, machine.dedicated)
    rows = [own, *((k, p.processors, p.dedicated) for (_, k), p in zip(parts, others, strict=True))]
    for kind in dict.fromkeys(kind for kind, _, _ in rows):
        alone = sum(count for of, count, is_alone in rows if of == kind and is_alone)
        pooled = [count for of, count, is_alone in rows if of == kind and not is_alone]
        # Beside a dedicated system the others need not fit: they share the remaining processors.
        least = bool(pooled) if kind == own[0] and machine.dedicated else max([0, *pooled])
        needed, physical = alone + least, machine.physical.get(kind, 0)
        if needed > physical:
            usual = kind == machine.processor_type
            key = "physical_processors" if usual else "other_processors"
            raise CpmonError(
                f"run {run.run_id}: the partitions do not fit the machine",
                place=place(f"machine.{key}"),
                expected=f"at least {needed}{'' if usual else f' {kind}'}: dedicated processors, "
                "and as many shared ones as a partition has",
                found=str(physical),
            )


def _check_clock(scenario: Scenario, run: Run, place: Place) -> None:
    """Check that the TOD clock, 64 bits since 1900, covers the IPL to the last sample."""
    begins, wraps = (dt.datetime(*day, tzinfo=dt.UTC) for day in ((1900, 1, 1), (2042, 9, 17)))
    seconds = (run.intervals or scenario.intervals) * scenario.monitor.interval_s
    ipl = run.start - dt.timedelta(hours=run.ipl_hours_before)
    if ipl < begins or run.start + dt.timedelta(seconds=seconds) > wraps:
        raise CpmonError(
            f"run {run.run_id}: the TOD clock has no such time",
            place=place(f"{run.key}.start"),
            expected=f"IPL and last sample from {begins:%Y-%m-%d} to {wraps:%Y-%m-%d}",
            found=run.start.isoformat(),
        )


def _check_volumes(scenario: Scenario, place: Place) -> None:
    """Check that device numbers exist and differ, and that serials have six characters."""
    taken: dict[int, str] = {}
    for number, group in enumerate(scenario.volumes):
        first_device = place(f"volumes[{number}].first_device")
        try:
            devices = group.devices
        except ValueError:
            devices = range(-1, -1)
        if devices.start < 0 or devices.stop > 1 << 16:
            raise CpmonError(
                f"volumes {group.prefix}: first_device is no device number",
                place=first_device,
                expected=f"four hexadecimal digits, 0000 to {(1 << 16) - group.count:04X}",
                found=group.first_device,
            )
        if len(f"{group.prefix}{group.count}") > 6:
            raise CpmonError(
                f"volumes {group.prefix}: the serials would be longer than six characters",
                code="scenario-serial-too-long",
                place=place(f"volumes[{number}].prefix"),
                found=f"{group.prefix}{group.count}",
                remedy="shorten the prefix",
            )
        shared = taken.keys() & set(devices)
        if shared:
            raise CpmonError(
                f"volumes {group.prefix} and {taken[min(shared)]} share device {min(shared):04X}",
                code="scenario-device-shared",
                place=first_device,
                found=group.first_device,
                remedy="give each group devices of its own",
            )
        taken |= dict.fromkeys(devices, group.prefix)


def _check_user_ids(scenario: Scenario, run: Run, place: Place) -> None:
    """Check that user ids (prefix, number) have eight characters and differ between groups."""
    prefixes: set[str] = set()
    for number, group in enumerate(scenario.users):
        count = run.users.get(group.name, group.count)
        if not count:
            continue
        prefix = place(f"users[{number}].prefix")
        if len(f"{group.prefix}{count}") > 8:
            raise CpmonError(
                f"users {group.name}: the user ids would be longer than eight characters",
                code="scenario-user-id-too-long",
                place=prefix,
                found=f"{group.prefix}{count}",
                remedy="shorten the prefix",
            )
        if group.prefix in prefixes:
            raise CpmonError(
                f"two groups of users have the prefix {group.prefix}",
                code="scenario-prefix-duplicate",
                place=prefix,
                found=group.prefix,
                remedy="give each group a prefix of its own",
            )
        prefixes.add(group.prefix)


class RunTable(RunKeys, frozen=True, kw_only=True):
    """The table of a run, with the keys of machine and storage that it overrides."""

    start: Moment
    machine: dict[str, Any] = field(default_factory=dict)
    storage: dict[str, Any] = field(default_factory=dict)


class ScenarioTable(ScenarioKeys, frozen=True, kw_only=True):
    """A scenario file."""

    run: dict[str, RunTable] = field(default_factory=dict)


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


def _timed(values: dict[str, Any]) -> None:
    """Turns `disturbances`, which count intervals, into events with seconds, in place.

    They happen three seconds after an interval began, as in scenarios of earlier versions.
    """
    runs = [run for run in values.get("run", {}).values() if isinstance(run, dict)]
    shared = values.get("disturbances", [])
    for table in (*runs, values):
        own = table.pop("disturbances", [])
        both = [*shared, *([] if table is values else own)]
        lengths = sorted(
            (each["interval"] + 1, each["interval_s"]) for each in both if "interval_s" in each
        )
        table_events = [_event(each, values, lengths) for each in own]
        if table_events:
            table["events"] = [*table.get("events", []), *table_events]


def _event(
    disturbance: dict[str, Any], values: dict[str, Any], lengths: Sequence[tuple[int, int]]
) -> dict[str, Any]:
    """A disturbance with its time in seconds. `lengths`: number of an interval -> seconds."""

    def begin(number: int) -> int:
        edges = [(0, values.get("monitor", {}).get("interval_s", Monitor().interval_s)), *lengths]
        ends = [*(edge for edge, _ in edges[1:]), number]
        return sum(
            (min(end, number) - edge) * length
            for (edge, length), end in zip(edges, ends, strict=True)
            if edge < number
        )

    event = dict(disturbance)
    first, count = event.pop("interval"), event.pop("intervals", 1)
    at_s = begin(first) + _INTO_S
    return {**event, "at_s": at_s, "lasts_s": begin(first + count) - at_s}


_INTO_S = 3
"""Seconds from the begin of an interval to a disturbance in it."""


def _checked(document: Document) -> Scenario:
    try:
        _timed(document.values)
    except (AttributeError, KeyError, TypeError, ValueError):
        raise CpmonError(
            "a disturbance is not understood",
            place=document.place("disturbances"),
            expected="kind, interval and intervals; or [[events]] with kind, at_s and lasts_s",
        ) from None
    table = document.read(ScenarioTable)
    scenario = Scenario(
        **_values(table, ScenarioKeys),
        runs=tuple(_run(run_id, run, table, document) for run_id, run in table.run.items()),
    )
    still_unplaced(scenario.assumed, document.place)
    _check_volumes(scenario, document.place)
    _check_names(scenario, document.place)
    for run in scenario.runs:
        _check_feasibility(scenario, run, document.place)
    return scenario


def _run(run_id: str, run: RunTable, scenario: ScenarioTable, document: Document) -> Run:
    def inherited(name: str) -> Any:
        """A part of the scenario, checked already, with the overrides of the run."""
        own, part = getattr(run, name), getattr(scenario, name)
        if not own:
            return part
        values = {**document.values[name], **own}
        return document.read_part(values, f"{dotted('run', run_id)}.{name}", type(part))

    return Run(
        **_values(run, RunKeys),
        run_id=run_id,
        start=run.start,
        machine=inherited("machine"),
        storage=inherited("storage"),
    )


def _below(place: Place, above: str) -> Place:
    """Place of the keys of a nested table; the key "" is that of the table itself."""
    return lambda key: place(f"{above}.{key}" if key else above)


def _values(table: Any, kind: type[RunKeys | ScenarioKeys]) -> dict[str, Any]:
    """The values of a table's keys that belong to a base of its class."""
    return {name: getattr(table, name) for name in kind.__struct_fields__}


def _shipped() -> Traversable:
    return files(__package__.rpartition(".")[0]) / "scenarios"
