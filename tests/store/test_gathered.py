"""A store as it is now, read once: the same answers, and files that nobody opens again."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.gathered import gathered
from tests.batch.fleet import DAMAGES, hourly

ASKED = ("meta.interval", "meta.dump", "meta.finding", "interval.sytprp", "processors_by_time")


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    folder = tmp_path_factory.mktemp("gathered")
    made = Store(folder / "store", create=True)
    for hour, damage in enumerate(("", *DAMAGES[1:], "")):
        for number, system in enumerate(("ALPHA", "BETA")):
            one = hourly(system, number, hour, damage)
            (folder / one.name).write_bytes(one.data)
            ingest(folder / one.name, made, system=system)
    return made


@pytest.mark.parametrize("relation", ASKED)
def test_it_answers_as_any_connection_does(store: Store, relation: str):
    sql = f"SELECT * FROM {relation} ORDER BY ALL"
    with connect(store, reductions()) as plain, gathered(store, reductions()) as at_once:
        expected, found = (con.sql(sql).to_arrow_table() for con in (plain, at_once))
    assert len(found) and found.equals(expected)


def test_what_every_dump_brings_is_not_opened_again(store: Store, tmp_path: Path):
    copy = Store(Path(shutil.copytree(store.root, tmp_path / "copy")))
    with gathered(copy) as con:
        shutil.rmtree(copy.records)
        assert con.sql("SELECT count(*) FROM meta.interval").fetchall() == [(30,)]
        assert con.sql("SELECT count(*) FROM meta.dump").fetchall() == [(12,)]


def test_a_store_without_dumps_has_none(tmp_path: Path):
    with gathered(Store(tmp_path / "store", create=True), reductions()) as con:
        for relation in ("meta.dump", "meta.interval", "processors_by_time"):
            assert con.sql(f"SELECT count(*) FROM {relation}").fetchall() == [(0,)]


def test_nothing_outside_of_the_store_can_be_read(store: Store, tmp_path: Path):
    (tmp_path / "other.csv").write_text("a\n1\n")
    with gathered(store) as con, pytest.raises(duckdb.PermissionException):
        con.sql(f"SELECT * FROM '{tmp_path}/other.csv'").fetchall()
