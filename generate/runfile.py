"""The run file: what a run is called and what belongs to it, beside the dump, as TOML."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import Any

from .clock import Clock
from .hardware import Machine
from .measurement import Measurement


def run_file(measurement: Measurement, clock: Clock, companions: Mapping[str, str]) -> str:
    """The text of a run file.

    Args:
        companions: kind -> file name.
    """
    run = measurement.run
    lines = [
        f"run_id = {_value(run.run_id)}",
        f"system = {_value(measurement.scenario.system)}",
        f"base_run_id = {_value(run.base_run_id or run.run_id)}",
        # A little room, so that the configuration before the first sample belongs to the run.
        f"since = {_value(clock.end_moment(0) - dt.timedelta(seconds=5))}",
        f"until = {_value(clock.end_moment(measurement.intervals) + dt.timedelta(seconds=5))}",
        *_steady(measurement, clock),
        "",
        "[attributes]",
    ]
    lines += [f"{key} = {_value(value)}" for key, value in _attributes(measurement).items()]
    if companions:
        lines += ["", "[companions]"]
        lines += [f"{kind} = {_value(name)}" for kind, name in companions.items()]
    return "\n".join(lines) + "\n"


def _steady(measurement: Measurement, clock: Clock) -> list[str]:
    """The window of the steady state, where intervals come before it."""
    if not measurement.warmup:
        return []
    begin, end = clock.end_moment(measurement.warmup), clock.end_moment(measurement.intervals)
    room = dt.timedelta(seconds=5)
    return [f"steady_since = {_value(begin + room)}", f"steady_until = {_value(end + room)}"]


def _attributes(measurement: Measurement) -> dict[str, Any]:
    machine = measurement.machine
    storage = measurement.storage
    made: dict[str, Any] = {
        "scenario": measurement.scenario.name,
        "cp_level": measurement.run.cp_level,
        "users": measurement.users,
        "processors": machine.processors,
        "machine": f"{machine.type}-{machine.model}",
        "processor_mode": _mode(machine),
        "central_storage": _size(storage.central_mib),
        "expanded_storage": _size(storage.expanded_mib),
    }
    return {**made, **measurement.run.attributes}


def _mode(machine: Machine) -> str:
    if machine.mode == "basic":
        return "basic mode"
    return "LPAR dedicated" if machine.dedicated else "LPAR shared"


def _size(mib: int) -> str:
    if mib and mib % 1024 == 0:
        return f"{mib // 1024}GB"
    return f"{mib}MB" if mib else "0"


def _value(value: Any) -> str:
    """A TOML value; a text is written as JSON, of which TOML's basic strings are a superset."""
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"
    if isinstance(value, bool | int | float | str):
        return json.dumps(value, ensure_ascii=False)
    return json.dumps(str(value), ensure_ascii=False)
