"""Records about the system and its processors: counts of CP's work, times."""

from __future__ import annotations

import numpy as np

from .counters import Values
from .model import Model, Sample
from .noise import I64
from .record_type import (
    Filled,
    SampleRecord,
    one,
    online,
    processors,
    typed_processors,
)


def _sytsyp(sample: Sample) -> Filled:
    model, activity, paging = sample.model, sample.activity, sample.paging
    spool = sample.volumes.starts[model.volumes.is_spool == 1]
    spool_reads = (spool // 2).sum()
    share = np.zeros(model.measurement.processors, dtype=np.int64)
    share[0] = 1  # spooling is the master processor's work
    return Filled(
        flows={
            "plsdiagt": activity.diagnoses + activity.diagnose_44,
            "plsprvis": activity.simulations,
            "plsextnx": activity.signals + activity.dispatches // 8,
            "plsextnc": activity.signals,
            "plsctss": sample.io_starts,
            "plsctsi": sample.io_starts,
            "plspiopr": paging.dasd_in,
            "plspiopw": paging.dasd_out,
            "plspiosr": share * spool_reads,
            "plspiosw": share * (spool.sum() - spool_reads),
        }
    )


def _sytprp(sample: Sample, elapsed: I64) -> Filled:
    times, activity = sample.times, sample.activity
    return Filled(
        flows={
            "pfxprbtm": times.emulation,
            "pfxutime": times.emulation + times.charged,
            "pfxtmsys": times.system,
            "pfxtotwt": (elapsed - times.busy - times.suspended) * times.online,
            "pfxruncp": activity.dispatches + activity.simulations,
            "pfxspint": times.spin_time,
            "pfxspinc": times.spins,
            "calfstph": activity.diagnose_44_fast,
        }
    )


def _sytsyg_fixed(model: Model) -> Values:
    machine = model.measurement.machine
    return {"cpucount": machine.physical_processors, "cpucfgct": machine.physical_processors}


SYTSYP = SampleRecord(
    "sytsyp",
    processors,
    typed_processors,
    _sytsyp,
    present=online,
    wrapping=frozenset({"plsprvis"}),
)
SYTPRP = SampleRecord(
    "sytprp",
    processors,
    typed_processors,
    timed=_sytprp,
    present=online,
    wrapping=frozenset({"pfxspinc"}),
)
SYTSYG = SampleRecord("sytsyg", one, _sytsyg_fixed)
