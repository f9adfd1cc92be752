"""What Linux guests count in one interval, consistent with CP's own counts.

A guest's processors were busy for the virtual time that CP gave it; its memory is its virtual
storage.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..model.linux import BUSY
from ..model.measurement import TOD_PER_S
from ..model.scheduler import allocate_shares
from ..numeric import F64, I64, U64, floor_int
from .sample import Sample, per_sample
from .states import processor_states
from .usage import holdings, usage, virtual_ios

Values = dict[str, Any]

JIFFY = TOD_PER_S // 100
"""In TOD units: what processor times are counted in."""

BLOCK_EVERY = 10 * TOD_PER_S
"""A guest writes its blocks anew every so often."""

_LOAD_UNITS = 2048
KIB_PER_DISK_IO = 16
_DISK_READ_SHARE = 0.6
_READS_PER_FAULT = 12
_PAGES_PER_CPU_S, _FAULTS_PER_CPU_S = 6000, 2500
_PACKETS = np.array([5, 4])
_PACKET_BYTES = np.array([420.0, 610.0])
"""Received and sent, for a network I/O."""

_SWAP_CHURN_PER_S = 0.002


class Written(NamedTuple):
    """When guests wrote their blocks, TOD, and how often they had by then: (guests,)."""

    tod: U64
    times: I64


@per_sample
def blocks_written(sample: Sample) -> Written:
    """The blocks that a sample finds."""
    model, linux = sample.model, sample.model.linux
    tod = np.uint64(model.clock.end(sample.number)) - linux.lag.astype(np.uint64)
    logon = model.logon_tod(sample.number)[linux.owner]
    since = tod.astype(np.int64) - logon.astype(np.int64)
    return Written(tod, np.maximum(since // BLOCK_EVERY, 1))


def memory_work(sample: Sample) -> Values:
    """(guests,) memory, KiB, and what moved between memory and disks in the interval.

    Pages that CP holds for a guest are those that it has touched.
    """
    linux, held, owner = sample.model.linux, holdings(sample), sample.model.linux.owner
    pages = (held.resident_below + held.resident_above + held.expanded + held.slots)[owner]
    # What does not fit into memory is in swap.
    in_swap = np.clip(linux.wanted - linux.memory * 9 // 10, 0, linux.swap * 9 // 10)
    ios = usage(sample).disk_ios[owner]
    reads = floor_int(ios * _DISK_READ_SHARE)
    churn = in_swap // 4 * _SWAP_CHURN_PER_S * sample.seconds * sample.active[owner]
    swapped = floor_int(churn)
    cpu = _virtual_cpu_s(sample)[owner]
    return {
        "used": np.minimum(4 * pages, linux.memory * 31 // 32),
        "in_swap": in_swap,
        "reads": reads,
        "writes": ios - reads,
        "swapped": swapped,
        "allocated": reads * KIB_PER_DISK_IO // 4 + swapped + np.rint(cpu * _PAGES_PER_CPU_S),
        "faults": swapped + np.rint(cpu * _FAULTS_PER_CPU_S),
        "major_faults": swapped + reads // _READS_PER_FAULT,
    }


def _virtual_cpu_s(sample: Sample) -> F64:
    """(users,) virtual CPU seconds."""
    users, virtual = sample.model.users, usage(sample).virtual
    return np.bincount(users.owner, weights=virtual, minlength=len(users.base)) / TOD_PER_S


def network_work(sample: Sample) -> Values:
    """(2, guests) packets and bytes received and sent through the guests' interfaces."""
    linux = sample.model.linux
    packets = virtual_ios(sample).network[linux.owner] * _PACKETS[:, None]
    return {"packets": packets, "bytes": np.rint(packets * (_PACKET_BYTES[:, None] * linux.packet))}


def processor_jiffies(sample: Sample, chosen: I64, elapsed: I64) -> Values:
    """(chosen, processors) jiffies by use; what is neither busy nor waiting is idle.

    Time is stolen from the guest's own clock when CP does something for it or lets it wait.

    Args:
        chosen: places of guests, all with as many processors.
        elapsed: (chosen,) TOD units.
    """
    linux, used, states = sample.model.linux, usage(sample), processor_states(sample)
    at, span = linux.virtual_processors(chosen), elapsed[:, None].astype(np.float64)
    names = (*BUSY, "steal", "iowait", "idle")
    spent = np.empty((len(names), *at.shape))
    np.multiply(used.virtual[at], linux.modes[:, chosen, None], out=spent[: len(BUSY)])
    spent[-3] = used.cp[at] + states.cpu_wait[at] * span
    spent[-2] = states.io_wait[at] * span
    total = np.add.accumulate(spent[:-1])[-1]
    spent[-1] = np.maximum(span - total, 0.0)
    spent /= total + spent[-1]
    rng = sample.model.measurement.rng(
        f"{at.shape[1]} processors of linux in interval {sample.interval}"
    )
    jiffies = floor_int(elapsed / JIFFY + rng.random(len(chosen)))
    shares, totals = spent.reshape(len(spent), -1), np.repeat(jiffies, at.shape[1])
    parts = allocate_shares(rng, shares, totals).reshape(spent.shape)
    return dict(zip(names, parts, strict=True))


def run_queue(sample: Sample, chosen: I64) -> Values:
    """(chosen,) threads of each guest at the sample; (3, chosen) its load averages, 1/2048."""
    linux, states = sample.model.linux, processor_states(sample)
    at = linux.virtual_processors(chosen)
    rng = sample.model.measurement.rng(f"{at.shape[1]} queues of linux at sample {sample.number}")
    runnable = np.add.accumulate(states.running[at] + states.cpu_wait[at], axis=1)[:, -1]
    waiting = np.add.accumulate(states.io_wait[at], axis=1)[:, -1]
    by_chance = rng.random((3, len(chosen)))
    group = sample.model.users.group[linux.owner[chosen]]
    loads = (runnable + waiting) * linux.averages[:, sample.interval, group]
    # The thread that collects the data runs while it does so.
    running = 1 + floor_int(runnable + by_chance[0])
    return {
        "running": running,
        "threads": linux.threads[chosen] + running + np.floor(6 * by_chance[1]),
        "waiting": np.floor(waiting + by_chance[2]),
        "loads": np.rint(loads * _LOAD_UNITS),
    }
