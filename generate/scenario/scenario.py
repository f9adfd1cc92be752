"""A scenario with its runs and their targets; `docs/scenario-format.md` describes every key."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from msgspec import Meta, field
from msgspec.structs import replace

from ...config import Table
from ...core.errors import CpmonError, nearest
from ...schemas.unplaced import AssumedPlace, Places
from ..sink import Compression
from .repetitions import Repetitions, run_key
from .tables import (
    Disturbance,
    IntervalCount,
    Machine,
    NonNegative,
    NonNegativeInt,
    Partition,
    Percent,
    Storage,
    SystemText,
    Transactions,
    UserGroup,
    VolumeGroup,
    Workload,
)

Busy = Annotated[float, Meta(ge=0.05, le=99.9)]


class Targets(Table, frozen=True):
    """Figures of the steady state of a run; those for a transaction are of the whole run.

    Utilizations are percent of one processor, rates per second, levels 4 KiB pages.
    """

    total_util: Busy | None = None
    emul_util: Percent | None = None
    master_total_util: Busy | None = None
    master_emul_util: Percent | None = None
    spin_lock_rate: NonNegative | None = None
    spin_time_us: NonNegative | None = None
    xstor_page_rate: NonNegative | None = None
    xstor_migration_rate: NonNegative | None = None
    dasd_page_rate: NonNegative | None = None
    dasd_read_rate: NonNegative | None = None
    dasd_write_rate: NonNegative | None = None
    dasd_pages_per_tx: NonNegative | None = None
    move_2g_rate: NonNegative | None = None
    page_volume_busy: Annotated[float, Meta(ge=0, le=98)] | None = None
    resident_pages_per_user: NonNegative | None = None
    resident_below_2g_pages: NonNegativeInt | None = None
    resident_above_2g_pages: NonNegativeInt | None = None
    xstor_pages_per_user: NonNegative | None = None
    dasd_pages_per_user: NonNegative | None = None
    diag44_rate: NonNegative | None = None
    diag44_fast_rate: NonNegative | None = None
    tx_rate: NonNegative | None = None
    cp_us_per_tx: NonNegative | None = None
    emul_us_per_tx: NonNegative | None = None
    hardware_total_util: Percent | None = None
    hardware_emul_util: Percent | None = None

    @property
    def paging_rate(self) -> float | None:
        """Pages read from and written to DASD a second, from the target that is set."""
        if self.dasd_read_rate is not None and self.dasd_write_rate is not None:
            return self.dasd_read_rate + self.dasd_write_rate
        if self.dasd_pages_per_tx is not None and self.tx_rate is not None:
            return self.dasd_pages_per_tx * self.tx_rate
        return self.dasd_page_rate


Level4 = Literal["4.2.0", "4.3.0", "4.4.0"]
Level5 = Literal["5.1.0", "5.2.0", "5.3.0", "5.4.0"]
Level6 = Literal["6.1.0", "6.2.0", "6.3.0", "6.4.0"]
Level7 = Literal["7.1.0", "7.2.0", "7.3.0", "7.4.0", "7.5.0"]
Level = Literal[Level4, Level5, Level6, Level7]
Domain = Literal["system", "storage", "user", "processor", "io", "appldata"]
DOMAIN_NUMBERS: dict[Domain, int] = {
    "system": 0,
    "storage": 3,
    "user": 4,
    "processor": 5,
    "io": 6,
    "appldata": 10,
}
DOMAINS: tuple[Domain, ...] = tuple(DOMAIN_NUMBERS)
EventDomain = Literal["monitor", "user", "transaction", "processor", "io"]
EVENTS: tuple[EventDomain, ...] = ("monitor", "user", "processor", "io")


class Monitor(Table, frozen=True):
    """MONITOR settings: interval (s), high-frequency rate (s), size of the monitor segment.

    `domains` are sampled besides the monitor domain; `events` are the domains whose events are
    recorded. Ends of transactions, which are many, are only recorded if `transaction` is named.
    """

    interval_s: Annotated[int, Meta(ge=6, le=3600)] = 60
    high_frequency_s: Annotated[float, Meta(ge=0.01, le=60)] = 2.0
    segment_mib: Annotated[int, Meta(ge=1, le=1024)] = 8
    domains: tuple[Domain, ...] = DOMAINS
    events: tuple[EventDomain, ...] = EVENTS


class RunKeys(Table, frozen=True, kw_only=True):
    """Keys of a run, besides its start, machine, storage and samples.

    The first `warmup_intervals` precede the steady state that the targets describe. `damage` is
    applied to the dump: KIND[:PLACE[:COUNT]].
    """

    cp_level: Level
    targets: Targets = Targets()
    base_run_id: str = ""
    ipl_hours_before: Annotated[float, Meta(ge=0.05, le=2000)] = 4.0
    intervals: IntervalCount | None = None
    warmup_intervals: Annotated[int, Meta(ge=0, le=100000)] = 0
    warmup_tx_share: Annotated[float, Meta(ge=0, le=2)] = 0.5
    users: dict[str, NonNegativeInt] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    disturbances: tuple[Disturbance, ...] = ()
    damage: tuple[str, ...] = ()
    compression: Compression = "none"


class Run(RunKeys, frozen=True, kw_only=True):
    """One measurement: CP level, start, number of users, and measured figures.

    `machine` and `storage` are those of the scenario with the overrides of this run.
    """

    run_id: str
    start: dt.datetime
    machine: Machine
    storage: Storage

    @property
    def key(self) -> str:
        """The key of its table."""
        return run_key(self.run_id)


class ScenarioKeys(Table, frozen=True, kw_only=True):
    """Keys of a scenario, besides its runs and the differences of their samples."""

    name: str
    title: str
    system: SystemText
    seed: NonNegativeInt
    machine: Machine
    storage: Storage
    users: tuple[UserGroup, ...] = ()
    volumes: tuple[VolumeGroup, ...] = ()
    partitions: tuple[Partition, ...] = ()
    workloads: tuple[Workload, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    intervals: IntervalCount = 30
    spread: Annotated[float, Meta(ge=0, le=0.2)] = 0.04
    monitor: Monitor = Monitor()
    transactions: Transactions = Transactions()
    assumed: tuple[AssumedPlace, ...] = ()


class Scenario(ScenarioKeys, frozen=True, kw_only=True):
    """A measurement with all its runs."""

    runs: tuple[Run, ...]
    repetitions: Repetitions | None = None

    @property
    def places(self) -> Places:
        """Places of its dumps' fields whose place is not published."""
        return tuple(
            replace(place, source=place.source or f"scenario {self.name}") for place in self.assumed
        )

    @property
    def run_ids(self) -> tuple[str, ...]:
        """The runs by name, in the order of the file."""
        return tuple(run.run_id for run in self.runs)

    def run(self, run_id: str) -> Run:
        """The run of that name.

        Raises:
            CpmonError: there is none.
        """
        for run in self.runs:
            if run.run_id == run_id:
                return run
        raise CpmonError(
            f"scenario {self.name} has no run {run_id}",
            code="name-unknown",
            expected=", ".join(self.run_ids),
            found=run_id,
            remedy=f"did you mean {near}?" if (near := nearest(run_id, self.run_ids)) else None,
        )

    def groups_of(self, run: Run) -> tuple[UserGroup, ...]:
        """The user groups with the counts of that run, without groups of 0 users."""
        counted = (replace(g, count=run.users.get(g.name, g.count)) for g in self.users)
        return tuple(group for group in counted if group.count)

    def workload_of(self, group: UserGroup) -> Workload:
        """The workload of a group: the one that it names, or a steady one."""
        for workload in self.workloads:
            if workload.name == group.workload:
                return workload
        return Workload("", noise=self.spread)
