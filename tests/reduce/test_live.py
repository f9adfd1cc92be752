"""A connection that is kept shows a store as it is, as a new one would."""

from __future__ import annotations

from datetime import datetime, timedelta

import duckdb
import pyarrow as pa
import pytest

from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.ingest.following import Follower
from cpmon.reduce.live import Interval, LiveConnection, intervals_since
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.report import BEGIN as COLUMN
from cpmon.reduce.reports.report import US, _from_ends, report
from cpmon.reduce.reports.report_sql import Span
from cpmon.store import Store, connect
from tests.ingest.test_following import live, sets

BEGIN, MINUTE = datetime.fromisoformat("2001-12-18 10:00:00"), timedelta(minutes=1)


def test_what_lands_is_there_at_the_next_question(store: Store):
    kept = LiveConnection(store, Settings())
    with Follower(store, "a.mon") as follower:
        for number, _ in enumerate(follower.follow(live(*sets(1, 2, 3, 4))), 1):
            if number > 1:
                with kept.current() as connection:
                    found = report(connection, "USER_RESOURCE_UTIL", by=timedelta(minutes=1))
                with connect(store, reductions()) as new:
                    assert found == report(new, "USER_RESOURCE_UTIL", by=timedelta(minutes=1))
    with kept.current() as connection:
        first, *_, last = intervals_since(connection, "VMTEST", BEGIN)
    assert first == Interval(BEGIN + timedelta(minutes=1), BEGIN + timedelta(minutes=2))
    assert last.end == BEGIN + timedelta(minutes=4)


def test_a_line_begins_where_the_one_before_ends(store: Store):
    with Follower(store, "a.mon") as follower:
        assert len([*follower.follow(live(*sets(1, 2, 3, 4)))]) == 4
    with connect(store, reductions()) as connection:
        lines = report(connection, "USER_RESOURCE_UTIL", objects={"user": "ALICE"}).for_programs
        begins, ends = (lines.column(name).to_pylist() for name in ("begin", "end"))
        assert begins[1:] == ends[:-1]
        last = report(connection, "USER_RESOURCE_UTIL", objects={"user": "ALICE"}, since=begins[-1])
    assert last.for_programs.select(["begin", "end"]).to_pylist() == [
        {"begin": begins[-1], "end": ends[-1]}
    ]


def test_begins_that_clocks_shift_are_ends():
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA meta")
    connection.execute(
        "CREATE TABLE meta.interval AS SELECT 'A' AS system, interval_end,"
        " lag(interval_end) OVER (ORDER BY interval_end) AS previous_end"
        " FROM unnest([?, ?, ?]) ends(interval_end)",
        [BEGIN - MINUTE, BEGIN, BEGIN + MINUTE],
    )
    shifted = timedelta(microseconds=3)
    begins = pa.array([BEGIN - MINUTE - shifted, BEGIN - shifted, BEGIN + MINUTE / 2], US)

    lines = pa.table({COLUMN: begins})
    found = _from_ends(connection, lines, Span("A")).column(COLUMN).to_pylist()
    assert found == [BEGIN - MINUTE, BEGIN, BEGIN + MINUTE / 2]
    later = _from_ends(connection, lines, Span("A", since=BEGIN)).column(COLUMN).to_pylist()
    assert later[0] == BEGIN - MINUTE - shifted


def test_after_a_failure_it_is_a_new_one(store: Store):
    with Follower(store, "a.mon") as follower:
        assert len([*follower.follow(live(*sets(1, 2)))]) == 2
    kept = LiveConnection(store, Settings())
    with pytest.raises(CpmonError, match="no report"), kept.current() as connection:
        report(connection, "NO_SUCH")

    with kept.current() as other:
        assert other is not connection
        assert report(other, "USER_RESOURCE_UTIL").intervals == 1
