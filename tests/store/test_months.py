"""Materialized results of a month that is over are merged: the same rows from fewer files."""

from __future__ import annotations

import shutil
from datetime import date, datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from cpmon.config import Settings
from cpmon.core.errors import StoreError
from cpmon.ingest import ingest
from cpmon.reduce.engine import computing, reducing
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.check import check, drop
from cpmon.store.connection import levels_of
from cpmon.store.files.local import LocalFiles
from cpmon.store.results import entries
from cpmon.store.results.lineage import lineages
from cpmon.store.results.merging import merge
from cpmon.store.results.reduced import LEVELS, ByDay, by_day, versions_of
from cpmon.store.results.retention import Retention, plan, prune
from cpmon.store.sql.scope import Scope
from tests.batch.fleet import hourly
from tests.shifts import daily

NAMES = ("processors_by_time", "users_by_time", "system_config")
BELOW = {n for lineage in lineages(reductions()) if lineage.name in NAMES for n in lineage.names}
VIEWS = [view for view in reductions() if view.name in BELOW]
SETTINGS = Settings(shifts=daily("evening", "00:00", "00:20"))
DAYS = (0, 10, 20, 41, 60)
"""Since 2001-12-18: two of December, two of January, one of February."""


@pytest.fixture(scope="module")
def reduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three months and more, reduced day by day and not merged."""
    folder = tmp_path_factory.mktemp("months")
    store = Store(folder / "store", create=True)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reducing, "merge", lambda *_: 0)
        for day in DAYS:
            land(store, day, folder)
            reduce(store, NAMES, SETTINGS)
    return store.root


@pytest.fixture
def store(reduced: Path, tmp_path: Path) -> Store:
    return Store(Path(shutil.copytree(reduced, tmp_path / "store")))


def land(store: Store, day: int, folder: Path, hour: int = 0) -> None:
    one = hourly("ALPHA", 0, 24 * day + hour)
    (folder / one.name).write_bytes(one.data)
    ingest(folder / one.name, store, system="ALPHA")


def states(store: Store) -> dict[str, ByDay]:
    versions = versions_of(store, store.dumps())
    traced = {lineage.name: lineage for lineage in lineages(reductions())}
    return {name: by_day(store, traced[name], versions) for name in NAMES}


def merged(store: Store) -> int:
    return merge(store, (lineage for lineage in lineages(reductions()) if lineage.name in NAMES))


def files(store: Store, level: str, name: str = NAMES[0]) -> list[str]:
    """The days or months of the files of a level."""
    found = (entry.file for entry in entries.Entries(store).of(name) if entry.level == level)
    return sorted(file.rpartition("/")[2].partition(".")[0] for file in found)


def shown(store: Store) -> list[Any]:
    """All rows of the reductions, and of their roll-ups.

    The roll-ups are those of the folders: to list the relations makes all of them, in seconds.
    """
    rows = []
    folders = (store.root / "reduced").glob("*/level=hour")
    rollups = sorted(f"rollup.{folder.parent.name}" for folder in folders)
    with connect(store, reductions()) as connection:
        for relation in (*NAMES, *rollups, "meta.reduced"):
            rows.append(
                (relation, connection.sql(f"SELECT * FROM {relation} ORDER BY ALL").fetchall())
            )
    assert len(rows) > len(NAMES) + 1 and all(of for _, of in rows)
    return rows


def count(store: Store) -> int:
    """The number of files that have entries; others are removed when they are old enough."""
    return sum(1 for _ in entries.Entries(store).all())


@pytest.mark.slow
def test_months_that_are_over_are_files_and_hold_the_same_rows(store: Store):
    before, days = shown(store), count(store)
    assert merged(store) == days - days // len(DAYS)  # but those of the last day
    assert files(store, "hour") == ["2001-12", "2002-01", "2002-02-16"]
    assert shown(store) == before
    assert all(not of.open and not of.outdated for of in states(store).values())
    assert [done.days for done in reduce(store, NAMES, SETTINGS)] == [0, 0, 0]
    assert merged(store) == 0


@pytest.mark.slow
def test_a_day_that_is_computed_again_takes_the_place_of_its_rows(store: Store, tmp_path: Path):
    merged(store)
    before = shown(store)
    land(store, DAYS[1], tmp_path, hour=5)
    plain = Store(Path(shutil.copytree(store.root, tmp_path / "plain")))
    drop(plain, ["reduced"])
    reduce(plain, NAMES, SETTINGS)
    assert len(states(store)[NAMES[0]].open) >= 1
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reducing, "merge", lambda *_: 0)
        reduce(store, NAMES, SETTINGS)
    assert shown(store) == shown(plain) != before
    assert merged(store) > 0
    assert shown(store) == shown(plain)


@pytest.mark.slow
def test_shifts_of_other_hours_are_rolled_up_again_from_a_month(store: Store, tmp_path: Path):
    merged(store)
    other = Settings(shifts=daily("evening", "00:00", "01:00"))
    reduce(store, NAMES, other)
    plain = Store(Path(shutil.copytree(store.root, tmp_path / "plain")))
    drop(plain, ["reduced"])
    reduce(plain, NAMES, other)
    assert shown(store) == shown(plain)


@pytest.mark.parametrize("at", ["written", "named"])
def test_a_merge_that_is_killed_is_done_again(
    store: Store, at: str, monkeypatch: pytest.MonkeyPatch
):
    before, days = shown(store), count(store)
    with monkeypatch.context() as patched:
        if at == "written":
            patched.setattr(LocalFiles, "create", interrupted)
        else:
            patched.setattr(entries.States, "forget", interrupted)
        with pytest.raises(KeyboardInterrupt):
            merged(store)
    assert shown(store) == before
    reduce(store, NAMES, SETTINGS)
    merged(store)
    reduce(store, NAMES, SETTINGS)
    assert shown(store) == before and count(store) < days
    assert files(store, "hour") == ["2001-12", "2002-01", "2002-02-16"]


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_month_goes_when_all_its_days_are_old_enough(store: Store):
    merged(store)
    limits = Retention({"interval": 30, "hour": None})
    for today, left in (
        (date(2002, 1, 20), ["2001-12", "2002-01", "2002-02-16"]),
        (date(2002, 2, 10), ["2002-01", "2002-02-16"]),
    ):
        prune(store, plan(store, VIEWS, limits, today))
        assert files(store, "interval") == left
    with connect(store, reductions()) as connection:
        rows = connection.sql(
            f"SELECT min(interval_end)::DATE FROM {NAMES[0]}"
            f" UNION ALL SELECT min(interval_end)::DATE FROM rollup.{NAMES[0]}"
        ).fetchall()
    assert rows[1] == (date(2001, 12, 18),)


def test_results_of_days_whose_samples_went_are_merged_and_stay(store: Store):
    before = shown(store)
    prune(store, plan(store, VIEWS, Retention({}, raw=10), date(2002, 2, 1)))
    assert merged(store) > 0
    assert shown(store) == before


@pytest.mark.parametrize("damage", ["cut", "gone", pytest.param("kept", marks=pytest.mark.slow)])
def test_entries_that_are_lost_are_made_from_their_files(store: Store, damage: str):
    before = shown(store)
    prune(store, plan(store, VIEWS, Retention({}, raw=10), date(2002, 2, 1)))
    merged(store)
    for file in store.root.glob("manifest/**/results.*.jsonl"):
        if damage == "gone":
            file.unlink()
        elif damage == "cut":
            file.write_bytes(file.read_bytes()[:-20])
    if damage == "cut":
        with pytest.raises(StoreError, match="cpmon store rebuild") as raised:
            states(store)
        assert "results.0" in str(raised.value)
    entries.mend(store)
    assert shown(store) == before
    assert [done.days for done in reduce(store, NAMES, SETTINGS)] == [0, 0, 0]
    assert shown(store) == before


@pytest.mark.slow
def test_files_of_a_killed_process_have_no_entry_and_are_computed_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    before = shown(store)
    drop(store, ["reduced"])
    with monkeypatch.context() as patched:
        patched.setattr(computing, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            reduce(store, NAMES, SETTINGS)
    assert list((store.root / "reduced").rglob("*.parquet")) and not count(store)
    reduce(store, NAMES, SETTINGS)
    assert shown(store) == before


def test_a_day_that_is_not_reduced_leaves_others_to_their_results(store: Store, tmp_path: Path):
    land(store, 70, tmp_path)
    since, until = map(datetime.fromisoformat, ("2001-12-18T00:00", "2001-12-18T23:00"))
    for file in (store.root / "records").glob("*/date=2001-12-18/*/*/*.parquet"):
        file.write_bytes(b"")  # whoever reads samples of that day fails
    with connect(store, reductions()) as connection:
        with pytest.raises(duckdb.Error):
            connection.sql(f"SELECT * FROM {NAMES[0]}").fetchall()
        connection.point(Scope("ALPHA", since, until))
        assert connection.sql(f"SELECT * FROM {NAMES[0]}").fetchall()
        rows = connection.sql(f"SELECT * FROM rollup.{NAMES[0]}").fetchall()
        assert rows and levels_of(connection, NAMES[0], "ALPHA") == {since.date(): {*LEVELS}}


@pytest.mark.slow
def test_results_that_are_taken_out_are_computed_again(store: Store):
    merged(store)
    before = shown(store)
    shutil.rmtree(store.root / "reduced" / NAMES[0])
    (hours,) = (
        entry.file
        for entry in entries.Entries(store).of(NAMES[1])
        if entry.level == "hour" and "/2001-12." in entry.file
    )
    (store.root / hours).unlink()
    gone = [problem.name for problem in check(store)]
    assert hours in gone and len(gone) == 1 + len(entries.Entries(store).of(NAMES[0]))
    drop(store, [f"reduced/{NAMES[0]}", hours])
    assert not [*check(store)]
    with connect(store, reductions()) as connection:
        rows = connection.sql(f"SELECT count(*) FROM {NAMES[0]}").fetchall()
    assert rows == [(len(dict(before)[NAMES[0]]),)]
    reduce(store, NAMES, SETTINGS)
    assert shown(store) == before


@pytest.mark.parametrize(
    "file", ["reduced/../runs/a.parquet", "/etc/a.parquet", "reduced/x/level=../system=A/a.parquet"]
)
def test_an_entry_names_no_file_outside_of_the_results(store: Store, file: str):
    entries.add(
        store, [entries.Entry(NAMES[0], file, "hour", "ALPHA", {date(2001, 12, 18): ("", "")})]
    )
    with pytest.raises(StoreError, match="cpmon store rebuild"):
        states(store)
