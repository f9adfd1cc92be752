"""Times as people type them: in the zone that is printed, in words, or as so long ago."""

from __future__ import annotations

import re
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
        zone: of what names none. Of an hour that the clocks show twice, the first is meant.
        now: with a zone.
        day: of a time of day alone; today by default.

    Raises:
        ValueError: it is none of these.
    """
    today = now.astimezone(zone).date()
    midnights = {"today": today, "yesterday": today - timedelta(days=1)}
    ago = re.fullmatch(r"-(\d{1,6})([smhdw])", text)
    try:
        if text == "now":
            moment = now
        elif ago:
            moment = now.astimezone(UTC) - timedelta(**{UNITS[ago[2]]: int(ago[1])})
        elif text in midnights:
            moment = datetime.combine(midnights[text], time())
        elif clock := re.fullmatch(r"(\d{1,2})(:\d\d(?::\d\d)?)", text):
            moment = datetime.combine(
                day or today, time.fromisoformat(clock[1].zfill(2) + clock[2])
            )
        else:
            moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except OverflowError:
        raise ValueError(text) from None


def parse_span(
    since: str | None, until: str | None, zone: ZoneInfo, now: datetime
) -> tuple[datetime | None, datetime | None]:
    """Begin and end of a span as UTC. An end that is a time of day is one of the begin's day.

    Raises:
        ValueError: one of them is no time.
    """
    begin = parse_moment(since, zone, now) if since else None
    day = begin.astimezone(zone).date() if begin else None
    return begin, parse_moment(until, zone, now, day) if until else None
