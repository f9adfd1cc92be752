"""DASD volumes: I/Os, service times, queues and page slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .measurement import SCM_PER_S, Measurement
from .noise import F64, I64, around_one, partition
from .scenario import VolumeGroup
from .storage import Flows, Levels
from .tables import ScenarioError


@dataclass(frozen=True, slots=True)
class Volumes:
    """The volumes of a run. Counts are (intervals, volumes), times in units of 128 us.

    `is_page`, `is_spool`, `slots`, `serials`, `devices` and `cylinders` are (volumes,);
    `queue` is the mean number of I/Os waiting, (intervals, volumes).
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
        groups = measurement.scenario.volumes
        parts = [_group(measurement, group, flows) for group in groups]
        first = [_device(group) for group in groups]
        counts = np.array([group.count for group in groups], dtype=np.int64)

        def each(values: list[int]) -> I64:
            return np.repeat(np.array(values, dtype=np.int64), counts)

        within = np.concatenate([np.arange(c) for c in counts]) if parts else each([])
        names = ("reads", "writes", "avoided", "starts", "pending", "disconnect", "connect")
        empty = np.zeros((measurement.intervals, 0))
        return cls(
            serials=tuple(f"{g.prefix}{i + 1:0{6 - len(g.prefix)}d}" for g in groups
                          for i in range(g.count)),
            devices=each(first) + within,
            cylinders=each([g.cylinders for g in groups]),
            pages_per_cylinder=each([g.pages_per_cylinder for g in groups]),
            is_page=each([int(g.kind == "page") for g in groups]),
            is_spool=each([int(g.kind == "spool") for g in groups]),
            slots=each([g.cylinders * g.pages_per_cylinder for g in groups]),
            queue=np.concatenate([empty, *(p.pop("queue") for p in parts)], axis=1),
            **{
                name: np.concatenate([empty.astype(np.int64), *(p[name] for p in parts)], axis=1)
                for name in names
            },
        )

    def slots_used(self, levels: Levels, sample: int) -> I64:
        """(volumes,) page slots in use: CP fills its volumes evenly."""
        return partition(int(levels.slots[sample]), (self.slots * self.is_page).astype(np.float64))

    @property
    def busy(self) -> I64:
        """Time in use, (intervals, volumes), units of 128 us."""
        return self.pending + self.disconnect + self.connect


def _group(measurement: Measurement, group: VolumeGroup, flows: Flows) -> dict[str, np.ndarray]:
    rng = measurement.rng(f"volumes {group.prefix}")
    shape = (measurement.intervals, group.count)
    varied = around_one(rng, (1, group.count), 0.04) * around_one(rng, shape, 0.03)
    none = np.zeros(shape, dtype=np.int64)
    reads = writes = none
    if group.kind == "page":
        shares = partition(
            np.full(measurement.intervals, 1 << 40), _among_page_volumes(measurement, group)
        )[:, 0] / float(1 << 40)
        reads = partition(np.round(flows.dasd_in.sum(axis=1) * shares), varied)
        writes = partition(np.round(flows.dasd_out.sum(axis=1) * shares), varied)
        pages = reads + writes
        starts = np.ceil(pages / group.pages_per_io).astype(np.int64)
    else:
        count = measurement.count(group.io_per_s) * group.count
        starts = partition(count, varied.ravel()).reshape(shape)
    service_s = (group.pending_ms + group.disconnect_ms + group.connect_ms) / 1000
    busy = _busy(measurement, group, starts, service_s)
    whole = max(service_s * 1000, 1e-9)
    pending = np.floor(busy * (group.pending_ms / whole)).astype(np.int64)
    disconnect = np.floor(busy * (group.disconnect_ms / whole)).astype(np.int64)
    avoided = partition(
        measurement.count(group.avoided_per_s) * group.count, varied.ravel()
    ).reshape(shape)
    use = np.minimum(busy / (measurement.scenario.monitor.interval_s * SCM_PER_S), 0.99)
    return {
        "reads": reads,
        "writes": writes,
        "avoided": avoided,
        "starts": starts,
        "pending": pending,
        "disconnect": disconnect,
        "connect": busy - pending - disconnect,
        # Waiting I/Os of a server with random arrivals and service: Little's law holds with
        # the waiting time service * use / (1 - use).
        "queue": use**2 / (1 - use),
    }


def _among_page_volumes(measurement: Measurement, group: VolumeGroup) -> F64:
    """(1, 2) weights: this group's page slots, and those of the other groups."""
    pages = [g for g in measurement.scenario.volumes if g.kind == "page"]
    own = group.count * group.cylinders * group.pages_per_cylinder
    every = sum(g.count * g.cylinders * g.pages_per_cylinder for g in pages)
    return np.array([[float(own), float(every - own)]])


def _busy(
    measurement: Measurement, group: VolumeGroup, starts: I64, service_s: float
) -> I64:
    """Device time in use, (intervals, volumes): starts times service, or what a target says."""
    target = measurement.targets.page_volume_busy
    if group.kind != "page" or target is None:
        return np.round(starts * (service_s * SCM_PER_S)).astype(np.int64)
    total = round(measurement.seconds * group.count * SCM_PER_S * target / 100)
    mean = max(float(starts.sum()) / starts.size, 1.0)
    # A saturated volume is busy all the time, however many I/Os it does in it.
    weights = 1.0 + (1.0 - target / 100) * (starts / mean - 1.0)
    return partition(total, weights.ravel()).reshape(starts.shape)


def _device(group: VolumeGroup) -> int:
    """Number of a group's first device."""
    try:
        first = int(group.first_device, 16)
    except ValueError:
        first = -1
    if not 0 <= first <= 0xFFFF - group.count:
        raise ScenarioError(
            f"volumes {group.prefix}: first_device is no device number",
            place="volumes.first_device",
            expected=f"four hexadecimal digits, 0000 to {0xFFFF - group.count:04X}",
            found=group.first_device,
        )
    return first
