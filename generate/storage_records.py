"""Records about central and expanded storage, and the sum of the page slots."""

from __future__ import annotations

import numpy as np

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
    typed_processors,
)

PAGE = 4096

_PAIRED = 30
"""Percent of the available frames that lie side by side."""

_MOST_EMPTY = 20
"""A list is not found empty more often than that in a second."""

_FRAMES_OF_A_SCAN = 64


def _sytrsg_fixed(model: Model) -> Values:
    sizes, measurement = model.levels.sizes, model.measurement
    cache = sizes.cache_below + sizes.cache_above
    free_storage = (sizes.nonpageable - sizes.locked) // 3
    return {
        "rsacplok": sizes.locked,
        "rsanonpg": sizes.nonpageable,
        "rsapgabl": sizes.pageable,
        "rsasavfr": (sizes.nonpageable - sizes.locked) // 40,
        "rsafstor": free_storage,
        "rsafsb2g": free_storage,
        "rsafsyub": sizes.nonpageable - sizes.locked - free_storage,
        "rsalgfrm": (measurement.storage.central_mib << 20) - PAGE,
        "tcmmidsz": cache,
        "tcmmain": cache,
        "tcmmnmax": (sizes.pageable + sizes.above) * (cache > 0),
        "tcmmnblw": sizes.cache_below,
        "tcmmnabv": sizes.cache_above,
    }


def _sytrsg(sample: Sample) -> Filled:
    levels, n = sample.model.levels, sample.number
    sizes, (below, above) = levels.sizes, _available(sample)
    pairs = above * _PAIRED // 100
    return Filled(
        {
            "rsaavail": below,
            "rsasngav": below - below * _PAIRED // 100,
            "rsa2gavl": above,
            "rsa2gav1": above - pairs,
            "rsa2gav2": pairs,
            "rsasng2g": above - pairs,
            # Every frame above 2 GB belongs to somebody.
            "rsafsyua": sizes.above - sizes.cache_above - above - int(levels.resident_above[n]),
        },
        {"tcmmndl": sample.cache.deleted, "tcmstlmn": sample.cache.steals},
    )


def _available(sample: Sample) -> tuple[int, int]:
    """Frames on the available lists below and above 2 GB."""
    levels, n = sample.model.levels, sample.number
    above = int(levels.available_above[n]) if levels.sizes.above else 0
    return int(levels.available_below[n]), above


def _sytrsp(sample: Sample) -> Filled:
    paging, seconds = sample.paging, int(sample.model.timeline.seconds[sample.interval])
    below, above = _available(sample)
    taken = _taken(sample)
    return Filled(
        flows={
            "plsstlfr": paging.stolen,
            "plsprqdf": paging.dasd_in,
            "plsmvb2g": paging.moved_below_2g,
            "plsalemp": _times_empty(taken[0], below, seconds),
            "plsalemg": _times_empty(taken[1], above, seconds) * (above > 0),
        }
    )


def _taken(sample: Sample) -> tuple[I64, I64]:
    """(processors,) frames taken from the lists below and above 2 GB."""
    paging = sample.paging
    share = sample.model.levels.sizes.users_above_share(sample.model.measurement.storage)
    above = np.floor(paging.stolen * share).astype(np.int64)
    return paging.stolen - above + paging.moved_below_2g, above


def _times_empty(taken: I64, available: int, seconds: int) -> I64:
    """(processors,) times that a list was found empty.

    CP fills it up about once a second: it lasts unless more than that is wanted in a second.
    """
    wanted = taken / seconds
    beyond = np.maximum(wanted.sum() / max(available, 1) - 1.0, 0.0)
    times = np.floor(wanted / max(float(wanted.sum()), 1.0) * seconds * min(beyond, _MOST_EMPTY))
    found: I64 = times.astype(np.int64)
    return found


def _sytxsp(sample: Sample) -> Filled:
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


def _sytasg(sample: Sample) -> Filled:
    model, volumes = sample.model, sample.model.volumes
    loads = mload_us(sample)[volumes.is_page == 1]
    return Filled(
        {
            "calslti1": volumes.slots_used(model.levels, sample.number).sum(),
            "calslti2": volumes.spool_used.sum(),
            "caltotm1": loads.sum(),
            "calavgm1": loads.sum() // max(len(loads), 1),
        }
    )


def _sytxsg(sample: Sample) -> Filled:
    model, k = sample.model, sample.interval
    held = model.levels.expanded[sample.number]
    flows = model.flows
    return Filled(
        {
            "xstctxav": model.levels.sizes.expanded - held,
            "xstcppar": model.levels.sizes.expanded,
            "xstavgag": _age_s(sample),
        },
        {
            "xstxbget": flows.out[k],
            "xstxbrel": flows.fast_in[k] + flows.slow_in[k] + flows.migrated[k],
            "hcpmdcia": sample.cache.hits,
            "tcmrdct": sample.cache.reads,
        },
    )


def _age_s(sample: Sample) -> int:
    """Seconds that a block stays in expanded storage, by Little's law; 0 where none leaves."""
    model, k = sample.model, sample.interval
    leaving = int(model.flows.out[k])
    held, seconds = int(model.levels.expanded[sample.number]), int(model.timeline.seconds[k])
    return held * seconds // leaving if leaving else 0


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


def _storsp(sample: Sample) -> Filled:
    paging, (_, above) = sample.paging, _taken(sample)
    by_list = _stolen_from(sample)
    return Filled(
        flows={
            "plspread": paging.dasd_in,
            "plspgdrd": paging.dasd_in,
            "plspgdwt": paging.dasd_out,
            "plsretfr": paging.stolen - above,
            "plsretfg": above,
            **by_list,
            # A scan of a list is over when it has found some frames.
            "plsdrmp1": by_list["plsdorm1"] // _FRAMES_OF_A_SCAN,
            "plselgp1": by_list["plselig1"] // _FRAMES_OF_A_SCAN,
            "plsdspp1": by_list["plsdisp1"] // _FRAMES_OF_A_SCAN,
            "plsdspp2": by_list["plsdisp2"] // _FRAMES_OF_A_SCAN,
        }
    )


def _stolen_from(sample: Sample) -> dict[str, I64]:
    """(processors,) frames stolen from users of each list.

    Dormant users lose theirs first; users in the dispatch list are spared until a second pass if
    there are enough others.
    """
    lists, n, stolen = sample.model.lists, sample.number, sample.paging.stolen
    everybody = max(int(lists.defined[n]), 1)
    dispatched = stolen * int(lists.dispatched[n]) // everybody
    second = dispatched // 4
    eligible = stolen * int(lists.eligible[n]) // everybody
    return {
        "plsdorm1": stolen - dispatched - eligible,
        "plselig1": eligible,
        "plsdisp1": dispatched - second,
        "plsdisp2": second,
    }


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
SYTSHS = SampleRecord("sytshs", one, nothing)
SYTXSG = SampleRecord("sytxsg", one, nothing, _sytxsg)
STORSG = SampleRecord("storsg", one, _storsg_fixed)
STORSP = SampleRecord("storsp", processors, typed_processors, _storsp, present=online)
