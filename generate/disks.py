"""What I/Os to disks were: reads or writes, answered by the control unit's cache or by the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .measurement import SCM_PER_S
from .noise import F64, I64

if TYPE_CHECKING:
    from .model import Sample

_WRITTEN = 3
"""One of so many I/Os to user and spool volumes writes."""

_IN_SEQUENCE = 8
"""One of so many I/Os goes on where the one before it ended."""

_STROKE = 3
"""From any cylinder to any other it is a third of the disk, on average."""


@dataclass(frozen=True, slots=True)
class DiskWork:
    """I/Os of one interval, (volumes,) each.

    Attributes:
        reads, writes: all of them, page I/Os in the proportion of the pages.
        sequential_reads, sequential_writes: the part of them that is in sequence.
        read_hits, write_hits: the part that the cache answered; `sequential_` likewise.
        misses: those for which the arm had to move. cylinders: how far it went.
    """

    reads: I64
    writes: I64
    sequential_reads: I64
    sequential_writes: I64
    read_hits: I64
    write_hits: I64
    sequential_read_hits: I64
    sequential_write_hits: I64
    misses: I64
    cylinders: I64

    @classmethod
    def of(cls, sample: Sample) -> DiskWork:
        """The I/Os of the interval before a sample."""
        volumes, work = sample.model.volumes, sample.volumes
        starts, pages = work.starts, work.reads + work.writes
        writes = np.where(
            pages > 0, starts * work.writes // np.maximum(pages, 1), starts // _WRITTEN
        )
        reads = starts - writes
        read_hits = np.floor(reads * volumes.hit_share).astype(np.int64)
        write_hits = np.floor(writes * volumes.hit_share).astype(np.int64)
        misses = starts - read_hits - write_hits
        return cls(
            reads=reads,
            writes=writes,
            sequential_reads=reads // _IN_SEQUENCE,
            sequential_writes=writes // _IN_SEQUENCE,
            read_hits=read_hits,
            write_hits=write_hits,
            sequential_read_hits=read_hits // _IN_SEQUENCE,
            sequential_write_hits=write_hits // _IN_SEQUENCE,
            misses=misses,
            cylinders=misses * (volumes.cylinders // _STROKE),
        )


def control_unit_use(sample: Sample) -> F64:
    """(volumes,) how busy the paths to each one's control unit were in an interval, 0 to 1."""
    volumes = sample.model.volumes
    moved = np.bincount(volumes.unit, weights=sample.volumes.connect)
    span = float(sample.model.timeline.seconds[sample.interval] * SCM_PER_S)
    use: F64 = np.minimum(moved[volumes.unit] / (span * volumes.path_count), 1.0)
    return use
