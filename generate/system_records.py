"""Records about the system and its processors: times, dispatching, users, transactions."""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .measurement import TOD_PER_S
from .model import Model, Sample
from .noise import I64
from .record_type import Filled, SampleRecord, cpu_addresses, nothing, one, processors, still


def _sytsyp(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    spool = model.volumes.starts[k][model.volumes.is_spool == 1].sum()
    activity, flows = model.activity, model.flows
    share = np.zeros(model.measurement.processors, dtype=np.int64)
    share[0] = 1  # spooling is the master processor's work
    return Filled(
        flows={
            "plsdiagt": activity.diagnoses[k],
            "plsprvis": activity.simulations[k],
            "plsextnx": activity.signals[k] + activity.dispatches[k] // 8,
            "plsextnc": activity.signals[k],
            "plsctss": activity.io_starts[k],
            "plspiopr": flows.dasd_in[k],
            "plspiopw": flows.dasd_out[k],
            "plspiosr": share * (spool // 2),
            "plspiosw": share * (spool - spool // 2),
        }
    )


def _sytprp(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    times, activity = model.processors, model.activity
    return Filled(
        flows={
            "pfxprbtm": times.emulation[k],
            "pfxutime": times.emulation[k] + times.charged[k],
            "pfxtmsys": times.system[k],
            "pfxtotwt": elapsed - times.busy[k],
            "pfxruncp": activity.dispatches[k] + activity.simulations[k],
            "pfxspint": times.spin_time[k],
            "pfxspinc": times.spins[k],
        }
    )


def _sytusr(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    work, users = model.transactions, model.measurement.users
    times = (work.trivial[k] * work.trivial_s[k], work.nontrivial[k] * work.nontrivial_s[k])
    trivial, nontrivial = (int(t * TOD_PER_S) for t in times)
    return Filled(
        {"sysusrs": users, "srmcdorm": users - model.lists.dispatched[sample.number]},
        {
            "caluptct": work.trivial[k],
            "caluptrv": trivial,
            "calupnct": work.nontrivial[k],
            "calupntr": nontrivial,
        },
    )


def _sytscg(sample: Sample, elapsed: I64) -> Filled:
    model, n = sample.model, sample.number
    dispatched = int(model.lists.dispatched[n])
    resident = (sample.held.resident_below + sample.held.resident_above)[sample.held.dispatched]
    spins = model.processors.spins[sample.interval].sum()
    time = model.processors.spin_time[sample.interval].sum()
    # Who stays dispatched for long ends up in class 3; short interactions are class 1.
    lasting = dispatched > model.measurement.users // 2
    first, second = (0, 0) if lasting else (dispatched * 6 // 10, dispatched * 3 // 10)
    return Filled(
        {
            "srmcdisp": dispatched,
            "srmc1dsp": first,
            "srmc2dsp": second,
            "srmc3dsp": dispatched - first - second,
            "srmtotst": resident.sum(),
            "srmwssdl": resident.sum(),
        },
        {
            # The scheduler lock is the busiest of all; the timer request lock comes next.
            "calslkct": spins * 7 // 10,
            "calslktm": time * 7 // 10,
            "caltlkct": spins // 10,
            "caltlktm": time // 10,
        },
    )


def _sytuwt(sample: Sample, elapsed: I64) -> Filled:
    lists, n = sample.model.lists, sample.number
    return Filled(
        {
            "caltidl": lists.idle[n],
            "calwtpag": lists.page_wait[n],
            "calcpuwt": lists.cpu_wait[n],
            "calcpurn": lists.running[n],
            "calqdisp": lists.dispatched[n],
        }
    )


def _sytscp(sample: Sample, elapsed: I64) -> Filled:
    return Filled(flows={"plsdspcn": sample.model.activity.dispatches[sample.interval]})


def _sytcug_rows(model: Model) -> int:
    return int(model.measurement.scenario.machine.mode == "lpar")


def _sytcug_fixed(model: Model) -> Values:
    machine = model.measurement.scenario.machine
    return {
        "lcutnpar": machine.partitions,
        "lcutpcct": machine.physical_processors,
        "lpnumber": machine.partition_number,
        "cpucount": machine.processors,
        "cpucfgct": machine.processors,
        "lparname": ebcdic(machine.partition, 8),
        "cpudedct": machine.processors,
    }


def _prcprp(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    count = model.measurement.high_frequency_samples
    idle = 1.0 - model.processors.busy[k] / model.measurement.interval_tod
    waiting = int(model.lists.cpu_wait[sample.number])
    on_master = np.zeros(model.measurement.processors, dtype=np.int64)
    on_master[0] = model.activity.dispatches[k, 0] // 4
    return Filled(
        flows={
            "pfxdspcs": model.activity.dispatches[k],
            "plsdspcm": on_master,
            "hfcount": count,
            "hfuserz": np.floor(count * idle),
            "hfuserc": waiting * count // model.measurement.processors,
        }
    )


SYTSYP = SampleRecord(
    "sytsyp", processors, cpu_addresses, _sytsyp, wrapping=frozenset({"plsprvis"})
)
SYTPRP = SampleRecord(
    "sytprp", processors, cpu_addresses, _sytprp, wrapping=frozenset({"pfxspinc"})
)
SYTUSR = SampleRecord("sytusr", one, nothing, _sytusr)
SYTSCG = SampleRecord("sytscg", one, nothing, _sytscg)
SYTCOM = SampleRecord("sytcom", processors, cpu_addresses, still)
SYTUWT = SampleRecord("sytuwt", one, nothing, _sytuwt)
SYTSCP = SampleRecord("sytscp", processors, cpu_addresses, _sytscp)
SYTCUG = SampleRecord("sytcug", _sytcug_rows, _sytcug_fixed, still)
SYTSYG = SampleRecord("sytsyg", one, nothing, still)
PRCPRP = SampleRecord("prcprp", processors, cpu_addresses, _prcprp)
