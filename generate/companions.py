"""Figures that do not come from the monitor: load generator and hardware instrumentation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .measurement import Measurement
from .model import Model
from .noise import around_one, partition
from .timeline import Timeline

_US = 1_000_000


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
        yield from repetitions.files(measurement.run.run_id, measurement.run.start, user, seed)


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
