"""One run about to be generated: scenario, run, number of intervals, seed, sizes of storage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...schemas.errors import CpmonError
from ..numeric import random_stream
from ..scenario.hardware import Storage
from ..scenario.scenario import DOMAIN_NUMBERS, Run, Scenario

TOD_PER_US = 4096
TOD_PER_S = 1_000_000 * TOD_PER_US
_ALWAYS_SAMPLED = 1
"""The monitor's own domain."""
SCM_PER_S = 1_000_000 / 128
"""Units of the channel subsystem's measurement times in a second."""


class Measurement:
    """What is generated: the figures and random numbers of every part of the model.

    Attributes:
        groups: the user groups with this run's counts.
        users: of all groups.
        targets, machine, storage: of this run.
        processors: as CP sees them: every thread is one.
        sampled: numbers of the domains that are sampled.
        disturbances: what happens before the end of this run, in order.
        warmup: intervals before the steady state; at least one interval is steady.

    Raises:
        CpmonError: no such run, no intervals, or a seed below 0.
    """

    def __init__(
        self, scenario: Scenario, run_id: str, intervals: int | None, seed: int | None
    ) -> None:
        self.scenario = scenario
        self.run = run = scenario.run(run_id)
        default = run.intervals or scenario.intervals
        self.intervals = default if intervals is None else intervals
        if self.intervals < 1:
            raise CpmonError(
                "a dump needs an interval",
                expected="1 or more intervals",
                found=str(self.intervals),
            )
        self.seed = scenario.seed if seed is None else seed
        if self.seed < 0:
            raise CpmonError(
                "a seed cannot be negative", expected="0 or more", found=str(self.seed)
            )
        self.groups = scenario.groups_of(run)
        self.users = sum(group.count for group in self.groups)
        self.targets, self.machine, self.storage = run.targets, run.machine, run.storage
        self.processors = run.machine.cpus
        sampled = (DOMAIN_NUMBERS[name] for name in scenario.monitor.domains)
        self.sampled = frozenset({_ALWAYS_SAMPLED, *sampled})
        self.disturbances = sorted(
            (
                each
                for each in (*scenario.disturbances, *run.disturbances)
                if each.interval < self.intervals
            ),
            key=lambda each: each.interval,
        )
        self.warmup = min(run.warmup_intervals, self.intervals - 1)

    def rng(self, noun: str) -> np.random.Generator:
        """The random numbers of one part of the model in this run."""
        return random_stream(self.seed, self.scenario.name, self.run.run_id, noun)


FRAMES_PER_MIB = 256
FRAMES_BELOW_2G = 2048 * FRAMES_PER_MIB


@dataclass(frozen=True, slots=True)
class Frames:
    """Sizes in 4 KiB pages that do not change during a run.

    `pageable` frames hold users' pages, minidisk cache, what CP owns for itself, or are available.
    """

    below: int
    above: int
    nonpageable: int
    locked: int
    cache_below: int
    cache_above: int
    available_below: int
    available_above: int
    expanded: int
    slots: int

    @classmethod
    def of_run(cls, scenario: Scenario, run: Run) -> Frames:
        """The sizes that a run's storage and paging volumes give."""
        storage = run.storage
        total = storage.central_mib * FRAMES_PER_MIB
        below = min(total, FRAMES_BELOW_2G)
        locked = storage.locked_below_2g_mib * FRAMES_PER_MIB
        return cls(
            below=below,
            above=total - below,
            nonpageable=storage.nonpageable_mib * FRAMES_PER_MIB + locked,
            locked=locked,
            cache_below=storage.cache_below_2g_mib * FRAMES_PER_MIB,
            cache_above=storage.cache_above_2g_mib * FRAMES_PER_MIB,
            available_below=storage.available_below_frames,
            available_above=storage.available_above_frames if total > below else 0,
            expanded=storage.expanded_mib * FRAMES_PER_MIB,
            slots=sum(
                g.count * g.cylinders * g.pages_per_cylinder
                for g in scenario.volumes
                if g.kind == "page"
            ),
        )

    @property
    def pageable(self) -> int:
        """Frames below 2 GB that are not fixed."""
        return self.below - self.nonpageable

    @property
    def users_below(self) -> int:
        """Frames below 2 GB that users' pages may take, those on the available list apart."""
        return max(0, self.pageable - self.cache_below - self.available_below)

    @property
    def users_above(self) -> int:
        """The same above 2 GB."""
        return max(0, self.above - self.cache_above - self.available_above)

    @property
    def for_users(self) -> int:
        """Frames that users' pages may take."""
        return self.users_below + self.users_above

    def users_above_share(self, storage: Storage) -> float:
        """Share of the users' pages above 2 GB: as the scenario says, or as there is room."""
        if storage.resident_above_share is not None:
            return storage.resident_above_share
        return self.users_above / max(self.for_users, 1)
