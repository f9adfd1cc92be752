"""The users' I/Os to everything but disks: consoles, unit record devices, networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .noise import I64

if TYPE_CHECKING:
    from .model import Sample


@dataclass(frozen=True, slots=True)
class VirtualIos:
    """Virtual I/Os of one interval, (users,) each."""

    console: I64
    unit_record: I64
    network: I64

    @classmethod
    def of(cls, sample: Sample) -> VirtualIos:
        """What the users did, by the rates of their groups; rare I/Os happen now and then."""
        users, k = sample.model.users, sample.interval
        n = len(users.base)
        rng = users.measurement.rng(f"virtual I/Os in interval {k}")
        load = sample.model.demand.load[k] * int(sample.model.timeline.seconds[k])
        wanted = users.ios * load[users.roster.group] * sample.active
        return cls(*np.floor(wanted + rng.random((3, n))).astype(np.int64))
