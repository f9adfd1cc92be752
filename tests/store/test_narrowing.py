"""Queries of `interval.X` over a span: the same answers, from that span and the interval before."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store, connect
from cpmon.store.catalogue.narrowing import narrowed
from tests.batch.fleet import DAMAGES, hourly

SPAN = "interval_end BETWEEN '2001-12-18 03:00:01' AND '2001-12-18 04:00:01'"
NARROW = (
    f"SELECT * FROM interval.useact WHERE {SPAN}",
    f'SELECT * FROM "interval".sytprp AS s WHERE s.{SPAN} AND pfxcpuad = 1',
    "SELECT vmduser, sum(vmdttime) FROM interval.useact"
    " WHERE TIMESTAMP '2001-12-18 03:10:00' < useact.interval_end GROUP BY ALL",
    "SELECT * FROM interval.useact WHERE interval_end >= '2001-12-18'"
    " AND interval_end <= '2001-12-18 00:30:00'::TIMESTAMP",
    f"WITH u AS (SELECT * FROM interval.useact WHERE {SPAN}) SELECT count(*), sum(u.seconds)"
    " FROM u JOIN interval.sytprp AS s USING (system, interval_end)",
    f"SELECT system FROM interval.useact WHERE {SPAN} AND vmdttime > (SELECT avg(vmdttime)"
    " FROM interval.useact)",
)
WHOLE = (
    "SELECT * FROM interval.useact",
    "SELECT * FROM interval.useact WHERE interval_end <= '2001-12-18 04:00:01'",
    f"SELECT * FROM interval.useact WHERE {SPAN} OR vmdttime > 0",
    f"SELECT * FROM interval.useact WHERE NOT ({SPAN})",
    "SELECT * FROM interval.useact WHERE interval_end > '2001-12-18 03:00:01+01'",
    "SELECT * FROM interval.useact WHERE interval_end > CAST('2001-12-18 03:10' AS DATE)",
    f"SELECT u.* FROM interval.useact AS u LEFT JOIN interval.sytprp AS s USING (dump)"
    f" WHERE s.{SPAN}",
    f"SELECT interval.useact.vmduser FROM interval.useact WHERE {SPAN}",
    f"SELECT * FROM monitor.useact WHERE {SPAN}",
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Six hours of two systems, with damage and an hour that is missing."""
    folder = tmp_path_factory.mktemp("narrowing")
    made = Store(folder / "store", create=True)
    damages = ("", DAMAGES[2], "", "", DAMAGES[4], None, "")
    for hour, damage in enumerate(damages):
        for number, system in enumerate(("ALPHA", "BETA")):
            if damage is not None:
                file: Path = folder / f"{system}{hour}.mon"
                file.write_bytes(hourly(system, number, hour, damage).data)
                ingest(file, made, system=system)
    return made


@pytest.mark.parametrize("sql", NARROW)
def test_a_span_is_answered_from_its_dumps(store: Store, sql: str):
    with connect(store) as connection:
        short = narrowed(connection, store, sql)
        assert short != sql
        rows = connection.sql(short).fetchall()
        assert rows
        assert sorted(map(repr, rows)) == sorted(map(repr, connection.sql(sql).fetchall()))
        assert connection.sql(short).columns == connection.sql(sql).columns


@pytest.mark.parametrize("sql", WHOLE)
def test_what_bounds_no_table_stays_as_it_is(store: Store, sql: str):
    with connect(store) as connection:
        assert narrowed(connection, store, sql) == sql


def test_files_beyond_the_span_are_not_opened(store: Store):
    with connect(store) as connection:
        sql = narrowed(connection, store, NARROW[0])
        expected = sorted(map(repr, connection.sql(NARROW[0]).fetchall()))
        for file in store.records.glob("*/*/*/useact.parquet"):
            dump = file.parent.name.removeprefix("dump=")
            if dump not in sql:
                file.rename(file.with_suffix(".away"))
        away = [*store.records.glob("*/*/*/useact.away")]
        assert len(away) == 8
        assert sorted(map(repr, connection.sql(sql).fetchall())) == expected
        for file in away:
            file.rename(file.with_suffix(".parquet"))
