"""How much storage there is, and what is fixed in it: frames, blocks and slots of a run."""

from __future__ import annotations

from dataclasses import dataclass

from .hardware import Storage
from .measurement import Measurement
from .scenario import Run, Scenario

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
    def of(cls, measurement: Measurement) -> Frames:
        """The sizes that a run's storage and paging volumes give."""
        return cls.of_run(measurement.scenario, measurement.run)

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
