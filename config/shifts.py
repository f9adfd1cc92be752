"""Shifts: hours of some days of the week, by which reports and roll-ups are narrowed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time
from zoneinfo import ZoneInfo

from ..schemas.errors import CpmonError
from .values import ZoneName


@dataclass(frozen=True, slots=True)
class Shift:
    """Hours of some days: an interval belongs to it when it ends behind `begins`, up to `ends`.

    Attributes:
        days: numbers of the days on which it begins, Monday is 1.
        begins, ends: times of the day in `zone`; it goes over midnight if `ends` is not later.
        zone: name of a time zone.
    """

    name: str
    days: tuple[int, ...]
    begins: time
    ends: time
    zone: str = "UTC"


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that name.

    Raises:
        CpmonError: there is none.
    """
    try:
        return ZoneInfo(ZoneName.parse(name))
    except ValueError as error:
        raise CpmonError(f"there is no time zone {name}", expected=str(error), found=name) from None
