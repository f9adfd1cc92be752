"""Records about volumes: paging and spooling areas, and the devices themselves."""

from __future__ import annotations

import numpy as np

from .counters import Values, ebcdic
from .devices import path_masks
from .disks import control_unit_use
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


def _stoasp(sample: Sample) -> Filled:
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
            "expctacp": started,
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
    per_page = work.busy * sample.model.volumes.is_page * 128 / pages
    load: I64 = np.floor(per_page / (1.0 - work.use)).astype(np.int64)
    return load


def _ioddev_fixed(model: Model) -> Values:
    volumes = model.volumes
    return {
        "rdevlpm": path_masks(volumes),
        "rdevsid": np.arange(len(volumes.devices)),
        "rdevchps": volumes.paths,
        "rdevser": ebcdic(np.array(volumes.serials, dtype="U6"), 6),
        # Minidisks and CP's own areas are on volumes that the system owns.
        "caluser": ebcdic("SYSTEM", 8),
        "rdevdev": volumes.devices,
    }


def _ioddev(sample: Sample) -> Filled:
    work, count, disks = sample.volumes, sample.high_frequency_samples, sample.disks
    starts = work.starts
    return Filled(
        {"rdevlcnt": _links(sample)},
        {
            "scmssch": starts,
            "scmcount": starts,
            "scgssch": starts,
            "scgcount": starts,
            "scmfptim": work.pending,
            "scmddtim": work.disconnect,
            "scmcntim": work.connect,
            # Parts of the times above: until the first command is accepted, and in the queue of
            # the control unit.
            "scmirtim": work.pending * 2 // 5,
            "scmcqtim": np.floor(work.disconnect * control_unit_use(sample) * 0.5),
            "hfrdevct": count,
            "hfctio": np.rint(work.queue * count),
            "rdevctsi": starts,
            "rdevctui": _came_online(sample),
            "rdevskct": disks.misses,
            "rdevsksm": disks.cylinders,
            "rdevwrct": disks.writes,
            "rdevrdct": disks.reads,
            "rdevmcia": work.avoided,
        },
    )


def _links(sample: Sample) -> I64:
    """(volumes,) links to minidisks: those of each user who is logged on are on one volume."""
    volumes = sample.model.volumes
    others = np.flatnonzero(~volumes.is_cp)
    found = np.zeros(len(volumes.devices), dtype=np.int64)
    if len(others):
        homes = np.flatnonzero(sample.present) % len(others)
        found[others] = np.bincount(homes, minlength=len(others))
    return found


def _came_online(sample: Sample) -> I64:
    """(volumes,) 1 for a device that was varied on in the interval: it presents an interrupt."""
    volumes, earlier = sample.model.volumes, max(sample.number - 1, 0)
    before = volumes.online(sample.model.timeline.interval_of(earlier))
    return (sample.volumes_online & ~before).astype(np.int64)


def _online(sample: Sample) -> Bool | None:
    online = sample.volumes_online
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
