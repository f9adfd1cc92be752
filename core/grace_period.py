"""The grace period for late interval ends, and the span of time that an interval counts to.

CP writes the time stamp of an interval's end after the samples, up to hundreds of milliseconds
after the second that it was due. So the last interval of an hour has a time stamp in the next hour;
it counts to the hour that it covers.
"""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

GRACE = timedelta(seconds=1)
"""Grace period for late interval ends: an interval that ends in it counts to the span before."""
INSIDE = GRACE + timedelta(microseconds=1)
"""The end of an interval minus this is in the span that the interval counts to."""


def bounds_of_ends(
    since: datetime | None, until: datetime | None
) -> tuple[datetime | None, datetime | None]:
    """The bounds of the interval ends of a span, exclusive and inclusive; None is no bound.

    Whoever states a span, on a command line, in a run file or in a program, means its times as they
    are due: an end within the grace period after a bound counts as the bound.
    """
    return since and since + GRACE, until and until + GRACE


def inside(end: str) -> str:
    """SQL for a time in the span that an interval counts to, from its end."""
    return f"{end} - to_microseconds({INSIDE // timedelta(microseconds=1)})"


DAY = f"CAST({inside('interval_end')} AS DATE)"
"""SQL for the day that an interval, or the span of a roll-up, counts to."""


def day_condition(first: date, last: date | None = None) -> str:
    """The condition that an interval counts to a day, as SQL on `interval_end`.

    Args:
        last: the last of several successive days, of which it may count to any.
    """
    since, until = (datetime.combine(day, time.min) + GRACE for day in (first, last or first))
    until += timedelta(days=1)
    return f"interval_end > TIMESTAMP '{since}' AND interval_end <= TIMESTAMP '{until}'"


def day_bounds(first: date, last: date, zone: ZoneInfo) -> tuple[datetime, datetime]:
    """UTC bounds of the interval ends of some days; a day may have 23 or 25 hours."""
    midnights = (datetime.combine(d, time.min, zone) for d in (first, last + timedelta(days=1)))
    since, until = (midnight.astimezone(UTC) + GRACE for midnight in midnights)
    return since, until
