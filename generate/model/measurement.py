"""The inputs of a generated run: scenario, run, number of intervals, seed, sizes of storage."""

from __future__ import annotations

import numpy as np

from ...core.errors import CpmonError
from ..numeric import random_stream
from ..scenario.scenario import DOMAIN_NUMBERS, Run, Scenario

TOD_PER_US = 4096
TOD_PER_S = 1_000_000 * TOD_PER_US
_ALWAYS_SAMPLED = 1
"""The monitor's own domain."""
SCM_PER_S = 1_000_000 / 128
"""Units of the channel subsystem's measurement times in a second."""


class Measurement:
    """The inputs of a generated run, with the random numbers of each part of the model.

    Attributes:
        groups: the user groups with this run's counts.
        users: number of users of all groups.
        targets, machine, storage: of this run.
        processors: number of processors that CP sees; each thread is one.
        sampled: numbers of the domains that are sampled.
        disturbances: those before the end of this run, in order.
        frames: sizes of storage.
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
        disturbances = sorted(
            (*scenario.disturbances, *run.disturbances), key=lambda each: each.interval
        )
        self.disturbances = [each for each in disturbances if each.interval < self.intervals]
        self.frames = Frames(scenario, run)
        self.warmup = min(run.warmup_intervals, self.intervals - 1)

    def rng(self, noun: str) -> np.random.Generator:
        """The random numbers of one part of the model in this run."""
        return random_stream(self.seed, self.scenario.name, self.run.run_id, noun)


FRAMES_PER_MIB = 256
FRAMES_BELOW_2G = 2048 * FRAMES_PER_MIB


class Frames:
    """Sizes in 4 KiB pages that do not change during a run.

    Attributes:
        below, above: frames below and above 2 GB.
        nonpageable, locked: fixed frames below 2 GB; the second are a part of the first.
        pageable: the others below 2 GB, for users, minidisk cache and CP.
        cache_below, cache_above: frames of the minidisk cache.
        available_below, available_above: frames on the available lists.
        users_below, users_above, for_users: frames for users' pages, without the available lists.
        users_above_share: share of the users' pages above 2 GB: that of the scenario, or else in
            proportion to the frames.
        expanded, slots: pages of expanded storage; slots of paging volumes.
    """

    def __init__(self, scenario: Scenario, run: Run) -> None:
        storage = run.storage
        total = storage.central_mib * FRAMES_PER_MIB
        self.below = min(total, FRAMES_BELOW_2G)
        self.above = total - self.below
        self.locked = storage.locked_below_2g_mib * FRAMES_PER_MIB
        self.nonpageable = storage.nonpageable_mib * FRAMES_PER_MIB + self.locked
        self.pageable = self.below - self.nonpageable
        self.cache_below = storage.cache_below_2g_mib * FRAMES_PER_MIB
        self.cache_above = storage.cache_above_2g_mib * FRAMES_PER_MIB
        self.available_below = storage.available_below_frames
        self.available_above = storage.available_above_frames if self.above else 0
        self.users_below = max(0, self.pageable - self.cache_below - self.available_below)
        self.users_above = max(0, self.above - self.cache_above - self.available_above)
        self.for_users = self.users_below + self.users_above
        share = storage.resident_above_share
        room = self.users_above / max(self.for_users, 1)
        self.users_above_share = room if share is None else share
        self.expanded = storage.expanded_mib * FRAMES_PER_MIB
        paging = [g for g in scenario.volumes if g.kind == "page"]
        self.slots = sum(g.count * g.cylinders * g.pages_per_cylinder for g in paging)
