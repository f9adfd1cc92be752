"""Records about volumes: paging and spooling areas, and the devices themselves."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .counters import Values, ebcdic
from .model import Model, Sample
from .noise import I64
from .record_type import Filled, SampleRecord


def is_cp_volume(model: Model) -> npt.NDArray[np.bool_]:
    """(volumes,) whether CP pages or spools there."""
    marked: npt.NDArray[np.bool_] = (model.volumes.is_page | model.volumes.is_spool) == 1
    return marked


def _stoasp_rows(model: Model) -> int:
    return int(is_cp_volume(model).sum())


def _stoasp_fixed(model: Model) -> Values:
    volumes, cp = model.volumes, is_cp_volume(model)
    serials = np.array(volumes.serials)[cp] if cp.any() else np.zeros(0, dtype="U6")
    return {
        "calvser": ebcdic(serials, 6),
        "rdevdev": volumes.devices[cp],
        "rdevsid": np.flatnonzero(cp),
        "calspool": (volumes.slots * volumes.is_spool)[cp],
        "calpage": (volumes.slots * volumes.is_page)[cp],
    }


def _stoasp(sample: Sample, elapsed: I64) -> Filled:
    model, k, cp = sample.model, sample.interval, is_cp_volume(sample.model)
    volumes = model.volumes
    used = volumes.slots_used(model.levels, sample.number) + spool_used(model)
    spool = volumes.starts[k] * volumes.is_spool
    started = volumes.starts[k][cp]
    return Filled(
        {
            "expcurqc": np.rint(volumes.queue[k][cp]),
            "expdevst": _service_us(sample)[cp],
            "expmload": mload_us(sample)[cp],
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
    service: I64 = volumes.busy[k] * 128 // np.maximum(volumes.starts[k], 1)
    return service


def mload_us(sample: Sample) -> I64:
    """(volumes,) time until a page is there, waiting included, microseconds."""
    volumes, k = sample.model.volumes, sample.interval
    pages = np.maximum(volumes.reads[k] + volumes.writes[k], 1)
    per_page = volumes.busy[k] * volumes.is_page * 128 // pages
    load: I64 = np.floor(per_page * (1.0 + volumes.queue[k])).astype(np.int64)
    return load


def spool_used(model: Model) -> I64:
    """(volumes,) spool slots in use."""
    used: I64 = model.volumes.slots * model.volumes.is_spool * 3 // 10
    return used


def _ioddev_fixed(model: Model) -> Values:
    volumes = model.volumes
    owner = np.where(is_cp_volume(model), "SYSTEM", "")
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


STOASP = SampleRecord(
    "stoasp", _stoasp_rows, _stoasp_fixed, _stoasp, wrapping=frozenset({"expctprd"})
)
IODDEV = SampleRecord(
    "ioddev",
    lambda model: len(model.volumes.devices),
    _ioddev_fixed,
    _ioddev,
    wrapping=frozenset({"scmcntim"}),
)
