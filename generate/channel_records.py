"""The record about channel paths: how often each was busy, and how many were at once."""

from __future__ import annotations

import numpy as np

from .measurement import SCM_PER_S
from .model import Model, Sample
from .noise import F64, I64
from .record_type import Filled, SampleRecord, nothing
from .timeline import Bool

PATHS = 256
AT_ONCE = 51
"""Numbers of paths, 0 to 50, for which SYTCPC counts the samples that found so many busy."""


def _sytcpc_rows(model: Model) -> int:
    return int(len(model.volumes.devices) > 0)


def path_use(sample: Sample) -> F64:
    """(256,) share of an interval in which each was busy: devices spread their I/Os over theirs."""
    ids = sample.model.volumes.path_ids
    each = sample.volumes.connect / np.maximum((ids > 0).sum(axis=1), 1)
    weights = np.repeat(each, ids.shape[1])
    moved = np.bincount(ids.reshape(-1), weights=weights, minlength=PATHS)
    moved[0] = 0.0  # no path has the number 0: it stands where there is none
    span = float(sample.model.timeline.seconds[sample.interval] * SCM_PER_S)
    use: F64 = np.minimum(moved / span, 1.0)
    return use


def _sytcpc(sample: Sample) -> Filled:
    count, use = sample.high_frequency_samples, path_use(sample)
    busy = np.rint(use * count).astype(np.int64)
    found = _found_busy(sample, busy[busy > 0], count)
    at_once = np.minimum(found.sum(axis=1), AT_ONCE - 1)
    return Filled(
        flows={
            "hfcount": count,
            "hfchbusy.hfchbusy": busy[None, :],
            "hfchsim.hfchsim": np.bincount(at_once, minlength=AT_ONCE)[None, :],
        }
    )


def _found_busy(sample: Sample, busy: I64, count: int) -> Bool:
    """(samples, paths) which samples found which paths busy: for each path as many as it has."""
    rng = sample.model.measurement.rng(f"channel paths in interval {sample.interval}")
    order = np.argsort(rng.random((count, len(busy))), axis=0, kind="stable")
    found = np.zeros(order.shape, dtype=np.bool_)
    np.put_along_axis(found, order, np.arange(count)[:, None] < busy, axis=0)
    return found


SYTCPC = SampleRecord("sytcpc", _sytcpc_rows, nothing, _sytcpc)
