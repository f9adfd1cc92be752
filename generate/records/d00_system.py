"""Domain 0: the system, its processors, storage, messages, channel paths and locks."""

from __future__ import annotations

import numpy as np

from ...schemas import release_key
from ..activity.dispatching import (
    LOCK_NAMES,
    frames_taken,
    io_starts,
    lock_spins,
    messages_sent,
    pages_moved,
    processor_activity,
)
from ..activity.sample import Sample
from ..activity.transactions import MULTI, QUICK, UNI, ended_transactions
from ..activity.usage import holdings
from ..activity.volume_work import cache_work, page_load_us, path_use, volume_work
from ..model.system import Model
from ..numeric import I64, Bool, floor_int
from .definition import (
    SampleRecord,
    Values,
    online,
    processor_record,
    processors,
    sample_record,
    typed_processors,
)

LOCKS_SINCE = "5.3.0"
"""The first release that has a record page for SYTLCK."""

PAGE = 4096

AT_ONCE = 51
"""Numbers of paths, 0 to 50, for which SYTCPC counts the samples that find so many busy."""

_PAIRED = 30
"""Percent of the available frames that lie side by side."""

_MOST_EMPTY = 20
"""Times a second that a list is found empty at most."""


def _of_master(sample: Sample, count: int) -> I64:
    """(processors,) a count of what only the master processor does."""
    counts = np.zeros(sample.model.measurement.processors, dtype=np.int64)
    counts[0] = count
    return counts


def _sytsyp(sample: Sample) -> Values:
    activity, paging = processor_activity(sample), pages_moved(sample)
    spool = volume_work(sample).starts[sample.model.volumes.is_spool]
    spool_reads = int((spool // 2).sum())
    return {
        "plsdiagt": activity.diagnoses + activity.diagnose_44,
        "plsprvis": activity.simulations,
        "plsextnx": activity.signals + activity.dispatches // 8,
        "plsextnc": activity.signals,
        "plsctss": io_starts(sample),
        "plsctsi": io_starts(sample),
        "plspiopr": paging.dasd_in,
        "plspiopw": paging.dasd_out,
        "plspiosr": _of_master(sample, spool_reads),
        "plspiosw": _of_master(sample, int(spool.sum()) - spool_reads),
    }


def _sytprp(sample: Sample, elapsed: I64) -> Values:
    times, activity = sample.times, processor_activity(sample)
    return {
        "pfxprbtm": times.emulation,
        "pfxutime": times.emulation + times.charged,
        "pfxtmsys": times.system,
        "pfxtotwt": (elapsed - times.busy - times.suspended) * times.online,
        "pfxruncp": activity.dispatches + activity.simulations,
        "pfxspint": times.spin_time,
        "pfxspinc": times.spins,
        "calfstph": activity.diagnose_44_fast,
    }


def _sytrsg_fixed(model: Model) -> Values:
    sizes = model.levels.sizes
    cache, owned = sizes.cache_below + sizes.cache_above, sizes.nonpageable - sizes.locked
    free_storage = owned // 3
    return {
        "rsacplok": sizes.locked,
        "rsanonpg": sizes.nonpageable,
        "rsapgabl": sizes.pageable,
        "rsasavfr": owned // 40,
        "rsafstor": free_storage,
        "rsafsb2g": free_storage,
        "rsafsyub": owned - free_storage,
        "rsalgfrm": (model.measurement.storage.central_mib << 20) - PAGE,
        "tcmmidsz": cache,
        "tcmmain": cache,
        "tcmmnmax": (sizes.pageable + sizes.above) * (cache > 0),
        "tcmmnblw": sizes.cache_below,
        "tcmmnabv": sizes.cache_above,
    }


def _sytrsg(sample: Sample) -> Values:
    levels, cache = sample.model.levels, cache_work(sample)
    sizes, (below, above) = levels.sizes, _available(sample)
    pairs = above * _PAIRED // 100
    owned = sizes.above - sizes.cache_above - above
    return {
        "rsaavail": below,
        "rsasngav": below - below * _PAIRED // 100,
        "rsa2gavl": above,
        "rsa2gav1": above - pairs,
        "rsa2gav2": pairs,
        "rsasng2g": above - pairs,
        # Every frame above 2 GB belongs to somebody.
        "rsafsyua": owned - int(levels.resident_above[sample.number]),
        "tcmmndl": cache.deleted,
        "tcmstlmn": cache.steals,
    }


def _available(sample: Sample) -> tuple[int, int]:
    """Frames on the available lists below and above 2 GB."""
    levels, n = sample.model.levels, sample.number
    above = int(levels.available_above[n]) if levels.sizes.above else 0
    return int(levels.available_below[n]), above


def _sytrsp(sample: Sample) -> Values:
    paging, (below, above) = pages_moved(sample), _available(sample)
    taken_below, taken_above = frames_taken(sample)
    return {
        "plsstlfr": paging.stolen,
        "plsprqdf": paging.dasd_in,
        "plsmvb2g": paging.moved_below_2g,
        "plsalemp": _times_empty(taken_below, below, sample.seconds),
        "plsalemg": _times_empty(taken_above, above, sample.seconds) * (above > 0),
    }


def _times_empty(taken: I64, available: int, seconds: int) -> I64:
    """(processors,) times that a list is found empty.

    CP fills it up about once a second: it lasts unless more than that is taken in a second.
    """
    rate = taken / seconds
    beyond = np.maximum(rate.sum() / max(available, 1) - 1.0, 0.0)
    times = rate / max(float(rate.sum()), 1.0) * seconds * min(beyond, _MOST_EMPTY)
    return floor_int(times)


def _sytxsp(sample: Sample) -> Values:
    paging = pages_moved(sample)
    return {
        "pfxpgin": paging.fast_in,
        "plspgin": paging.slow_in,
        "plspgout": paging.out,
        "plspgmrx": paging.migrated,
    }


def _sytasg_fixed(model: Model) -> Values:
    volumes = model.volumes
    return {
        "calslta1": volumes.slots[volumes.is_page].sum(),
        "calslta2": volumes.slots[volumes.is_spool].sum(),
    }


def _sytasg(sample: Sample) -> Values:
    model, volumes = sample.model, sample.model.volumes
    loads = page_load_us(sample)[volumes.is_page]
    return {
        "calslti1": volumes.slots_used(model.levels, sample.number).sum(),
        "calslti2": volumes.spool_used.sum(),
        "caltotm1": loads.sum(),
        "calavgm1": loads.sum() // max(len(loads), 1),
    }


def _sytusr(sample: Sample) -> Values:
    logged_on, held = int(sample.model.lists.logged_on[sample.number]), holdings(sample)
    ended = ended_transactions(sample)
    short, long = ended.trivial, ended.nontrivial
    short_time, long_time = ended.trivial_time, ended.nontrivial_time
    return {
        "sysusrs": logged_on,
        "srmcdorm": logged_on - int((held.in_list | held.eligible_only).sum()),
        "calmptct": short[MULTI],
        "calmptrv": short_time[MULTI],
        "calmpnct": long[MULTI],
        "calmpntr": long_time[MULTI],
        "caluptct": short[UNI],
        "caluptrv": short_time[UNI],
        "calupnct": long[UNI],
        "calupntr": long_time[UNI],
        "calqdnct": short[QUICK] + long[QUICK],
        "calqdntr": short_time[QUICK] + long_time[QUICK],
    }


def _sytcpc(sample: Sample) -> Values:
    count = sample.high_frequency_samples
    busy = np.rint(path_use(sample) * count).astype(np.int64)
    at_once = np.minimum(_busy_paths(sample, busy[busy > 0], count).sum(axis=1), AT_ONCE - 1)
    return {
        "hfcount": count,
        "hfchbusy.hfchbusy": busy[None, :],
        "hfchsim.hfchsim": np.bincount(at_once, minlength=AT_ONCE)[None, :],
    }


def _busy_paths(sample: Sample, busy: I64, count: int) -> Bool:
    """(samples, paths) which samples find which paths busy.

    Args:
        busy: (paths,) how many samples do. count: of the samples.
    """
    rng = sample.model.measurement.rng(f"channel paths in interval {sample.interval}")
    order = np.argsort(rng.random((count, len(busy))), axis=0, kind="stable")
    is_busy = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(is_busy, order, np.arange(count)[:, None] < busy, axis=0)
    return is_busy


def _sytcom(sample: Sample) -> Values:
    messages = messages_sent(sample)
    return {
        "plsisevm": messages.iucv,
        "plsistvm": messages.iucv,
        "plsvsevm": messages.vmcf,
        "plsvstvm": messages.vmcf,
        "plsisemo": _of_master(sample, 1),  # the monitor's message to its reader
    }


def _sytxsg(sample: Sample) -> Values:
    model, k, cache = sample.model, sample.interval, cache_work(sample)
    flows, blocks = model.flows, int(model.levels.expanded[sample.number])
    leaving = int(flows.out[k])
    return {
        "xstctxav": model.levels.sizes.expanded - blocks,
        "xstcppar": model.levels.sizes.expanded,
        # Seconds that a block stays, by Little's law.
        "xstavgag": blocks * sample.seconds // leaving if leaving else 0,
        "xstxbget": leaving,
        "xstxbrel": flows.fast_in[k] + flows.slow_in[k] + flows.migrated[k],
        "hcpmdcia": cache.hits,
        "tcmrdct": cache.reads,
    }


def _sytsyg_fixed(model: Model) -> Values:
    physical = model.measurement.machine.physical_processors
    return {"cpucount": physical, "cpucfgct": physical}


def _sytlck_rows(model: Model) -> int:
    return int(release_key(model.measurement.run.cp_level) >= release_key(LOCKS_SINCE))


def _sytlck(sample: Sample) -> Values:
    locks = lock_spins(sample)
    return {
        "lock.calxscnt": locks.exclusive[None, :],
        "lock.calxtime": locks.exclusive_time[None, :],
        "lock.calsscnt": locks.shared[None, :],
        "lock.calstime": locks.shared_time[None, :],
    }


def _nothing(_sample: Sample) -> Values:
    return {}


RECORDS = (
    processor_record("sytsyp", _sytsyp, wrapping="plsprvis"),
    SampleRecord(
        "sytprp",
        _sytprp,
        rows=processors,
        fixed=typed_processors,
        timed=True,
        present=online,
        wrapping="pfxspinc",
    ),
    processor_record("sytrsp", _sytrsp, wrapping="plsmvb2g"),
    processor_record("sytxsp", _sytxsp, wrapping="plspgout"),
    processor_record("sytcom", _sytcom),
    sample_record("sytrsg", _sytrsg, fixed=_sytrsg_fixed),
    sample_record("sytasg", _sytasg, fixed=_sytasg_fixed),
    sample_record("sytshs", _nothing),
    sample_record("sytusr", _sytusr),
    sample_record("sytcpc", _sytcpc, rows=lambda model: int(len(model.volumes.devices) > 0)),
    sample_record("sytxsg", _sytxsg),
    sample_record("sytsyg", _nothing, fixed=_sytsyg_fixed),
    sample_record(
        "sytlck",
        _sytlck,
        rows=_sytlck_rows,
        fixed=lambda model: {"lock.callckid": np.array(LOCK_NAMES)},
        entries=lambda model: {"lock": len(LOCK_NAMES)},
    ),
)
