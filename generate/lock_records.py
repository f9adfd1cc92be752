"""The record about CP's formal spin locks."""

from __future__ import annotations

import numpy as np

from ..schemas import release_key
from .counters import Values, ebcdic
from .locks import NAMES
from .model import Model, Sample
from .record_type import Filled, SampleRecord

SINCE = "5.3.0"
"""The first release that has a record page for SYTLCK."""


def _rows(model: Model) -> int:
    return int(release_key(model.measurement.run.cp_level) >= release_key(SINCE))


def _fixed(model: Model) -> Values:
    return {"lock.callckid": ebcdic(np.array(NAMES), 8)}


def _filled(sample: Sample) -> Filled:
    locks = sample.locks
    return Filled(
        flows={
            "lock.calxscnt": locks.exclusive[None, :],
            "lock.calxtime": locks.exclusive_time[None, :],
            "lock.calsscnt": locks.shared[None, :],
            "lock.calstime": locks.shared_time[None, :],
        }
    )


SYTLCK = SampleRecord("sytlck", _rows, _fixed, _filled, entries=lambda model: {"lock": len(NAMES)})
