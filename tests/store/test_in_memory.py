"""A store as it is now, and its snapshot: the same answers, and files that nobody opens again."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.catalogue.in_memory import in_memory
from cpmon.store.views import snapshot
from tests.batch.fleet import DAMAGES, hourly

ASKED = ("meta.interval", "meta.dump", "meta.finding", "interval.sytprp", "processors_by_time")


@pytest.fixture(autouse=True)
def any_store_is_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MANY", 1)


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
    with connect(store, reductions()) as plain, in_memory(store, reductions()) as at_once:
        expected, found = (con.sql(sql).to_arrow_table() for con in (plain, at_once))
    assert len(found) and found.equals(expected)


COUNTED = "SELECT (SELECT count(*) FROM meta.interval), (SELECT count(*) FROM meta.dump)"


@pytest.fixture
def copy(store: Store, tmp_path: Path) -> Store:
    return Store(Path(shutil.copytree(store.root, tmp_path / "copy")))


def counted(store: Store) -> tuple[int, int]:
    with in_memory(store) as con:
        ((intervals, dumps),) = con.sql(COUNTED).fetchall()
        return intervals, dumps


def test_what_every_dump_brings_is_not_opened_again(copy: Store):
    with in_memory(copy) as con:
        shutil.rmtree(copy.records)
        assert con.sql(COUNTED).fetchall() == [(30, 12)]


def test_what_was_read_once_is_remembered(copy: Store, tmp_path: Path):
    assert counted(copy) == (30, 12)
    for file in ("interval.parquet", "dump.json"):
        for old in sorted(copy.records.rglob(file))[1:]:  # the first tells the columns
            old.write_bytes(b"nobody reads this")
    assert counted(copy) == (30, 12)

    one = hourly("GAMMA", 2, 0, "")
    (tmp_path / one.name).write_bytes(one.data)
    landed = ingest(tmp_path / one.name, copy, system="GAMMA")
    intervals, dumps = counted(copy)
    assert intervals > 30 and dumps == 13

    shutil.rmtree(copy.find(landed.dump) or "")
    next(copy.root.glob(f"manifest/*/*/{landed.dump}.json")).unlink()
    assert counted(copy) == (30, 12)


@pytest.mark.parametrize("data", [b"", b"PAR1 nothing of it PAR1"])
def test_a_damaged_memory_is_made_again(copy: Store, data: bytes):
    counted(copy)
    for file in (copy.root / "snapshot").iterdir():
        file.write_bytes(data)
    assert counted(copy) == counted(copy) == (30, 12)
    assert all(file.read_bytes() != data for file in (copy.root / "snapshot").iterdir())


def test_a_store_without_dumps_has_none(tmp_path: Path):
    with in_memory(Store(tmp_path / "store", create=True), reductions()) as con:
        for relation in ("meta.dump", "meta.interval", "processors_by_time"):
            assert con.sql(f"SELECT count(*) FROM {relation}").fetchall() == [(0,)]


def test_nothing_outside_of_the_store_can_be_read(store: Store, tmp_path: Path):
    (tmp_path / "other.csv").write_text("a\n1\n")
    with in_memory(store) as con, pytest.raises(duckdb.PermissionException):
        con.sql(f"SELECT * FROM '{tmp_path}/other.csv'").fetchall()
