"""A full disk: readers are served, the rest is done when there is room.

Ingest has tests of its own in tests/faults.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from tests.batch.site import make_site
from tests.faults import test_disk
from tests.remedies.conftest import LAB
from tests.remedies.trying import Attempt, tries

pytestmark = pytest.mark.slow
disk = test_disk.disk
SPAN = ("--since", "2003-05-06T08:00", "--until", "2003-05-06T08:30")


@tries("disk-full")
def test_what_a_full_disk_refused_is_done_when_there_is_room(tried: Attempt, disk: test_disk.Disk):
    store = disk.path / "store"
    words = ("--store", store)
    tried.works("ingest", LAB, *words)
    fill(disk)
    writers = [
        ("reduce", *words),
        ("runs", "--define", "half", "--system", "SMALLLAB", *SPAN, *words),
        ("ingest", LAB.with_name("LAB52.mon.zst"), *words),
    ]
    for command in writers:
        assert "free some space, or move the store to a larger disk, then" in tried.fails(*command)
    assert tried.works("report", "events", "--top", 1, *words).out
    assert b"LAB" in tried.works("runs", *words).out
    generate = ("generate", "small-lab", "-o", disk.path / "dumps", "--intervals", 1)
    refused = tried.cpmon(*generate)
    assert "cannot be written: No space left on device" in refused.err
    assert "Traceback" not in refused.err and "failure of cpmon" not in refused.err
    (disk.path / "other").unlink()
    for command in (*writers, generate):
        tried.works(*command)


@tries("disk-read-only")
def test_a_read_only_disk_is_mounted_for_writing_or_another_store_is_named(
    tried: Attempt, disk: test_disk.Disk, mon: Path, tmp_path: Path
):
    tried.works("ingest", LAB, "--store", disk.path / "store")
    disk.change("ro")
    said = tried.fails("ingest", mon, "--store", disk.path / "store")
    assert "remount it read-write, or name another store with --store" in said
    tried.works("ingest", mon, "--store", tmp_path / "other")
    disk.change("rw")
    tried.works("ingest", mon, "--store", disk.path / "store")


@tries("disk-full")
def test_a_batch_on_a_full_disk_goes_on_when_there_is_room(
    tried: Attempt, disk: test_disk.Disk, monkeypatch: pytest.MonkeyPatch
):
    site = make_site(disk.path, monkeypatch)
    site.configure("[batch]\nvalidate = false\nexceptions = false\n")
    words = ("batch", "run", "--config", site.config)
    tried.works(*words)
    site.put("LAB.mon.zst", LAB.read_bytes())
    fill(disk)
    assert "free some space" in tried.fails(*words)
    (disk.path / "other").unlink()
    assert "1 landed" in tried.works(*words).text


@tries("export-catalogue-unwritable")
def test_an_export_to_iceberg_is_done_when_there_is_room(
    tried: Attempt, disk: test_disk.Disk, mon: Path, tmp_path: Path
):
    tried.works("ingest", mon, "--store", tmp_path / "store")
    words = ("store", "export", "--store", tmp_path / "store", "--iceberg", disk.path / "iceberg")
    for pages in (2, 12, 30):
        disk.change(f"size={disk.used + pages * test_disk.PAGE}")
        assert "make room" in tried.fails(*words) or "free some space" in tried.fails(*words)
    disk.change(f"size={test_disk.ROOM}")
    tried.works(*words)


def fill(disk: test_disk.Disk) -> None:
    """Leave not a byte."""
    with suppress(OSError), (disk.path / "other").open("wb", buffering=0) as other:
        while True:
            other.write(bytes(test_disk.PAGE))


@tries("temporary-disk-full")
def test_a_dump_is_checked_when_there_is_room(
    tried: Attempt, disk: test_disk.Disk, monkeypatch: pytest.MonkeyPatch
):
    fill(disk)
    with monkeypatch.context() as full:
        full.setattr("tempfile.tempdir", str(disk.path))
        tried.fails("check", LAB)
    tried.works("check", LAB)


@tries("export-unwritable")
def test_an_export_to_a_full_disk_goes_to_another_one(
    tried: Attempt, disk: test_disk.Disk, tmp_path: Path
):
    words = ("--store", tmp_path / "store")
    tried.works("ingest", LAB, *words)
    old = disk.path / "perf.duckdb"
    old.write_bytes(b"of before")
    fill(disk)
    words = ("store", "export", "users_by_time", *words, "--duckdb")
    assert "name a file on another one" in tried.fails(*words, old)
    assert old.read_bytes() == b"of before"
    tried.works(*words, tmp_path / "perf.duckdb")
    (disk.path / "other").unlink()
    tried.works(*words, old)
