"""The record about a user's activity."""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .model import Model, Sample
from .noise import I64
from .record_type import Filled, SampleRecord

MODES = {"ESA": 0x40, "XA": 0x20, "XC": 0x08}
_DISPATCHED, _DORMANT = 0x37, 0x0B


def _useact_fixed(model: Model) -> Values:
    modes = [MODES[g.architecture] for g in model.measurement.groups]
    return {
        "vmduser": ebcdic(model.users.names, 8),
        "calmode": model.users.each(modes),
    }


def _useact(sample: Sample, elapsed: I64) -> Filled:
    used, held = sample.used, sample.held
    return Filled(
        {
            "vmdslist": np.where(held.dispatched, _DISPATCHED, _DORMANT),
            "vmdctpvr": held.resident_below,
            "vmdwsspr": (held.resident_below + held.resident_above) * 19 // 20,
            "vmdctxbk": held.expanded,
            "calctpgs": held.slots,
        },
        {
            "vmdttime": used.virtual + used.cp,
            "vmdvtime": used.virtual,
            "calcppgr": used.dasd_reads,
            "calcppgw": used.dasd_writes,
            "vmdvdsct": used.disk_ios,
            "calcpxwt": used.page_outs,
            "calcpxrd": used.page_ins,
        },
    )


USEACT = SampleRecord(
    "useact",
    lambda model: model.measurement.users,
    _useact_fixed,
    _useact,
    ages=lambda model: model.users.ages(),
    wrapping=frozenset({"calcpxrd"}),
)
