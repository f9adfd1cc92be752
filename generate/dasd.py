"""DASD volumes: I/Os, service times, queues and page slots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .course import Course
from .demand import Demand
from .hardware import VolumeGroup
from .measurement import SCM_PER_S, Measurement
from .noise import F64, I64, around_one, partition
from .storage import Flows, Levels
from .timeline import Bool

MOST_PATHS = 8
"""Channel paths to a device."""

_NEVER_FULLER = 0.98
"""A volume that would be busier answers later, and fewer I/Os are started."""


@dataclass(frozen=True, slots=True)
class Volumes:
    """The volumes of a run.

    Attributes:
        serials, devices, cylinders, pages_per_cylinder, is_page, is_spool, slots: (volumes,).
        control_units, unit: (volumes,) number of the control unit of each; its place among them.
        paths, path_count: (volumes,) 8 channel path ids; how many there are.
        path_ids: (volumes, 8) the same one by one, 0 where there is no further one.
        hit_share, avoided_rate: (volumes,) share of the I/Os that a cache answers; I/Os a second
            that the minidisk cache saves at load 1.
        pages_per_io, service, parts: (volumes,) of an I/O: pages; 128 us; (3, volumes) shares of
            pending, disconnect and connect time.
        user_ios, avoided, spool_ios, page_busy: (intervals,) totals; the last is the time that
            page volumes are busy, 128 us, where a target fixes it.
    """

    measurement: Measurement
    groups: tuple[VolumeGroup, ...]
    serials: tuple[str, ...]
    group: I64
    devices: I64
    control_units: I64
    unit: I64
    path_count: I64
    hit_share: F64
    avoided_rate: F64
    paths: npt.NDArray[np.uint64]
    path_ids: I64
    cylinders: I64
    pages_per_cylinder: I64
    is_page: I64
    is_spool: I64
    slots: I64
    pages_per_io: F64
    service: F64
    parts: F64
    lasting: F64
    rates: F64
    user_ios: I64
    avoided: I64
    spool_ios: I64
    page_busy: I64 | None

    @classmethod
    def of(cls, measurement: Measurement, course: Course, demand: Demand, flows: Flows) -> Volumes:
        """The volumes of a run, doing the paging that storage asks for."""
        groups = measurement.scenario.volumes
        counts = [group.count for group in groups]

        def each(values: list[int] | list[float]) -> F64:
            return np.repeat(np.array(values, dtype=np.float64), counts)

        def whole(values: list[int]) -> I64:
            return np.repeat(np.array(values, dtype=np.int64), counts)

        cylinders, per_cylinder = (
            whole([g.cylinders for g in groups]),
            whole([g.pages_per_cylinder for g in groups]),
        )
        is_page = whole([int(g.kind == "page") for g in groups])
        times = np.array([[g.pending_ms, g.disconnect_ms, g.connect_ms] for g in groups]).reshape(
            -1, 3
        )
        service = times.sum(axis=1)
        parts = times / np.maximum(service, 1e-9)[:, None]
        paths = np.repeat(
            np.array([int(g.channel_paths.ljust(16, "0"), 16) for g in groups], dtype=np.uint64),
            counts,
        )
        ios, control_units = _ios(measurement, course, demand), _control_units(groups)
        return cls(
            measurement=measurement,
            groups=groups,
            serials=_serials(groups),
            group=np.repeat(np.arange(len(groups)), counts),
            devices=device_numbers(groups),
            control_units=control_units,
            unit=np.unique(control_units, return_inverse=True)[1],
            path_count=whole([len(g.channel_paths) // 2 for g in groups]),
            hit_share=each([g.cache_hit_share for g in groups]),
            avoided_rate=each([g.avoided_per_s for g in groups]),
            paths=paths,
            path_ids=_path_ids(paths),
            cylinders=cylinders,
            pages_per_cylinder=per_cylinder,
            is_page=is_page,
            is_spool=whole([int(g.kind == "spool") for g in groups]),
            slots=cylinders * per_cylinder,
            pages_per_io=each([g.pages_per_io for g in groups]),
            service=each((service / 1000 * SCM_PER_S).tolist()),
            parts=np.repeat(parts, counts, axis=0).T,
            lasting=around_one(measurement.rng("volumes"), sum(counts), 0.04),
            rates=each([g.io_per_s for g in groups]),
            user_ios=ios["user"],
            avoided=ios["avoided"],
            spool_ios=ios["spool"],
            page_busy=_page_busy(measurement, course, flows, int(is_page.sum())),
        )

    @property
    def is_cp(self) -> Bool:
        """(volumes,) whether CP pages or spools there."""
        marked: Bool = (self.is_page | self.is_spool) == 1
        return marked

    def online(self, interval: int) -> Bool:
        """(volumes,) whether each is online; vary takes effect with its interval."""
        found = np.ones(len(self.devices), dtype=np.bool_)
        for one in self.measurement.disturbances:
            if one.device and one.interval <= interval:
                found[self.devices == int(one.device, 16)] = one.kind == "vary-on"
        return found

    def slots_used(self, levels: Levels, sample: int) -> I64:
        """(volumes,) page slots in use: CP fills its volumes evenly."""
        return partition(int(levels.slots[sample]), (self.slots * self.is_page).astype(np.float64))

    @property
    def spool_used(self) -> I64:
        """(volumes,) spool slots in use."""
        used: I64 = self.slots * self.is_spool * 3 // 10
        return used


@dataclass(frozen=True, slots=True)
class VolumeWork:
    """What the volumes did in one interval, (volumes,).

    Attributes:
        reads, writes: pages. starts, avoided: I/Os done, and saved by the minidisk cache.
        pending, disconnect, connect: time in units of 128 us.
        use: share of the interval that each was busy.
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

    @classmethod
    def of(
        cls, volumes: Volumes, flows: Flows, interval: int, span_scm: float, online: Bool
    ) -> VolumeWork:
        """The work of an interval.

        Args:
            span_scm: length of the interval, units of 128 us.
            online: (volumes,) which are.
        """
        rng = volumes.measurement.rng(f"volumes in interval {interval}")
        varied = volumes.lasting * around_one(rng, len(online), 0.03) * online
        paging = volumes.slots * volumes.is_page * varied
        others = (volumes.is_page | volumes.is_spool) == 0
        rates = volumes.rates * varied
        totals = np.array(
            [
                flows.dasd_in[interval],
                flows.dasd_out[interval],
                volumes.user_ios[interval],
                volumes.spool_ios[interval],
                volumes.avoided[interval],
            ]
        )
        asked = (rates * others, rates * volumes.is_spool, volumes.avoided_rate * varied)
        parts = partition(totals, np.stack([paging, paging, *asked]))
        reads, writes, users, spool, avoided = parts
        page_starts = np.ceil((reads + writes) / volumes.pages_per_io).astype(np.int64)
        most = np.floor(_NEVER_FULLER * span_scm / np.maximum(volumes.service, 1e-9))
        starts = np.minimum(page_starts + users + spool, np.maximum(most, page_starts)).astype(
            np.int64
        )
        busy = _busy(volumes, starts, interval, span_scm)
        pending, disconnect = np.floor(busy * volumes.parts[:2]).astype(np.int64)
        use = np.minimum(busy / span_scm, 0.99)
        return cls(
            reads=reads,
            writes=writes,
            starts=starts,
            avoided=avoided,
            pending=pending,
            disconnect=disconnect,
            connect=busy - pending - disconnect,
            use=use,
            # Random arrivals and service: Little's law holds with a mean wait of
            # service * use / (1 - use).
            queue=use * use / (1 - use),
        )

    @property
    def busy(self) -> I64:
        """(volumes,) time in use, units of 128 us."""
        return self.pending + self.disconnect + self.connect


def _busy(volumes: Volumes, starts: I64, interval: int, span_scm: float) -> I64:
    """(volumes,) I/Os times service, or what a target says; never more than the interval."""
    busy = np.minimum(np.rint(starts * volumes.service), np.floor(span_scm)).astype(np.int64)
    paging = volumes.is_page == 1
    if volumes.page_busy is not None and paging.any():
        io = starts[paging]
        target = volumes.measurement.targets.page_volume_busy or 0.0
        # A saturated volume is busy all the time, however many I/Os it does in it.
        weights = 1.0 + (1.0 - target / 100) * (io / max(float(io.mean()), 1.0) - 1.0)
        busy[paging] = partition(int(volumes.page_busy[interval]), weights)
    return busy


def _page_busy(measurement: Measurement, course: Course, flows: Flows, volumes: int) -> I64 | None:
    """(intervals,) time that all page volumes are busy, 128 us; None where no target fixes it."""
    target = measurement.targets.page_volume_busy
    if target is None or not volumes:
        return None
    line = course.timeline
    pages = flows.dasd_in + flows.dasd_out
    mean = max(float(pages[line.steady].mean()), 1.0)
    weights = line.up_seconds * (1.0 + (1.0 - target / 100) * (pages / mean - 1.0))
    found = np.rint(line.up_seconds * volumes * SCM_PER_S * target / 100 * course.warming)
    whole = found.astype(np.int64)
    total = round(line.steady_seconds * volumes * SCM_PER_S * target / 100)
    whole[line.steady] = partition(total, weights[line.steady])
    return whole


def _ios(measurement: Measurement, course: Course, demand: Demand) -> dict[str, I64]:
    """(intervals,) I/Os of user and spool volumes, and those that the cache saved."""
    groups, load = measurement.scenario.volumes, demand.volume_load

    def rate(kind: str) -> float:
        return sum(g.count * g.io_per_s for g in groups if g.kind == kind)

    avoided = sum(g.count * g.avoided_per_s for g in groups)
    return {
        "user": course.counts("user I/O", rate("user") * load),
        "spool": course.counts("spool I/O", rate("spool") * load),
        "avoided": course.counts("avoided I/O", avoided * load),
    }


def _serials(groups: tuple[VolumeGroup, ...]) -> tuple[str, ...]:
    """Volume serials: the group's prefix and a number, six characters."""
    return tuple(
        f"{g.prefix}{number:0{6 - len(g.prefix)}d}"
        for g in groups
        for number in range(1, g.count + 1)
    )


def device_numbers(groups: tuple[VolumeGroup, ...]) -> I64:
    """(volumes,) device numbers."""
    ranges = [np.arange(g.count, dtype=np.int64) + int(g.first_device, 16) for g in groups]
    return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])


def _path_ids(paths: npt.NDArray[np.uint64]) -> I64:
    """(volumes, 8) channel path ids, each a byte of the number that they make up."""
    shifts = np.arange(MOST_PATHS - 1, -1, -1, dtype=np.uint64) * np.uint64(8)
    ids: I64 = (paths[:, None] >> shifts & np.uint64(0xFF)).astype(np.int64)
    return ids


def _control_units(groups: tuple[VolumeGroup, ...]) -> I64:
    """(volumes,) number of the control unit that each stands behind."""
    ranges = [
        np.arange(g.count, dtype=np.int64) // g.per_control_unit + int(g.control_unit, 16)
        for g in groups
    ]
    return np.concatenate([np.zeros(0, dtype=np.int64), *ranges])
