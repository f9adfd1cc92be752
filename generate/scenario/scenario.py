"""A scenario: the system, its users and its runs; `docs/scenario-format.md` describes every key."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, field
from msgspec.structs import replace

from ...config import Table
from ...config.document import dotted
from ...config.values import Text
from ...core.errors import CpmonError, nearest
from ...schemas.unplaced import AssumedPlace, Places
from ..sink import Compression

NonNegative = Annotated[float, Meta(ge=0)]
NonNegativeInt = Annotated[int, Meta(ge=0)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
IntervalCount = Annotated[int, Meta(ge=1, le=100000)]
ProcessorCount = Annotated[int, Meta(ge=1, le=80)]
"""Number of processors of a machine, a partition or a guest."""


class _Ebcdic(Text):
    """A text of limited length whose characters EBCDIC has."""

    def __init_subclass__(cls, longest: int) -> None:
        """Set the limit, and its text for messages."""
        cls.EXPECTED = f"1 to {longest} characters of EBCDIC (code page 037)"
        cls.PATTERN = rf"[^\0]{{1,{longest}}}"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if it fits."""
        text = super().parse(value)
        try:
            text.encode("cp037")
        except UnicodeEncodeError:
            raise ValueError(cls.EXPECTED) from None
        return text


class SystemText(_Ebcdic, longest=8):
    """Name of a system or partition."""


_ProcessorType = Literal["CP", "IFL", "ZAAP", "ZIIP", "ICF"]


class _MachineType(_Ebcdic, longest=4):
    """Type of a machine, as `2064`."""


class _MachineModel(_Ebcdic, longest=16):
    """Model of a machine, as `109`."""


class _MachineSerial(_Ebcdic, longest=6):
    """Serial number of a machine."""


class Machine(Table, frozen=True):
    """Processors and their assignment to this system. Costs are microseconds of CP time.

    With `threads` above 1, `processors` counts cores; CP sees each thread as a processor.
    """

    type: _MachineType
    model: _MachineModel
    processors: ProcessorCount
    mode: Literal["basic", "lpar"] = "basic"
    serial: _MachineSerial = _MachineSerial("012345")
    processor_type: _ProcessorType = "CP"
    partition: SystemText = SystemText("LP1")
    partition_number: Annotated[int, Meta(ge=1, le=63)] = 1
    dedicated: bool = True
    weight: Annotated[int, Meta(ge=1, le=999)] = 100
    capped: bool = False
    physical_processors: ProcessorCount = 16
    other_processors: dict[_ProcessorType, ProcessorCount] = field(default_factory=dict)
    threads: Annotated[int, Meta(ge=1, le=2)] = 1
    processors_per_record: NonNegativeInt = 0
    imbalance: Share = 0.02
    charged_share: Share = 0.75
    dispatch_us: NonNegative = 12.0
    simulation_us: NonNegative = 8.0
    io_us: NonNegative = 60.0
    page_us: NonNegative = 20.0

    @property
    def cpus(self) -> int:
        """Processors as CP sees them: the threads of all cores."""
        return self.processors * self.threads

    @property
    def physical(self) -> dict[_ProcessorType, int]:
        """Physical processors by type, this system's first."""
        return {self.processor_type: self.physical_processors, **self.other_processors}


class Partition(Table, frozen=True):
    """A logical partition beside this system's, or its processors of one more type.

    Entries of one name are one partition. `busy_percent` is of these processors, `processor_type`
    that of the machine by default.
    """

    name: SystemText
    processors: ProcessorCount
    busy_percent: Percent = 50.0
    processor_type: _ProcessorType | None = None
    weight: Annotated[int, Meta(ge=1, le=999)] = 100
    dedicated: bool = False
    capped: bool = False


class Storage(Table, frozen=True):
    """Real and expanded storage, in MiB, and how CP holds it. Frames are 4 KiB.

    `churn_per_s` is the share of the pages outside central storage that is referenced each second.
    `cache_reads_per_s` are reads of all user volumes that are looked up in the minidisk cache at
    load 1; without it they follow from the I/Os that volumes save.
    """

    central_mib: Annotated[int, Meta(ge=64)]
    expanded_mib: NonNegativeInt = 0
    nonpageable_mib: NonNegativeInt = 64
    locked_below_2g_mib: NonNegativeInt = 0
    cache_below_2g_mib: NonNegativeInt = 0
    cache_above_2g_mib: NonNegativeInt = 0
    cache_hit_share: Share = 0.6
    cache_reads_per_s: NonNegative | None = None
    available_below_frames: NonNegativeInt = 3000
    available_above_frames: NonNegativeInt = 0
    resident_above_share: Share | None = None
    fast_page_in_share: Share = 0.7
    page_read_share: Share = 0.5
    churn_per_s: Share = 0.004


class _VolumePrefix(_Ebcdic, longest=5):
    """What the serials of a group's volumes begin with."""


class _DeviceType(Text):
    """Type and model of a volume."""

    EXPECTED = "type and model of a device, as 3390-3"
    PATTERN = "[0-9]{4}-[0-9]{1,2}"


class _ControlUnitType(Text):
    """Type and model of a control unit."""

    EXPECTED = "type and model of a control unit, as 3990-6 or 2107-E8"
    PATTERN = "[0-9]{4}-[0-9A-Fa-f]{1,2}"


class _ControlUnit(Text):
    """Number of a control unit."""

    EXPECTED = "up to four hexadecimal digits, as 0A00"
    PATTERN = "[0-9A-Fa-f]{1,4}"


class _ChannelPaths(Text):
    """Numbers of up to eight channel paths."""

    EXPECTED = "two hexadecimal digits for each of up to 8 channel paths, as 1A2A3A4A"
    PATTERN = "([0-9A-Fa-f]{2}){1,8}"


class VolumeGroup(Table, frozen=True):
    """DASD volumes of one kind. Times are milliseconds an I/O; rates are for one volume.

    `control_unit` is the number of the first one (hexadecimal), `per_control_unit` the number of
    volumes of each; `cache_hit_share` is the share of I/Os that its cache answers.
    """

    prefix: _VolumePrefix
    kind: Literal["page", "spool", "user"]
    count: Annotated[int, Meta(ge=1, le=1000)]
    first_device: str
    device_type: _DeviceType = _DeviceType("3390-3")
    cylinders: Annotated[int, Meta(ge=1, le=65520)] = 3339
    pages_per_cylinder: Annotated[int, Meta(ge=1, le=255)] = 180
    pages_per_io: Annotated[float, Meta(ge=1, le=64)] = 4.0
    io_per_s: NonNegative = 0.0
    avoided_per_s: NonNegative = 0.0
    pending_ms: NonNegative = 0.3
    disconnect_ms: NonNegative = 2.0
    connect_ms: NonNegative = 3.0
    control_unit_type: _ControlUnitType = _ControlUnitType("3990-6")
    control_unit: _ControlUnit = _ControlUnit("0001")
    per_control_unit: Annotated[int, Meta(ge=1, le=256)] = 64
    channel_paths: _ChannelPaths = _ChannelPaths("1A2A3A4A")
    cache_hit_share: Share = 0.8

    @property
    def devices(self) -> range:
        """Device numbers of the volumes."""
        first = int(self.first_device, 16)
        return range(first, first + self.count)


class _UserPrefix(_Ebcdic, longest=7):
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


class GuestInterface(Table, frozen=True):
    """A network interface of each guest of a group, beside loopback and its first one.

    KiB a second while it is there.
    """

    name: Text
    received_kib_per_s: NonNegative = 0.0
    sent_kib_per_s: NonNegative = 0.0


class _VirtualDevice(Text):
    """Number of a virtual device."""

    EXPECTED = "up to four hexadecimal digits, as 0600"
    PATTERN = "[0-9A-Fa-f]{1,4}"


class VirtualDisk(Table, frozen=True):
    """A virtual disk in storage of each user of a group; I/Os a second at load 1."""

    device: _VirtualDevice
    size_mib: Annotated[int, Meta(ge=1, le=2047)] = 100
    ios_per_s: NonNegative = 1.0


class Adapter(Table, frozen=True):
    """A virtual network adapter of each user of a group, coupled to a network of the system.

    KiB a second at load 1. `device` is the first of its three devices.
    """

    device: _VirtualDevice
    network: SystemText = SystemText("VSWITCH1")
    received_kib_per_s: NonNegative = 0.0
    sent_kib_per_s: NonNegative = 0.0


class UserGroup(Table, frozen=True):
    """Users of one kind. Rates are for one user and second, at load 1; shares are of the time.

    `cpu_percent` is virtual CPU time, percent of one processor.
    """

    name: str
    prefix: _UserPrefix
    count: Annotated[int, Meta(ge=1, le=65000)]
    guest: Literal["cms", "linux", "vse", "server"] = "cms"
    workload: str = ""
    cpu_percent: Annotated[float, Meta(ge=0, le=6400)] = 1.0
    weight: NonNegative = 1.0
    weight_sigma: Annotated[float, Meta(ge=0, le=2)] = 0.3
    interval_sigma: Annotated[float, Meta(ge=0, le=2)] = 0.15
    virtual_processors: Annotated[int, Meta(ge=1, le=64)] = 1
    storage_mib: Annotated[int, Meta(ge=1, le=1 << 20)] = 32
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
    interfaces: tuple[GuestInterface, ...] = ()
    virtual_disks: tuple[VirtualDisk, ...] = ()
    adapters: tuple[Adapter, ...] = ()


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


_Interruption = Literal["ipl", "restart", "miss", "interval"]
_Switch = Literal["vary-off", "vary-on", "park", "unpark", "measurement-off", "measurement-on"]
_OfGuest = Literal["define-cpu", "detach-cpu", "share", "quickdsp", "reboot", "guest-clock"]
_OfSampling = Literal["sample-disable", "sample-enable", "rate-stop", "rate-start", "suspend"]
_OfMachine = Literal["attach", "detach", "storage-add", "area-add"]
_Session = Literal["logoff", "logon", "runaway"]
_OfLinux = Literal["process-start", "process-end", "mount", "unmount"]
_OfGuestSystem = Literal["cpu-offline", "cpu-online", "interface-up", "interface-down"]
_OfVirtualDevices = Literal["define-disk", "detach-disk", "define-adapter", "detach-adapter"]
_OfPartition = Literal["partition-off", "partition-on", "weight", "cap", "uncap"]
_OfDisks = Literal["slow", "full", "path-off", "path-on", "volume"]
_OfCp = Literal["contention"]
_OfUsers = Literal[_Session, _OfGuest, _OfLinux, _OfGuestSystem, _OfVirtualDevices]
EventKind = Literal[
    _Interruption, _OfUsers, _Switch, _OfSampling, _OfMachine, _OfPartition, _OfDisks, _OfCp
]
_Second = Annotated[int, Meta(ge=0, le=10_000_000)]


class Event(Table, frozen=True):
    """Something that happens once, in second `at_s` after the first sample.

    `lasts_s` is its length. `users` are user ids or patterns ("LINUX00*"). `processor` is
    a core where cores have several threads, and the address of a virtual one in events of users.
    `device` is that of a user in events of users. `name` is the command of a process, the directory
    of a file system, an interface, a partition, a channel path, a lock or the serial of a volume.
    `factor` multiplies the service time of a device.
    """

    kind: EventKind
    at_s: _Second
    lasts_s: Annotated[int, Meta(ge=1, le=10_000_000)] = 1
    users: str = ""
    processor: Annotated[int, Meta(ge=1, le=79)] | None = None
    device: str = ""
    name: str = ""
    domain: Literal["user", "io"] | None = None
    interval_s: Annotated[int, Meta(ge=6, le=3600)] | None = None
    clock_s: Annotated[int, Meta(ge=-1_000_000, le=1_000_000)] = 0
    share: Annotated[int, Meta(ge=1, le=10000)] = 100
    storage_mib: Annotated[int, Meta(ge=1, le=1 << 24)] = 1024
    weight: Annotated[int, Meta(ge=1, le=999)] = 100
    cpu_percent: Percent = 97.0
    factor: Annotated[float, Meta(ge=1, le=1000)] = 5.0


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
Domain = Literal["system", "storage", "user", "processor", "io", "network", "appldata"]
DOMAIN_NUMBERS: dict[Domain, int] = {
    "system": 0,
    "storage": 3,
    "user": 4,
    "processor": 5,
    "io": 6,
    "network": 8,
    "appldata": 10,
}
EventDomain = Literal["monitor", "storage", "user", "transaction", "processor", "io", "network"]


class Monitor(Table, frozen=True):
    """MONITOR settings: interval (s), high-frequency rate (s), size of the monitor segment.

    `domains` are sampled besides the monitor domain; `events` are the domains whose events are
    recorded. Ends of transactions, which are many, are only recorded if `transaction` is named.
    """

    interval_s: Annotated[int, Meta(ge=6, le=3600)] = 60
    high_frequency_s: Annotated[float, Meta(ge=0.01, le=60)] = 2.0
    segment_mib: Annotated[int, Meta(ge=1, le=1024)] = 8
    domains: tuple[Domain, ...] = tuple(DOMAIN_NUMBERS)
    events: tuple[EventDomain, ...] = ("monitor", "user", "processor", "io")


class RunKeys(Table, frozen=True, kw_only=True):
    """Keys of a run, besides its start, machine and storage.

    The first `warmup_intervals` precede the steady state that the targets describe. `damage` is
    applied to the dump: KIND[:PLACE[:COUNT]]. `samples`: what was measured, by measure.
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
    samples: dict[str, tuple[int, ...]] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
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
        return dotted("run", self.run_id)


class ScenarioKeys(Table, frozen=True, kw_only=True):
    """Keys of a scenario, besides its runs."""

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
    events: tuple[Event, ...] = ()
    intervals: IntervalCount = 30
    spread: Annotated[float, Meta(ge=0, le=0.2)] = 0.04
    monitor: Monitor = Monitor()
    transactions: Transactions = Transactions()
    assumed: tuple[AssumedPlace, ...] = ()


class Scenario(ScenarioKeys, frozen=True, kw_only=True):
    """A measurement with all its runs."""

    runs: tuple[Run, ...]

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
