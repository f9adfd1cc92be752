"""What the users ask of the system over time, from their groups: the natural size of everything.

A target fixes how much of something there was in a run; when it happened still follows from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .frames import Frames
from .measurement import Measurement
from .noise import F64
from .population import UserGroup
from .roster import Roster
from .timeline import Timeline
from .workload import loads

FAST_DIAGNOSE_SINCE = "5.2.0"
"""From this level on CP answers most DIAGNOSE X'44' in a few instructions of its own."""

MOVES_BELOW_UNTIL = "5.2.0"
"""Up to this level CP needs pages of I/O and of its own work below 2 GB."""

TIMERS_ON_MASTER_UNTIL = "4.3.0"
"""Up to this level only the master processor serves timer requests."""

_FAST_SHARE = 0.92
_MOVED_SHARE = 0.3
_MIGRATED_SHARE = 0.5
_SPIN_US, _SPINS_PER_S = 3.0, 4000.0


@dataclass(frozen=True, slots=True)
class Demand:
    """(intervals,) each: events, pages or processor seconds a second.

    `users` and `load` are (intervals, groups): who is logged on, and how busy at that.
    `virtual_processors` is how many they have together.
    `timer_cp` is the part of `cp` that serves timers.
    """

    users: F64
    load: F64
    virtual_processors: F64
    emulation: F64
    cp: F64
    timer_cp: F64
    dispatches: F64
    simulations: F64
    diagnoses: F64
    diagnose_44: F64
    diagnose_44_fast: F64
    volume_load: F64
    transactions: F64
    resident: F64
    expanded: F64
    slots: F64
    xstor_pages: F64
    migrated: F64
    dasd_pages: F64
    moved_below_2g: F64

    @classmethod
    def of(cls, measurement: Measurement, timeline: Timeline, roster: Roster) -> Demand:
        """What the users of a run want."""
        groups, level = measurement.groups, measurement.run.cp_level
        load = loads(measurement, timeline.seconds)
        users = roster.counts(measurement.intervals)
        work = users * load

        def asked(rate: Callable[[UserGroup], float]) -> F64:
            total: F64 = work @ np.array([rate(group) for group in groups])
            return total

        emulation = asked(lambda g: g.cpu_percent * g.weight / 100)
        loops = [roster.looping(k).sum() / 100 for k in range(measurement.intervals)]
        timers = asked(lambda g: g.timers_per_s)
        dispatches = timers + asked(lambda g: g.dispatches_per_s)
        simulations = 2 * timers + asked(lambda g: g.simulations_per_s)
        diagnose_44 = asked(lambda g: g.diagnose_44_per_s)
        fast = _FAST_SHARE if level >= FAST_DIAGNOSE_SINCE else 0.0
        volume_load = _volume_load(work, users, groups)
        held = _held(measurement, users, load)
        flows = _flows(measurement, held, volume_load)
        machine = measurement.machine
        timer_cp = timers * (machine.dispatch_us + 2 * machine.simulation_us) / 1e6
        cp = (
            (dispatches - timers) * machine.dispatch_us
            + (simulations - 2 * timers) * machine.simulation_us
            + _disk_ios(measurement) * volume_load * machine.io_us
            + (flows["xstor_pages"] + flows["dasd_pages"]) * machine.page_us
        ) / 1e6
        return cls(
            users=users,
            load=load,
            virtual_processors=users @ np.array([g.virtual_processors for g in groups]),
            emulation=emulation + np.array(loops),
            cp=cp + timer_cp,
            timer_cp=timer_cp,
            dispatches=dispatches,
            simulations=simulations,
            diagnoses=asked(lambda g: g.diagnoses_per_s),
            diagnose_44=diagnose_44 * (1 - fast),
            diagnose_44_fast=diagnose_44 * fast,
            volume_load=volume_load,
            transactions=asked(lambda g: g.transactions_per_s),
            **held,
            **flows,
        )

    def spins(self, utilization: F64, processors: int) -> tuple[F64, F64]:
        """Spins a second and microseconds for each, (intervals,): the fuller, the more of both.

        Args:
            utilization: (intervals,) share of the processors that is busy with CP.
        """
        others = processors - 1
        return (
            _SPINS_PER_S * others * utilization * processors,
            _SPIN_US * (1.0 + utilization * others),
        )


def _volume_load(work: F64, users: F64, groups: tuple[UserGroup, ...]) -> F64:
    """(intervals,) load of the volumes: that of the users, weighted by what they compute."""
    weights = np.array([g.cpu_percent * g.weight * g.count for g in groups])
    everyone = np.array([g.count for g in groups])
    share: F64 = (work / everyone) @ (weights / max(float(weights.sum()), 1e-9))
    return share if weights.sum() else (work.sum(axis=1) / max(float(everyone.sum()), 1.0))


def _disk_ios(measurement: Measurement) -> float:
    """I/Os a second of all volumes, paging excepted, at load 1."""
    return sum(g.io_per_s * g.count for g in measurement.scenario.volumes if g.kind != "page")


def _held(measurement: Measurement, users: F64, load: F64) -> dict[str, F64]:
    """Pages that the users hold, and where they find room: first storage, then the rest."""
    groups, frames = measurement.groups, Frames.of(measurement)
    sets = np.array([256 * g.working_set_mib for g in groups])
    wanted = (users * (0.7 + 0.3 * np.minimum(load, 1.0))) @ sets
    resident = np.minimum(wanted, 0.97 * frames.for_users)
    expanded = np.minimum(wanted - resident, 0.95 * frames.expanded)
    paged = np.minimum(wanted - resident - expanded, 0.9 * frames.slots)
    return {
        "resident": resident,
        "expanded": expanded,
        # A page keeps its slot for a while after it was brought in again.
        "slots": paged + np.minimum(0.05 * wanted, 0.05 * frames.slots),
    }


def _flows(measurement: Measurement, held: dict[str, F64], load: F64) -> dict[str, F64]:
    """Pages a second between storage, expanded storage and DASD, and below 2 GB."""
    frames, storage = Frames.of(measurement), measurement.storage
    above = frames.users_above_share(storage)
    bound = measurement.run.cp_level < MOVES_BELOW_UNTIL and frames.above > 0
    moving = _disk_ios(measurement) * load * above * _MOVED_SHARE
    paged = held["slots"] - np.minimum(held["slots"], 0.05 * held["resident"])
    dasd = 2 * paged * storage.churn_per_s
    migrated = dasd * _MIGRATED_SHARE / 2 * (frames.expanded > 0)
    return {
        "xstor_pages": 2 * held["expanded"] * storage.churn_per_s + migrated,
        "migrated": migrated,
        "dasd_pages": dasd,
        "moved_below_2g": moving if bound else np.zeros_like(moving),
    }
