"""The manifest: which dumps there are, however many files say so and whoever changes them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from cpmon.config import Settings
from cpmon.core.errors import BusyError, StoreError
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.check import check, collect_garbage, drop, rebuild
from cpmon.store.files.local import LocalFiles
from cpmon.store.format import manifest, states
from cpmon.store.format.landed_dump import ABOUT
from cpmon.store.format.manifest import FAN, Manifest
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
        "folder": f"records/system=A%2FB/date={day}/dump={number:04x}/00",
        **facts,
    }


def manifest_of(root: Path) -> Manifest:
    return Manifest(LocalFiles(root))


def files(root: Path) -> list[str]:
    return sorted(path.name for path in root.glob("manifest/*/*/*"))


def names(read: Manifest) -> set[str]:
    return {dump.dump for dump in read.dumps()}


def test_many_dumps_of_a_month_are_in_few_states(tmp_path: Path):
    written, watching = manifest_of(tmp_path), manifest_of(tmp_path)
    for number in range(3 * FAN + 3):
        written.add(about(number))
        if number % 50 == 0:
            assert len(names(watching)) == number + 1
    assert len(names(manifest_of(tmp_path))) == len(names(watching)) == 3 * FAN + 3
    assert len(files(tmp_path)) == 3 * FAN + 3 + 3
    written.forget(-60)
    assert len(files(tmp_path)) == 3 + 1, "what is in a state, and states before the newest"
    assert names(manifest_of(tmp_path)) == names(watching)
    assert watching.has_size(7) and not watching.has_size(10**6)
    assert {dump.system for dump in watching.dumps()} == {"A/B"}


def test_what_is_replaced_at_once_is_seen_at_once(tmp_path: Path):
    written, watching = manifest_of(tmp_path), manifest_of(tmp_path)
    for number in range(3):
        written.add(about(number))
    known = watching.find("0001")
    assert known and written.put([known], [about(1, pruned_at="2026-02-01", tables=["interval"])])
    now = watching.find("0001")
    assert now and now.pruned and now.tables == {"interval"}
    assert not written.put([known]), "it has changed since"
    assert written.put([now]) and watching.find("0001") is None
    assert not list(tmp_path.glob("manifest/*/*/0001.1.json"))
    assert written.add(about(1)) and not written.add(about(1, folder="records/other"))
    again = watching.find("0001")
    assert again and not again.pruned and list(tmp_path.glob("manifest/*/*/0001.1.json"))


def test_a_file_that_went_while_it_is_read_is_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    written = manifest_of(tmp_path)
    for number in range(FAN - 1):
        written.add(about(number))
    real = Path.read_bytes

    def replacing(path: Path) -> bytes:
        monkeypatch.setattr(Path, "read_bytes", real)
        written.add(about(FAN - 1))
        written.forget(-60)
        return real(path)

    monkeypatch.setattr(Path, "read_bytes", replacing)
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
        if folder == states.MANIFEST and not looks:
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
    with pytest.raises(BusyError, match="changes all the time"):
        manifest_of(tmp_path).dumps()


def missing(path: Path) -> bytes:
    raise FileNotFoundError(path)


@pytest.mark.parametrize("text", [b'{"dump": "x"}\n', b"", b'{"lines": "0"}\n{}\n'])
@pytest.mark.parametrize("is_state", [False, True])
def test_a_damaged_file_is_named_and_made_again(store: Store, text: bytes, is_state: bool):
    before = store.dumps()
    if is_state:
        assert store.manifest.put(before[:1], store.abouts(before[:1]))
    file = max(store.root.glob(f"manifest/*/*/*.json{'l' * is_state}"))
    file.write_bytes(text)
    with pytest.raises(StoreError, match="cpmon store rebuild") as raised:
        Store(store.root).dumps()
    assert str(file) in str(raised.value)
    rebuild(Store(store.root))
    for grace_s in (states.GRACE_S, -60):  # the damaged file is still there, then it goes
        collect_garbage(Store(store.root), grace_s)
        assert Store(store.root).dumps() == before
    assert not file.exists()


def test_a_state_that_is_lost_is_noticed(store: Store):
    before = store.dumps()
    assert store.manifest.put(before[:1], store.abouts(before[:1]))
    store.manifest.forget(-60)
    (file,) = store.root.glob("manifest/*/*/*.jsonl")
    file.unlink()
    with pytest.raises(StoreError, match="is gone"):
        Store(store.root).dumps()
    assert [problem.remedy for problem in check(Store(store.root))] == ["cpmon store rebuild"]
    rebuild(Store(store.root))
    assert Store(store.root).dumps() == before and not [*check(Store(store.root))]


def test_the_newest_state_that_is_lost_is_noticed(store: Store):
    before = store.dumps()
    drop(store, [before[0].dump])
    landed = land(store, 0)
    assert store.manifest.put([now := store.manifest.find(landed)], store.abouts([now]))  # type: ignore[list-item]
    for file in store.root.glob("manifest/*/*/*.json"):
        file.unlink()  # all of them are in a state
    max(store.root.glob("manifest/*/*/*.jsonl")).unlink()
    (found,) = check(Store(store.root))
    assert landed[:12] in found.found and found.remedy == "cpmon store rebuild"
    rebuild(Store(store.root))
    assert {dump.dump for dump in Store(store.root).dumps()} == {dump.dump for dump in before}


def test_what_was_copied_by_hand_is_seen_when_it_is_made_again(store: Store):
    before = store.dumps()
    shutil.rmtree(store.root / "manifest")
    for file in store.root.glob(f"records/**/{ABOUT}"):
        file.write_bytes(file.read_bytes().strip())  # as an editor or a transfer may leave it
    store = Store(store.root)
    rebuild(store)
    assert Store(store.root).dumps() == before
    assert [about["dump"] for about in store.abouts(before)] == [dump.dump for dump in before]
    drop(store, [before[0].dump])
    rebuild(store)
    assert Store(store.root).dumps() == before[1:], "what was dropped stays so"


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
        patched.setattr(LocalFiles, "delete", interrupted)
        with pytest.raises(KeyboardInterrupt):
            prune(store, planned)
    assert sum(one.pruned for one in watching.dumps()) == 1  # before its first table goes
    prune(store, plan(store, VIEWS, Retention({}, raw=1), LATER))
    assert sum(one.pruned for one in watching.dumps()) == 2
    assert not list(store.records.rglob("useact.parquet"))


def interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_dump_whose_process_was_killed_can_land_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        patched.setattr(manifest.Manifest, "add", interrupted)
        with pytest.raises(KeyboardInterrupt):
            land(store, 25)
    assert len(Store(store.root).dumps()) == 2
    assert land(store, 25) and len(store.dumps()) == 3
    assert len(list(store.records.glob("*/*/*/*"))) == 4
    assert collect_garbage(store) == 0, "a writer may be at work"
    assert collect_garbage(store, -60) > 0
    assert len(list(store.records.glob("*/*/*/*"))) == 3
    with connect(store) as connection:
        ((dumps,),) = connection.sql("SELECT count(DISTINCT dump) FROM meta.interval").fetchall()
    assert dumps == 3


def test_a_dump_has_landed_though_the_disk_has_no_room_for_a_state(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as patched:
        patched.setattr(manifest, "FAN", 2)
        patched.setattr(states.States, "commit", no_room)
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
    assert len(Store(store.root).dumps()) == 2
    assert not list(store.staging.iterdir())
    assert land(store, 25) and len(store.dumps()) == 3


def no_room(*_: object) -> str:
    raise StoreError("the disk of the store is full")
