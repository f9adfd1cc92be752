"""The minidisk cache: what was looked up in it, found, brought in and thrown out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .model import Sample

_PAGES_OF_A_TRACK = 12
"""The cache holds tracks as blocks of 4 KiB."""

_PAGES_OF_A_STEAL = 32


@dataclass(frozen=True, slots=True)
class Cache:
    """One interval: reads that were looked up, and those among them that saved an I/O; pages.

    Attributes:
        reads, hits: counts.
        inserted, deleted: pages. The cache is full, so one leaves for every one that comes.
        steals: times that pages were taken from it.
    """

    reads: int
    hits: int
    inserted: int
    deleted: int
    steals: int

    @classmethod
    def of(cls, sample: Sample) -> Cache:
        """What follows from the I/Os that the users' volumes did and those that were saved."""
        model, work = sample.model, sample.volumes
        storage = model.measurement.storage
        hits = int(work.avoided.sum())
        done = int(work.starts[~model.volumes.is_cp].sum())
        share = max(storage.cache_hit_share, 0.01)
        misses = min(round(hits * (1 - share) / share), done)
        held = model.levels.sizes.cache_below + model.levels.sizes.cache_above
        inserted = misses * _PAGES_OF_A_TRACK if held else 0
        return cls(hits + misses, hits, inserted, inserted, inserted // _PAGES_OF_A_STEAL)
