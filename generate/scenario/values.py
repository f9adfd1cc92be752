"""Types of the values in a scenario: numbers within limits, and texts that go into records."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta

from ...config.values import Text

NonNegative = Annotated[float, Meta(ge=0)]
NonNegativeInt = Annotated[int, Meta(ge=0)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Share = Annotated[float, Meta(ge=0, le=1)]
IntervalCount = Annotated[int, Meta(ge=1, le=100000)]
ProcessorCount = Annotated[int, Meta(ge=1, le=80)]
"""Of a machine, a partition or a guest."""


class Ebcdic(Text):
    """A text of limited length that EBCDIC has the characters of."""

    LONGEST: ClassVar[int]

    def __init_subclass__(cls, longest: int) -> None:
        """Set the limit and how messages name it."""
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


class MachineType(Ebcdic, longest=4):
    """Type of a machine, as `2064`."""


class MachineModel(Ebcdic, longest=16):
    """Model of a machine, as `109`."""


class MachineSerial(Ebcdic, longest=6):
    """Serial number of a machine."""


class SystemText(Ebcdic, longest=8):
    """Name of a system or partition."""


class UserPrefix(Ebcdic, longest=7):
    """What the ids of a group's users begin with."""


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
