"""Names in the expressions of records: constants, functions, and figures of model and sample."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from ..activity import dispatching, guests, paging, states, transactions, usage, volume_work
from ..activity.sample import Sample
from ..model.measurement import SCM_PER_S, TOD_PER_S, TOD_PER_US
from ..model.services import entry_of
from ..model.system import Model
from ..numeric import floor_int, partition

_CONSTANTS = tomllib.loads((files(__package__) / "constants.toml").read_text(encoding="utf-8"))
_MASKS: dict[str, int] = _CONSTANTS["masks"]

_MACHINE_UP_HOURS = 700
"""The machine was started so long before the system that is measured; its counters go on."""


def _domain_mask(domains: Iterable[str]) -> int:
    """Mask of some domains, with the monitor's own."""
    return int(np.bitwise_or.reduce([_MASKS[domain] for domain in ("monitor", *domains)]))


def _high_frequency_mask(domains: Iterable[str]) -> int:
    """Mask of those domains that are sampled at the high-frequency rate."""
    frequent = {"user", "processor", "io"}.intersection(domains)
    return _domain_mask(frequent) & ~_MASKS["monitor"]


def _level_text(level: str) -> str:
    """Version, release and modification, two digits each, and a service level (inferred)."""
    return "".join(f"{int(part):02d}" for part in level.split(".")) + "00"


def _packed(digits: str, width: int) -> np.void:
    """Hexadecimal digits, two a byte, filled with zeros on the left; others are left out."""
    valid = "".join(c for c in digits if c in "0123456789abcdefABCDEF")
    return np.void(bytes.fromhex(valid[-2 * width :].rjust(2 * width, "0")))


def _linux_product(number: int, level: str) -> np.void:
    """Product id of a Linux block, 16 bytes: LINUXKR, NL, the number, version, release, level."""
    return np.void("LINUXKRNL".encode("cp037") + bytes([number]) + f"2601{level}".encode("cp037"))


def _since_power_on(sample: Sample) -> float:
    """Intervals during which the machine's own counters have grown."""
    span = int(sample.model.timeline.tod[sample.interval])
    return sample.model.ages(sample.number) + _MACHINE_UP_HOURS * 3600 * TOD_PER_S / span


_OF_NUMPY = (
    *("arange", "bincount", "clip", "eye", "flatnonzero", "floor", "int64", "maximum", "minimum"),
    *("pad", "rint", "uint64", "where"),
)

FUNCTIONS: Mapping[str, Any] = {
    **{function.__name__: function for function in (float, int, len, max, min, range, round)},
    **{name: getattr(np, name) for name in _OF_NUMPY},
    "floor_int": floor_int,
    "partition": partition,
    "blocks_by_size": paging.blocks_by_size,
    "entry_of": entry_of,
    "domain_mask": _domain_mask,
    "high_frequency_mask": _high_frequency_mask,
    "level_text": _level_text,
    "linux_product": _linux_product,
    "packed": _packed,
    "processor_jiffies": guests.processor_jiffies,
    "run_queue": guests.run_queue,
    "times_empty": paging.times_empty,
    "LOCK_NAMES": np.array(dispatching.LOCK_NAMES),
    "MULTI": transactions.MULTI,
    "QUICK": transactions.QUICK,
    "SCHEDULER_LOCK": dispatching.SCHEDULER_LOCK,
    "TIMER_LOCK": dispatching.TIMER_LOCK,
    "SCM_PER_S": SCM_PER_S,
    "TOD_PER_S": TOD_PER_S,
    "TOD_PER_US": TOD_PER_US,
    "UNI": transactions.UNI,
    **{
        name: np.array(value) if isinstance(value, list) else value
        for name, value in _CONSTANTS["names"].items()
    },
}
"""Functions and constants."""

OF_MODEL: Mapping[str, Callable[[Model], Any]] = {
    "cpus": lambda model: np.arange(model.measurement.processors),
    "io_processors": lambda model: 1 + model.measurement.machine.physical_processors // 8,
    "linux": lambda model: model.linux,
    "lpars": lambda model: model.partitions,
    "machine": lambda model: model.measurement.machine,
    "measurement": lambda model: model.measurement,
    "monitor": lambda model: model.measurement.scenario.monitor,
    # What only the master processor does, by processor.
    "on_master": lambda model: np.arange(model.measurement.processors) == 0,
    "processor_type": lambda model: _CONSTANTS["processor_types"][
        model.measurement.machine.processor_type
    ],
    "run": lambda model: model.measurement.run,
    "scenario": lambda model: model.measurement.scenario,
    "sizes": lambda model: model.levels.sizes,
    "storage": lambda model: model.measurement.storage,
    "users": lambda model: model.users,
    "volumes": lambda model: model.volumes,
}
"""Figures that stay during a run."""

OF_SAMPLE: Mapping[str, Callable[[Sample], Any]] = {
    "activity": dispatching.processor_activity,
    "age": lambda sample: sample.model.ages(sample.number),
    "classes": usage.dispatch_classes,
    "collected_tod": lambda sample: dispatching.collected_tod(sample.model, sample.number),
    "dispatch_times": dispatching.dispatch_times,
    "dispatched_classes": lambda sample: states.state_counts(sample)[1],
    "ended": transactions.ended_transactions,
    "flows": lambda sample: sample.model.flows,
    "state_samples": lambda sample: states.state_counts(sample)[0],
    "held": usage.holdings,
    "io_starts": lambda sample: partition(
        int(volume_work.volume_work(sample).starts.sum()), sample.times.cp
    ),
    "ios": usage.virtual_ios,
    "k": lambda sample: sample.interval,
    "levels": lambda sample: sample.model.levels,
    "lists": lambda sample: sample.model.lists,
    "locks": dispatching.lock_spins,
    "n": lambda sample: sample.number,
    "others_ios": dispatching.others_ios,
    "paging": paging.pages_moved,
    "path_samples": volume_work.path_samples,
    "samples": lambda sample: sample.high_frequency_samples,
    "seconds": lambda sample: sample.seconds,
    "services": dispatching.service_counts,
    "since_power_on": _since_power_on,
    "slots_used": lambda sample: sample.model.volumes.slots_used(
        sample.model.levels, sample.number
    ),
    "times": lambda sample: sample.times,
    "used": usage.usage,
    "work": volume_work.volume_work,
}
"""Figures of a sample, and of the interval before it."""
