"""The states in which virtual processors spend an interval, and how often samples find each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .noise import F64, I64
from .scheduler import held_back, waiting_for_cpu
from .users import Users

if TYPE_CHECKING:
    from .model import Sample

STATES = (
    *("running", "cpu_wait", "io_wait", "page_wait", "simulation_wait", "console_wait"),
    *("idle", "eligible", "dormant"),
)
"""Each virtual processor is in one of them; up to `idle` they are in the dispatch list."""


@dataclass(frozen=True, slots=True)
class States:
    """Shares of an interval, (virtual processors,) each; together they are all of it."""

    running: F64
    cpu_wait: F64
    io_wait: F64
    page_wait: F64
    simulation_wait: F64
    console_wait: F64
    idle: F64
    eligible: F64
    dormant: F64

    @classmethod
    def of(cls, sample: Sample) -> States:
        """What the users did and waited for.

        They run for as long as they used a processor, and share its queue accordingly. Their other
        waits follow from their groups; what a user waits for is shared by his virtual processors as
        they run.
        """
        model, used = sample.model, sample.used
        span = int(model.timeline.tod[sample.interval])
        running = np.minimum((used.virtual + used.cp) / span, 1.0)
        *waits, in_list = _asked(sample, running)
        every = np.add.accumulate(waits)[-1]
        cpu_wait = _queue(sample) * running / _total(running)
        queued = np.minimum(np.maximum(in_list, running + cpu_wait + every), 1.0)
        eligible = (queued - running) * held_back(model.processors.shortage[sample.interval])
        left = queued - running - eligible
        cpu_wait = np.minimum(cpu_wait, left)
        left -= cpu_wait
        fit = np.minimum(left / np.maximum(every, 1e-9), 1.0)
        io, page, simulation, console = (wait * fit for wait in waits)
        idle = np.maximum(left - every * fit, 0.0)
        return cls(running, cpu_wait, io, page, simulation, console, idle, eligible, 1.0 - queued)

    def found(self, rng: np.random.Generator, samples: int) -> dict[str, I64]:
        """How many of some samples find each virtual processor in each state."""
        shares = np.stack([getattr(self, name) for name in STATES])
        return dict(zip(STATES, shared_out(rng, shares, samples), strict=True))


def shared_out(rng: np.random.Generator, shares: F64, totals: int | I64) -> I64:
    """Whole numbers that add up to a total; each has its share of it to within one.

    Over many calls the mean is the share itself, however small: no rare state is lost.

    Args:
        shares: (parts, columns), not negative; those of a column add up to 1.
        totals: one, or (columns,).

    Returns:
        (parts, columns).
    """
    edges = np.add.accumulate(shares, axis=0)
    edges *= totals
    edges += rng.random(shares.shape[1])
    np.floor(edges, out=edges)
    whole = np.minimum(edges, totals, out=edges).astype(np.int64)
    whole[-1] = totals
    whole[1:] -= whole[:-1].copy()
    return whole


def _asked(sample: Sample, running: F64) -> F64:
    """(5, virtual processors) shares of their groups: four waits, and all of the dispatch list."""
    users, load = sample.model.users, sample.model.demand.load[sample.interval]
    asked: F64 = users.waits * np.minimum(load, 1.0)[users.roster.group[users.owner]]
    return asked * _parts(users, running)


def _total(shares: F64) -> float:
    """Their sum, the same on every machine; never zero."""
    return float(np.add.accumulate(shares)[-1]) + 1e-9 if len(shares) else 1.0


def _queue(sample: Sample) -> float:
    """Virtual processors that wait for a real one, mean of the interval."""
    times, span = sample.times, int(sample.model.timeline.tod[sample.interval])
    use = np.array(times.busy.sum() / max(len(times.online) * span, 1))
    return float(waiting_for_cpu(use, sample.model.processors.shortage[sample.interval]))


def _parts(users: Users, running: F64) -> F64:
    """(virtual processors,) share of its user's running time; the base has all where none runs."""
    of_user = np.bincount(users.owner, weights=running, minlength=len(users.base))
    none = (of_user[users.owner] <= 0) & (users.address == 0)
    shares: F64 = np.where(none, 1.0, running / np.maximum(of_user, 1e-30)[users.owner])
    return shares
