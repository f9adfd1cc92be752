"""I/Os of one interval by volume: counts, service times, queues, caches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..model.measurement import SCM_PER_S
from ..model.storage import Volumes
from ..model.system import Sample, per_sample
from ..numeric import F64, I64, around_one, floor_int, partition

_AT_ONCE = 51
"""SYTCPC counts samples by the number of busy paths, 0 to 50."""


class VolumeWork(NamedTuple):
    """Activity of the volumes in one interval, (volumes,).

    Attributes:
        reads, writes: pages. starts, avoided: I/Os, and those that the minidisk cache avoided.
        pending, disconnect, connect: time in units of 128 us.
        use: utilization, 0..1.
        queue: mean number of I/Os waiting.
    """

    reads: I64
    writes: I64
    starts: I64
    avoided: I64
    pending: I64
    disconnect: I64
    connect: I64
    use: F64
    queue: F64

    @property
    def busy(self) -> I64:
        """(volumes,) time in use, units of 128 us."""
        return self.pending + self.disconnect + self.connect


@per_sample
def volume_work(sample: Sample) -> VolumeWork:
    """Activity of the volumes in the interval before a sample."""
    volumes, flows, k = sample.model.volumes, sample.model.flows, sample.interval
    span_scm, online = sample.seconds * SCM_PER_S, sample.volumes_online
    rng = sample.model.measurement.rng(f"volumes in interval {k}")
    varied = volumes.lasting * around_one(rng, len(online), 0.03) * online
    paging, rates = volumes.slots * volumes.is_page * varied, volumes.rates * varied
    shared = [
        (flows.dasd_in[k], paging),
        (flows.dasd_out[k], paging),
        (volumes.user_ios[k], rates * ~volumes.is_cp),
        (volumes.spool_ios[k], rates * volumes.is_spool),
        (volumes.avoided[k], volumes.avoided_rate * varied),
    ]
    totals, weights = zip(*shared, strict=True)
    reads, writes, users, spool, avoided = partition(np.array(totals), np.stack(weights))
    page_starts = np.ceil((reads + writes) / volumes.pages_per_io).astype(np.int64)
    # Beyond this utilization of a volume fewer I/Os start.
    most = np.floor(0.98 * span_scm / np.maximum(volumes.service, 1e-9))
    demanded = page_starts + users + spool
    starts = np.minimum(demanded, np.maximum(most, page_starts)).astype(np.int64)
    busy = _busy(volumes, starts, k, span_scm)
    pending, disconnect = floor_int(busy * volumes.parts[:2])
    use = np.minimum(busy / span_scm, 0.99)
    # Random arrivals and service: Little's law holds with a mean wait of service * use / (1 - use).
    queue = use * use / (1 - use)
    connect = busy - pending - disconnect
    return VolumeWork(reads, writes, starts, avoided, pending, disconnect, connect, use, queue)


def _busy(volumes: Volumes, starts: I64, interval: int, span_scm: float) -> I64:
    """(volumes,) I/Os times service time, or the target; never more than the interval."""
    busy = np.minimum(np.rint(starts * volumes.service), np.floor(span_scm)).astype(np.int64)
    if volumes.page_busy is not None and volumes.is_page.any():
        io = starts[volumes.is_page]
        target = volumes.measurement.targets.page_volume_busy or 0.0
        # A saturated volume is busy all the time, whatever its number of I/Os.
        weights = 1.0 + (1.0 - target / 100) * (io / max(float(io.mean()), 1.0) - 1.0)
        busy[volumes.is_page] = partition(int(volumes.page_busy[interval]), weights)
    return busy


def user_ios(sample: Sample) -> int:
    """Virtual I/Os to disks in the interval, with those that the minidisk cache avoided."""
    work = volume_work(sample)
    return int((work.starts + work.avoided)[~sample.model.volumes.is_cp].sum())


@per_sample
def path_samples(sample: Sample) -> tuple[I64, I64]:
    """High-frequency samples of the interval that found channel paths busy.

    Devices spread their I/Os evenly over their paths.

    Returns:
        (256,) samples that found the path busy; (51,) samples by the number of busy paths.
    """
    count, ids = sample.high_frequency_samples, sample.model.volumes.path_ids
    connect = volume_work(sample).connect / np.maximum((ids > 0).sum(axis=1), 1)
    weights = np.repeat(connect, ids.shape[1])
    moved = np.bincount(ids.reshape(-1), weights=weights, minlength=256)
    moved[0] = 0.0  # 0 stands for no path
    use = np.minimum(moved / (sample.seconds * SCM_PER_S), 1.0)
    busy = np.rint(use * count).astype(np.int64)
    used = busy[busy > 0]
    rng = sample.model.measurement.rng(f"channel paths in interval {sample.interval}")
    order = np.argsort(rng.random((count, len(used))), axis=0, kind="stable")
    is_busy = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(is_busy, order, np.arange(count)[:, None] < used, axis=0)
    at_once = np.minimum(is_busy.sum(axis=1), _AT_ONCE - 1)
    return busy, np.bincount(at_once, minlength=_AT_ONCE)
