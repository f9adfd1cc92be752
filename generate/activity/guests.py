"""Counters of Linux guests in one interval, consistent with those of CP.

A guest's processors were busy for the virtual time that CP gave it; its memory is its virtual
storage.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..model.linux import BUSY
from ..model.measurement import TOD_PER_S
from ..model.scheduler import allocate_shares
from ..numeric import I64, floor_int
from .sample import Sample
from .states import processor_states
from .usage import usage

Values = dict[str, Any]

JIFFY = TOD_PER_S // 100
"""A jiffy, the unit of processor times in Linux, in TOD units."""

_LOAD_UNITS = 2048


def processor_jiffies(sample: Sample, chosen: I64, elapsed: I64) -> Values:
    """(chosen, processors) jiffies by use; the rest of the time is idle.

    Steal time is time in which CP works for the guest or makes it wait.

    Args:
        chosen: indices of guests, all with the same number of processors.
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
    # The thread that collects the data is running, too.
    running = 1 + floor_int(runnable + by_chance[0])
    return {
        "running": running,
        "threads": linux.threads[chosen] + running + np.floor(6 * by_chance[1]),
        "waiting": np.floor(waiting + by_chance[2]),
        "loads": np.rint(loads * _LOAD_UNITS),
    }
