"""Messages between virtual machines, and the pages that users read from and write to spool."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from .noise import I64, partition
from .services import entry_of

if TYPE_CHECKING:
    from .model import Sample

_PER_TRANSFER = 2
"""An exchange takes an instruction (or DIAGNOSE X'68') to send and one to receive."""


@dataclass(frozen=True, slots=True)
class Messages:
    """Messages sent in one interval: (processors,) that worked on them."""

    iucv: I64
    vmcf: I64

    @classmethod
    def of(cls, sample: Sample) -> Messages:
        """As many as there were instructions and DIAGNOSEs for them."""
        services = sample.services
        return cls(
            iucv=services.instructions[:, entry_of("prcins", "IUCV")] // _PER_TRANSFER,
            vmcf=services.diagnoses[:, entry_of("prcdia", "68")] // _PER_TRANSFER,
        )


@dataclass(frozen=True, slots=True)
class Traffic:
    """What users sent and spooled in one interval, (users,): messages, pages."""

    iucv: I64
    vmcf: I64
    spool_reads: I64
    spool_writes: I64

    @classmethod
    def of(cls, sample: Sample) -> Traffic:
        """Sums are those of the system; who sends and spools most follows from the groups."""
        users, work = sample.model.users, sample.volumes
        spool = work.starts[sample.model.volumes.is_spool == 1]
        reads = int((spool // 2).sum())
        totals = [
            int(sample.messages.iucv.sum()),
            int(sample.messages.vmcf.sum()),
            reads,
            int(spool.sum()) - reads,
        ]
        load = sample.model.demand.load[sample.interval]
        mixes = sample.model.mixes
        iucv = mixes.instructions[:, entry_of("prcins", "IUCV")] * load
        vmcf = mixes.diagnoses[:, entry_of("prcdia", "68")] * load
        spooling = sample.virtual_ios.unit_record + 0.01
        group = users.roster.group
        weights = np.stack([iucv[group], vmcf[group], spooling, spooling]) * sample.active
        return cls(*partition(np.array(totals), weights))
