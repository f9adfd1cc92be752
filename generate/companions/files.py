"""The run file and the counts of load generator and hardware, beside the dump."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from msgspec.structs import asdict

from ...schemas.unplaced import still_unplaced
from ..model.measurement import Measurement
from ..model.system import Model
from ..model.timeline import Clock, Timeline
from ..numeric import around_one, partition
from .console import repetition_files

_US = 1_000_000
_MARGIN = dt.timedelta(seconds=5)


def companions(model: Model) -> Iterator[tuple[str, str, str]]:
    """Kind, file suffix and text of each companion file that a run asks for."""
    measurement, clock = model.measurement, model.clock
    ends = [
        clock.end_moment(k).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        for k in range(1, measurement.intervals + 1)
    ]
    seconds = [f"{us / _US:.6f}" for us in np.diff(clock.ends // 4096).tolist()]
    if measurement.targets.tx_rate is not None:
        counts = [str(count) for count in model.transactions.count.tolist()]
        text = _csv("interval_end,seconds,transactions", ends, seconds, counts)
        yield "throughput", "throughput.csv", text
    if measurement.targets.hardware_total_util is not None:
        columns = _hardware(measurement, model.timeline)
        text = _csv("interval_end,seconds,busy_s,emulation_s", ends, seconds, *columns)
        yield "hardware", "hardware.csv", text
    repetitions = measurement.scenario.repetitions
    if repetitions is not None:
        user, seed = str(model.users.names[0]), measurement.seed
        yield from repetition_files(
            repetitions, measurement.run.run_id, measurement.run.start, user, seed
        )


def _hardware(measurement: Measurement, timeline: Timeline) -> tuple[list[str], list[str]]:
    """Busy and emulation seconds of all processors in each interval, as text.

    The instrumentation counts on its own: it follows the same load, with another error.
    """
    rng, targets = measurement.rng("hardware"), measurement.targets
    span = int(timeline.up_seconds.sum()) * measurement.processors * _US
    total = round(span * (targets.hardware_total_util or 0) / 100)
    emulation = round(span * (targets.hardware_emul_util or 0) / 100)
    spread = measurement.scenario.spread * 0.3 * (1 - (targets.hardware_total_util or 0) / 100)
    varied = timeline.up_seconds * around_one(rng, measurement.intervals, spread)
    columns = [partition(us, varied).tolist() for us in (total, emulation)]
    busy, emul = ([f"{us / _US:.6f}" for us in column] for column in columns)
    return busy, emul


def _csv(header: str, *columns: list[str]) -> str:
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    return "\n".join([header, *rows]) + "\n"


def run_file(measurement: Measurement, clock: Clock, companions: Mapping[str, str]) -> str:
    """The text of a run file.

    Args:
        companions: kind -> file name.
    """
    run, begin = measurement.run, clock.end_moment(0)
    steady, end = clock.end_moment(measurement.warmup), clock.end_moment(measurement.intervals)
    lines = [
        f"run_id = {_value(run.run_id)}",
        f"system = {_value(measurement.scenario.system)}",
        f"base_run_id = {_value(run.base_run_id or run.run_id)}",
        # The configuration before the first sample belongs to the run.
        f"since = {_time(begin - _MARGIN)}",
        f"until = {_time(end + _MARGIN)}",
    ]
    if measurement.warmup:
        lines += [
            f"steady_since = {_time(steady + _MARGIN)}",
            f"steady_until = {_time(end + _MARGIN)}",
        ]
    lines += ["", "[attributes]"]
    lines += [f"{key} = {_value(value)}" for key, value in _attributes(measurement).items()]
    if companions:
        lines += ["", "[companions]"]
        lines += [f"{kind} = {_value(name)}" for kind, name in companions.items()]
    for place in still_unplaced(measurement.scenario.places):
        lines += ["", "[[assumed]]"]
        lines += [f"{key} = {_value(value)}" for key, value in asdict(place).items()]
    return "\n".join(lines) + "\n"


def _attributes(measurement: Measurement) -> dict[str, Any]:
    machine, storage = measurement.machine, measurement.storage
    lpar = "LPAR dedicated" if machine.dedicated else "LPAR shared"
    return {
        "scenario": measurement.scenario.name,
        "cp_level": measurement.run.cp_level,
        "users": measurement.users,
        "processors": machine.processors,
        "machine": f"{machine.type}-{machine.model}",
        "processor_mode": "basic mode" if machine.mode == "basic" else lpar,
        "central_storage": _size(storage.central_mib),
        "expanded_storage": _size(storage.expanded_mib),
        **measurement.run.attributes,
    }


def _size(mib: int) -> str:
    if mib and mib % 1024 == 0:
        return f"{mib // 1024}GB"
    return f"{mib}MB" if mib else "0"


def _time(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).replace(tzinfo=None).isoformat() + "Z"


def _value(value: Any) -> str:
    """A TOML value; a text is written as JSON, of which TOML's basic strings are a superset."""
    if isinstance(value, dt.datetime):
        return _time(value)
    is_scalar = isinstance(value, bool | int | float | str)
    return json.dumps(value if is_scalar else str(value), ensure_ascii=False)
