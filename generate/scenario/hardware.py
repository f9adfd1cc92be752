"""The machine as a scenario describes it: processors, partitions, storage, volumes."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from ...config import Table
from ...config.values import Text
from .values import Ebcdic, NonNegative, NonNegativeInt, Percent, ProcessorCount, Share, SystemText

ProcessorType = Literal["CP", "IFL", "ZAAP", "ZIIP", "ICF"]


class MachineType(Ebcdic, longest=4):
    """Type of a machine, as `2064`."""


class MachineModel(Ebcdic, longest=16):
    """Model of a machine, as `109`."""


class MachineSerial(Ebcdic, longest=6):
    """Serial number of a machine."""


class Machine(Table, frozen=True):
    """Processors and their assignment to this system. Costs are microseconds of CP time.

    With `threads` above 1, `processors` counts cores; CP sees each thread as a processor.
    """

    type: MachineType
    model: MachineModel
    processors: ProcessorCount
    mode: Literal["basic", "lpar"] = "basic"
    serial: MachineSerial = MachineSerial("012345")
    processor_type: ProcessorType = "CP"
    partition: SystemText = SystemText("LP1")
    partition_number: Annotated[int, Meta(ge=1, le=63)] = 1
    dedicated: bool = True
    weight: Annotated[int, Meta(ge=1, le=999)] = 100
    capped: bool = False
    physical_processors: ProcessorCount = 16
    other_processors: dict[ProcessorType, ProcessorCount] = msgspec.field(default_factory=dict)
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
    def physical(self) -> dict[ProcessorType, int]:
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
    processor_type: ProcessorType | None = None
    weight: Annotated[int, Meta(ge=1, le=999)] = 100
    dedicated: bool = False
    capped: bool = False


class Storage(Table, frozen=True):
    """Real and expanded storage, in MiB, and how CP holds it. Frames are 4 KiB.

    `churn_per_s` is the share of the pages outside central storage that is referenced each second.
    """

    central_mib: Annotated[int, Meta(ge=64)]
    expanded_mib: NonNegativeInt = 0
    nonpageable_mib: NonNegativeInt = 64
    locked_below_2g_mib: NonNegativeInt = 0
    cache_below_2g_mib: NonNegativeInt = 0
    cache_above_2g_mib: NonNegativeInt = 0
    cache_hit_share: Share = 0.6
    available_below_frames: NonNegativeInt = 3000
    available_above_frames: NonNegativeInt = 0
    resident_above_share: Share | None = None
    fast_page_in_share: Share = 0.7
    page_read_share: Share = 0.5
    churn_per_s: Share = 0.004


class VolumePrefix(Ebcdic, longest=5):
    """What the serials of a group's volumes begin with."""


class DeviceType(Text):
    """Type and model of a volume."""

    EXPECTED = "type and model of a device, as 3390-3"
    PATTERN = "[0-9]{4}-[0-9]{1,2}"


class ControlUnitType(Text):
    """Type and model of a control unit."""

    EXPECTED = "type and model of a control unit, as 3990-6 or 2107-E8"
    PATTERN = "[0-9]{4}-[0-9A-Fa-f]{1,2}"


class ControlUnit(Text):
    """Number of a control unit."""

    EXPECTED = "up to four hexadecimal digits, as 0A00"
    PATTERN = "[0-9A-Fa-f]{1,4}"


class ChannelPaths(Text):
    """Numbers of up to eight channel paths."""

    EXPECTED = "two hexadecimal digits for each of up to 8 channel paths, as 1A2A3A4A"
    PATTERN = "([0-9A-Fa-f]{2}){1,8}"


class VolumeGroup(Table, frozen=True):
    """DASD volumes of one kind. Times are milliseconds an I/O; rates are for one volume.

    `control_unit` is the number of the first one (hexadecimal), `per_control_unit` the number of
    volumes of each; `cache_hit_share` is the share of I/Os that its cache answers.
    """

    prefix: VolumePrefix
    kind: Literal["page", "spool", "user"]
    count: Annotated[int, Meta(ge=1, le=1000)]
    first_device: str
    device_type: DeviceType = DeviceType("3390-3")
    cylinders: Annotated[int, Meta(ge=1, le=65520)] = 3339
    pages_per_cylinder: Annotated[int, Meta(ge=1, le=255)] = 180
    pages_per_io: Annotated[float, Meta(ge=1, le=64)] = 4.0
    io_per_s: NonNegative = 0.0
    avoided_per_s: NonNegative = 0.0
    pending_ms: NonNegative = 0.3
    disconnect_ms: NonNegative = 2.0
    connect_ms: NonNegative = 3.0
    control_unit_type: ControlUnitType = ControlUnitType("3990-6")
    control_unit: ControlUnit = ControlUnit("0001")
    per_control_unit: Annotated[int, Meta(ge=1, le=256)] = 64
    channel_paths: ChannelPaths = ChannelPaths("1A2A3A4A")
    cache_hit_share: Share = 0.8

    @property
    def devices(self) -> range:
        """Device numbers of the volumes."""
        first = int(self.first_device, 16)
        return range(first, first + self.count)
