"""Times that Python has not, in any type that may hold them."""

from __future__ import annotations

import duckdb
import polars as pl
import pytest

from cpmon.api.answers import as_frame
from cpmon.render.odd_times import has_odd_times, known_times

LAST = "TIMESTAMP '9999-12-31 23:59:59.999999'"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("TIMESTAMP 'infinity'", "infinity"),
        ("TIMESTAMP '-infinity'", "-infinity"),
        ("TIMESTAMP_S 'infinity'", "infinity"),
        ("TIMESTAMP_MS '-infinity'", "-infinity"),
        ("TIMESTAMP_NS 'infinity'", "infinity"),
        ("TIMESTAMPTZ 'infinity'", "infinity"),
        ("DATE 'infinity'", "infinity"),
        ("DATE '10000-01-01'", "10000-01-01"),
        ("DATE '0001-01-01' - 1", "0001-12-31 (BC)"),
        ("TIMESTAMP '10000-01-01'", "10000-01-01 00:00:00"),
        ("[TIMESTAMP 'infinity']", '["infinity"]'),
        ("{'a': [DATE 'infinity']}", '{"a":["infinity"]}'),
        ("MAP {1: TIMESTAMP 'infinity'}", '{"1":"infinity"}'),
        ("[[1], NULL, []]", None),
        (LAST, None),
        ("TIMESTAMP '0001-01-01'", None),
        ("DATE '9999-12-31'", None),
        ("TIMESTAMP_NS '1700-01-01'", None),
        ("NULL::TIMESTAMP", None),
    ],
)
def test_what_a_datetime_cannot_have_is_a_text_in_a_frame(value: str, text: str | None):
    with duckdb.connect() as connection:
        table = connection.sql(f"SELECT 1 AS n, {value} AS a UNION ALL SELECT 2, NULL")
        frame = as_frame(table.to_arrow_table()).sort("n")
    assert str(frame), "polars can print it"
    if text is None:
        assert frame["a"].dtype != pl.String
    else:
        assert frame["a"].to_list() == [text, None]


def test_other_times_of_a_column_stay_known():
    with duckdb.connect() as connection:
        rows = f"VALUES (TIMESTAMP 'infinity'), ({LAST}), (NULL), (TIMESTAMP '2001-01-01')"
        times = connection.sql(rows).to_arrow_table().column(0)
    assert has_odd_times(times) and not has_odd_times(known_times(times))
    assert [time and time.year for time in known_times(times).to_pylist()] == [
        *(None, 9999, None, 2001)
    ]
