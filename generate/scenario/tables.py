"""The tables of a scenario besides its runs: machine, storage, volumes, users, workloads."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import msgspec
from msgspec import Meta

from ...config import Place, Table
from ...config.values import Text

NonNegative = Annotated[float, Meta(ge=0)]
NonNegativeInt = Annotated[int, Meta(ge=0)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
IntervalCount = Annotated[int, Meta(ge=1, le=100000)]
ProcessorCount = Annotated[int, Meta(ge=1, le=80)]
"""Number of processors of a machine, a partition or a guest."""


class _Ebcdic(Text):
    """A text of limited length whose characters EBCDIC has."""

    LONGEST: ClassVar[int]

    def __init_subclass__(cls, longest: int) -> None:
        """Set the limit, and its text for messages."""
        cls.LONGEST = longest
        cls.EXPECTED = f"1 to {longest} characters of EBCDIC (code page 037)"

    @classmethod
    def parse(cls, value: Any) -> Self:
        """The value, if it fits."""
        text = super().parse(value)
        if len(text) > cls.LONGEST:
            raise ValueError(cls.EXPECTED)
        try:
            text.encode("cp037")
        except UnicodeEncodeError:
            raise ValueError(cls.EXPECTED) from None
        return text


class SystemText(_Ebcdic, longest=8):
    """Name of a system or partition."""


def below(place: Place, above: str) -> Place:
    """Place of the keys of a nested table; the key "" is that of the table itself."""
    return lambda key: place(f"{above}.{key}" if key else above)


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
    other_processors: dict[_ProcessorType, ProcessorCount] = msgspec.field(default_factory=dict)
    threads: Annotated[int, Meta(ge=1, le=2)] = 1
    processors_per_record: NonNegativeInt = 0
    imbalance: Share = 0.02
    charged_share: Share = 0.75
    dispatch_us: NonNegative = 12.0
    simulation_us: NonNegative = 8.0
    io_us: NonNegative = 60.0
    page_us: NonNegative = 20.0

    @property
    def is_shared(self) -> bool:
        """Whether other partitions may run on the processors of this one."""
        return self.mode == "lpar" and not self.dedicated

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


_Guest = Literal["cms", "linux", "vse", "server"]

MOST_VIRTUAL_PROCESSORS = 64
"""Most virtual processors of a guest."""


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


class UserGroup(Table, frozen=True):
    """Users of one kind. Rates are for one user and second, at load 1; shares are of the time.

    `cpu_percent` is virtual CPU time, percent of one processor.
    """

    name: str
    prefix: _UserPrefix
    count: Annotated[int, Meta(ge=1, le=65000)]
    guest: _Guest = "cms"
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


_Interruption = Literal["ipl", "restart", "miss", "interval"]
_Switch = Literal["vary-off", "vary-on", "park", "unpark"]
_DisturbanceKind = Literal[_Interruption, "logoff", "logon", _Switch, "runaway"]


class Disturbance(Table, frozen=True):
    """An event that happens once, early in `interval`, counted from 0.

    `intervals` is its length. `users` are user ids or patterns ("LINUX00*"). `processor` is
    a core where cores have several threads.
    """

    kind: _DisturbanceKind
    interval: Annotated[int, Meta(ge=0, le=100000)]
    intervals: Annotated[int, Meta(ge=1, le=100000)] = 1
    users: str = ""
    processor: Annotated[int, Meta(ge=1, le=79)] | None = None
    device: str = ""
    interval_s: Annotated[int, Meta(ge=6, le=3600)] | None = None
    cpu_percent: Percent = 97.0
