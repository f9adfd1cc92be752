"""Parses times as users type them: in the printed zone, as words, or relative to now."""

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
