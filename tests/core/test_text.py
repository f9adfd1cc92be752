"""Numbers and words agree."""

from __future__ import annotations

from datetime import timedelta

import pytest

from cpmon.core.text import counted, length_of_time, megabytes


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (counted(1, "row"), "1 row"),
        (counted(0, "row"), "0 rows"),
        (counted(12_345, "row"), "12,345 rows"),
        (counted(1, "entry", "entries"), "1 entry"),
        (counted(2, "entry", "entries"), "2 entries"),
        (megabytes(1_340_000), "1.3 MB"),
        (megabytes(50_000), "0.1 MB"),
        (megabytes(49_999), "50.0 kB"),
        (megabytes(1), "1 byte"),
        (length_of_time(timedelta(hours=1)), "1 hour"),
        (length_of_time(timedelta(minutes=240)), "4 hours"),
        (length_of_time(timedelta(minutes=90)), "90 minutes"),
        (length_of_time(timedelta(days=7)), "7 days"),
        (length_of_time(timedelta(seconds=30)), "30 seconds"),
        (length_of_time(timedelta(minutes=0.5)), "30 seconds"),
        (length_of_time(timedelta()), "0 seconds"),
    ],
)
def test_an_amount_reads_as_a_person_would_say_it(text: str, words: str):
    assert text == words
