"""Times as people type them: in the zone that is printed, in words, or as so long ago."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

EXAMPLES = "2026-01-31T10:00, 2026-01-31, 10:00, today, yesterday, now or -2h"
MONTH: Literal["month"] = "month"
LineLength = timedelta | Literal["month"]
"""What a line of a report covers: so long, or a month of the calendar."""
CLOCK = re.compile(r"(\d{1,2})(:\d\d(?::\d\d)?)")
"""A time of day alone."""
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
    if clock := CLOCK.fullmatch(text):
        return datetime.combine(day or today, time.fromisoformat(clock[1].zfill(2) + clock[2]))
    return datetime.fromisoformat(text)


@dataclass(frozen=True, slots=True)
class TypedSpan:
    """A span that was typed.

    Attributes:
        since, until: begin and end, UTC.
        zone: of what names no offset.
        notes: of each time that the clocks of the zone show twice, or not at all: which one was
            taken, and how the other is written.
    """

    since: datetime | None
    until: datetime | None
    zone: ZoneInfo
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return span_text(self.since, self.until, self.zone)


def parse_span(
    since: str | None,
    until: str | None,
    zone: ZoneInfo,
    now: datetime,
    day: Callable[[], date | None] = lambda: None,
) -> TypedSpan:
    """A span of times. An end that is a time of day is one of the begin's day.

    Of an end that the clocks show twice the first is meant, if it is later than the begin.

    Args:
        day: called for the day of a time of day that no begin gives a day; None is today.

    Raises:
        ValueError: one of them is no time.
    """
    notes = []
    first = day() if CLOCK.fullmatch(since or until or "") else None
    begin = parse_moment(since, zone, now, first) if since else None
    last = begin.astimezone(zone).date() if begin else first
    end = parse_moment(until, zone, now, last) if until else None
    if since and begin:
        notes.append(_doubt(since, _typed(since, zone, now, first), begin, zone))
    if until and end:
        typed = _typed(until, zone, now, last)
        if begin and end <= begin and typed.tzinfo is None:
            end = typed.replace(tzinfo=zone, fold=1).astimezone(UTC)
        notes.append(_doubt(until, typed, end, zone))
    return TypedSpan(begin, end, zone, tuple(filter(None, notes)))


def span_text(since: datetime | None, until: datetime | None, zone: ZoneInfo) -> str:
    """A span in the form in which all of them are printed: 09:00 to 11:00 on 2006-10-16 UTC.

    One of several days has each day: 2006-10-16 22:00 to 2006-10-17 06:00 UTC. One that is open:
    later than 09:00 on 2006-10-16 UTC.
    """
    first, last = (time and time.astimezone(zone) for time in (since, until))
    if not (first and last):
        bounds = [("later than", first), ("up to", last)]
        texts = [f"{word} {_clock(time)} on {time:%Y-%m-%d}" for word, time in bounds if time]
        return f"{texts[0]} {zone.key}" if texts else "all times"
    if first.date() == last.date():
        return f"{_clock(first)} to {_clock(last)} on {first:%Y-%m-%d} {zone.key}"
    texts = [f"{time:%Y-%m-%d} {_clock(time)}" for time in (first, last)]
    return f"{texts[0]} to {texts[1]} {zone.key}"


def _clock(local: datetime) -> str:
    """A time of day, with seconds if it has any, and its offset where the clocks show it twice."""
    text = f"{local:%H:%M}" if not local.second else f"{local:%H:%M:%S}"
    return text + (local.isoformat()[-len("+02:00") :] if is_twice(local) else "")


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
