"""Deltas of `interval.X` against a plain Python computation of the same, with ties and gaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpmon.ingest import ingest
from cpmon.schemas.arrow import INTERVAL
from cpmon.schemas.registry import layout
from cpmon.store import Store, connect
from cpmon.store.sql.landed_views import landed_view, macros
from cpmon.store.sql.views import sql_type
from tests import dumps

BEGIN = datetime(2001, 11, 13)  # noqa: DTZ001  (the store has UTC without zone)
ENDS, GAP = 6, 3
COUNTERS = {"pfxruncp": 32, "pfxspint": 64}
"""Bits of two counters of SYTPRP."""


@dataclass(frozen=True)
class Sample:
    """A row of SYTPRP: which dump, where in it, at which interval end, of which processor."""

    dump: str
    offset: int
    end: int
    cpu: int | None
    short: int | None
    long: int

    @property
    def place(self) -> tuple[str, int]:
        return self.dump, self.offset


@st.composite
def samples(draw: st.DrawFn) -> list[Sample]:
    """Some rows, each at a place of its own; keys and intervals repeat, and one key is NULL."""
    places = draw(st.sets(st.tuples(st.sampled_from("ab"), st.integers(0, 50)), max_size=14))
    number = st.one_of(st.none(), st.integers(0, 3), st.just(2**32 - 1))
    return [
        Sample(
            *place,
            end=draw(st.integers(0, ENDS - 1)),
            cpu=draw(st.sampled_from([None, 0, 1])),
            short=draw(number),
            long=draw(st.integers(0, 9)),
        )
        for place in sorted(places)
    ]


def moment(end: int) -> datetime:
    return BEGIN + timedelta(minutes=end)


@cache
def database() -> duckdb.DuckDBPyConnection:
    """`interval.sytprp` over tables that tests fill, and a gap before the fourth interval."""
    con = duckdb.connect()
    con.execute(f"CREATE SCHEMA monitor; CREATE SCHEMA interval; CREATE SCHEMA meta; {macros()}")
    for table in ("sytprp", "sytcug", "prcvon", "prcvof"):
        columns = ", ".join(f'"{c}" BIGINT' for c in _columns(f"monitor.{table}"))
        con.execute(f"CREATE TABLE monitor.{table} ({columns})")
    for event in ("prcvon", "prcvof"):
        con.execute(f"ALTER TABLE monitor.{event} ALTER tod TYPE TIMESTAMP USING NULL")
        con.execute(f"ALTER TABLE monitor.{event} ALTER system TYPE VARCHAR USING NULL")
    for column, kind in {
        "system": "VARCHAR",
        "dump": "VARCHAR",
        "interval_end": "TIMESTAMP",
    }.items():
        for table in ("sytprp", "sytcug"):
            con.execute(f"ALTER TABLE monitor.{table} ALTER {column} TYPE {kind} USING NULL")
    for column in ("pfxspint", "pfxutime", "pfxtotwt", "pfxprbtm", "pfxtmsys"):
        con.execute(f"ALTER TABLE monitor.sytprp ALTER {column} TYPE UBIGINT")
    con.execute(
        "CREATE TABLE meta.interval (system VARCHAR, dump VARCHAR, interval_end TIMESTAMP,"
        " previous_end TIMESTAMP)"
    )
    for dump in "ab":
        for end in range(ENDS):
            previous = moment(end - 1) if end not in (0, GAP) else None
            row = ["S", dump, moment(end), previous]
            con.execute("INSERT INTO meta.interval VALUES (?, ?, ?, ?)", row)
    view = landed_view("interval.sytprp")
    con.execute(f"CREATE VIEW {view.name} AS {view.select}")
    return con


def _columns(relation: str) -> list[str]:
    return [*landed_view(relation).columns]


def shown(rows: Sequence[Sample]) -> dict[tuple[str, int, datetime], tuple[object, ...]]:
    """Place and interval -> cause, seconds and deltas; the processor stands for a missing row."""
    con = database()
    con.execute("DELETE FROM monitor.sytprp")
    for row in rows:
        con.execute(
            "INSERT INTO monitor.sytprp"
            " (system, dump, record_offset, interval_end, tod_us, pfxcpuad, pfxruncp, pfxspint)"
            " VALUES ('S', ?, ?, ?, ?, ?, ?, ?)",
            [*row.place, moment(row.end), row.end * 60_000_000, row.cpu, row.short, row.long],
        )
    found = con.sql(
        "SELECT coalesce(dump, '-'), coalesce(record_offset, pfxcpuad, -1), interval_end,"
        " cause, seconds, pfxruncp, pfxspint FROM interval.sytprp"
    ).fetchall()
    return {(dump, offset, end): tuple(figures) for dump, offset, end, *figures in found}


Place = tuple[str, int, datetime]
MOST_S = 60 * 1.02 + 1
MOST = {"pfxruncp": 1e7 * MOST_S, "pfxspint": 4096e6 * MOST_S}
"""What the counters can grow by in an interval, by `schemas/limits.csv`."""


def computed(rows: Sequence[Sample]) -> Iterator[tuple[Place, tuple[object, ...]]]:
    """The same by the rules, a row for each processor and interval."""
    for cpu, end in {(row.cpu, row.end) for row in rows}:
        row = min((r for r in rows if (r.cpu, r.end) == (cpu, end)), key=lambda r: r.place)
        before = [r for r in rows if r.cpu == cpu and r.end == end - 1]
        yield (
            (*row.place, moment(end)),
            judged(row, max(before, key=lambda r: r.place, default=None)),
        )
        place = -1 if cpu is None else cpu
        for later in range(end + 1, ENDS):  # no event tells that it ended
            if later == GAP or any(r.cpu == cpu and r.end == later for r in rows):
                break
            yield ("-", place, moment(later)), ("missing", None, None, None)


def judged(row: Sample, before: Sample | None) -> tuple[object, ...]:
    """Cause, seconds and deltas of a row behind the one before."""
    if row.end in (0, GAP):
        return "first", None, None, None
    if before is None:
        return "appeared", None, None, None
    short = None
    if row.short is not None and before.short is not None:
        grown = row.short - before.short
        grown += 2**32 if grown < 0 else 0
        short = grown if grown <= MOST["pfxruncp"] else None
    fell = row.short is not None and before.short is not None and row.short < before.short
    drops = (fell and short is None) + (row.long < before.long)
    both = row.short is not None and before.short is not None
    moves = (both and row.short != before.short) + (row.long != before.long)
    is_old = row.short is not None and row.short > MOST["pfxruncp"]
    if drops and (not is_old or (drops > 1 and 2 * drops >= moves)):
        return "restart", None, None, None
    return None, 60.0, short, row.long - before.long if row.long >= before.long else None


@given(samples())
def test_deltas_are_those_of_a_plain_computation(rows: list[Sample]):
    assert shown(rows) == dict(computed(rows))


def test_where_a_frame_repeats_the_first_copy_counts():
    rows = [
        Sample("a", 0, 1, 0, 10, 10),
        Sample("a", 5, 2, 0, 30, 30),
        Sample("a", 9, 2, 0, 30, 30),
        Sample("a", 12, 4, 0, 50, 50),
    ]
    assert shown(rows) == {
        ("a", 0, moment(1)): ("appeared", None, None, None),
        ("a", 5, moment(2)): (None, 60.0, 20, 20),
        ("a", 12, moment(4)): ("appeared", None, None, None),
        ("-", 0, moment(5)): ("missing", None, None, None),
    }


@pytest.mark.parametrize("column", COUNTERS)
def test_the_counters_of_these_tests_are_as_wide_as_they_assume(column: str):
    (field,) = (f for f in layout("sytprp").columns if f.name == column)
    assert field.is_cumulative
    assert 8 * field.length == COUNTERS[column]
    assert sql_type(INTERVAL.field("interval_end").type) == "TIMESTAMP"


def test_a_signed_counter_goes_from_the_greatest_to_the_least(store: Store, tmp_path: Path):
    values = (2**31 - 10, 2**31 - 1, -(2**31) + 4, -(2**31) + 9)
    file = tmp_path / "a.mon"
    start = dumps.fields("mtrsys", 0, systmid="VM")
    sets = [
        dumps.interval(
            60 * n,
            *[start] * (n == 0),
            dumps.fields("useint", 60 * n, vmduser="U", hfstct=10 * n, hfdsvm=value),
        )
        for n, value in enumerate(values)
    ]
    file.write_bytes(dumps.dump(*sets))
    ingest(file, store)
    with connect(store) as con:
        deltas = con.sql("SELECT hfdsvm FROM interval.useint ORDER BY interval_end").fetchall()
    assert [delta for (delta,) in deltas] == [None, 9, 5, 5]


@pytest.mark.parametrize(
    ("moment", "since", "until", "expected"),
    [
        (5, 5, 9, True),
        (8, 5, 9, True),
        (9, 5, 9, False),
        (4, 5, 9, False),
        (5, 5, None, True),
        (4, 5, None, False),
        (4, None, 9, None),
    ],
)
def test_a_row_is_in_force_from_its_begin_up_to_its_end(
    moment: int, since: int | None, until: int | None, expected: bool | None
):
    found = database().execute("SELECT as_of(?, ?, ?)", [moment, since, until]).fetchall()
    assert found == [(expected,)]
