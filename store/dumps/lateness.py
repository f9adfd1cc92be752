"""Which span of time an interval counts to, though CP ends it a little late.

CP stamps the end of an interval when it has written the samples: some milliseconds, or hundreds of
them, behind the second that it was due. The interval that ends with an hour is stamped in the next
one, and counts to the hour that it lies in.
"""

from __future__ import annotations

from datetime import date, datetime, time, timedelta

LATE = timedelta(seconds=1)
"""So much behind the end of a span an interval may end that counts to it."""
INSIDE = LATE + timedelta(microseconds=1)
"""What is left when it is taken from the end of an interval lies in the span."""
INSIDE_US = INSIDE // timedelta(microseconds=1)


def inside(end: str) -> str:
    """In SQL a moment in the span that an interval counts to, from its end."""
    return f"{end} - to_microseconds({INSIDE_US})"


def day_condition(day: date) -> str:
    """The condition that an interval counts to a day, as SQL on `interval_end`."""
    first = datetime.combine(day, time.min) + LATE
    last = first + timedelta(days=1)
    return f"interval_end > TIMESTAMP '{first}' AND interval_end <= TIMESTAMP '{last}'"
