"""Times of a site: time zones, shifts, and times as users type them."""

from __future__ import annotations

import io
import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo, available_timezones

from ..core.errors import CpmonError, nearest
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
"""Stands for the zone of the measured system, from its records."""


def find_zone(name: str) -> ZoneInfo:
    """The time zone of that name: of the IANA zones, or a fixed offset as `zone_name` writes it.

    Raises:
        CpmonError: there is none.
    """
    if (seconds := fixed_offset_s(name)) is not None:
        # A zone with one offset, as a file of the zone database has it (RFC 8536).
        label = name.encode() + b"\0"
        head = b"TZif" + bytes(16) + struct.pack(">6l", 0, 0, 0, 0, 1, len(label))
        data = head + struct.pack(">lBB", seconds, 0, 0) + label
        return ZoneInfo.from_file(io.BytesIO(data), name)
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
    """The name of a zone with a fixed offset from UTC: GMT+05:30, which DuckDB accepts too."""
    minutes = abs(seconds) // 60
    return f"GMT{'-' if seconds < 0 else '+'}{minutes // 60:02d}:{minutes % 60:02d}"


def fixed_offset_s(name: str) -> int | None:
    """Seconds ahead of UTC of a zone of `zone_name`; None for any other name."""
    match = re.fullmatch(r"GMT([+-])(\d\d):(\d\d)", name)
    if match is None:
        return None
    return (int(match[2]) * 3600 + int(match[3]) * 60) * (-1 if match[1] == "-" else 1)


EXAMPLES = "2026-01-31T10:00, 2026-01-31, 10:00, today, yesterday, now or -2h"
MONTH: Literal["month"] = "month"
LineLength = timedelta | Literal["month"]
"""Length of time of a line of a report; or a calendar month."""
CLOCK = re.compile(r"(\d{1,2})(:\d\d(?::\d\d)?)")
"""A time of day alone."""
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}


def parse_moment(text: str, zone: ZoneInfo, now: datetime, day: date | None = None) -> datetime:
    """A typed time as UTC.

    Args:
        text: a date, a time of day, both, `today` and `yesterday` for their beginning, `now`, or
            `-2h` for two hours before it. An offset in the text is used.
        zone: of texts without an offset. Of a repeated hour the first one is used; a skipped time
            has the offset before the change.
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
    """A typed time, with a zone only if the text has one."""
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
        zone: of texts without an offset.
        notes: for each repeated or skipped time: the one that is used, and the text for the other.
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
    """Parse a span. An end that is a time of day is on the day of the begin.

    Of a repeated end the first one is used if it is later than the begin.

    Args:
        day: returns the day of times of day without a begin; None is today.

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
    """A span as text: 09:00 to 11:00 on 2006-10-16 UTC.

    Over several days: 2006-10-16 22:00 to 2006-10-17 06:00 UTC. Without an end: later than 09:00 on
    2006-10-16 UTC.
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
    """A time of day, with seconds if it has any, and with its offset if it is repeated."""
    text = f"{local:%H:%M}" if not local.second else f"{local:%H:%M:%S}"
    return text + (local.isoformat()[-len("+02:00") :] if is_twice(local) else "")


def _doubt(text: str, typed: datetime, taken: datetime, zone: ZoneInfo) -> str:
    """A note on the used time if the typed one is repeated or skipped; else empty."""
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
    """A time in a zone to the second, in a form that can be typed: 2003-10-26 03:30:00.

    A repeated time has its offset from UTC and is short, so that narrow columns show the offset:
    20031026T023000+02:00.

    Args:
        time: with a zone.
    """
    local = time.astimezone(zone)
    if is_twice(local):
        return f"{local:%Y%m%dT%H%M%S}{local.isoformat()[len('2003-10-26T02:30:00') :]}"
    return f"{local:%Y-%m-%d %H:%M:%S}"


def is_twice(local: datetime) -> bool:
    """Whether a local time is repeated, since clocks are put back."""
    return local.utcoffset() != local.replace(fold=1 - local.fold).utcoffset()


LONGEST_S = 100 * 366 * 86400
"""Maximum length of a time span; sums with times stay within DuckDB's range."""


def parse_length(text: str) -> timedelta:
    """Parse a length of time, as 90s, 15m, 1h, 1d or 1w.

    Raises:
        ValueError: it is none, or longer than LONGEST_S.
    """
    units = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800}
    number = text[:-1]
    seconds = int(number) * units.get(text[-1:], 0) if number.isdecimal() else 0
    if not 0 < seconds <= LONGEST_S:
        raise ValueError(text)
    return timedelta(seconds=seconds)


def parse_line_length(text: str) -> LineLength:
    """Parse the length of a line of a report: a length of time, or 1mo for months.

    Raises:
        ValueError: it is none.
    """
    return MONTH if text in (MONTH, "1mo") else parse_length(text)
