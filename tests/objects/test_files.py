"""The files of a store behave the same in a folder and in object storage."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from threading import Barrier

import pyarrow.fs
import pytest
from obstore.store import MemoryStore

from cpmon.core.errors import StoreError
from cpmon.store.files import File, Files, Inside, local, objects, open_files
from tests.objects.server import BUCKET, Server

CREATORS = 6


@pytest.fixture(params=["folder", "memory", pytest.param("S3", marks=pytest.mark.slow)])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    if request.param == "folder":
        (tmp_path / "store").mkdir()
        return open_files(str(tmp_path / "store"))
    if request.param == "S3":
        return open_files(request.getfixturevalue("place"))
    memory = objects.ObjectFiles("s3://perf/p")
    memory._store = MemoryStore()  # object storage as the library has it, without a server
    return memory


def test_what_is_written_is_read(files: Files):
    name = "records/system=A%2FB ü/date=2001-12-18/dump.json"
    assert not files.exists(name)
    with pytest.raises(FileNotFoundError):
        files.read(name)
    files.replace(name, b"one")
    files.replace(name, b"two")
    assert files.exists(name)
    assert files.read(name) == b"two"
    assert list(files.below()) == [File(name, 3)]


def test_a_folder_shows_what_is_directly_in_it_and_what_is_below(files: Files):
    for name in ("store.json", "m/1.json", "m/2.json", "m/s=A/3.json", "m2/4.json"):
        files.replace(name, b"")
    assert files.inside() == Inside(["m", "m2"], [File("store.json", 0)])
    assert files.inside("m") == Inside(["m/s=A"], [File("m/1.json", 0), File("m/2.json", 0)])
    assert files.inside("none") == Inside([], [])
    below = sorted(file.name for file in files.below("m"))
    assert below == ["m/1.json", "m/2.json", "m/s=A/3.json"]
    assert list(files.below("none")) == []


def test_what_exists_is_not_created(files: Files):
    assert files.create("manifest/one.json", b"first")
    assert not files.create("manifest/one.json", b"second")
    assert files.read("manifest/one.json") == b"first"


@pytest.mark.parametrize("files", ["memory"], indirect=True)
def test_a_file_that_is_deleted_as_it_is_looked_at_was_not_created(
    files: Files, monkeypatch: pytest.MonkeyPatch
):
    def gone(_files: Files, name: str) -> bytes:
        raise FileNotFoundError(name)

    assert files.create("manifest/one.json", b"first")
    monkeypatch.setattr(objects.ObjectFiles, "read", gone)
    assert not files.create("manifest/one.json", b"second")


def test_of_those_who_create_a_file_at_once_exactly_one_does(files: Files):
    for number in range(5):
        winners = _winners(files, f"manifest/{number}.json")
        assert len(winners) == 1
        assert files.read(f"manifest/{number}.json") == b"%d" % winners[0]


def _winners(files: Files, name: str) -> list[int]:
    """Which of several that create a file at once are told that they did."""
    together = Barrier(CREATORS)

    def create(number: int) -> bool:
        together.wait()
        return files.create(name, b"%d" % number)

    with ThreadPoolExecutor(CREATORS) as pool:
        return [n for n, won in enumerate(pool.map(create, range(CREATORS))) if won]


def test_disks_without_hard_links_create_once_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(local.os, "link", refused)
    files = open_files(str(tmp_path))
    assert len(_winners(files, "manifest/one.json")) == 1
    assert [file.name for file in files.below()] == ["manifest/one.json"]


def test_finished_files_are_published(files: Files):
    with files.scratch() as scratch:
        finished = {}
        for number, size in enumerate((0, 10, 12_000_000)):  # the last one in several parts
            file = scratch / f"{number}.parquet"
            file.write_bytes(bytes(size))
            finished[f"records/dump=1/{file.name}"] = file
        files.publish(finished)
    assert not scratch.exists()
    sizes = {file.name[-9:]: file.size for file in files.below("records")}
    assert sizes == {"0.parquet": 0, "1.parquet": 10, "2.parquet": 12_000_000}


def test_a_finished_file_of_another_disk_is_published(tmp_path: Path):
    other = Path("/dev/shm")
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second disk")
    file = other / f"cpmon-test-{os.getpid()}"
    file.write_bytes(b"finished")
    files = open_files(str(tmp_path))
    files.publish({"records/one": file})
    assert files.read("records/one") == b"finished"
    assert not file.exists()


def test_deleted_files_are_gone_and_missing_ones_do_no_harm(files: Files):
    names = [f"reduced/{number}" for number in range(30)]
    for name in names:
        files.replace(name, b"x")
    files.delete([*names[5:], "reduced/none"])
    files.delete([])
    assert sorted(file.name for file in files.below()) == names[:5]


@pytest.mark.slow
def test_an_address_in_object_storage_is_that_of_other_programs(place: str):
    files = open_files(place)
    files.replace("records/system=A%2FB/x", b"content")
    others = pyarrow.fs.S3FileSystem(
        endpoint_override=os.environ["AWS_ENDPOINT_URL"], region="us-east-1"
    )
    place = files.uri("records/system=A%2FB/x").removeprefix("s3://")
    assert others.open_input_file(place).read() == b"content"


def test_unfinished_files_are_not_listed(tmp_path: Path):
    files = open_files(str(tmp_path))
    files.replace("a/one", b"")
    (tmp_path / "a" / ".two.1234.part").touch()
    assert [file.name for file in files.below()] == ["a/one"]


@pytest.mark.slow
@pytest.mark.parametrize("act", ["read", "list", "create", "replace", "delete"])
def test_a_bucket_that_is_missing_is_named(place: str, act: str):
    files = open_files("s3://no-such-bucket/p")
    with pytest.raises(StoreError) as refused:
        {
            "read": lambda: files.read("one"),
            "list": lambda: files.inside("one"),
            "create": lambda: files.create("one", b""),
            "replace": lambda: files.replace("one", b""),
            "delete": lambda: files.delete(["one"]),
        }[act]()
    assert refused.value.place == "s3://no-such-bucket/p/one"
    assert "NoSuchBucket" in (refused.value.found or "")
    assert "AWS_ACCESS_KEY_ID" in (refused.value.remedy or "")


@pytest.fixture
def silent() -> Iterator[str]:
    """A server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


def test_a_server_that_does_not_answer_is_given_up(silent: str, monkeypatch: pytest.MonkeyPatch):
    for name, value in Server(silent, Path()).environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setitem(objects.TIMEOUTS, "timeout", timedelta(seconds=0.3))
    monkeypatch.setenv(objects.RETRY_S, "2")
    files = objects.ObjectFiles(f"s3://{BUCKET}")
    begun = time.monotonic()
    with pytest.raises(StoreError, match="cannot be reached") as given_up:
        files.read("one")
    assert time.monotonic() - begun < 10
    assert "AWS_ENDPOINT_URL" in (given_up.value.remedy or "")


@pytest.mark.parametrize("location", ["http://host/p", "ftp://host", "s3://"])
def test_other_addresses_are_refused(location: str):
    with pytest.raises(StoreError) as refused:
        open_files(location)
    assert refused.value.place == location
    assert "s3://BUCKET/PREFIX" in (refused.value.expected or "")
