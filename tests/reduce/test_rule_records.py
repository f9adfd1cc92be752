"""Exceptions of a span by its own records: the same as by all of the store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any

import duckdb
import pytest

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.rules.exceptions import exceptions
from cpmon.reduce.rules.rule import Purpose, load_rules
from cpmon.store import Store
from cpmon.store.connection import Connection
from cpmon.store.sql.scope import ALL
from tests.batch.fleet import BEGIN, DAMAGES, hourly

FIRST = BEGIN.date()
DAYS = [FIRST + timedelta(days=n) for n in range(3)]
SYSTEMS = ("ALPHA", "BETA")
LOW = {
    "processor-busy": {"limit": 1, "for": 0},
    "user-looping": {"limit": 0.001, "for": 0},
}
"""Limits that are always exceeded."""
COUNTED = "SELECT count(*) FROM monitor.sytprp"
ALL_ROWS = f"SELECT system, interval_end, 'all' AS object, ({COUNTED}) AS value FROM meta.interval"
SITE = {
    "all-rows": {"title": "Rows", "severity": "info", "area": "site", "limit": 0, "sql": ALL_ROWS}
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Days of which each has its damage; hours are missing between them."""
    folder = tmp_path_factory.mktemp("spans")
    made = Store(folder / "store", create=True)
    damages = ["", *DAMAGES[1:], ""]
    for number, system in enumerate(SYSTEMS):
        for hour in (0, 1, 22, 23, 24, 25, 47, 48, 49, 71):
            one = hourly(system, number, hour, damages[(hour + number) % len(damages)])
            (folder / one.name).write_bytes(one.data)
            ingest(folder / one.name, made, system=system)
    return made


@pytest.fixture(scope="module")
def con(store: Store) -> Iterator[Connection]:
    with Connection(store, reductions()) as connection:
        yield connection


RULES = Settings(exceptions=LOW | SITE)


def scope(system: str | None, first: date) -> dict[str, Any]:
    """A day as keywords of `exceptions`."""
    since = datetime.combine(first, time.min)
    return {"system": system, "since": since, "until": since + timedelta(days=1)}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("system", "day", "met"),
    [
        pytest.param("ALPHA", DAYS[0], "monitor-data-lost", marks=pytest.mark.long),
        ("ALPHA", DAYS[2], "monitor-gap"),
        pytest.param("BETA", DAYS[1], "processor-busy", marks=pytest.mark.long),
        (None, DAYS[1], "user-looping"),
    ],
)
def test_they_are_the_same(store: Store, con: Connection, system: str | None, day: date, met: str):
    rules, asked = load_rules(Purpose.EXCEPTIONS, RULES), scope(system, day)
    near = exceptions(con, rules, **asked)
    with Connection(store, reductions()) as all_records:
        all_records.point = lambda _: None
        whole = exceptions(all_records, rules, **asked)
    assert near == whole
    assert {met, "all-rows"} <= set(near.table.column("rule").to_pylist())


def rows(con: duckdb.DuckDBPyConnection) -> int:
    ((found,),) = con.sql(COUNTED).fetchall()
    return int(found)


@pytest.mark.slow
def test_only_rules_that_need_no_more_are_asked_by_the_samples_of_the_span(
    con: Connection,
):
    con.point(ALL)
    whole = rows(con)
    for system in SYSTEMS:  # the second is asked when the first has narrowed them
        found = exceptions(con, load_rules(Purpose.EXCEPTIONS, RULES), **scope(system, DAYS[2]))
        assert rows(con) < whole / 2
        by_rule = {row["rule"]: row["value"] for row in found.table.to_pylist()}
        assert by_rule["all-rows"] == whole
