"""The grace period for late interval ends, and the span of time that an interval counts to.

CP stamps the end of an interval when it has written the samples: some milliseconds, or hundreds of
them, behind the second that it was due. The interval that ends with an hour is stamped in the next
one, and counts to the hour that it lies in.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

GRACE = timedelta(seconds=1)
"""Grace period for late interval ends: an interval that ends in it counts to the span before."""
INSIDE = GRACE + timedelta(microseconds=1)
"""What is left when it is taken from the end of an interval lies in the span."""
INSIDE_US = INSIDE // timedelta(microseconds=1)


def inside(end: str) -> str:
    """In SQL a moment in the span that an interval counts to, from its end."""
    return f"{end} - to_microseconds({INSIDE_US})"


DAY = f"CAST({inside('interval_end')} AS DATE)"
"""In SQL the day that an interval, or the span of a roll-up, counts to."""


def day_condition(day: date) -> str:
    """The condition that an interval counts to a day, as SQL on `interval_end`."""
    first = datetime.combine(day, time.min) + GRACE
    last = first + timedelta(days=1)
    return f"interval_end > TIMESTAMP '{first}' AND interval_end <= TIMESTAMP '{last}'"
