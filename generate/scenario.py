"""Scenarios: what is measured, on which machine, with which users, and what came out of it.

The nouns of a scenario are those of the model. `docs/generate.md` describes every key.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from ..schemas.lookup import nearest
from .tables import Limits, ScenarioError

Positive = Limits(least=0)
Percent = Limits(least=0, most=100)
Share = Limits(least=0, most=1)
Name8 = Limits(longest=8)


@dataclass(frozen=True, slots=True)
class Monitor:
    """MONITOR settings: interval (s), high-frequency rate (s), size of the monitor segment."""

    interval_s: Annotated[int, Limits(least=6, most=3600)] = 60
    high_frequency_s: Annotated[float, Limits(least=0.01, most=60)] = 2.0
    segment_mib: Annotated[int, Limits(least=1, most=1024)] = 8


@dataclass(frozen=True, slots=True)
class Machine:
    """Processors and the way they are given to this system."""

    type: Annotated[str, Limits(longest=4)]
    model: Annotated[str, Limits(longest=16)]
    processors: Annotated[int, Limits(least=1, most=64)]
    mode: Literal["basic", "lpar"] = "basic"
    serial: Annotated[str, Limits(longest=6)] = "012345"
    partition: Annotated[str, Limits(longest=8)] = "LP1"
    partition_number: Annotated[int, Limits(least=1, most=15)] = 1
    partitions: Annotated[int, Limits(least=1, most=15)] = 1
    physical_processors: Annotated[int, Limits(least=1, most=64)] = 16
    imbalance: Annotated[float, Share] = 0.02
    charged_share: Annotated[float, Share] = 0.75


@dataclass(frozen=True, slots=True)
class Storage:
    """Real and expanded storage, in MiB, and how CP holds it. Frames are 4 KiB."""

    central_mib: Annotated[int, Limits(least=64)]
    expanded_mib: Annotated[int, Positive] = 0
    nonpageable_mib: Annotated[int, Positive] = 64
    locked_below_2g_mib: Annotated[int, Positive] = 0
    cache_below_2g_mib: Annotated[int, Positive] = 0
    cache_above_2g_mib: Annotated[int, Positive] = 0
    available_below_frames: Annotated[int, Positive] = 3000
    available_above_frames: Annotated[int, Positive] = 0
    resident_above_share: Annotated[float, Share] = 0.0
    fast_page_in_share: Annotated[float, Share] = 0.7
    page_read_share: Annotated[float, Share] = 0.5


@dataclass(frozen=True, slots=True)
class UserGroup:
    """Users of one kind. Rates are for one user and second; shares are of the users."""

    name: str
    prefix: Annotated[str, Limits(longest=7)]
    count: Annotated[int, Limits(least=1, most=65000)]
    weight: Annotated[float, Positive] = 1.0
    weight_sigma: Annotated[float, Limits(least=0, most=2)] = 0.3
    interval_sigma: Annotated[float, Limits(least=0, most=2)] = 0.15
    storage_mib: Annotated[int, Limits(least=1, most=2047)] = 32
    architecture: Literal["ESA", "XA", "XC"] = "ESA"
    share: Annotated[int, Limits(least=1, most=10000)] = 100
    dispatched_share: Annotated[float, Share] = 0.1
    dispatches_per_s: Annotated[float, Positive] = 0.5
    diagnoses_per_s: Annotated[float, Positive] = 0.1
    simulations_per_s: Annotated[float, Positive] = 1.0
    page_wait_share: Annotated[float, Share] = 0.0


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """DASD volumes of one kind. Times are milliseconds an I/O; rates are for one volume."""

    prefix: Annotated[str, Limits(longest=5)]
    kind: Literal["page", "spool", "user"]
    count: Annotated[int, Limits(least=1, most=1000)]
    first_device: str
    device_type: str = "3390-3"
    cylinders: Annotated[int, Limits(least=1, most=65520)] = 3339
    pages_per_cylinder: Annotated[int, Limits(least=1, most=255)] = 180
    pages_per_io: Annotated[float, Limits(least=1, most=64)] = 4.0
    io_per_s: Annotated[float, Positive] = 0.0
    avoided_per_s: Annotated[float, Positive] = 0.0
    pending_ms: Annotated[float, Positive] = 0.3
    disconnect_ms: Annotated[float, Positive] = 2.0
    connect_ms: Annotated[float, Positive] = 3.0


@dataclass(frozen=True, slots=True)
class Transactions:
    """What the users' work is counted in. Times are seconds; shares are of the transactions."""

    trivial_share: Annotated[float, Share] = 0.7
    trivial_s: Annotated[float, Positive] = 0.05
    nontrivial_s: Annotated[float, Positive] = 0.5


@dataclass(frozen=True, slots=True)
class Targets:
    """Measured figures that a run must show again. Unset ones follow from the model."""

    total_util: Annotated[float, Limits(least=0.1, most=99.5)]
    emul_util: Annotated[float, Percent]
    master_total_util: Annotated[float, Limits(least=0.1, most=99.5)] | None = None
    master_emul_util: Annotated[float, Percent] | None = None
    xstor_page_rate: Annotated[float, Positive] = 0.0
    dasd_page_rate: Annotated[float, Positive] = 0.0
    spin_lock_rate: Annotated[float, Positive] = 0.0
    spin_time_us: Annotated[float, Positive] = 0.0
    resident_pages_per_user: Annotated[float, Positive] = 0.0
    xstor_pages_per_user: Annotated[float, Positive] = 0.0
    dasd_pages_per_user: Annotated[float, Positive] = 0.0
    move_2g_rate: Annotated[float, Positive] = 0.0
    page_volume_busy: Annotated[float, Limits(least=0, most=98)] | None = None
    tx_rate: Annotated[float, Positive] | None = None
    dasd_pages_per_tx: Annotated[float, Positive] | None = None
    hardware_total_util: Annotated[float, Percent] | None = None
    hardware_emul_util: Annotated[float, Percent] | None = None

    @property
    def paging_rate(self) -> float:
        """Pages read from and written to DASD a second, by whichever of the two targets is set."""
        if self.dasd_pages_per_tx is not None and self.tx_rate is not None:
            return self.dasd_pages_per_tx * self.tx_rate
        return self.dasd_page_rate


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: CP level, when, with how many users, and what was measured."""

    run_id: str
    cp_level: Literal["4.2.0", "4.3.0", "4.4.0", "5.1.0", "5.2.0", "5.3.0"]
    start: dt.datetime
    targets: Targets
    base_run_id: str = ""
    ipl_hours_before: Annotated[float, Limits(least=0.5, most=2000)] = 4.0
    users: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Scenario:
    """A measurement with all its runs."""

    name: str
    title: str
    system: Annotated[str, Name8]
    seed: Annotated[int, Positive]
    machine: Machine
    storage: Storage
    users: tuple[UserGroup, ...]
    volumes: tuple[VolumeGroup, ...]
    runs: tuple[Run, ...]
    intervals: Annotated[int, Limits(least=1, most=100000)] = 30
    spread: Annotated[float, Limits(least=0, most=0.2)] = 0.04
    monitor: Monitor = field(default_factory=Monitor)
    transactions: Transactions = field(default_factory=Transactions)

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs by name, in the order of the file."""
        return tuple(run.run_id for run in self.runs)

    def run(self, run_id: str) -> Run:
        """The run of that name.

        Raises:
            ScenarioError: there is none.
        """
        for run in self.runs:
            if run.run_id == run_id:
                return run
        raise ScenarioError(
            f"scenario {self.name} has no run {run_id}",
            expected=", ".join(self.run_ids),
            found=run_id,
            remedy=f"did you mean {near}?" if (near := nearest(run_id, self.run_ids)) else None,
        )

    def groups_of(self, run: Run) -> tuple[UserGroup, ...]:
        """The user groups with the counts of that run."""
        return tuple(replace(g, count=run.users.get(g.name, g.count)) for g in self.users)
