"""How much storage there is, and what is fixed in it: frames, blocks and slots of a scenario."""

from __future__ import annotations

from dataclasses import dataclass

from .scenario import Scenario

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
    expanded: int
    slots: int

    @classmethod
    def of(cls, scenario: Scenario) -> Frames:
        """The sizes that a scenario's storage and paging volumes give."""
        storage = scenario.storage
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
