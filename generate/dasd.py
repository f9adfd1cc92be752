"""DASD volumes: I/Os, service times, queues and page slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .measurement import SCM_PER_S, Measurement
from .noise import F64, I64, around_one, partition
from .scenario import VolumeGroup
from .storage import Flows, Levels


@dataclass(frozen=True, slots=True)
class Volumes:
    """The volumes of a run.

    Attributes:
        serials, devices, cylinders, pages_per_cylinder, is_page, is_spool, slots: (volumes,).
        reads, writes: pages, (intervals, volumes). avoided: I/Os that the minidisk cache saved.
        starts: I/Os, (intervals, volumes).
        pending, disconnect, connect: time in units of 128 us, (intervals, volumes).
        queue: mean number of I/Os waiting, (intervals, volumes).
    """

    serials: tuple[str, ...]
    devices: I64
    cylinders: I64
    pages_per_cylinder: I64
    is_page: I64
    is_spool: I64
    slots: I64
    reads: I64
    writes: I64
    avoided: I64
    starts: I64
    pending: I64
    disconnect: I64
    connect: I64
    queue: F64

    @classmethod
    def of(cls, measurement: Measurement, flows: Flows) -> Volumes:
        """The volumes of a run, doing the paging that storage asks for."""
        groups, rng = measurement.scenario.volumes, measurement.rng("volumes")
        counts = [group.count for group in groups]

        def each(values: list[int]) -> I64:
            return np.repeat(np.array(values, dtype=np.int64), counts)

        is_page = each([int(g.kind == "page") for g in groups])
        pages_per_cylinder = each([g.pages_per_cylinder for g in groups])
        cylinders = each([g.cylinders for g in groups])
        slots = cylinders * pages_per_cylinder
        shape = (measurement.intervals, sum(counts))
        varied = around_one(rng, (1, shape[1]), 0.04) * around_one(rng, shape, 0.03)
        reads = partition(flows.dasd_in.sum(axis=1), slots * is_page * varied)
        writes = partition(flows.dasd_out.sum(axis=1), slots * is_page * varied)
        starts = _starts(measurement, reads + writes, is_page, varied)
        pending, disconnect, connect = _times(measurement, starts, is_page)
        busy = pending + disconnect + connect
        use = np.minimum(busy / (measurement.scenario.monitor.interval_s * SCM_PER_S), 0.99)
        return cls(
            serials=_serials(groups),
            devices=_devices(groups),
            cylinders=cylinders,
            pages_per_cylinder=pages_per_cylinder,
            is_page=is_page,
            is_spool=each([int(g.kind == "spool") for g in groups]),
            slots=slots,
            reads=reads,
            writes=writes,
            avoided=_at_rate(measurement, [g.avoided_per_s for g in groups], varied),
            starts=starts,
            pending=pending,
            disconnect=disconnect,
            connect=connect,
            # Random arrivals and service: Little's law holds with a mean wait of
            # service * use / (1 - use).
            queue=use * use / (1 - use),
        )

    @property
    def busy(self) -> I64:
        """Time in use, (intervals, volumes), units of 128 us."""
        return self.pending + self.disconnect + self.connect

    def slots_used(self, levels: Levels, sample: int) -> I64:
        """(volumes,) page slots in use: CP fills its volumes evenly."""
        return partition(int(levels.slots[sample]), (self.slots * self.is_page).astype(np.float64))


def _each(measurement: Measurement, values: list[float]) -> F64:
    """A figure of each group, repeated for its volumes."""
    return np.repeat(
        np.array(values, dtype=np.float64), [g.count for g in measurement.scenario.volumes]
    )


def _at_rate(measurement: Measurement, rates: list[float], varied: F64) -> I64:
    """Counts, (intervals, volumes), for a rate per second and volume."""
    weights = _each(measurement, rates) * varied
    total = round(float(_each(measurement, rates).sum()) * measurement.seconds)
    return partition(total, weights.ravel()).reshape(weights.shape)


def _starts(measurement: Measurement, pages: I64, is_page: I64, varied: F64) -> I64:
    """I/Os: paging moves several pages with one, other volumes have their own rate."""
    groups = measurement.scenario.volumes
    paging = np.ceil(pages / _each(measurement, [g.pages_per_io for g in groups]))
    other = _at_rate(measurement, [0.0 if g.kind == "page" else g.io_per_s for g in groups], varied)
    return np.where(is_page == 1, paging.astype(np.int64), other)


def _times(measurement: Measurement, starts: I64, is_page: I64) -> tuple[I64, I64, I64]:
    """Pending, disconnect and connect time: I/Os times service, or what a target says."""
    groups = measurement.scenario.volumes
    service = _each(measurement, [g.pending_ms + g.disconnect_ms + g.connect_ms for g in groups])
    busy = np.round(starts * (service / 1000 * SCM_PER_S)).astype(np.int64)
    target, paging = measurement.targets.page_volume_busy, is_page == 1
    if target is not None and paging.any():
        io = starts[:, paging]
        total = round(measurement.seconds * io.shape[1] * SCM_PER_S * target / 100)
        # A saturated volume is busy all the time, however many I/Os it does in it.
        mean = max(float(io.sum()) / io.size, 1.0)
        weights = 1.0 + (1.0 - target / 100) * (io / mean - 1.0)
        busy[:, paging] = partition(total, weights.ravel()).reshape(io.shape)
    whole = np.maximum(service, 1e-9)
    pending = np.floor(busy * (_each(measurement, [g.pending_ms for g in groups]) / whole))
    away = np.floor(busy * (_each(measurement, [g.disconnect_ms for g in groups]) / whole))
    return (
        pending.astype(np.int64),
        away.astype(np.int64),
        busy - pending.astype(np.int64) - away.astype(np.int64),
    )


def _serials(groups: tuple[VolumeGroup, ...]) -> tuple[str, ...]:
    """Volume serials: the group's prefix and a number, six characters."""
    return tuple(
        f"{g.prefix}{number:0{6 - len(g.prefix)}d}"
        for g in groups
        for number in range(1, g.count + 1)
    )


def _devices(groups: tuple[VolumeGroup, ...]) -> I64:
    """(volumes,) device numbers."""
    ranges = [np.arange(g.count, dtype=np.int64) + int(g.first_device, 16) for g in groups]
    return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])
