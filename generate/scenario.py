"""Scenarios: what is measured, on which machine, with which users, and what came out of it.

The nouns of a scenario are those of the model. `docs/generate.md` describes every key.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Literal

from ..schemas.lookup import nearest
from .files import Compression
from .hardware import Machine, Partition, Positive, Storage, VolumeGroup
from .population import Disturbance, Transactions, UserGroup, Workload
from .repetitions import Repetitions
from .tables import Limits, ScenarioError
from .targets import Targets

Name8 = Limits(longest=8)
Level = Literal["4.2.0", "4.3.0", "4.4.0", "5.1.0", "5.2.0", "5.3.0"]
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


@dataclass(frozen=True, slots=True)
class Monitor:
    """MONITOR settings: interval (s), high-frequency rate (s), size of the monitor segment.

    `domains` are those sampled besides the monitor's own; `events` those whose events are
    recorded. Ends of transactions, which are many, are only recorded if `transaction` is named.
    """

    interval_s: Annotated[int, Limits(least=6, most=3600)] = 60
    high_frequency_s: Annotated[float, Limits(least=0.01, most=60)] = 2.0
    segment_mib: Annotated[int, Limits(least=1, most=1024)] = 8
    domains: tuple[Domain, ...] = DOMAINS
    events: tuple[EventDomain, ...] = EVENTS


@dataclass(frozen=True, slots=True)
class Run:
    """One measurement: CP level, when, with how many users, and what was measured.

    `machine` and `storage` are the scenario's with what this run changes. The first
    `warmup_intervals` come before the steady state that the targets describe. `damage` is done to
    the dump: KIND[:PLACE[:COUNT]].
    """

    run_id: str
    cp_level: Level
    start: dt.datetime
    machine: Machine
    storage: Storage
    targets: Targets = field(default_factory=Targets)
    base_run_id: str = ""
    ipl_hours_before: Annotated[float, Limits(least=0.05, most=2000)] = 4.0
    intervals: Annotated[int, Limits(least=1, most=100000)] | None = None
    warmup_intervals: Annotated[int, Limits(least=0, most=100000)] = 0
    warmup_tx_share: Annotated[float, Limits(least=0, most=2)] = 0.5
    users: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    disturbances: tuple[Disturbance, ...] = ()
    damage: tuple[str, ...] = ()
    compression: Compression = "none"


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
    partitions: tuple[Partition, ...] = ()
    workloads: tuple[Workload, ...] = ()
    disturbances: tuple[Disturbance, ...] = ()
    repetitions: Repetitions | None = None
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
        """The user groups with the counts of that run; a group of 0 users has none there."""
        counted = (replace(g, count=run.users.get(g.name, g.count)) for g in self.users)
        return tuple(group for group in counted if group.count)

    def workload_of(self, group: UserGroup) -> Workload:
        """The course of a group's work: the one it names, or a steady one."""
        for workload in self.workloads:
            if workload.name == group.workload:
                return workload
        return Workload("", noise=self.spread)
