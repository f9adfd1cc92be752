"""Records about central and expanded storage, and the sum of the page slots."""

from __future__ import annotations

from .counters import Values
from .device_records import mload_us
from .model import Model, Sample
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
    paging = sample.paging
    return Filled(
        flows={
            "plsstlfr": paging.stolen,
            "plsprqdf": paging.dasd_in,
            "plsmvb2g": paging.moved_below_2g,
        }
    )


def _sytxsp(sample: Sample, elapsed: I64) -> Filled:
    paging = sample.paging
    return Filled(
        flows={
            "pfxpgin": paging.fast_in,
            "plspgin": paging.slow_in,
            "plspgout": paging.out,
            "plspgmrx": paging.migrated,
        }
    )


def _sytasg_fixed(model: Model) -> Values:
    volumes = model.volumes
    return {
        "calslta1": (volumes.slots * volumes.is_page).sum(),
        "calslta2": (volumes.slots * volumes.is_spool).sum(),
    }


def _sytasg(sample: Sample, elapsed: I64) -> Filled:
    model, volumes = sample.model, sample.model.volumes
    loads = mload_us(sample)[volumes.is_page == 1]
    return Filled(
        {
            "calslti1": volumes.slots_used(model.levels, sample.number).sum(),
            "calslti2": (volumes.spool_used * volumes.is_spool).sum(),
            "caltotm1": loads.sum(),
            "calavgm1": loads.sum() // max(len(loads), 1),
        }
    )


def _sytxsg(sample: Sample, elapsed: I64) -> Filled:
    model, k = sample.model, sample.interval
    held = model.levels.expanded[sample.number]
    flows = model.flows
    return Filled(
        {"xstctxav": model.levels.sizes.expanded - held},
        {
            "xstxbget": flows.out[k].sum(),
            "xstxbrel": (flows.fast_in[k] + flows.slow_in[k]).sum(),
            "hcpmdcia": sample.volumes.avoided.sum(),
        },
    )


def _storsg_fixed(model: Model) -> Values:
    sizes, storage = model.levels.sizes, model.measurement.storage
    return {
        "rsacplok": sizes.locked,
        "rsasavfr": (sizes.nonpageable - sizes.locked) // 40,
        "rsaavllt": storage.available_below_frames * 8 // 10,
        "rsaavlht": storage.available_below_frames * 12 // 10,
        "rsaavllg": storage.available_above_frames * 8 // 10,
        "rsaavlhg": storage.available_above_frames * 12 // 10,
    }


def _storsp(sample: Sample, elapsed: I64) -> Filled:
    model, stolen = sample.model, sample.paging.stolen
    # Frames come from users in the dispatch list in proportion to those who are in it.
    dispatched = (
        stolen
        * int(model.lists.dispatched[sample.number])
        // max(int(model.lists.logged_on[sample.number]), 1)
    )
    return Filled(
        flows={
            "plspread": sample.paging.dasd_in,
            "plsdisp1": dispatched,
            "plsdorm1": stolen - dispatched,
        }
    )


SYTRSG = SampleRecord("sytrsg", one, _sytrsg_fixed, _sytrsg)
SYTRSP = SampleRecord(
    "sytrsp",
    processors,
    typed_processors,
    _sytrsp,
    present=online,
    wrapping=frozenset({"plsmvb2g"}),
)
SYTXSP = SampleRecord(
    "sytxsp",
    processors,
    typed_processors,
    _sytxsp,
    present=online,
    wrapping=frozenset({"plspgout"}),
)
SYTASG = SampleRecord("sytasg", one, _sytasg_fixed, _sytasg)
SYTSHS = SampleRecord("sytshs", one, nothing, still)
SYTXSG = SampleRecord("sytxsg", one, nothing, _sytxsg)
STORSG = SampleRecord("storsg", one, _storsg_fixed, still)
STORSP = SampleRecord("storsp", processors, typed_processors, _storsp, present=online)
