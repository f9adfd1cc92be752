"""Shifts: hours of some days of the week, to which reports and roll-ups are restricted."""

from __future__ import annotations

import io
import re
import struct
from dataclasses import dataclass
from datetime import time
from zoneinfo import ZoneInfo, available_timezones

from ..core.errors import CpmonError
from ..core.names import nearest
from .values import ZoneName


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of some days; an interval belongs to a shift if it ends after `begins`, up to `ends`.

    Attributes:
        days: numbers of the days on which it begins, Monday is 1.
        begins, ends: times of the day in `zone`; if `ends` is not later, it is on the next day.
        zone: name of a time zone.
    """

    name: str
    days: tuple[int, ...]
    begins: time
    ends: time
    zone: str = "UTC"


SYSTEM_ZONE = "system"
"""In place of a zone's name: that of the measured system, from its records."""
_FIXED = re.compile(r"GMT([+-])(\d\d):(\d\d)")


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that name: of the IANA zones, or a fixed offset as `zone_name` writes it.

    Raises:
        CpmonError: there is none.
    """
    if (seconds := fixed_offset_s(name)) is not None:
        return _fixed_zone(name, seconds)
    try:
        return ZoneInfo(ZoneName.parse(name))
    except ValueError as error:
        like = nearest(name, available_timezones())
        raise CpmonError(
            f"there is no time zone {name}",
            code="name-unknown",
            expected=str(error),
            found=name,
            remedy=f"did you mean {like}?" if like else None,
        ) from None


def zone_name(seconds: int) -> str:
    """The name of the zone that is always so far ahead of UTC: GMT+05:30; DuckDB knows it too."""
    minutes = abs(seconds) // 60
    return f"GMT{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def fixed_offset_s(name: str) -> int | None:
    """Seconds ahead of UTC of a zone of `zone_name`; None for any other name."""
    match = _FIXED.fullmatch(name)
    if match is None:
        return None
    return (int(match[2]) * 3600 + int(match[3]) * 60) * (-1 if match[1] == "-" else 1)


def _fixed_zone(name: str, seconds: int) -> ZoneInfo:
    """A zone with one offset, as a file of the zone database has it (RFC 8536)."""
    label = name.encode() + b"\0"
    head = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, len(label))
    data = head + struct.pack(">lBB", seconds, 0, 0) + label
    return ZoneInfo.from_file(io.BytesIO(data), name)
