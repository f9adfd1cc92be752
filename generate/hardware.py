"""The machine as a scenario describes it: processors, partitions, storage, volumes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from .tables import Limits

Positive = Limits(least=0)
Percent = Limits(least=0, most=100)
Share = Limits(least=0, most=1)

DEVICE_TYPE = Limits(pattern="[0-9]{4}-[0-9]{1,2}", example="3390-3")
CONTROL_UNIT_TYPE = Limits(pattern="[0-9]{4}-[0-9A-Fa-f]{1,2}", example="3990-6 or 2107-E8")
CONTROL_UNIT = Limits(pattern="[0-9A-Fa-f]{1,4}", example="0A00")
CHANNEL_PATHS = Limits(pattern="([0-9A-Fa-f]{2}){1,8}", example="1A2A3A4A")

ProcessorType = Literal["CP", "IFL", "ZAAP", "ZIIP", "ICF"]


@dataclass(frozen=True, slots=True)
class Machine:
    """Processors and the way they are given to this system. Costs are microseconds of CP time."""

    type: Annotated[str, Limits(longest=4)]
    model: Annotated[str, Limits(longest=16)]
    processors: Annotated[int, Limits(least=1, most=64)]
    mode: Literal["basic", "lpar"] = "basic"
    serial: Annotated[str, Limits(longest=6)] = "012345"
    processor_type: ProcessorType = "CP"
    partition: Annotated[str, Limits(longest=8)] = "LP1"
    partition_number: Annotated[int, Limits(least=1, most=63)] = 1
    dedicated: bool = True
    weight: Annotated[int, Limits(least=1, most=999)] = 100
    capped: bool = False
    physical_processors: Annotated[int, Limits(least=1, most=64)] = 16
    imbalance: Annotated[float, Share] = 0.02
    charged_share: Annotated[float, Share] = 0.75
    dispatch_us: Annotated[float, Positive] = 12.0
    simulation_us: Annotated[float, Positive] = 8.0
    io_us: Annotated[float, Positive] = 60.0
    page_us: Annotated[float, Positive] = 20.0

    @property
    def is_shared(self) -> bool:
        """Whether other partitions may run on the processors of this one."""
        return self.mode == "lpar" and not self.dedicated


@dataclass(frozen=True, slots=True)
class Partition:
    """A logical partition beside this system's. `busy_percent` is of its own processors."""

    name: Annotated[str, Limits(longest=8)]
    processors: Annotated[int, Limits(least=1, most=64)]
    busy_percent: Annotated[float, Percent] = 50.0
    weight: Annotated[int, Limits(least=1, most=999)] = 100
    dedicated: bool = False
    capped: bool = False


@dataclass(frozen=True, slots=True)
class Storage:
    """Real and expanded storage, in MiB, and how CP holds it. Frames are 4 KiB.

    `churn_per_s` is the share of the pages outside central storage that somebody wants each second.
    """

    central_mib: Annotated[int, Limits(least=64)]
    expanded_mib: Annotated[int, Positive] = 0
    nonpageable_mib: Annotated[int, Positive] = 64
    locked_below_2g_mib: Annotated[int, Positive] = 0
    cache_below_2g_mib: Annotated[int, Positive] = 0
    cache_above_2g_mib: Annotated[int, Positive] = 0
    cache_hit_share: Annotated[float, Share] = 0.6
    available_below_frames: Annotated[int, Positive] = 3000
    available_above_frames: Annotated[int, Positive] = 0
    resident_above_share: Annotated[float, Share] | None = None
    fast_page_in_share: Annotated[float, Share] = 0.7
    page_read_share: Annotated[float, Share] = 0.5
    churn_per_s: Annotated[float, Share] = 0.004


@dataclass(frozen=True, slots=True)
class VolumeGroup:
    """DASD volumes of one kind. Times are milliseconds an I/O; rates are for one volume.

    `control_unit` is the number of the first one (hexadecimal), `per_control_unit` how many
    volumes stand behind each; `cache_hit_share` is what its cache answers.
    """

    prefix: Annotated[str, Limits(longest=5)]
    kind: Literal["page", "spool", "user"]
    count: Annotated[int, Limits(least=1, most=1000)]
    first_device: str
    device_type: Annotated[str, DEVICE_TYPE] = "3390-3"
    cylinders: Annotated[int, Limits(least=1, most=65520)] = 3339
    pages_per_cylinder: Annotated[int, Limits(least=1, most=255)] = 180
    pages_per_io: Annotated[float, Limits(least=1, most=64)] = 4.0
    io_per_s: Annotated[float, Positive] = 0.0
    avoided_per_s: Annotated[float, Positive] = 0.0
    pending_ms: Annotated[float, Positive] = 0.3
    disconnect_ms: Annotated[float, Positive] = 2.0
    connect_ms: Annotated[float, Positive] = 3.0
    control_unit_type: Annotated[str, CONTROL_UNIT_TYPE] = "3990-6"
    control_unit: Annotated[str, CONTROL_UNIT] = "0001"
    per_control_unit: Annotated[int, Limits(least=1, most=256)] = 64
    channel_paths: Annotated[str, CHANNEL_PATHS] = "1A2A3A4A"
    cache_hit_share: Annotated[float, Share] = 0.8
