"""The states in which virtual processors spend an interval, and how often samples find each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.scheduler import allocate_shares, eligible_share, waiting_for_cpu
from ..numeric import F64, I64
from .sample import Sample, per_sample
from .usage import usage


@dataclass(frozen=True, slots=True)
class States:
    """Shares of an interval by state, (virtual processors,) each; they add up to 1.

    In the states up to `idle` a virtual processor is in the dispatch list.
    """

    running: F64
    cpu_wait: F64
    io_wait: F64
    page_wait: F64
    simulation_wait: F64
    console_wait: F64
    idle: F64
    eligible: F64
    dormant: F64


_SHORT, _LONG = np.array([0.6, 0.3, 0.1]), np.array([0.0, 0.0, 1.0])
"""Shares of the dispatch classes of users rarely in the list, and of those mostly in it."""


@per_sample
def processor_states(sample: Sample) -> States:
    """The states of the virtual processors in the interval.

    Running time is processor time; the wait for a processor is in proportion to it. Other waits
    follow from the group of the user and are divided among the user's virtual processors in
    proportion to their running time.
    """
    model, used = sample.model, usage(sample)
    span = int(model.timeline.tod[sample.interval])
    shortage = model.processors.shortage[sample.interval]
    running = np.minimum((used.virtual + used.cp) / span, 1.0)
    *waits, in_list = _group_shares(sample, running)
    waiting = np.add.accumulate(waits)[-1]
    use = np.array(sample.times.busy.sum() / max(len(sample.times.online) * span, 1))
    # The sum is the same on every machine, and never zero.
    total = float(np.add.accumulate(running)[-1]) + 1e-9 if len(running) else 1.0
    cpu_wait = float(waiting_for_cpu(use, shortage)) * running / total
    listed = np.minimum(np.maximum(in_list, running + cpu_wait + waiting), 1.0)
    eligible = (listed - running) * eligible_share(shortage)
    left = listed - running - eligible
    cpu_wait = np.minimum(cpu_wait, left)
    left -= cpu_wait
    fit = np.minimum(left / np.maximum(waiting, 1e-9), 1.0)
    io, page, simulation, console = (wait * fit for wait in waits)
    idle = np.maximum(left - waiting * fit, 0.0)
    return States(running, cpu_wait, io, page, simulation, console, idle, eligible, 1.0 - listed)


@per_sample
def state_counts(sample: Sample) -> tuple[dict[str, I64], I64]:
    """High-frequency samples of the interval, by the state that they found.

    Returns:
        (virtual processors,) by state; (3, virtual processors) by class in the dispatch list.
    """
    states, samples = processor_states(sample), sample.high_frequency_samples
    names = states.__dataclass_fields__
    rng = sample.model.measurement.rng(f"states in interval {sample.interval}")
    every = np.stack([getattr(states, name) for name in names])
    counts = dict(zip(names, allocate_shares(rng, every, samples), strict=True))
    shares: F64 = np.where(states.dormant < 0.5, _LONG[:, None], _SHORT[:, None])
    dispatched = samples - counts["eligible"] - counts["dormant"]
    return counts, allocate_shares(rng, shares, dispatched)


def _group_shares(sample: Sample, running: F64) -> F64:
    """(5, virtual processors) shares of their groups: four waits, and all of the dispatch list.

    A user's shares are divided among the virtual processors in proportion to their running time;
    if none runs, the first one has them.
    """
    users, load = sample.model.users, sample.model.demand.load[sample.interval]
    shares: F64 = users.waits * np.minimum(load, 1.0)[users.group[users.owner]]
    of_user = np.bincount(users.owner, weights=running, minlength=len(users.base))
    idle_base = (of_user[users.owner] <= 0) & (users.address == 0)
    parts: F64 = np.where(idle_base, 1.0, running / np.maximum(of_user, 1e-30)[users.owner])
    return shares * parts
