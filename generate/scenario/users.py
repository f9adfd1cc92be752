"""The users of a scenario: groups, and their work over time."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from ...config import Table
from ...config.values import Text
from .values import Ebcdic, NonNegative, Percent, Share

Guest = Literal["cms", "linux", "vse", "server"]

MOST_VIRTUAL_PROCESSORS = 64
"""Most virtual processors of a guest."""


class UserPrefix(Ebcdic, longest=7):
    """What the ids of a group's users begin with."""


class FileSystem(Table, frozen=True):
    """A file system of each guest of a group, which mon_fsstatd reports.

    It fills from `used_percent` by `growth_mib_per_h` until it is full.
    """

    device: Text
    directory: Text
    type: Text = Text("ext4")
    size_mib: Annotated[int, Meta(ge=1, le=1 << 30)] = 1024
    used_percent: Percent = 50.0
    growth_mib_per_h: NonNegative = 0.0
    reserved_percent: Percent = 5.0
    inodes: Annotated[int, Meta(ge=0, le=1 << 40)] = 65536
    inodes_used_percent: Percent = 10.0


class GuestProcess(Table, frozen=True):
    """A process of each guest of a group, which mon_procd reports: figures that stay."""

    pid: Annotated[int, Meta(ge=1, le=4194304)]
    command: Text
    user: Text = Text("root")
    parent: Annotated[int, Meta(ge=0, le=4194304)] = 1
    cpu_percent: Annotated[float, Meta(ge=0, le=6400)] = 0.0
    resident_mib: NonNegative = 4.0
    virtual_mib: NonNegative = 16.0
    major_faults_per_s: NonNegative = 0.0


class UserGroup(Table, frozen=True):
    """Users of one kind. Rates are for one user and second, at load 1; shares are of the time.

    `cpu_percent` is virtual CPU time, percent of one processor.
    """

    name: str
    prefix: UserPrefix
    count: Annotated[int, Meta(ge=1, le=65000)]
    guest: Guest = "cms"
    workload: str = ""
    cpu_percent: Annotated[float, Meta(ge=0, le=6400)] = 1.0
    weight: NonNegative = 1.0
    weight_sigma: Annotated[float, Meta(ge=0, le=2)] = 0.3
    interval_sigma: Annotated[float, Meta(ge=0, le=2)] = 0.15
    virtual_processors: Annotated[int, Meta(ge=1, le=MOST_VIRTUAL_PROCESSORS)] = 1
    storage_mib: Annotated[int, Meta(ge=1, le=2047)] = 32
    working_set_mib: NonNegative = 4.0
    architecture: Literal["ESA", "XA", "XC", "Z"] = "ESA"
    share: Annotated[int, Meta(ge=1, le=10000)] = 100
    dispatched_share: Share = 0.1
    page_wait_share: Share = 0.0
    io_wait_share: Share = 0.02
    simulation_wait_share: Share = 0.005
    console_wait_share: Share = 0.001
    dispatches_per_s: NonNegative = 0.5
    simulations_per_s: NonNegative = 1.0
    diagnoses_per_s: NonNegative = 0.1
    diagnose_44_per_s: NonNegative = 0.0
    timers_per_s: NonNegative = 0.0
    console_ios_per_s: NonNegative = 0.0
    unit_record_ios_per_s: NonNegative = 0.0
    network_ios_per_s: NonNegative = 0.0
    transactions_per_s: NonNegative = 0.0
    appldata: bool = False
    file_systems: tuple[FileSystem, ...] = ()
    processes: tuple[GuestProcess, ...] = ()


class Transactions(Table, frozen=True):
    """Transactions of the users. Times are seconds; shares are of the transactions."""

    trivial_share: Share = 0.7
    trivial_s: NonNegative = 0.05
    nontrivial_s: NonNegative = 0.5


class Workload(Table, frozen=True):
    """The load over time, as a factor of a group's rates.

    `steady` stays at `level`; `ramp` goes from `level` to `peak` over the run; `daily` rises from
    `level` at night to `peak` at two maxima, late morning and afternoon, by the hour of the day
    (UTC); `bursts` jumps to `peak` for `burst_share` of the time. `noise` is the deviation from
    interval to interval.
    """

    name: str
    kind: Literal["steady", "ramp", "daily", "bursts"] = "steady"
    level: Annotated[float, Meta(ge=0, le=100)] = 1.0
    peak: Annotated[float, Meta(ge=0, le=100)] = 1.0
    burst_share: Share = 0.1
    burst_intervals: Annotated[int, Meta(ge=1, le=1000)] = 5
    noise: Annotated[float, Meta(ge=0, le=0.28)] = 0.04


Interruption = Literal["ipl", "restart", "miss", "interval"]
Switch = Literal["vary-off", "vary-on", "park", "unpark"]
DisturbanceKind = Literal[Interruption, "logoff", "logon", Switch, "runaway"]


class Disturbance(Table, frozen=True):
    """An event that happens once, early in `interval`, counted from 0.

    `intervals` is its length. `users` are user ids or patterns ("LINUX00*"). `processor` is
    a core where cores have several threads.
    """

    kind: DisturbanceKind
    interval: Annotated[int, Meta(ge=0, le=100000)]
    intervals: Annotated[int, Meta(ge=1, le=100000)] = 1
    users: str = ""
    processor: Annotated[int, Meta(ge=1, le=79)] | None = None
    device: str = ""
    interval_s: Annotated[int, Meta(ge=6, le=3600)] | None = None
    cpu_percent: Percent = 97.0
