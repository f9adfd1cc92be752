"""The record about disks with a cache: what their control unit counted for each of them.

The performance data is that which a 3990 or later answers a Read Subsystem Data with; the fields
are those that Linux names (`drivers/s390/block/dasd_eckd.h`). That CP keeps it as it is, is
inferred.
"""

from __future__ import annotations

import numpy as np

from .counters import Values
from .model import Model, Sample
from .noise import I64
from .record_type import Filled, SampleRecord
from .timeline import Bool

STATISTICS_LENGTH = 192
"""Bytes of performance data of one device."""


def _cached(model: Model) -> I64:
    """Indices of the volumes behind a cache."""
    return np.flatnonzero(model.volumes.hit_share > 0)


def _fixed(model: Model) -> Values:
    volumes, chosen = model.volumes, _cached(model)
    return {
        "rdevsid": chosen,
        "psflen": STATISTICS_LENGTH,
        "unit_address": volumes.devices[chosen] & 0xFF,
        "ssid": volumes.control_units[chosen],
    }


def _filled(sample: Sample) -> Filled:
    work, chosen = sample.disks, _cached(sample.model)
    flows = {
        "nr_read_normal": work.reads - work.sequential_reads,
        "nr_read_normal_hits": work.read_hits - work.sequential_read_hits,
        "nr_write_normal": work.writes - work.sequential_writes,
        "nr_write_fast_normal_hits": work.write_hits - work.sequential_write_hits,
        "nr_read_seq": work.sequential_reads,
        "nr_read_seq_hits": work.sequential_read_hits,
        "nr_write_seq": work.sequential_writes,
        "nr_write_fast_seq_hits": work.sequential_write_hits,
        "nr_cache_miss": work.misses,
    }
    return Filled(flows={name: of_volumes[chosen] for name, of_volumes in flows.items()})


def _online(sample: Sample) -> Bool | None:
    online = sample.volumes_online[_cached(sample.model)]
    return None if online.all() else online


IODCAD = SampleRecord("iodcad", lambda model: len(_cached(model)), _fixed, _filled, present=_online)
