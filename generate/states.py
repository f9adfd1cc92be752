"""The states in which virtual processors spend an interval, and how often samples find each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .noise import F64, I64
from .scheduler import waiting_for_cpu
from .users import Users

if TYPE_CHECKING:
    from .model import Sample

STATES = (
    *("running", "cpu_wait", "io_wait", "page_wait", "simulation_wait", "console_wait"),
    *("idle", "dormant"),
)
"""Each virtual processor is in one of them; idle ones are still in the dispatch list."""


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
    dormant: F64

    @classmethod
    def of(cls, sample: Sample) -> States:
        """What the users did and waited for.

        They run for as long as they used a processor, and share its queue accordingly. Their other
        waits follow from their groups; what a user waits for is shared by his virtual processors as
        they run.
        """
        users, used = sample.model.users, sample.used
        span = int(sample.model.timeline.tod[sample.interval])
        running = np.minimum((used.virtual + used.cp) / span, 1.0)
        every = max(float(np.add.accumulate(running)[-1]), 1e-9) if len(running) else 1.0
        cpu_wait = np.minimum(_queue(sample) * running / every, 1.0 - running)
        part = _parts(users, running)
        load = np.minimum(sample.model.demand.load[sample.interval], 1.0)

        def wanted(of_groups: list[float]) -> F64:
            asked: F64 = (np.array(of_groups) * load)[users.roster.group][users.owner]
            return asked * part

        groups, free = users.groups, 1.0 - running - cpu_wait
        asked = np.stack(
            [
                wanted([g.io_wait_share for g in groups]),
                wanted([g.page_wait_share for g in groups]),
                wanted([g.simulation_wait_share for g in groups]),
                wanted([g.console_wait_share for g in groups]),
            ]
        )
        waits = asked * np.minimum(free / np.maximum(asked.sum(axis=0), 1e-9), 1.0)
        free -= waits.sum(axis=0)
        in_list = wanted([g.dispatched_share for g in groups])
        idle = np.clip(in_list - (1.0 - free), 0.0, np.maximum(free, 0.0))
        io, page, simulation, console = waits
        dormant = np.maximum(free - idle, 0.0)
        return cls(running, cpu_wait, io, page, simulation, console, idle, dormant)

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
    whole = np.minimum(np.floor(edges), totals).astype(np.int64)
    whole[-1] = totals
    whole[1:] -= whole[:-1].copy()
    return whole


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
