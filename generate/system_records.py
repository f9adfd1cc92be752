"""Records about the system and its processors: times, dispatching, users, transactions."""

from __future__ import annotations

import numpy as np

from .locks import SCHEDULER, TIMER
from .measurement import TOD_PER_S
from .model import Sample
from .noise import I64
from .record_type import (
    Filled,
    SampleRecord,
    nothing,
    one,
    online,
    processors,
    still,
    typed_processors,
)


def _sytsyp(sample: Sample, elapsed: I64) -> Filled:
    model, activity, paging = sample.model, sample.activity, sample.paging
    spool = sample.volumes.starts[model.volumes.is_spool == 1].sum()
    share = np.zeros(model.measurement.processors, dtype=np.int64)
    share[0] = 1  # spooling is the master processor's work
    return Filled(
        flows={
            "plsdiagt": activity.diagnoses + activity.diagnose_44,
            "plsprvis": activity.simulations,
            "plsextnx": activity.signals + activity.dispatches // 8,
            "plsextnc": activity.signals,
            "plsctss": sample.io_starts,
            "plspiopr": paging.dasd_in,
            "plspiopw": paging.dasd_out,
            "plspiosr": share * (spool // 2),
            "plspiosw": share * (spool - spool // 2),
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


def _sytusr(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    work, held = model.transactions, sample.held
    users = int(model.lists.logged_on[sample.number])
    times = (work.trivial[k] * work.trivial_s[k], work.nontrivial[k] * work.nontrivial_s[k])
    trivial, nontrivial = (int(t * TOD_PER_S) for t in times)
    return Filled(
        {"sysusrs": users, "srmcdorm": users - int(held.in_list.sum())},
        {
            "caluptct": work.trivial[k],
            "caluptrv": trivial,
            "calupnct": work.nontrivial[k],
            "calupntr": nontrivial,
        },
    )


def _sytscg(sample: Sample, elapsed: I64) -> Filled:
    model, n = sample.model, sample.number
    held, in_list = sample.held, sample.held.in_list
    dispatched = int(in_list.sum())
    resident = (held.resident_below + held.resident_above)[in_list]
    spins, time = sample.locks.of_lock(SCHEDULER)
    timer_spins, timer_time = sample.locks.of_lock(TIMER)
    # Who stays dispatched for long ends up in class 3; short interactions are class 1.
    lasting = dispatched > int(model.lists.logged_on[n]) // 2
    first, second = (0, 0) if lasting else (dispatched * 6 // 10, dispatched * 3 // 10)
    return Filled(
        {
            "srmcdisp": dispatched,
            "srmc1dsp": first,
            "srmc2dsp": second,
            "srmc3dsp": dispatched - first - second,
            "srmtotst": resident.sum(),
            "srmwssdl": held.working_set[in_list].sum(),
        },
        {
            "calslkct": spins,
            "calslktm": time,
            "caltlkct": timer_spins,
            "caltlktm": timer_time,
        },
    )


def _sytuwt(sample: Sample, elapsed: I64) -> Filled:
    lists, n = sample.model.lists, sample.number
    return Filled(
        {
            "caltidl": lists.idle[n],
            "calwtpag": lists.page_wait[n],
            "caliowt": lists.io_wait[n],
            "calsimwt": lists.simulation_wait[n],
            "calcfwt": lists.console_wait[n],
            "calcpuwt": lists.cpu_wait[n],
            "calcpurn": lists.running[n],
            "calqdisp": lists.dispatched[n],
        }
    )


def _sytscp(sample: Sample, elapsed: I64) -> Filled:
    return Filled(flows={"plsdspcn": sample.activity.dispatches})


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
    _sytprp,
    present=online,
    wrapping=frozenset({"pfxspinc"}),
)
SYTUSR = SampleRecord("sytusr", one, nothing, _sytusr)
SYTSCG = SampleRecord("sytscg", one, nothing, _sytscg)
SYTCOM = SampleRecord("sytcom", processors, typed_processors, still, present=online)
SYTUWT = SampleRecord("sytuwt", one, nothing, _sytuwt)
SYTSCP = SampleRecord("sytscp", processors, typed_processors, _sytscp, present=online)
SYTSYG = SampleRecord("sytsyg", one, nothing, still)
