"""Times as people type them: in the zone that is printed, in words, or as so long ago."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

EXAMPLES = "2026-01-31T10:00, 2026-01-31, 10:00, today, yesterday, now or -2h"
MONTH: Literal["month"] = "month"
LineLength = timedelta | Literal["month"]
"""What a line of a report covers: so long, or a month of the calendar."""
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_moment(text: str, zone: ZoneInfo, now: datetime, day: date | None = None) -> datetime:
    """A typed time as UTC.

    Args:
        text: a date, a time of day, both, `today` and `yesterday` for their beginning, `now`, or
            `-2h` for two hours before it. What names an offset keeps it.
        zone: of what names none. Of an hour that the clocks show twice, the first is meant; a time
            that they skip is taken by the offset before.
        now: with a zone.
        day: of a time of day alone; today by default.

    Raises:
        ValueError: it is none of these.
    """
    try:
        moment = _typed(text, zone, now, day)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None


def _typed(text: str, zone: ZoneInfo, now: datetime, day: date | None) -> datetime:
    """A typed time as it says, with a zone only where it names one."""
    today = now.astimezone(zone).date()
    midnights = {"today": today, "yesterday": today - timedelta(days=1)}
    ago = re.fullmatch(r"-(\d{1,6})([smhdw])", text)
    if text == "now":
        return now
    if ago:
        return now.astimezone(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
    if text in midnights:
        return datetime.combine(midnights[text], time())
    if clock := re.fullmatch(r"(\d{1,2})(:\d\d(?::\d\d)?)", text):
        return datetime.combine(day or today, time.fromisoformat(clock[1].zfill(2) + clock[2]))
    return datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class TypedSpan:
    """A span that was typed.

    Attributes:
        since, until: begin and end, UTC.
        notes: of each time that the clocks of the zone show twice, or not at all: which one was
            taken, and how the other is written.
    """

    since: datetime | None
    until: datetime | None
    notes: tuple[str, ...] = ()


def parse_span(since: str | None, until: str | None, zone: ZoneInfo, now: datetime) -> TypedSpan:
    """A span of times. An end that is a time of day is one of the begin's day.

    Of an end that the clocks show twice the first is meant, if it is later than the begin.

    Raises:
        ValueError: one of them is no time.
    """
    notes = []
    begin = parse_moment(since, zone, now) if since else None
    day = begin.astimezone(zone).date() if begin else None
    end = parse_moment(until, zone, now, day) if until else None
    if since and begin:
        notes.append(_doubt(since, _typed(since, zone, now, None), begin, zone))
    if until and end:
        typed = _typed(until, zone, now, day)
        if begin and end <= begin and typed.tzinfo is None:
            end = typed.replace(tzinfo=zone, fold=1).astimezone(UTC)
        notes.append(_doubt(until, typed, end, zone))
    return TypedSpan(begin, end, tuple(filter(None, notes)))


def _doubt(text: str, typed: datetime, taken: datetime, zone: ZoneInfo) -> str:
    """Which time was taken where the clocks show it twice or not at all; else empty."""
    if typed.tzinfo:
        return ""
    both = [typed.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
    if both[0].utcoffset() == both[1].utcoffset():
        return ""
    shown = taken.astimezone(zone).isoformat(timespec="seconds")
    if shown.startswith(typed.isoformat(timespec="seconds")):
        (other,) = (
            each.isoformat(timespec="seconds") for each in both if each.astimezone(UTC) != taken
        )
        return (
            f"{text} is ambiguous, the clocks of {zone.key} show it twice: {shown} is taken; "
            f"the other one is written {other}."
        )
    return (
        f"{text} does not exist, the clocks of {zone.key} skip it: {shown} is taken; "
        "write another one with its offset."
    )


def local_text(time: datetime, zone: ZoneInfo) -> str:
    """A time in a zone to the second, as it can be typed: 2003-10-26 03:30:00.

    Where the clocks show it twice, it has its offset from UTC and is short, so that the offset is
    seen where columns are narrow: 20031026T023000+02:00.

    Args:
        time: with a zone.
    """
    local = time.astimezone(zone)
    if is_twice(local):
        return f"{local:%Y%m%dT%H%M%S}{local.isoformat()[len('2003-10-26T02:30:00') :]}"
    return f"{local:%Y-%m-%d %H:%M:%S}"


def is_twice(local: datetime) -> bool:
    """Whether the clocks of its zone show a time twice: they are put back in that night."""
    return local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()
