"""Domain 10: application data, the blocks that Linux kernels write through APPLDATA.

A guest has three of them: memory, operating system with an entry for each processor, network.
Guests with as many virtual processors have system records of one length, which are one type.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..activity.guests import (
    blocks_written,
    memory_values,
    network_values,
    processor_jiffies,
    run_queue,
)
from ..activity.sample import Sample
from ..model.system import Model
from ..numeric import F64, I64, Bool
from ..scenario.users import MOST_VIRTUAL_PROCESSORS
from .d04_user import session_ages
from .definition import Counts, SampleRecord, Values

_BLOCKS = {"memory": (1, "01"), "os": (2, "01"), "net": (3, "00")}
"""BLOCKNO and modification level of Linux's blocks, by the group that describes each."""

_INTERFACES = 2
"""Network interfaces of a guest; the loopback is one."""


def _product(group: str) -> np.void:
    """Product id of a Linux block, 16 bytes: LINUXKR, NL, the number, version, release, level."""
    number, level = _BLOCKS[group]
    return np.void("LINUXKRNL".encode("cp037") + bytes([number]) + f"2601{level}".encode("cp037"))


def _record(
    group: str,
    guests: Callable[[Model], I64],
    block: Callable[[Sample, I64, I64], Values],
    entries: Counts,
) -> SampleRecord:
    """One type of block.

    Args:
        group: that describes the block.
        guests: places, among those with APPLDATA, of the guests that it is written for.
        block: its values, given these guests and the TOD units since each wrote before.
        entries: number of entries in the block, by group.
    """

    def owner(model: Model) -> I64:
        return model.linux.owner[guests(model)]

    def fixed(model: Model) -> Values:
        return {"userid": model.users.names[owner(model)], "mdgprod": _product(group)}

    def values(sample: Sample, elapsed: I64) -> Values:
        chosen = guests(sample.model)
        tod, count = (times[chosen] for times in blocks_written(sample))
        # Both counts are the same: no guest was just writing its block.
        written = {"timestamp": tod, "sync_count_1": count, "sync_count_2": count}
        every = {**written, **block(sample, chosen, elapsed)}
        return {f"{group}.{name}": value for name, value in every.items()}

    def ages(model: Model, sample: int) -> F64:
        of_guests: F64 = session_ages(model, sample)[model.users.base[owner(model)]]
        return of_guests

    def present(sample: Sample) -> Bool | None:
        return None if sample.everybody else sample.present[owner(sample.model)]

    def restarted(sample: Sample) -> Bool | None:
        arriving = sample.arriving
        return arriving[owner(sample.model)] if arriving.any() else None

    return SampleRecord(
        "aplsdt",
        values,
        rows=lambda model: len(guests(model)),
        fixed=fixed,
        timed=True,
        ages=ages,
        present=present,
        restarted=restarted,
        entries=lambda model: {group: 1, **entries},
    )


def _all_guests(model: Model) -> I64:
    return np.arange(len(model.linux.owner))


def _guests_with(processors: int) -> Callable[[Model], I64]:
    return lambda model: model.linux.having(processors)


def _memory(sample: Sample, _guests: I64, _elapsed: I64) -> Values:
    return memory_values(sample)


def _network(sample: Sample, _guests: I64, _elapsed: I64) -> Values:
    return {"nr_interfaces": _INTERFACES, **network_values(sample)}


def _system(sample: Sample, guests: I64, elapsed: I64) -> Values:
    times = processor_jiffies(sample, guests, elapsed)
    return {
        **run_queue(sample, guests),
        "cpu.cpu_id": np.arange(sample.model.linux.processors[guests[0]]),
        **{f"cpu.per_cpu_{use}": jiffies for use, jiffies in times.items()},
    }


RECORDS = (
    _record("memory", _all_guests, _memory, {}),
    # A type for a number of processors that no guest has is without rows.
    *(
        _record("os", _guests_with(count), _system, {"os.cpu": count})
        for count in range(1, MOST_VIRTUAL_PROCESSORS + 1)
    ),
    _record("net", _all_guests, _network, {}),
)
