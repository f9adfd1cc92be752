"""The record about a user's activity, one for each virtual processor."""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .model import Model, Sample
from .noise import F64
from .record_type import Filled, SampleRecord
from .timeline import Bool

MODES = {"ESA": 0x40, "XA": 0x20, "XC": 0x08, "Z": 0x44}
"""CALMODE: architecture of the virtual machine; Z is an ESA one that has entered z/Architecture."""

_DISPATCHED, _ELIGIBLE, _DORMANT = 0x37, 0x21, 0x0B


def _useact_fixed(model: Model) -> Values:
    users = model.users
    modes = users.each([MODES[g.architecture] for g in users.groups])
    return {
        "vmduser": ebcdic(users.names, 8)[users.owner],
        "vmdcpuad": users.address,
        "calmode": modes[users.owner],
    }


def _useact(sample: Sample) -> Filled:
    users, used, held = sample.model.users, sample.used, sample.held
    ios, traffic = sample.virtual_ios, sample.traffic
    of_users = {
        "calcppgr": used.dasd_reads,
        "calcppgw": used.dasd_writes,
        "vmdvdsct": used.disk_ios,
        "calcppst": used.stolen,
        "calcpmig": used.migrated,
        "calcpxwt": used.page_outs,
        "calcpxrd": used.page_ins,
        "vmdvcsct": ios.console,
        "vmdvusct": ios.unit_record,
        "vmdvosct": ios.network,
        "vmdctspr": traffic.spool_reads,
        "vmdctspw": traffic.spool_writes,
        "vmdisevm": traffic.iucv,
        "vmdistvm": traffic.iucv,
        "vmdvsevm": traffic.vmcf,
        "vmdvstvm": traffic.vmcf,
    }
    levels = {
        "vmdctpvr": held.resident_below,
        "vmdwsspr": held.working_set,
        "vmdctxbk": held.expanded,
        "calctpgs": held.slots,
    }
    return Filled(
        {
            "vmdslist": np.where(
                held.dispatched, _DISPATCHED, np.where(held.eligible, _ELIGIBLE, _DORMANT)
            ),
            **{name: users.on_base(value) for name, value in levels.items()},
        },
        {
            "vmdttime": used.virtual + used.cp,
            "vmdvtime": used.virtual,
            **{name: users.on_base(value) for name, value in of_users.items()},
        },
    )


def virtual_processors(model: Model) -> int:
    """One record for each virtual processor of every user."""
    return len(model.users.owner)


def of_logged_on(sample: Sample) -> Bool | None:
    """(virtual processors,) those of users who are logged on."""
    return None if sample.everybody else sample.present[sample.model.users.owner]


def logged_on_again(sample: Sample) -> Bool | None:
    """(virtual processors,) those whose users have logged on in the interval."""
    arriving = sample.arriving
    return arriving[sample.model.users.owner] if arriving.any() else None


def session_ages(model: Model, sample: int) -> F64:
    """(virtual processors,) intervals since logon, at the first sample after an IPL."""
    span = int(model.timeline.tod[model.timeline.interval_of(sample)])
    since = (np.uint64(model.clock.end(sample)) - model.logon_tod(sample)).astype(np.int64)
    ages: F64 = np.maximum(since / span, 0.0)
    return ages[model.users.owner]


USEACT = SampleRecord(
    "useact",
    virtual_processors,
    _useact_fixed,
    _useact,
    ages=session_ages,
    present=of_logged_on,
    restarted=logged_on_again,
    wrapping=frozenset({"calcpxrd"}),
)
