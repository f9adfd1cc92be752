"""Queries that bound the time of all records they read: the same answers, from their scope."""

from __future__ import annotations

from pathlib import Path

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store, connect
from cpmon.store.connection import Connection
from cpmon.store.query_scope import query_scope
from cpmon.store.sql.scope import ALL
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
    f" FROM u JOIN (SELECT * FROM interval.sytprp WHERE {SPAN}) AS s USING (system, interval_end)",
    f"SELECT * FROM monitor.useact WHERE {SPAN}",
    f"SELECT interval.useact.vmduser FROM interval.useact WHERE interval.useact.{SPAN}",
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
    f"SELECT system FROM interval.useact WHERE {SPAN} AND vmdttime > (SELECT avg(vmdttime)"
    " FROM interval.useact)",
    f"SELECT * FROM interval.useact WHERE {SPAN} UNION ALL FROM interval.useact",
    f"SELECT * FROM interval.useact AS u(interval_end) WHERE {SPAN}",
    "WITH p (system) AS (VALUES ('ALPHA')) SELECT u.system FROM interval.useact AS u"
    f" JOIN p USING (system) WHERE u.{SPAN}",
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


def answer(connection: Connection, sql: str) -> list[str]:
    return sorted(map(repr, connection.sql(sql).fetchall()))


@pytest.mark.parametrize("sql", NARROW)
def test_a_span_is_answered_from_its_dumps(store: Store, sql: str):
    with connect(store) as connection:
        whole = answer(connection, sql)
        connection.point(scope := query_scope(connection, sql))
        assert scope != ALL
        assert whole
        assert answer(connection, sql) == whole


@pytest.mark.parametrize("sql", WHOLE)
def test_what_bounds_not_all_tables_is_about_all(store: Store, sql: str):
    with connect(store) as connection:
        assert query_scope(connection, sql) == ALL


def test_files_beyond_the_span_are_not_opened(store: Store):
    with connect(store) as connection:
        expected = answer(connection, NARROW[0])
    with connect(store) as connection:
        connection.point(query_scope(connection, NARROW[0]))
        needed = connection._landed._sampled[0]
        away = []
        for file in store.records.glob("*/*/*/*/useact.parquet"):
            if file.parent.parent.name.removeprefix("dump=") not in {dump.dump for dump in needed}:
                away.append(file.rename(file.with_suffix(".away")))
        assert len(away) == 8
        assert answer(connection, NARROW[0]) == expected
        for file in away:
            file.rename(file.with_suffix(".parquet"))
