"""Shifts: hours of some days of the week, by which reports and roll-ups are narrowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from typing import Any
from zoneinfo import ZoneInfo

from ..schemas import CpmonError
from ..schemas.lookup import unknown
from ..store.lateness import inside

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
KEYS = ("days", "from", "to")


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

    def where(self, column: str) -> tuple[str, list[Any]]:
        """A condition on a column of UTC times, as SQL, and the values of its marks."""
        local = inside(f"timezone(?, timezone('UTC', {column}))")
        day, clock = f"isodow({local})", f"CAST({local} AS TIME)"
        listed = ", ".join(map(str, self.days))
        if self.begins < self.ends:
            text = f"({day} IN ({listed}) AND {clock} >= ? AND {clock} < ?)"
            return text, [self.zone, self.zone, self.begins, self.zone, self.ends]
        after = ", ".join(str(day % 7 + 1) for day in self.days)
        text = f"(({day} IN ({listed}) AND {clock} >= ?) OR ({day} IN ({after}) AND {clock} < ?))"
        return text, [self.zone, self.zone, self.begins, self.zone, self.zone, self.ends]


def read_shifts(tables: Mapping[str, Any], zone: str, place: str) -> dict[str, Shift]:
    """The shifts of a configuration: `[shifts.prime]` with days, from, to.

    Args:
        zone: time zone of the hours.
        place: of the tables, for messages.

    Raises:
        CpmonError: a key or value is wrong.
    """
    return {name: _shift(name, values, zone, f"{place}.{name}") for name, values in tables.items()}


def find_zone(name: str) -> ZoneInfo:
    """A time zone by name.

    Raises:
        CpmonError: there is none of that name.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise CpmonError(
            f"there is no time zone {name}",
            expected="a name of the IANA time zones, as Europe/Vienna or UTC",
            found=name,
        ) from None


def _shift(name: str, values: Any, zone: str, place: str) -> Shift:
    if not isinstance(values, Mapping):
        raise CpmonError("a shift is a table", place=place, expected="days, from, to")
    for key in values:
        if key not in KEYS:
            raise unknown("key", key, KEYS, place=place)
    days = _days(values.get("days", "mon-sun"), f"{place}.days")
    begins, ends = (_clock(values.get(key), f"{place}.{key}") for key in ("from", "to"))
    return Shift(name, days, begins, ends, zone)


def _days(text: Any, place: str) -> tuple[int, ...]:
    """Names and spans of days as numbers."""
    found: list[int] = []
    for part in str(text).lower().replace(",", " ").split():
        first, _, last = part.partition("-")
        if first not in DAYS or (last and last not in DAYS):
            raise CpmonError(
                "days cannot be read",
                place=place,
                expected=f"days or spans of days, as mon-fri or sat sun, of {', '.join(DAYS)}",
                found=str(text),
            )
        begin, end = DAYS.index(first), DAYS.index(last or first)
        found += [day % 7 + 1 for day in range(begin, end + 1 + 7 * (end < begin))]
    return tuple(sorted(set(found)))


def _clock(value: Any, place: str) -> time:
    try:
        return time.fromisoformat(str(value))
    except ValueError:
        raise CpmonError(
            "a time of the day cannot be read",
            place=place,
            expected="hours and minutes, as 08:00",
            found=str(value),
        ) from None
