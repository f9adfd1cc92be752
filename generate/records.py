"""Which field of which record holds what: the model's state as the records of a sample.

The only module that knows the fields. Values go in as levels (as they are) or flows (growth in
the interval); `counters.py` turns flows into counters by the roles of the layouts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .counters import Values, ebcdic
from .measurement import TOD_PER_S
from .model import Model, Sample
from .noise import F64, I64

US_PER_S = 1_000_000


@dataclass(frozen=True, slots=True)
class Filled:
    """Levels and flows of one record type in one sample, one number or (rows,) each."""

    levels: Values = field(default_factory=dict)
    flows: Values = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SampleRecord:
    """How one record type is filled.

    Attributes:
        name: of the layout.
        rows: records in a sample; 0 where the system has none.
        fixed: values that stay during the run.
        filled: what a sample holds. `elapsed` is (rows,) TOD units since the sample before.
        ages: intervals during which counters have grown before the first sample.
        wrapping: 4-byte counters that pass 2**32 early in every dump.
    """

    name: str
    rows: Callable[[Model], int]
    fixed: Callable[[Model], Values]
    filled: Callable[[Sample, I64], Filled]
    ages: Callable[[Model], float | F64] = lambda model: model.intervals_since_ipl
    wrapping: frozenset[str] = frozenset()


def _processors(model: Model) -> int:
    return model.measurement.processors


def _one(model: Model) -> int:
    return 1


def _cpu_addresses(model: Model) -> Values:
    return {"pfxcpuad": np.arange(model.measurement.processors)}


def _nothing(model: Model) -> Values:
    return {}


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


def _sytrsg_fixed(model: Model) -> Values:
    sizes = model.levels.sizes
    cache = sizes.cache_below + sizes.cache_above
    return {
        "rsacplok": sizes.locked,
        "rsanonpg": sizes.nonpageable,
        "rsapgabl": sizes.pageable,
        "rsasavfr": (sizes.nonpageable - sizes.locked) // 40,
        "rsafstor": (sizes.nonpageable - sizes.locked) // 3,
        "tcmmidsz": cache,
        "tcmmain": cache,
        "tcmmnmax": cache,
        "tcmmnblw": sizes.cache_below,
        "tcmmnabv": sizes.cache_above,
    }


def _sytrsg(sample: Sample, elapsed: I64) -> Filled:
    levels, n = sample.model.levels, sample.number
    above = int(levels.available_above[n]) if levels.sizes.above else 0
    return Filled({"rsaavail": levels.available_below[n], "rsa2gavl": above})


def _sytrsp(sample: Sample, elapsed: I64) -> Filled:
    flows, k = sample.model.flows, sample.interval
    return Filled(
        flows={
            "plsstlfr": flows.stolen[k],
            "plsprqdf": flows.dasd_in[k],
            "plsmvb2g": flows.moved_below_2g[k],
        }
    )


def _sytxsp(sample: Sample, elapsed: I64) -> Filled:
    flows, k = sample.model.flows, sample.interval
    return Filled(
        flows={"pfxpgin": flows.fast_in[k], "plspgin": flows.slow_in[k], "plspgout": flows.out[k]}
    )


def _sytasg_fixed(model: Model) -> Values:
    volumes = model.volumes
    return {
        "calslta1": (volumes.slots * volumes.is_page).sum(),
        "calslta2": (volumes.slots * volumes.is_spool).sum(),
    }


def _sytasg(sample: Sample, elapsed: I64) -> Filled:
    model, volumes = sample.model, sample.model.volumes
    loads = _mload_us(sample)[volumes.is_page == 1]
    return Filled(
        {
            "calslti1": volumes.slots_used(model.levels, sample.number).sum(),
            "calslti2": (_spool_used(model) * volumes.is_spool).sum(),
            "caltotm1": loads.sum(),
            "calavgm1": loads.sum() // max(len(loads), 1),
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


def _sytxsg(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    held = model.levels.expanded[sample.number]
    flows = model.flows
    return Filled(
        {"xstctxav": model.levels.sizes.expanded - held},
        {
            "xstxbget": flows.out[k].sum(),
            "xstxbrel": (flows.fast_in[k] + flows.slow_in[k]).sum(),
            "hcpmdcia": model.volumes.avoided[k].sum(),
        },
    )


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


def _storsg_fixed(model: Model) -> Values:
    sizes, storage = model.levels.sizes, model.measurement.scenario.storage
    return {
        "rsacplok": sizes.locked,
        "rsasavfr": (sizes.nonpageable - sizes.locked) // 40,
        "rsaavllt": storage.available_below_frames * 8 // 10,
        "rsaavlht": storage.available_below_frames * 12 // 10,
        "rsaavllg": storage.available_above_frames * 8 // 10,
        "rsaavlhg": storage.available_above_frames * 12 // 10,
    }


def _storsp(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    stolen = model.flows.stolen[k]
    # Frames come from users in the dispatch list in proportion to those who are in it.
    dispatched = stolen * int(model.lists.dispatched[sample.number]) // model.measurement.users
    return Filled(
        flows={
            "plspread": model.flows.dasd_in[k],
            "plsdisp1": dispatched,
            "plsdorm1": stolen - dispatched,
        }
    )


def _is_cp_volume(model: Model) -> Any:
    return (model.volumes.is_page | model.volumes.is_spool) == 1


def _stoasp_rows(model: Model) -> int:
    return int(_is_cp_volume(model).sum())


def _stoasp_fixed(model: Model) -> Values:
    volumes, cp = model.volumes, _is_cp_volume(model)
    serials = np.array(volumes.serials)[cp] if cp.any() else np.zeros(0, dtype="U6")
    return {
        "calvser": ebcdic(serials, 6),
        "rdevdev": volumes.devices[cp],
        "rdevsid": np.flatnonzero(cp),
        "calspool": (volumes.slots * volumes.is_spool)[cp],
        "calpage": (volumes.slots * volumes.is_page)[cp],
    }


def _stoasp(sample: Sample, elapsed: I64) -> Filled:
    model, k, cp = sample.model, sample.interval, _is_cp_volume(sample.model)
    volumes = model.volumes
    used = volumes.slots_used(model.levels, sample.number) + _spool_used(model)
    spool = volumes.starts[k] * volumes.is_spool
    started = volumes.starts[k][cp]
    return Filled(
        {
            "expcurqc": np.rint(volumes.queue[k][cp]),
            "expdevst": _service_us(sample)[cp],
            "expmload": _mload_us(sample)[cp],
            "cpvlokat": used[cp],
            "cpvalocd": used[cp],
        },
        {
            "expctsrd": (spool // 2)[cp],
            "expctswr": (spool - spool // 2)[cp],
            "expctprd": volumes.reads[k][cp],
            "expctpwr": volumes.writes[k][cp],
            "scmssch": started,
            "scgssch": started,
        },
    )


def _service_us(sample: Sample) -> I64:
    """(volumes,) service time of an I/O, microseconds."""
    volumes, k = sample.model.volumes, sample.interval
    return volumes.busy[k] * 128 // np.maximum(volumes.starts[k], 1)


def _mload_us(sample: Sample) -> I64:
    """(volumes,) time until a page is there, waiting included, microseconds."""
    volumes, k = sample.model.volumes, sample.interval
    pages = np.maximum(volumes.reads[k] + volumes.writes[k], 1)
    per_page = volumes.busy[k] * volumes.is_page * 128 // pages
    return np.floor(per_page * (1.0 + volumes.queue[k])).astype(np.int64)


def _spool_used(model: Model) -> I64:
    """(volumes,) spool slots in use."""
    return model.volumes.slots * model.volumes.is_spool * 3 // 10


_MODES = {"ESA": 0x40, "XA": 0x20, "XC": 0x08}
_DISPATCHED, _DORMANT = 0x37, 0x0B


def _each_user(model: Model, values: list[int]) -> I64:
    """A figure of each group, for its users."""
    return np.array(values, dtype=np.int64)[model.users.group]


def _useact_fixed(model: Model) -> Values:
    groups = model.measurement.groups
    return {
        "vmduser": ebcdic(model.users.names, 8),
        "calmode": _each_user(model, [_MODES[g.architecture] for g in groups]),
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


def _ioddev_fixed(model: Model) -> Values:
    volumes = model.volumes
    owner = np.where(_is_cp_volume(model), "SYSTEM", "")
    return {
        "rdevlpm": 0xF0,
        "rdevsid": np.arange(len(volumes.devices)),
        "rdevchps": 0x1A2A3A4A00000000,
        "rdevser": ebcdic(np.array(volumes.serials, dtype="U6"), 6),
        "caluser": ebcdic(owner, 8),
        "rdevdev": volumes.devices,
    }


def _ioddev(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    volumes, count = model.volumes, model.measurement.high_frequency_samples
    starts = volumes.starts[k]
    pages = volumes.reads[k] + volumes.writes[k]
    writes = np.where(pages > 0, starts * volumes.writes[k] // np.maximum(pages, 1), starts // 3)
    return Filled(
        flows={
            "scmssch": starts,
            "scmcount": starts,
            "scgssch": starts,
            "scgcount": starts,
            "scmfptim": volumes.pending[k],
            "scmddtim": volumes.disconnect[k],
            "scmcntim": volumes.connect[k],
            "hfrdevct": count,
            "hfctio": np.rint(volumes.queue[k] * count),
            "rdevctsi": starts,
            "rdevwrct": writes,
            "rdevrdct": starts - writes,
            "rdevmcia": volumes.avoided[k],
        }
    )


def _still(sample: Sample, elapsed: I64) -> Filled:
    return Filled()


SAMPLE_RECORDS = (
    SampleRecord("sytsyp", _processors, _cpu_addresses, _sytsyp, wrapping=frozenset({"plsprvis"})),
    SampleRecord("sytprp", _processors, _cpu_addresses, _sytprp, wrapping=frozenset({"pfxspinc"})),
    SampleRecord("sytrsg", _one, _sytrsg_fixed, _sytrsg),
    SampleRecord("sytrsp", _processors, _cpu_addresses, _sytrsp, wrapping=frozenset({"plsmvb2g"})),
    SampleRecord("sytxsp", _processors, _cpu_addresses, _sytxsp, wrapping=frozenset({"plspgout"})),
    SampleRecord("sytasg", _one, _sytasg_fixed, _sytasg),
    SampleRecord("sytshs", _one, _nothing, _still),
    SampleRecord("sytusr", _one, _nothing, _sytusr),
    SampleRecord("sytscg", _one, _nothing, _sytscg),
    SampleRecord("sytcom", _processors, _cpu_addresses, _still),
    SampleRecord("sytuwt", _one, _nothing, _sytuwt),
    SampleRecord("sytscp", _processors, _cpu_addresses, _sytscp),
    SampleRecord("sytxsg", _one, _nothing, _sytxsg),
    SampleRecord("sytcug", _sytcug_rows, _sytcug_fixed, _still),
    SampleRecord("sytsyg", _one, _nothing, _still),
    SampleRecord("storsg", _one, _storsg_fixed, _still),
    SampleRecord("storsp", _processors, _cpu_addresses, _storsp),
    SampleRecord("stoasp", _stoasp_rows, _stoasp_fixed, _stoasp, wrapping=frozenset({"expctprd"})),
    SampleRecord(
        "useact",
        lambda model: model.measurement.users,
        _useact_fixed,
        _useact,
        ages=lambda model: model.users.ages(),
        wrapping=frozenset({"calcpxrd"}),
    ),
    SampleRecord("prcprp", _processors, _cpu_addresses, _prcprp),
    SampleRecord(
        "ioddev",
        lambda model: len(model.volumes.devices),
        _ioddev_fixed,
        _ioddev,
        wrapping=frozenset({"scmcntim"}),
    ),
)
"""The sample records in the order in which CP writes them."""
