"""Names in the expressions of records: constants, functions, and figures of model and sample."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from typing import Any

import numpy as np

from ..activity import dispatching, guests, paging, states, transactions, usage, volume_work
from ..model.measurement import SCM_PER_S, TOD_PER_S, TOD_PER_US
from ..model.services import entry_of
from ..numeric import floor_int, partition
from ..scenario.users import UserGroup

_NAMES = tomllib.loads((files(__package__) / "names.toml").read_text(encoding="utf-8"))
_MASKS: dict[str, int] = _NAMES["masks"]


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


def _daemon_product(function: int, record: int, level: int) -> np.void:
    """Product id of a record of mon_fsstatd (1) or mon_procd (2), 16 bytes, in buffer `level`."""
    numbers = (function.to_bytes(2), record.to_bytes(1), bytes(4), level.to_bytes(2))
    return np.void(b"LNXAPPL" + b"".join(numbers))


def _busy_percent(group: UserGroup) -> float:
    """Percent of a guest's processors that its processes use."""
    used = sum(each.cpu_percent for each in group.processes)
    return min(used / group.virtual_processors, 100.0)


def _utf8_length(text: str) -> int:
    return len(text.encode())


_OF_NUMPY = (
    *("arange", "bincount", "clip", "eye", "flatnonzero", "floor", "int64", "maximum", "minimum"),
    *("pad", "rint", "uint64", "where"),
)

_OF_CPMON: tuple[Callable[..., Any], ...] = (
    *(floor_int, partition, entry_of, paging.blocks_by_size, paging.times_empty),
    *(guests.processor_jiffies, guests.run_queue),
)

FUNCTIONS: Mapping[str, Any] = {
    **{function.__name__: function for function in (float, int, len, max, min, range, round)},
    **{name: getattr(np, name) for name in _OF_NUMPY},
    **{function.__name__: function for function in _OF_CPMON},
    "busy_percent": _busy_percent,
    "daemon_product": _daemon_product,
    "domain_mask": _domain_mask,
    "high_frequency_mask": _high_frequency_mask,
    "level_text": _level_text,
    "linux_product": _linux_product,
    "packed": _packed,
    "utf8_length": _utf8_length,
    "void": np.void,
    "LOCK_NAMES": dispatching.LOCK_NAMES,
    "UNI": transactions.UNI,
    "MULTI": transactions.MULTI,
    "QUICK": transactions.QUICK,
    "SCM_PER_S": SCM_PER_S,
    "TOD_PER_S": TOD_PER_S,
    "TOD_PER_US": TOD_PER_US,
    **{
        name: np.array(value) if isinstance(value, list) else value
        for name, value in _NAMES["constants"].items()
    },
}
"""Functions and constants."""

ACTIVITY = {
    module.__name__.rpartition(".")[2]: module
    for module in (dispatching, paging, states, transactions, usage, volume_work)
}
"""Modules in the expressions of figures, by name."""

OF_MODEL: Mapping[str, str] = _NAMES["model"]
"""Figures that stay during a run: expressions over `model`."""

OF_SAMPLE: Mapping[str, str] = _NAMES["sample"]
"""Figures of a sample, and of the interval before it: expressions over `model` and `sample`."""
