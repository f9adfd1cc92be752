"""The record about a user's interaction: how often samples found a virtual processor in a state.

The states exclude each other: a high-frequency sample counts one for each virtual processor.
"""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .model import Model, Sample
from .noise import F64
from .record_type import Filled, SampleRecord
from .states import shared_out
from .user_records import logged_on_again, of_logged_on, session_ages, virtual_processors

_COUNTERS = {
    "hfcpurn": "running",
    "hfcpuwt": "cpu_wait",
    "hfiowt": "io_wait",
    "hfwtpag": "page_wait",
    "hfsimwt": "simulation_wait",
    "hfcfwt": "console_wait",
    "hftidl": "idle",
    "hfdorm": "dormant",
}

_SHORT, _LONG = np.array([0.6, 0.3, 0.1]), np.array([0.0, 0.0, 1.0])
"""Classes in the dispatch list: of who comes and goes, of who is there most of the time."""


def _useint_fixed(model: Model) -> Values:
    users = model.users
    return {"vmduser": ebcdic(users.names, 8)[users.owner], "vmdcpuad": users.address}


def _useint(sample: Sample) -> Filled:
    model, count = sample.model, sample.high_frequency_samples
    rng = model.measurement.rng(f"states in interval {sample.interval}")
    found = sample.states.found(rng, count)
    eligible, dormant = found["eligible"], found["dormant"]
    dispatched = count - eligible - dormant
    shares: F64 = np.where(sample.states.dormant < 0.5, _LONG[:, None], _SHORT[:, None])
    first, second, third = shared_out(rng, shares, dispatched)
    return Filled(
        flows={
            "hfquct": dispatched + eligible,
            "hfdisp1": first,
            "hfdisp2": second,
            "hfdisp3": third,
            "hfelig3": eligible,
            "hfstct": count - eligible,
            **{name: found[state] for name, state in _COUNTERS.items()},
        }
    )


USEINT = SampleRecord(
    "useint",
    virtual_processors,
    _useint_fixed,
    _useint,
    ages=session_ages,
    present=of_logged_on,
    restarted=logged_on_again,
)
