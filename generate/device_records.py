"""Records about volumes: paging and spooling areas, and the devices themselves."""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .model import Model, Sample
from .noise import I64
from .record_type import Filled, SampleRecord
from .timeline import Bool


def _stoasp_rows(model: Model) -> int:
    return int(model.volumes.is_cp.sum())


def _stoasp_fixed(model: Model) -> Values:
    volumes, cp = model.volumes, model.volumes.is_cp
    serials = np.array(volumes.serials)[cp] if cp.any() else np.zeros(0, dtype="U6")
    return {
        "calvser": ebcdic(serials, 6),
        "rdevdev": volumes.devices[cp],
        "rdevsid": np.flatnonzero(cp),
        "calspool": (volumes.slots * volumes.is_spool)[cp],
        "calpage": (volumes.slots * volumes.is_page)[cp],
    }


def _stoasp(sample: Sample, elapsed: I64) -> Filled:
    volumes, work = sample.model.volumes, sample.volumes
    cp = volumes.is_cp
    used = volumes.slots_used(sample.model.levels, sample.number) + volumes.spool_used
    spool = work.starts * volumes.is_spool
    started = work.starts[cp]
    return Filled(
        {
            "expcurqc": np.rint(work.queue[cp]),
            "expdevst": _service_us(sample)[cp],
            "expmload": mload_us(sample)[cp],
            "cpvlokat": used[cp],
            "cpvalocd": used[cp],
        },
        {
            "expctsrd": (spool // 2)[cp],
            "expctswr": (spool - spool // 2)[cp],
            "expctprd": work.reads[cp],
            "expctpwr": work.writes[cp],
            "scmssch": started,
            "scgssch": started,
        },
    )


def _service_us(sample: Sample) -> I64:
    """(volumes,) service time of an I/O, microseconds."""
    service: I64 = sample.volumes.busy * 128 // np.maximum(sample.volumes.starts, 1)
    return service


def mload_us(sample: Sample) -> I64:
    """(volumes,) time until a page is there, waiting included, microseconds."""
    work = sample.volumes
    pages = np.maximum(work.reads + work.writes, 1)
    per_page = work.busy * sample.model.volumes.is_page * 128 // pages
    load: I64 = np.floor(per_page * (1.0 + work.queue)).astype(np.int64)
    return load


def _ioddev_fixed(model: Model) -> Values:
    volumes = model.volumes
    owner = np.where(volumes.is_cp, "SYSTEM", "")
    return {
        "rdevlpm": 0xF0,
        "rdevsid": np.arange(len(volumes.devices)),
        "rdevchps": volumes.paths,
        "rdevser": ebcdic(np.array(volumes.serials, dtype="U6"), 6),
        "caluser": ebcdic(owner, 8),
        "rdevdev": volumes.devices,
    }


def _ioddev(sample: Sample, elapsed: I64) -> Filled:
    work, count = sample.volumes, sample.high_frequency_samples
    starts, pages = work.starts, work.reads + work.writes
    writes = np.where(pages > 0, starts * work.writes // np.maximum(pages, 1), starts // 3)
    return Filled(
        flows={
            "scmssch": starts,
            "scmcount": starts,
            "scgssch": starts,
            "scgcount": starts,
            "scmfptim": work.pending,
            "scmddtim": work.disconnect,
            "scmcntim": work.connect,
            "hfrdevct": count,
            "hfctio": np.rint(work.queue * count),
            "rdevctsi": starts,
            "rdevwrct": writes,
            "rdevrdct": starts - writes,
            "rdevmcia": work.avoided,
        }
    )


def _online(sample: Sample) -> Bool | None:
    online = sample.model.volumes.online(sample.interval)
    return None if online.all() else online


STOASP = SampleRecord(
    "stoasp", _stoasp_rows, _stoasp_fixed, _stoasp, wrapping=frozenset({"expctprd"})
)
IODDEV = SampleRecord(
    "ioddev",
    lambda model: len(model.volumes.devices),
    _ioddev_fixed,
    _ioddev,
    present=_online,
    wrapping=frozenset({"scmcntim"}),
)
