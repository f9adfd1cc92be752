"""A disk that is full at any moment, read-only, or lets files grow no further."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.ingest import ingest
from cpmon.store import Store
from tests.batch.site import make_site
from tests.faults.commands import put
from tests.faults.conftest import Rows, Victim, check_tidy, dump_of, rows, undisturbed
from tests.faults.test_kills import new_dump, whole_dumps
from tests.serve.conftest import ROOT as PROJECT
from tests.serve.conftest import Start, servers

POINTS = 50
PAGE = 4096
ROOM = 64 << 20
SAMPLES = PROJECT / "sample-data" / "timer"


@dataclass
class Disk:
    """A small file system in memory."""

    path: Path

    def change(self, *options: str) -> None:
        """Mount it again with other options."""
        subprocess.run(["mount", "-o", ",".join(["remount", *options]), str(self.path)], check=True)

    @property
    def used(self) -> int:
        """Bytes that are taken."""
        return shutil.disk_usage(self.path).used


@pytest.fixture
def start() -> Iterator[Start]:
    with servers() as begin:
        yield begin


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(path)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("no file system may be mounted here; the limit of a file's size is tried")
    try:
        yield Disk(path)
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def check_refused(status: int, told: str, problem: str) -> None:
    """A message of three parts, without a traceback; a dump that landed says nothing of it."""
    assert status == 2, told
    assert problem in told
    assert "effect" in told and "remedy" in told
    assert "Traceback" not in told and "failure of cpmon" not in told


def check_full(victim: Victim, disk: Disk, folder: Path, points: int) -> None:
    store, dumps, full, moments = disk.path / "store", [new_dump(folder, 0)], 0, random.Random(5)
    assert victim.run(dumps[0], store, ask=True)[0] == 0
    need = -disk.used
    dumps.append(new_dump(folder, 1))
    assert victim.run(dumps[1], store)[0] == 0
    need += disk.used
    while full < points:
        dumps.append(new_dump(folder, len(dumps)))
        landed = False
        while not landed and full < points:
            disk.change(f"size={disk.used + moments.randrange(0, need, PAGE) + PAGE}")
            status, told = victim.run(dumps[-1], store, ask=full % 10 == 0)
            landed = status == 0
            if not landed:
                check_refused(status, told, "the disk of the store is full")
                full += 1
            assert {d.name for d in dumps[: None if landed else -1]} == whole_dumps(store)
            disk.change(f"size={ROOM}")
    for one in dumps:
        assert victim.run(one, store)[0] == 0
    assert rows(store) == undisturbed(folder, dumps)
    check_tidy(store)


@pytest.mark.slow
def test_a_full_disk_costs_the_dump_that_did_not_fit(victim: Victim, disk: Disk, tmp_path: Path):
    check_full(victim, disk, tmp_path, 4)


@pytest.mark.long
def test_fifty_moments_of_a_full_disk_cost_nothing_that_had_landed(
    victim: Victim, disk: Disk, tmp_path: Path
):
    check_full(victim, disk, tmp_path, POINTS)


@pytest.mark.slow
def test_a_follower_on_a_full_disk_goes_on_where_it_was(victim: Victim, disk: Disk, tmp_path: Path):
    folder, store, moments = tmp_path / "rotated", disk.path / "store", random.Random(7)
    dumps, full = put(folder, *range(4)), 0
    words = ["follow", str(folder / "dumps"), "--store", str(store), "--idle", "1s"]
    Store(store, create=True)
    for _ in range(8):
        disk.change(f"size={disk.used + moments.randrange(PAGE, 60 * PAGE, PAGE)}")
        status, told = victim.run(Path(), Path(), words=words)
        if status not in (0, 3):
            check_refused(status, told, "the disk of the store is full")
            full += 1
        disk.change(f"size={ROOM}")
    assert full > 2
    assert victim.run(Path(), Path(), words=words)[0] in (0, 3)
    assert without_dumps(rows(store)) == without_dumps(undisturbed(tmp_path, dumps))


def without_dumps(found: Rows) -> Rows:
    """Rows without the names of dumps, which differ where they were followed."""
    names = {name for row in found["meta.dump"] for name in row[:1]}
    return {
        table: sorted([tuple(v for v in row if v not in names) for row in some], key=repr)
        for table, some in found.items()
    }


@pytest.mark.parametrize("limit", range(1500, 4500, 1000))
def test_a_limit_of_file_sizes_is_told(limit: int, victim: Victim, tmp_path: Path):
    store, dump = tmp_path / "store", new_dump(tmp_path, 0)
    status, told = victim.run(dump, store, fsize=limit)
    check_refused(status, told, "would be larger than this process may write")
    assert "ulimit -f" in told
    assert whole_dumps(store) == set()
    assert victim.run(dump, store)[0] == 0
    assert rows(store) == undisturbed(tmp_path, [dump])
    check_tidy(store)


def test_a_store_on_a_read_only_disk_is_read_and_not_written(
    victim: Victim, disk: Disk, tmp_path: Path
):
    store, first, second = disk.path / "store", new_dump(tmp_path, 0), new_dump(tmp_path, 1)
    assert victim.run(first, store, ask=True)[0] == 0
    disk.change("ro")
    check_refused(*victim.run(second, store), "the disk of the store is read-only")
    assert "landed before" in victim.run(first, store)[1]
    assert rows(store) == undisturbed(tmp_path, [first])
    check_refused(*victim.run(first, disk.path / "new"), "the disk of the store is read-only")


def test_a_read_only_store_is_read(victim: Victim, disk: Disk, tmp_path: Path):
    store, first = disk.path / "store", new_dump(tmp_path, 0)
    assert victim.run(first, store)[0] == 0
    disk.change("ro")
    assert rows(store) == undisturbed(tmp_path, [first])


@pytest.mark.slow
def test_a_batch_on_a_full_disk_leaves_what_came_for_the_next_one(
    disk: Disk, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    site, full, moments = make_site(disk.path, monkeypatch), 0, random.Random(6)
    for number in range(3):
        dump = site.put(f"{number}.mon", dump_of(number))
        status = Status.FAILED
        while status not in (Status.DONE, Status.WARNINGS):
            disk.change(f"size={disk.used + moments.randrange(PAGE, 200 * PAGE, PAGE)}")
            status = site.batch()
            told = capfd.readouterr().err
            assert dump.exists(), told
            if status not in (Status.DONE, Status.WARNINGS):
                assert status in (Status.FAILED, Status.USAGE) and "is full" in told, told
                assert "Traceback" not in told and "failure of cpmon" not in told, told
                full += 1
            disk.change(f"size={ROOM}")
    assert full > 2
    assert site.batch() in (Status.DONE, Status.WARNINGS)
    dumps = [new_dump(tmp_path, number) for number in range(3)]
    assert rows(site.store) == undisturbed(tmp_path, dumps)
    assert not [*(site.store / "staging").iterdir()]


@pytest.mark.slow
def test_a_server_on_a_full_disk_shows_pages_and_says_why_there_is_no_file(
    disk: Disk, start: Start
):
    shutil.copytree(SAMPLES, disk.path / "dumps")
    store = Store(disk.path / "store", create=True)
    ingest(disk.path / "dumps" / "2600NP.mon.zst", store)
    folders = {"TMPDIR": disk.path / "tmp", "XDG_CACHE_HOME": disk.path / "cache"}
    for folder in folders.values():
        folder.mkdir()
    server = start(store.root, **{name: str(folder) for name, folder in folders.items()})
    assert server.get("").status == 200
    disk.change(f"size={disk.used + 64 * PAGE}")
    for format in ("csv", "xlsx"):
        answer = server.get(f"query.{format}", sql="FROM interval.useact")
        assert answer.status == 400 and "no room for the file" in answer.text
    assert server.get("page", run="2600NP").status == 200
    assert server.get("query", sql="FROM interval.useact").status == 200
    disk.change(f"size={ROOM}")
    assert server.get("query.csv", sql="FROM interval.useact").status == 200


def test_the_dumps_of_these_tests_differ():
    assert len({dump_of(number) for number in range(5)}) == 5
