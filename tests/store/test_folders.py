"""Which dumps there are: a day that did not change is not looked at again, one that did is."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.reduce.reports.reducing import reduce
from cpmon.schemas.errors import StoreError
from cpmon.store import Store
from cpmon.store.dumps import days, folders
from cpmon.store.dumps.days import FILE, held
from cpmon.store.dumps.folders import Folders
from cpmon.store.results.lineage import lineages
from cpmon.store.results.retention import Retention, plan, prune
from tests.batch.fleet import hourly

HOUR_NS = 3600 * 10**9
REDUCED = "processors_by_time"
VIEWS = [
    view
    for lineage in lineages(reductions())
    if lineage.name == REDUCED
    for view in reductions()
    if view.name in lineage.names
]
LATER = date(2003, 1, 1)


@pytest.fixture
def records(tmp_path: Path) -> Path:
    for day in ("system=A/date=2001-12-18", "system=A/date=2001-12-19", "system=B/date=2001-12-18"):
        (tmp_path / day / f"dump={day[7]}{day[-2:]}").mkdir(parents=True)
    return tmp_path


def clock(monkeypatch: pytest.MonkeyPatch, ahead_ns: int) -> None:
    """Set the clock; the times of files are those of the disk."""
    now = time.time_ns
    monkeypatch.setattr(folders.time, "time_ns", lambda: now() + ahead_ns)


def names(found: Folders) -> set[str]:
    return {dump.rpartition("=")[2] for dump in found.dumps()}


def listed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The folders that are listed from now on."""
    found: list[str] = []

    def noting(folder: str | Path, begin: str) -> list[str]:
        found.append(Path(folder).name)
        return plain(folder, begin)

    plain = folders.inside
    monkeypatch.setattr(folders, "inside", noting)
    return found


def test_a_day_is_listed_again_only_if_it_changed(records: Path, monkeypatch: pytest.MonkeyPatch):
    found = Folders(records)
    assert names(found) == {"A18", "A19", "B18"}
    clock(monkeypatch, HOUR_NS)
    before = {day.path: day for day in found.days()}
    looked = listed(monkeypatch)
    assert {day.path: day for day in found.days()} == before
    assert looked == [records.name]

    (records / "system=A/date=2001-12-19/dump=new").mkdir()
    after = {day.path: day for day in found.days()}
    assert names(found) == {"A18", "A19", "B18", "new"}
    changed = {path for path, day in after.items() if day is not before[path]}
    assert changed == {str(records / "system=A/date=2001-12-19")}


@pytest.mark.parametrize("ahead_ns", [0, -HOUR_NS], ids=["a moment ago", "in the future"])
def test_a_day_that_changed_just_now_may_change_again_unseen(
    records: Path, monkeypatch: pytest.MonkeyPatch, ahead_ns: int
):
    found = Folders(records)
    clock(monkeypatch, ahead_ns)
    monkeypatch.setattr(folders, "_signature", coarse(folders._signature))
    assert names(found) == {"A18", "A19", "B18"}
    (records / "system=A/date=2001-12-19/dump=new").mkdir()
    (records / "system=C/date=2001-12-19/dump=C19").mkdir(parents=True)
    assert names(found) == {"A18", "A19", "B18", "new", "C19"}


def coarse(
    signature: Callable[[str], tuple[folders.Signature, bool]],
) -> Callable[[str], tuple[folders.Signature, bool]]:
    """Times of change as coarse as that of a disk on which nothing seems to change."""
    return lambda folder: ((1,), signature(folder)[1])


def test_what_is_removed_or_replaced_is_gone(records: Path, monkeypatch: pytest.MonkeyPatch):
    found = Folders(records)
    clock(monkeypatch, HOUR_NS)
    assert found.find("A19") == str(records / "system=A/date=2001-12-19/dump=A19")
    shutil.rmtree(records / "system=A/date=2001-12-19")
    shutil.rmtree(records / "system=B")
    assert names(found) == {"A18"} and found.find("A19") is None
    (records / "system=A/date=2001-12-19/dump=other").mkdir(parents=True)
    assert names(found) == {"A18", "other"} and found.find("other") is not None


def test_a_store_without_dumps_has_none(tmp_path: Path):
    found = Folders(tmp_path / "records")
    assert (found.days(), found.dumps(), found.tables(), found.find("x")) == ([], [], {}, None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "store", create=True)
    for hour in (0, 24):
        land(made, hour)
    return made


def land(store: Store, hour: int) -> str:
    one = hourly("ALPHA", 0, hour)
    file = store.root.parent / one.name
    file.write_bytes(one.data)
    return ingest(file, store, system="ALPHA").dump


def test_what_another_process_does_is_seen(store: Store, monkeypatch: pytest.MonkeyPatch):
    clock(monkeypatch, HOUR_NS)
    assert len(held(store)) == 2
    assert {"useact", "mtrsys"} <= store.tables()
    other = Store(store.root)
    landed = land(other, 25)
    assert [one.dump for one in held(store)] == [one.dump for one in held(other)]
    assert len(held(store)) == 3 and store.find(landed) is not None

    reduce(other, [REDUCED], Settings())
    prune(other, plan(other, VIEWS, Retention({}, raw=1), LATER))
    assert [one.pruned for one in held(store)] == [True] * 3
    assert "mtrsys" in store.tables() and "useact" not in store.tables()


def test_a_prune_that_is_killed_is_seen(store: Store, monkeypatch: pytest.MonkeyPatch):
    clock(monkeypatch, HOUR_NS)
    reduce(store, [REDUCED], Settings())
    watching = Store(store.root)
    assert not any(one.pruned for one in held(watching))
    found = plan(store, VIEWS, Retention({}, raw=1), LATER)
    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prune(store, found)
    assert sum(one.pruned for one in held(watching)) == 2  # of all, before the first table goes


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_what_dumps_hold_is_written_down_when_the_disk_allows_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    file = store.root / "reduced" / FILE
    assert len(held(store)) == 2 and not file.exists()
    file.parent.mkdir()
    with monkeypatch.context() as patched:
        patched.setattr(days, "replace_durably", refused)
        assert len(held(store)) == 2
    assert not file.exists()
    assert len(held(store)) == 2 and file.exists()


def refused(*_: object) -> None:
    raise StoreError("the disk of the store is read-only")
