"""The manifest: which dumps there are, however many files say so and whoever changes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from cpmon.config import Settings
from cpmon.core.errors import StoreError
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.dumps import cleanup, manifest
from cpmon.store.dumps.manifest import FAN, Manifest
from cpmon.store.files.local import LocalFiles
from cpmon.store.results.lineage import lineages
from cpmon.store.results.retention import Retention, plan, prune
from tests.batch.fleet import hourly

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


def about(number: int, **facts: Any) -> dict[str, Any]:
    day = str(date(2026, 1, 1) + timedelta(days=number % 20))
    return {
        "dump": f"{number:04x}",
        "system": "A/B",
        "landed_on": day,
        "days": [day],
        "nominal": True,
        "tables": ["interval", "useact"],
        "layouts": "x",
        "stored_size": number,
        **facts,
    }


def manifest_of(root: Path) -> Manifest:
    return Manifest(LocalFiles(root))


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("manifest/*/*/*"))


def names(read: Manifest) -> set[str]:
    return {dump.dump for dump in read.dumps()}


def test_many_files_of_a_month_become_few(tmp_path: Path):
    written, watching = manifest_of(tmp_path), manifest_of(tmp_path)
    for number in range(FAN * FAN + 3):
        written.add(about(number))
        if number % 100 == 0:
            assert len(names(watching)) == number + 1
    assert len(names(manifest_of(tmp_path))) == len(names(watching)) == FAN * FAN + 3
    assert len(files(tmp_path)) == 4
    assert watching.has_size(7) and not watching.has_size(10**6)
    assert {dump.system for dump in watching.dumps()} == {"A/B"}


def test_of_a_pruned_dump_the_later_line_holds_also_after_a_merge(tmp_path: Path):
    written = manifest_of(tmp_path)
    for number in range(FAN):
        written.add(about(number))
    written.add(about(3, pruned_at="2026-02-01T00:00:00", tables=["interval"]))
    for number in range(FAN, 2 * FAN):
        written.add(about(number))
        (dump,) = [dump for dump in manifest_of(tmp_path).dumps() if dump.dump == "0003"]
        assert dump.pruned and dump.tables == {"interval"}


def test_a_file_that_is_merged_while_it_is_read_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written = manifest_of(tmp_path)
    for number in range(FAN - 1):
        written.add(about(number))
    real = Path.read_bytes

    def merging(path: Path) -> bytes:
        monkeypatch.setattr(Path, "read_bytes", real)
        written.add(about(FAN - 1))
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", merging)
    assert len(names(manifest_of(tmp_path))) == FAN


def test_a_dump_that_lands_between_two_looks_is_not_one_without_a_manifest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The folder is seen when the line that was not there before is, and the mark is gone."""
    store = Store(tmp_path / "store", create=True)
    listed = LocalFiles.names
    looks = []

    def names(files: LocalFiles, folder: str = "") -> Iterator[str]:
        found = [*listed(files, folder)]
        if folder == manifest.FOLDER and not looks:
            looks.append(folder)
            land(Store(tmp_path / "store"), 0)
        yield from found

    monkeypatch.setattr(LocalFiles, "names", names)
    assert store.dumps() == ()
    assert len(store.dumps()) == 1


def test_a_manifest_that_never_stands_still_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    manifest_of(tmp_path).add(about(1))
    monkeypatch.setattr(Path, "read_bytes", missing)
    with pytest.raises(StoreError, match="changes all the time"):
        manifest_of(tmp_path).dumps()


def missing(path: Path) -> bytes:
    raise FileNotFoundError(path)


def test_a_damaged_file_is_named_and_made_again(store: Store):
    (file, *_) = sorted(store.root.glob("manifest/*/*/*"))
    file.write_bytes(b'{"dump": "x"}\n')
    with pytest.raises(StoreError, match="cpmon store rebuild") as raised:
        Store(store.root).dumps()
    assert str(file) in str(raised.value)
    Store(store.root).manifest.rebuild()
    assert len(Store(store.root).dumps()) == 2


def test_what_was_removed_or_copied_by_hand_is_seen_when_it_is_made_again(store: Store):
    first, second = store.dumps()
    before = [(dump.days, dump.tables, dump.nominal, dump.layouts) for dump in store.dumps()]
    shutil.rmtree(store.root / "manifest")
    store.manifest.rebuild()
    again = Store(store.root).dumps()
    assert [(dump.days, dump.tables, dump.nominal, dump.layouts) for dump in again] == before
    shutil.rmtree(store.root / first.folder)
    store.manifest.rebuild()
    assert [dump.dump for dump in Store(store.root).dumps()] == [second.dump]


def test_what_another_process_does_is_seen(store: Store):
    assert len(store.dumps()) == 2
    assert {"useact", "mtrsys"} <= store.tables()
    other = Store(store.root)
    landed = land(other, 25)
    assert store.dumps() == other.dumps()
    assert len(store.dumps()) == 3 and store.find(landed) is not None

    reduce(other, [REDUCED], Settings())
    prune(other, plan(other, VIEWS, Retention({}, raw=1), LATER))
    assert [one.pruned for one in store.dumps()] == [True] * 3
    assert "mtrsys" in store.tables() and "useact" not in store.tables()


def test_a_prune_that_is_killed_is_seen(store: Store, monkeypatch: pytest.MonkeyPatch):
    reduce(store, [REDUCED], Settings())
    watching = Store(store.root)
    assert not any(one.pruned for one in watching.dumps())
    planned = plan(store, VIEWS, Retention({}, raw=1), LATER)
    with monkeypatch.context() as patched:
        patched.setattr(cleanup, "remove", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prune(store, planned)
    assert sum(one.pruned for one in watching.dumps()) == 2  # of all, before the first table goes


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


@pytest.fixture
def killed(store: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store in which a process was killed when it had renamed the folder of its dump."""
    with monkeypatch.context() as patched:
        patched.setattr(manifest.Manifest, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            land(store, 25)
    return store


def test_a_dump_whose_process_was_killed_is_taken_in_by_the_next_that_writes(killed: Store):
    assert len(Store(killed.root).dumps()) == 2
    killed.clean()
    assert len(Store(killed.root).dumps()) == 3
    assert not list(killed.staging.iterdir())
    with connect(killed) as connection:
        ((dumps, intervals),) = connection.sql(
            "SELECT count(DISTINCT dump), count(*) FROM meta.interval"
        ).fetchall()
    assert (dumps, intervals > 2) == (3, True)
    assert land(killed, 25) and len(killed.dumps()) == 3  # the same bytes do nothing


def test_a_dump_has_landed_though_the_disk_has_no_room_for_a_merge(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        patched.setattr(manifest, "FAN", 2)
        patched.setattr(Manifest, "_write_merged", no_room)
        landed = land(store, 25)
    found = Store(store.root).find(landed)
    assert found is not None and found.is_dir()


def test_a_dump_that_the_manifest_has_no_room_for_has_not_landed(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        patched.setattr(Manifest, "add", no_room)
        with pytest.raises(StoreError, match="full"):
            land(store, 25)
    assert len(list(store.records.glob("*/*/*"))) == len(Store(store.root).dumps()) == 2
    assert not list(store.staging.iterdir())
    assert land(store, 25) and len(store.dumps()) == 3


def no_room(*_: object) -> str:
    raise StoreError("the disk of the store is full")
