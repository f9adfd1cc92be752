"""The records of application data: the blocks that Linux kernels write through APPLDATA.

A guest has three of them: memory, operating system with an entry for each processor, network.
Guests with as many virtual processors have system records of one length, which are one type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt

from .counters import Values, ebcdic
from .linux import Figures
from .model import Model, Sample
from .noise import F64, I64
from .population import MOST_VIRTUAL_PROCESSORS
from .record_type import Filled, SampleRecord
from .timeline import Bool
from .user_records import session_ages

Guests = Callable[[Model], I64]
"""Places of the guests, among those with APPLDATA, that a record type is written for."""

Told = Callable[[Sample, I64, I64], tuple[Figures, Figures]]
"""What the chosen guests tell of themselves, levels and flows; given the time elapsed for each."""

MEMORY, SYSTEM, NETWORK = 1, 2, 3
"""BLOCKNO of Linux's blocks."""

_GROUPS = {MEMORY: "memory", SYSTEM: "os", NETWORK: "net"}
_LEVELS = {MEMORY: "01", SYSTEM: "01", NETWORK: "00"}
"""Modification level of each block."""

_INTERFACES = 2
"""The loopback is one."""


def product(block: int) -> npt.NDArray[np.void]:
    """Product id of a Linux block, 16 bytes: LINUXKR, NL, the number, version, release, level."""
    before, behind = ebcdic("LINUXKRNL", 9), ebcdic("2601" + _LEVELS[block], 6)
    return np.array([before.tobytes() + bytes([block]) + behind.tobytes()], dtype="V16")


def _record(
    block: int, chosen: Guests, told: Told, entries: Mapping[str, int] | None = None
) -> SampleRecord:
    """One type of block, written for some of the guests."""
    group = _GROUPS[block]

    def owner(model: Model) -> I64:
        return model.linux.owner[chosen(model)]

    def fixed(model: Model) -> Values:
        names = model.users.names[owner(model)]
        return {"userid": ebcdic(names, 8), "mdgprod": np.repeat(product(block), len(names))}

    def timed(sample: Sample, elapsed: I64) -> Filled:
        guests = chosen(sample.model)
        levels, flows = told(sample, guests, elapsed)
        levels |= _written(sample, guests)
        return Filled(_within(group, levels), _within(group, flows))

    def ages(model: Model, sample: int) -> F64:
        return session_ages(model, sample)[model.users.base[owner(model)]]

    def present(sample: Sample) -> Bool | None:
        return None if sample.everybody else sample.present[owner(sample.model)]

    def restarted(sample: Sample) -> Bool | None:
        arriving = sample.arriving
        return arriving[owner(sample.model)] if arriving.any() else None

    return SampleRecord(
        "aplsdt",
        lambda model: len(chosen(model)),
        fixed,
        timed=timed,
        ages=ages,
        present=present,
        restarted=restarted,
        entries=lambda model: {group: 1} | dict(entries or {}),
    )


def _written(sample: Sample, guests: I64) -> Figures:
    """When a block was written. Both counts are the same: nobody was just writing it."""
    tod, count = sample.blocks_written
    return {
        "timestamp": tod[guests],
        "sync_count_1": count[guests],
        "sync_count_2": count[guests],
    }


def _within(group: str, figures: Figures) -> Figures:
    return {f"{group}.{name}": value for name, value in figures.items()}


def _everyone(model: Model) -> I64:
    return np.arange(len(model.linux.owner))


def _having(processors: int) -> Guests:
    return lambda model: model.linux.having(processors)


def _memory(sample: Sample, guests: I64, elapsed: I64) -> tuple[Figures, Figures]:
    linux = sample.model.linux
    return linux.memory_levels(sample), linux.memory_flows(sample)


def _network(sample: Sample, guests: I64, elapsed: I64) -> tuple[Figures, Figures]:
    return {"nr_interfaces": _INTERFACES}, sample.model.linux.network(sample)


def _system(sample: Sample, guests: I64, elapsed: I64) -> tuple[Figures, Figures]:
    linux = sample.model.linux
    times = linux.times(sample, guests, elapsed)
    numbers = np.arange(linux.processors[guests[0]])
    return (
        linux.queue(sample, guests) | {"cpu.cpu_id": numbers},
        {f"cpu.per_cpu_{use}": jiffies for use, jiffies in times.items()},
    )


APLSDTS = (
    _record(MEMORY, _everyone, _memory),
    *(
        _record(SYSTEM, _having(count), _system, {"os.cpu": count})
        for count in range(1, MOST_VIRTUAL_PROCESSORS + 1)
    ),
    _record(NETWORK, _everyone, _network),
)
"""The types of the record; that of a number of processors that no guest has is without rows."""
