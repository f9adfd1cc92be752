"""Times as people type them."""

from __future__ import annotations

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.config.moments import local_text, parse_moment, parse_span

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
    span = parse_span("2006-10-16 09:00", "10:00", VIENNA, NOW)
    assert str(span.since) == "2006-10-16 07:00:00+00:00"
    assert str(span.until) == "2006-10-16 08:00:00+00:00"
    assert str(parse_span(None, "10:00", VIENNA, NOW).until) == "2026-03-29 08:00:00+00:00"
    assert span.notes == ()


@pytest.mark.parametrize(
    ("zone", "text", "taken", "other"),
    [
        ("Europe/Vienna", "2003-10-26 02:30", "2003-10-26T02:30:00+02:00", "02:30:00+01:00"),
        ("Australia/Lord_Howe", "2003-03-30 01:45", "2003-03-30T01:45:00+11:00", "01:45:00+10:30"),
        ("America/St_Johns", "2003-10-26 00:00:30", "2003-10-26T00:00:30-02:30", "00:00:30-03:30"),
    ],
)
def test_of_a_time_that_is_there_twice_the_first_is_taken_and_the_other_one_named(
    zone: str, text: str, taken: str, other: str
):
    span = parse_span(text, None, ZoneInfo(zone), NOW)
    assert span.since == datetime.fromisoformat(taken)
    (note,) = span.notes
    assert f"show it twice: {taken} is taken" in note
    assert f"{text.split(maxsplit=1)[0]}T{other}" in note
    assert parse_span(taken, None, ZoneInfo(zone), NOW).notes == ()


def test_an_end_that_is_there_twice_is_behind_its_begin():
    span = parse_span("2003-10-26T02:45+02:00", "02:15", VIENNA, NOW)
    assert str(span.until) == "2003-10-26 01:15:00+00:00"
    assert "02:15:00+01:00 is taken" in span.notes[0]


@pytest.mark.parametrize(
    ("zone", "text", "taken"),
    [
        ("Europe/Vienna", "2026-03-29 02:30", "2026-03-29T03:30:00+02:00"),
        ("Australia/Lord_Howe", "2003-10-26 02:15", "2003-10-26T02:45:00+11:00"),
        ("America/Sao_Paulo", "2018-11-04", "2018-11-04T01:00:00-02:00"),
    ],
)
def test_a_time_that_the_clocks_skip_is_told(zone: str, text: str, taken: str):
    span = parse_span(None, text, ZoneInfo(zone), NOW)
    assert span.until == datetime.fromisoformat(taken)
    assert span.notes[0].startswith(f"{text} does not exist")
    assert taken in span.notes[0]


@given(
    st.sampled_from(
        ["Europe/Vienna", "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca"]
    ),
    st.datetimes(NOW.replace(year=1990, tzinfo=None), NOW.replace(year=2037, tzinfo=None)),
)
def test_a_printed_time_is_understood_as_the_moment_that_it_is(name: str, moment: datetime):
    zone = ZoneInfo(name)
    utc = moment.replace(microsecond=0, tzinfo=UTC)
    assert parse_moment(local_text(utc, zone), zone, NOW) == utc


@pytest.mark.parametrize(
    ("since", "until", "text"),
    [
        ("2006-10-16T09:00", "11:00", "09:00 to 11:00 on 2006-10-16 Europe/Vienna"),
        ("yesterday", "9:15:30", "00:00 to 09:15:30 on 2026-03-28 Europe/Vienna"),
        ("2026-03-28 22:00", "today", "2026-03-28 22:00 to 2026-03-29 00:00 Europe/Vienna"),
        ("09:00", None, "later than 09:00 on 2001-12-18 Europe/Vienna"),
        (None, "11:00", "up to 11:00 on 2001-12-18 Europe/Vienna"),
        ("09:00", "10:00", "09:00 to 10:00 on 2001-12-18 Europe/Vienna"),
        ("today", None, "later than 00:00 on 2026-03-29 Europe/Vienna"),
        (
            "2003-10-26T00:30Z",
            "2003-10-26T01:30Z",
            "02:30+02:00 to 02:30+01:00 on 2003-10-26 Europe/Vienna",
        ),
    ],
)
def test_a_span_is_printed_as_it_was_understood(since: str | None, until: str | None, text: str):
    assert str(parse_span(since, until, VIENNA, NOW, lambda: date(2001, 12, 18))) == text
