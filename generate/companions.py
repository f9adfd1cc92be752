"""Figures that do not come from the monitor: load generator and hardware instrumentation."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .activity import Transactions
from .clock import Clock
from .measurement import Measurement
from .noise import around_one, partition

_US = 1_000_000


def companions(
    measurement: Measurement, clock: Clock, transactions: Transactions
) -> Iterator[tuple[str, str]]:
    """Kind and CSV text of each companion file that the run's targets ask for."""
    ends = [
        clock.end_moment(k).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"
        for k in range(1, measurement.intervals + 1)
    ]
    seconds = [f"{us / _US:.6f}" for us in np.diff(clock.ends // 4096).tolist()]
    if measurement.targets.tx_rate is not None:
        counts = [str(count) for count in transactions.count.tolist()]
        yield "throughput", _csv("interval_end,seconds,transactions", ends, seconds, counts)
    if measurement.targets.hardware_total_util is not None:
        busy, emulation = _hardware(measurement)
        yield (
            "hardware",
            _csv("interval_end,seconds,busy_s,emulation_s", ends, seconds, busy, emulation),
        )


def _hardware(measurement: Measurement) -> tuple[list[str], list[str]]:
    """Busy and emulation seconds of all processors in each interval, as text.

    The instrumentation counts on its own: it follows the same load, with another error.
    """
    rng, targets = measurement.rng("hardware"), measurement.targets
    span = measurement.seconds * measurement.processors * _US
    total = round(span * (targets.hardware_total_util or 0) / 100)
    emulation = round(span * (targets.hardware_emul_util or 0) / 100)
    spread = measurement.scenario.spread * 0.3 * (1 - (targets.hardware_total_util or 0) / 100)
    varied = around_one(rng, measurement.intervals, spread)
    columns = [partition(us, varied).tolist() for us in (total, emulation)]
    busy, emul = ([f"{us / _US:.6f}" for us in column] for column in columns)
    return busy, emul


def _csv(header: str, *columns: list[str]) -> str:
    rows = [",".join(row) for row in zip(*columns, strict=True)]
    return "\n".join([header, *rows]) + "\n"
