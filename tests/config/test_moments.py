"""Times as people type them."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from cpmon.config.moments import parse_moment, parse_span

VIENNA = ZoneInfo("Europe/Vienna")
NOW = datetime(2026, 3, 29, 12, 30, tzinfo=UTC)
"""14:30 in Vienna, on the day on which its clocks went from 2 to 3."""


@pytest.mark.parametrize(
    ("text", "utc"),
    [
        ("2026-01-31T10:00", "2026-01-31T09:00"),
        ("2026-01-31 10:00", "2026-01-31T09:00"),
        ("2026-07-31 10:00", "2026-07-31T08:00"),
        ("2026-01-31", "2026-01-30T23:00"),
        ("2026-01-31T10:00Z", "2026-01-31T10:00"),
        ("2026-01-31T10:00+02:00", "2026-01-31T08:00"),
        ("10:00", "2026-03-29T08:00"),
        ("9:15", "2026-03-29T07:15"),
        ("9:15:30", "2026-03-29T07:15:30"),
        ("01:30", "2026-03-29T00:30"),
        ("today", "2026-03-28T23:00"),
        ("yesterday", "2026-03-27T23:00"),
        ("now", "2026-03-29T12:30"),
        ("-2h", "2026-03-29T10:30"),
        ("-90m", "2026-03-29T11:00"),
        ("-1w", "2026-03-22T12:30"),
        ("2026-10-25 02:30", "2026-10-25T00:30"),
    ],
)
def test_a_time_is_one_of_the_zone_unless_it_names_an_offset(text: str, utc: str):
    found = parse_moment(text, VIENNA, NOW)
    assert found == datetime.fromisoformat(utc).replace(tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "25:00", "-2", "-2y", "2026-13-01", "10", "-9h9", "-999999w"]
)
def test_what_is_no_time_is_refused(text: str):
    with pytest.raises(ValueError, match=r"."):
        parse_moment(text, VIENNA, NOW)


def test_an_end_that_is_a_time_of_day_is_one_of_the_day_of_the_begin():
    since, until = parse_span("2006-10-16 09:00", "10:00", VIENNA, NOW)
    assert (str(since), str(until)) == ("2006-10-16 07:00:00+00:00", "2006-10-16 08:00:00+00:00")
    assert str(parse_span(None, "10:00", VIENNA, NOW)[1]) == "2026-03-29 08:00:00+00:00"
