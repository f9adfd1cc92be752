"""Storage of a run: levels, paging, and the DASD volumes with their I/Os in each interval."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..numeric import F64, I64, Bool, around_one, floor_int, varied_levels
from ..scenario.scenario import Event
from .measurement import SCM_PER_S, Allocation, moment
from .population import Demand
from .presence import Presence, Switch

_LEVEL_SPREAD = 0.0015
_SLOT_SPREAD = _LEVEL_SPREAD / 3
_LIST_SPREAD = 0.06


class Levels:
    """Pages at each sample, (intervals + 1,); means over the samples equal the targets."""

    def __init__(self, demand: Demand) -> None:
        measurement, allocation = demand.measurement, demand.allocation
        rng, targets, n = measurement.rng("levels"), measurement.targets, measurement.intervals
        sizes = measurement.frames
        # Users logged on in the steady state.
        users = round(float(demand.users.sum(axis=1)[allocation.timeline.steady].mean()))

        def pages(
            noun: str, natural: F64, per_user: float | None, spread: float = _LEVEL_SPREAD
        ) -> I64:
            target = None if per_user is None else per_user * users
            return allocation.levels(noun, natural, target, spread)

        resident = pages("resident", demand.resident, targets.resident_pages_per_user)
        self.resident_above = floor_int(resident * sizes.users_above_share)
        self.resident_below = resident - self.resident_above
        fixed = (targets.resident_below_2g_pages, targets.resident_above_2g_pages)
        levels = allocation.levels
        if fixed[0] is not None:
            self.resident_below = levels("below", demand.resident, fixed[0], _LEVEL_SPREAD)
        if fixed[1] is not None:
            self.resident_above = levels("above", demand.resident, fixed[1], _LEVEL_SPREAD)
        below = sizes.pageable - sizes.cache_below - self.resident_below
        above = sizes.above - sizes.cache_above - self.resident_above
        self.available_below, self.available_above = np.maximum(below, 0), np.maximum(above, 0)
        if targets.resident_pages_per_user is not None or fixed != (None, None):
            # With a target for the users' frames CP has all but these and the available ones.
            listed = varied_levels(rng, sizes.available_below, n, _LIST_SPREAD)
            self.available_below = np.minimum(listed, self.available_below)
            listed = varied_levels(rng, sizes.available_above, n, _LIST_SPREAD)
            self.available_above = np.minimum(listed, self.available_above)
        self.expanded = pages("expanded", demand.expanded, targets.xstor_pages_per_user)
        self.slots = pages("slots", demand.slots, targets.dasd_pages_per_user, _SLOT_SPREAD)


class Flows(NamedTuple):
    """Pages that moved: (intervals,) of a run, or (processors,) of one interval."""

    fast_in: I64
    slow_in: I64
    out: I64
    migrated: I64
    dasd_in: I64
    dasd_out: I64
    moved_below_2g: I64

    @property
    def stolen(self) -> I64:
        """Frames stolen: one for each page that comes in."""
        return self.fast_in + self.slow_in + self.dasd_in

    @classmethod
    def build(cls, demand: Demand) -> Flows:
        """Build the flows of a run; sums over the steady state meet the targets' rates."""
        measurement, allocation = demand.measurement, demand.allocation
        targets, storage = measurement.targets, measurement.storage
        spread = measurement.scenario.spread * 1.5  # paging varies more than processors' work

        def flow(noun: str, natural: F64, target: float | None) -> I64:
            return allocation.counts(noun, natural, target, spread)

        expanded = flow("expanded paging", demand.xstor_pages, targets.xstor_page_rate)
        migrated = flow("migration", demand.migrated, targets.xstor_migration_rate)
        # Pages that go out come in again or are migrated to DASD.
        page_ins = np.maximum(expanded - migrated, 0) // 2
        fast = np.rint(page_ins * storage.fast_page_in_share).astype(np.int64)
        if targets.dasd_read_rate is not None and targets.dasd_write_rate is not None:
            reads = flow("page reads", demand.dasd_pages, targets.dasd_read_rate)
            writes = flow("page writes", demand.dasd_pages, targets.dasd_write_rate)
        else:
            paging = flow("paging", demand.dasd_pages, targets.paging_rate)
            reads = np.rint(paging * storage.page_read_share).astype(np.int64)
            writes = paging - reads
        return cls(
            fast_in=fast,
            slow_in=page_ins - fast,
            out=expanded - page_ins,
            migrated=migrated,
            dasd_in=reads,
            dasd_out=writes,
            moved_below_2g=flow("moves below", demand.moved_below_2g, targets.move_2g_rate),
        )


_MOST_PATHS = 8
"""Channel paths to a device."""
_OF_DISKS = ("slow", "full", "path-off", "path-on", "volume")
"""Kinds of events of volumes and their paths."""


class Volumes:
    """The volumes of a run, with the paging of storage.

    Attributes:
        group: (volumes,) index of the volume's group.
        serials: (volumes,) the group's prefix and a number, six characters; those at the begin.
        is_page, is_spool, is_cp: (volumes,) whether CP pages there, spools there, does either.
        spool_used: (volumes,) spool slots in use.
        device_types, device_models, unit_types, unit_models: (volumes,) in the format of RDEV: two
            bytes of digits, and a number.
        control_units, unit: (volumes,) number of the control unit; index of it.
        paths, path_count: (volumes,) 8 channel path ids; number of used ones.
        path_ids: (volumes, 8) the same as integers, 0 for unused ones.
        hit_share, rates, avoided_rate: (volumes,) share of the I/Os that hit the control unit's
            cache; I/Os a second, and those that the minidisk cache avoids, at load 1.
        pages_per_io, service, parts: (volumes,) of an I/O: pages; 128 us; (3, volumes) shares of
            pending, disconnect and connect time.
        lasting: (volumes,) deviation as a factor, constant during the run.
        online, measured: when each is online, and measured by the channel subsystem.
        attached: when CP has its area; a user's volume has none, and is as if it had.
        user_ios, avoided, missed, spool_ios, page_busy: (intervals,) totals; `missed` are reads
            that the minidisk cache did not have, the last is the busy time of page volumes,
            128 us, if there is a target for it.
    """

    def __init__(self, demand: Demand, flows: Flows) -> None:
        self.measurement, allocation = demand.measurement, demand.allocation
        groups = self.measurement.scenario.volumes
        self.group = np.repeat(np.arange(len(groups)), [g.count for g in groups])
        first = np.cumsum([0, *(g.count for g in groups)])[:-1]
        number = np.arange(len(self.group)) - first[self.group]
        serials = [
            f"{groups[g].prefix}{n + 1:0{6 - len(groups[g].prefix)}d}"
            for g, n in zip(self.group.tolist(), number.tolist(), strict=True)
        ]
        self.serials = np.array(serials, dtype="U6")
        self.devices = self._each([int(g.first_device, 16) for g in groups]) + number
        per_unit = self._each([g.per_control_unit for g in groups])
        first_unit = self._each([int(g.control_unit, 16) for g in groups])
        self.control_units = first_unit + number // per_unit
        self.unit: I64 = np.unique(self.control_units, return_inverse=True)[1]
        paths = [int(g.channel_paths.ljust(2 * _MOST_PATHS, "0"), 16) for g in groups]
        self.paths = np.array(paths, dtype=np.uint64)[self.group]
        self.path_count = self._each([len(g.channel_paths) // 2 for g in groups])
        shifts = np.arange(_MOST_PATHS - 1, -1, -1, dtype=np.uint64) * np.uint64(8)
        self.path_ids: I64 = (self.paths[:, None] >> shifts & np.uint64(0xFF)).astype(np.int64)
        self.device_types, self.device_models = self._types([g.device_type for g in groups], 10)
        self.unit_types, self.unit_models = self._types([g.control_unit_type for g in groups], 16)
        self.hit_share = self._each([g.cache_hit_share for g in groups], np.float64)
        self.cylinders = self._each([g.cylinders for g in groups])
        self.pages_per_cylinder = self._each([g.pages_per_cylinder for g in groups])
        self.slots = self.cylinders * self.pages_per_cylinder
        self.is_page = self._each([g.kind == "page" for g in groups], np.bool_)
        self.is_spool = self._each([g.kind == "spool" for g in groups], np.bool_)
        self.is_cp = self.is_page | self.is_spool
        self.spool_used: I64 = self.slots * self.is_spool * 3 // 10
        self.pages_per_io = self._each([g.pages_per_io for g in groups], np.float64)
        times = np.array([[g.pending_ms, g.disconnect_ms, g.connect_ms] for g in groups])
        times = times.reshape(-1, 3)
        service = times.sum(axis=1)
        self.service: F64 = self._each((service / 1000 * SCM_PER_S).tolist(), np.float64)
        self.parts: F64 = (times / np.maximum(service, 1e-9)[:, None])[self.group].T
        self.lasting = around_one(self.measurement.rng("volumes"), len(self.group), 0.04)
        self.rates = self._each([g.io_per_s for g in groups], np.float64)
        load = demand.volume_load
        users = sum(g.count * g.io_per_s for g in groups if g.kind == "user")
        spool = sum(g.count * g.io_per_s for g in groups if g.kind == "spool")
        self._line = allocation.timeline
        self.user_ios = allocation.counts("user I/O", users * load)
        self.spool_ios = allocation.counts("spool I/O", spool * load)
        self.avoided_rate, self.avoided, self.missed = self._cached(allocation, load)
        self.page_busy = self._page_busy(allocation, flows)
        varied, measured = ("vary-off", "vary-on"), ("measurement-off", "measurement-on")
        self.online, self.measured, self.attached = (
            self._presence(allocation, *layers)
            for layers in ((varied,), (varied, measured), (("", "area-add"),))
        )

    def _cached(self, allocation: Allocation, load: F64) -> tuple[F64, I64, I64]:
        """What the minidisk cache does at a load.

        Returns:
            (volumes,) I/Os a second that it avoids at load 1; (intervals,) I/Os that it avoided,
            and reads that it did not have.
        """
        storage, groups = self.measurement.storage, self.measurement.scenario.volumes
        hit_share, reads = storage.cache_hit_share, storage.cache_reads_per_s
        if reads is None:
            rates = self._each([g.avoided_per_s for g in groups], np.float64)
            rate = sum(g.count * g.avoided_per_s for g in groups)
            avoided = allocation.counts("avoided I/O", rate * load)
            share = max(hit_share, 0.01)
            return rates, avoided, np.rint(avoided * (1 - share) / share).astype(np.int64)
        rates = self.rates * ~self.is_cp
        reads *= bool(rates.any())  # without a user volume there is nothing to read
        avoided = allocation.counts("avoided I/O", reads * hit_share * load)
        return rates, avoided, allocation.counts("missed reads", reads * (1 - hit_share) * load)

    @functools.cached_property
    def _disk_events(self) -> list[Event]:
        """Those of single volumes and of channel paths, in order of time."""
        return [each for each in self.measurement.events if each.kind in _OF_DISKS]

    def paths_at(self, at: int) -> Bool:
        """(volumes, 8) which channel paths are there at a moment of the run."""
        there = self.path_ids > 0
        for each in self._disk_events:
            if each.kind in ("path-off", "path-on") and moment(each.at_s) <= at:
                same = self.path_ids == int(each.name, 16)
                there = there & ~same if each.kind == "path-off" else there | same
        return there

    def path_masks(self, at: int) -> I64:
        """(volumes,) a bit for each channel path that is there at a moment, from the left."""
        masks: I64 = (self.paths_at(at) * (0x80 >> np.arange(_MOST_PATHS))).sum(axis=1)
        return masks

    def serials_at(self, at: int) -> npt.NDArray[np.str_]:
        """(volumes,) serials of those that are mounted at a moment."""
        serials = self.serials.copy()
        for each in self._disk_events:
            if each.kind == "volume" and moment(each.at_s) <= at:
                serials[self.devices == int(each.device, 16)] = each.name
        return serials

    def times_of_io(self, interval: int) -> tuple[F64, F64]:
        """(volumes,) time of an I/O, 128 us; (3, volumes) its shares as `parts`.

        A slow device keeps its I/Os disconnected. Where paths are lost, an I/O is pending for
        longer, as many times as there were more of them.
        """
        if not self._disk_events:
            return self.service, self.parts
        times: F64 = self.parts * self.service
        for each in self._disk_events:
            if each.kind == "slow":
                slow = (self.devices == int(each.device, 16)) * self._line.covered(each)[interval]
                times[1] += slow * (each.factor - 1) * self.service
        begin, end = (int(edge) for edge in self._line.edges[interval : interval + 2])
        left = [self.paths_at(at).sum(axis=1) for at in (begin, end)]
        times[0] *= 2 * self.path_count / np.maximum(left[0] + left[1], 1)
        service = times.sum(axis=0)
        return service, times / np.maximum(service, 1e-9)

    def filled(self, at: int) -> Bool:
        """(volumes,) whose slots are all in use at a moment, so that CP writes no pages there."""
        full = np.zeros(len(self.devices), dtype=np.bool_)
        for each in self._disk_events:
            if each.kind == "full" and moment(each.at_s) <= at < moment(each.at_s + each.lasts_s):
                full |= self.devices == int(each.device, 16)
        return full

    def _presence(self, allocation: Allocation, *layers: tuple[str, str]) -> Presence:
        """When devices are on in all layers, by the kinds of events that set each off and on."""
        devices = [each for each in self.measurement.events if each.device]
        switches = (
            [
                Switch(moment(each.at_s), self.devices == int(each.device, 16), each.kind == on)
                for each in devices
                if each.kind in (off, on)
            ]
            for off, on in layers
        )
        return Presence(allocation.timeline, len(self.devices), *switches)

    def _types(self, of_groups: Sequence[str], base: int) -> tuple[npt.NDArray[np.void], I64]:
        """(volumes,) types as two bytes of digits, and models as numbers in a base."""
        pairs = [text.split("-") for text in of_groups]
        types = np.array([bytes.fromhex(number) for number, _ in pairs], dtype="V2")
        return types[self.group], self._each([int(model, base) for _, model in pairs])

    def _each(self, of_groups: Sequence[float], dtype: type = np.int64) -> npt.NDArray[Any]:
        return np.array(of_groups, dtype=dtype)[self.group]

    def _page_busy(self, allocation: Allocation, flows: Flows) -> I64 | None:
        """(intervals,) busy time of all page volumes, if there is a target for it."""
        target, volumes = self.measurement.targets.page_volume_busy, int(self.is_page.sum())
        if target is None or not volumes:
            return None
        line = allocation.timeline
        pages = flows.dasd_in + flows.dasd_out
        mean = max(float(pages[line.steady].mean()), 1.0)
        weights = line.up_seconds * (1.0 + (1.0 - target / 100) * (pages / mean - 1.0))
        natural = line.up_seconds * volumes * SCM_PER_S * target / 100 * allocation.warming
        total = line.steady_seconds * volumes * SCM_PER_S * target / 100
        return allocation.fix_steady(floor_int(np.rint(natural)), total, weights)
