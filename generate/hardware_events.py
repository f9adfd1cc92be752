"""Processors and devices that are varied on or off."""

from __future__ import annotations

import numpy as np

from .clock import U64
from .configuration import processor_identity
from .devices import device_identity
from .event_data import EventBatch
from .model import Sample
from .noise import I64
from .population import DisturbanceKind
from .timeline import Bool

RECORD_TIME = 1_400
"""TOD units from one of several records that are written at once to the next."""

_VARY: frozenset[DisturbanceKind] = frozenset({"vary-on", "vary-off"})


def stamps(first: int, count: int) -> U64:
    """(count,) TOD of records that are written at once."""
    found: U64 = np.uint64(first) + np.arange(count, dtype=np.uint64) * np.uint64(RECORD_TIME)
    return found


def processor_events(sample: Sample) -> list[EventBatch]:
    """PRCVON and PRCVOF of the interval before a sample."""
    if not _varied(sample):
        return []
    earlier = Sample(sample.model, sample.number - 1)
    on, off = _changed(earlier.times.online, sample.times.online)
    tod = sample.model.change_tod(sample.interval)
    identity = processor_identity(sample.model.measurement.machine)
    return [
        EventBatch("prcvof", stamps(tod, len(off)), {"pfxcpuad": off}),
        EventBatch("prcvon", stamps(tod, len(on)), {"pfxcpuad": on, **identity}),
    ]


def device_events(sample: Sample) -> list[EventBatch]:
    """IODVON and IODVOF of the interval before a sample."""
    if not _varied(sample):
        return []
    model, volumes = sample.model, sample.model.volumes
    earlier = model.timeline.interval_of(sample.number - 1)
    on, off = _changed(volumes.online(earlier), volumes.online(sample.interval))
    tod = model.change_tod(sample.interval)
    gone = {"rdevsid": off, "rdevdev": volumes.devices[off]}
    return [
        EventBatch("iodvof", stamps(tod, len(off)), gone),
        EventBatch("iodvon", stamps(tod, len(on)), device_identity(volumes, on)),
    ]


def _varied(sample: Sample) -> bool:
    found = sample.model.measurement.disturbances
    return any(one.interval == sample.interval and one.kind in _VARY for one in found)


def _changed(before: Bool, now: Bool) -> tuple[I64, I64]:
    """Indices of what came and of what went."""
    return np.flatnonzero(now & ~before), np.flatnonzero(before & ~now)
