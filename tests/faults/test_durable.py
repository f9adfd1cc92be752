"""What is published is on the disk before its name is: the order of fsync and rename."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from cpmon.ingest import ingest
from cpmon.store import Store
from cpmon.store.files.disk import replace_durably
from tests.faults.test_kills import new_dump


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Path]]:
    """What was made durable and what was renamed, in this order."""
    seen: list[tuple[str, Path]] = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def synced(handle: int) -> None:
        seen.append(("fsync", Path(f"/proc/self/fd/{handle}").readlink()))
        fsync(handle)

    def renamed(call: Any) -> Any:
        def wrapped(old: Any, new: Any, **said: Any) -> None:
            seen.append(("rename", Path(new)))
            call(old, new, **said)

        return wrapped

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed(rename))
    monkeypatch.setattr(os, "replace", renamed(replace))
    return seen


def test_all_of_a_dump_is_durable_before_it_is_seen(
    tmp_path: Path, store: Store, steps: list[tuple[str, Path]]
):
    landed = ingest(new_dump(tmp_path, 0), store)

    folder = store.find(landed.dump)
    assert folder is not None
    moved = [n for n, (step, path) in enumerate(steps) if (step, path.parent) == ("rename", folder)]
    before = [path for step, path in steps[: moved[0]] if step == "fsync"]
    (staged,) = {path.parent for path in before if path.name == "dump.json"}
    assert staged.parent == store.staging
    files = {path.name for path in before if path.parent == staged}
    assert files == {file.name for file in folder.iterdir()}
    for above in (folder.parent, folder.parent.parent, store.records, store.root):
        assert above in before, "the folder itself is durable before it has files"
    assert ("fsync", folder) in steps[moved[-1] :]


def test_a_dump_is_durable_before_the_manifest_has_it(
    tmp_path: Path, store: Store, steps: list[tuple[str, Path]]
):
    landed = ingest(new_dump(tmp_path, 0), store)
    (entry,) = store.root.glob(f"manifest/*/*/{landed.dump}.0.json")
    folder = store.find(landed.dump)
    assert folder
    written = next(n for n, (_, path) in enumerate(steps) if path.name.startswith(f".{entry.name}"))
    assert steps.index(("fsync", folder)) < written
    assert steps[-1] == ("fsync", entry.parent)


def test_a_new_store_is_durable(tmp_path: Path, steps: list[tuple[str, Path]]):
    store = Store(tmp_path / "new", create=True)
    kinds = [(step, path.name) for step, path in steps]
    marker = kinds.index(("rename", "store.json"))
    assert kinds[marker - 1][0] == "fsync" and kinds[marker - 1][1].startswith(".store.json.")
    assert steps[marker + 1] == ("fsync", store.root)
    assert ("fsync", tmp_path) in steps


def test_a_small_file_is_durable_before_it_takes_the_place_of_the_old(
    tmp_path: Path, steps: list[tuple[str, Path]]
):
    file = tmp_path / "run.json"
    file.write_text("old", encoding="utf-8")
    replace_durably(file, "new")
    assert [step for step, _ in steps] == ["fsync", "rename", "fsync"]
    assert steps[1] == ("rename", file) and steps[2] == ("fsync", tmp_path)
    assert file.read_text(encoding="utf-8") == "new"
    assert list(tmp_path.iterdir()) == [file]
