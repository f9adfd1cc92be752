"""Domain 6: devices and their caches; devices that are varied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..activity.sample import Sample
from ..activity.volume_work import IN_SEQUENCE, control_unit_use, disk_work, volume_work
from ..model.system import Model
from ..model.volumes import Volumes
from ..numeric import I64, Bool
from .definition import EventBatch, Values, consecutive_tods, sample_record

ECKD = 0x04
"""RDEVCLAS of disks."""

STATISTICS_LENGTH = 192
"""Bytes of performance data of one device."""


def device_identity(volumes: Volumes, chosen: I64) -> Values:
    """What identifies some devices, in MTRDEV and IODVON. The code of a type is unknown.

    Args:
        chosen: (devices,) indices of volumes.
    """
    group = volumes.group[chosen]
    types = [each.device_type.split("-") for each in volumes.groups]
    units = [each.control_unit_type.split("-") for each in volumes.groups]
    return {
        "rdevclas": ECKD,
        "rdevdvid": _packed([number for number, _ in types])[group],
        "calmodln": np.array([int(model, 10) for _, model in types])[group],
        "rdevlpm": volumes.path_masks[chosen],
        "rdevdev": volumes.devices[chosen],
        "rdevsid": chosen,
        "rdevchps": volumes.paths[chosen],
        "rdevcuid": _packed([number for number, _ in units])[group],
        "rdevcumn": np.array([int(model, 16) for _, model in units])[group],
        "rdevser": volumes.serials[chosen],
    }


def _packed(numbers: list[str]) -> npt.NDArray[np.void]:
    """Four digits each as two bytes."""
    return np.array([bytes.fromhex(number) for number in numbers], dtype="V2")


def _ioddev_fixed(model: Model) -> Values:
    volumes = model.volumes
    return {
        "rdevlpm": volumes.path_masks,
        "rdevsid": np.arange(len(volumes.devices)),
        "rdevchps": volumes.paths,
        "rdevser": volumes.serials,
        # Minidisks and CP's own areas are on volumes that the system owns.
        "caluser": "SYSTEM",
        "rdevdev": volumes.devices,
    }


def _ioddev(sample: Sample) -> Values:
    work, count, disks = volume_work(sample), sample.high_frequency_samples, disk_work(sample)
    starts = work.starts
    return {
        "rdevlcnt": _links(sample),
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
    }


def _links(sample: Sample) -> I64:
    """(volumes,) links to minidisks: those of each user who is logged on are on one volume."""
    volumes = sample.model.volumes
    others = np.flatnonzero(~volumes.is_cp)
    links = np.zeros(len(volumes.devices), dtype=np.int64)
    if len(others):
        homes = np.flatnonzero(sample.present) % len(others)
        links[others] = np.bincount(homes, minlength=len(others))
    return links


def _came_online(sample: Sample) -> I64:
    """(volumes,) 1 for a device that was varied on in the interval: it presents an interrupt."""
    return (sample.volumes_online & ~_online_before(sample)).astype(np.int64)


def _online_before(sample: Sample) -> Bool:
    """(volumes,) which were online in the interval before that of a sample."""
    model = sample.model
    return model.volumes.online(model.timeline.interval_of(max(sample.number - 1, 0)))


def _online(sample: Sample) -> Bool | None:
    return None if sample.volumes_online.all() else sample.volumes_online


def _cached(model: Model) -> I64:
    """Indices of the volumes behind a cache."""
    return np.flatnonzero(model.volumes.hit_share > 0)


def _iodcad_fixed(model: Model) -> Values:
    volumes, chosen = model.volumes, _cached(model)
    return {
        "rdevsid": chosen,
        "psflen": STATISTICS_LENGTH,
        "unit_address": volumes.devices[chosen] & 0xFF,
        "ssid": volumes.control_units[chosen],
    }


def _iodcad(sample: Sample) -> Values:
    """What the control unit counted for each disk.

    The performance data is that which a 3990 or later answers a Read Subsystem Data with; the
    fields are those that Linux names (`drivers/s390/block/dasd_eckd.h`). That CP passes it on
    unchanged is inferred.
    """
    work, chosen = disk_work(sample), _cached(sample.model)
    values = {"nr_cache_miss": work.misses}
    for normal, sequential, counts in (
        ("nr_read_normal", "nr_read_seq", work.reads),
        ("nr_read_normal_hits", "nr_read_seq_hits", work.read_hits),
        ("nr_write_normal", "nr_write_seq", work.writes),
        ("nr_write_fast_normal_hits", "nr_write_fast_seq_hits", work.write_hits),
    ):
        values[sequential] = counts // IN_SEQUENCE
        values[normal] = counts - values[sequential]
    return {name: of_volumes[chosen] for name, of_volumes in values.items()}


def _cached_online(sample: Sample) -> Bool | None:
    online = sample.volumes_online[_cached(sample.model)]
    return None if online.all() else online


def device_events(sample: Sample) -> list[EventBatch]:
    """IODVON and IODVOF of the interval before a sample."""
    if not sample.varied:
        return []
    volumes, before, now = sample.model.volumes, _online_before(sample), sample.volumes_online
    on, off = np.flatnonzero(now & ~before), np.flatnonzero(before & ~now)
    tod = sample.model.change_tod(sample.interval)
    gone = {"rdevsid": off, "rdevdev": volumes.devices[off]}
    return [
        EventBatch("iodvof", consecutive_tods(tod, len(off)), gone),
        EventBatch("iodvon", consecutive_tods(tod, len(on)), device_identity(volumes, on)),
    ]


RECORDS = (
    sample_record(
        "ioddev",
        _ioddev,
        rows=lambda model: len(model.volumes.devices),
        fixed=_ioddev_fixed,
        present=_online,
        wrapping="scmcntim",
    ),
    sample_record(
        "iodcad",
        _iodcad,
        rows=lambda model: len(_cached(model)),
        fixed=_iodcad_fixed,
        present=_cached_online,
    ),
)
