"""Stores in object storage: what their messages say helps."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from cpmon.store import Store
from cpmon.store.files import open_files
from cpmon.store.files.objects import RETRY_S
from tests.objects import conftest
from tests.remedies.trying import Attempt, tries

s3, place = conftest.s3, conftest.place


@tries("store-location-unsupported")
def test_what_is_no_object_storage_is_mounted(
    tried: Attempt, mon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    tried.fails("ingest", mon, "--store", "hdfs://host/perf")
    assert not (tmp_path / "hdfs:").exists()
    tried.works("ingest", mon, "--store", tmp_path / "perf")


@tries("store-not-local")
def test_what_does_not_work_elsewhere_works_in_a_folder(tried: Attempt, mon: Path, tmp_path: Path):
    tried.works("ingest", mon, "--store", tmp_path / "perf")
    commands = (
        ("batch", "run"),
        ("batch", "status"),
        ("store", "export", "--iceberg", tmp_path / "iceberg"),
    )
    for command in commands:
        assert "s3://bucket/perf" in tried.fails(*command, "--store", "s3://bucket/perf")
    tried.works("store", "export", "--iceberg", tmp_path / "iceberg", "--store", tmp_path / "perf")


@tries("object-storage-package-missing")
def test_without_its_package_it_is_installed(tried: Attempt, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "obstore", None)
        tried.raises(lambda: open_files("s3://bucket/perf"))
    tried.returns(lambda: open_files("s3://bucket/perf"))


@tries("store-location-invalid")
def test_a_location_without_a_bucket_gets_one(tried: Attempt):
    tried.raises(lambda: open_files("s3://"))
    tried.returns(lambda: open_files("s3://bucket"))


@pytest.mark.slow
@tries("object-storage-refused")
def test_wrong_buckets_and_credentials_are_set_right(
    tried: Attempt, place: str, monkeypatch: pytest.MonkeyPatch
):
    tried.raises(lambda: open_files("s3://no-such-bucket").replace("one", b""))
    with monkeypatch.context() as others:
        others.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
        tried.raises(lambda: open_files(place).replace("one", b""))
        tried.raises(lambda: open_files(place).exists("one"))
    tried.returns(lambda: open_files(place).replace("one", b""))


@pytest.mark.slow
@tries("store-file-unreadable")
def test_a_file_that_is_cut_is_put_back(tried: Attempt, place: str, mon: Path):
    tried.works("ingest", mon, "--store", place)
    files = open_files(place)
    table = min(Store(place).tables() - {"interval", "finding"})
    question = ("query", f"SELECT count(*) FROM monitor.{table}", "--store", place)
    tried.works(*question)
    (file,) = (n for n in files.names("records") if n.endswith(f"/{table}.parquet"))
    whole = files.read(file)
    files.replace(file, whole[: len(whole) // 2])
    assert f"/{table}.parquet" in tried.fails(*question)
    files.replace(file, whole)
    tried.works(*question)


@pytest.mark.slow
@tries("object-storage-unavailable")
def test_a_wrong_endpoint_is_set_right(tried: Attempt, place: str, monkeypatch: pytest.MonkeyPatch):
    with monkeypatch.context() as others:
        others.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
        others.setenv(RETRY_S, "1")
        tried.raises(lambda: open_files(place).read("one"))
    tried.returns(lambda: open_files(place).replace("one", b""))


@tries("retry-time-invalid")
def test_a_number_of_seconds_is_corrected(tried: Attempt, monkeypatch: pytest.MonkeyPatch):
    for said in ("soon", "-1", "1.5"):
        monkeypatch.setenv(RETRY_S, said)
        tried.raises(lambda: open_files("s3://bucket/perf"))
    monkeypatch.setenv(RETRY_S, "30")
    tried.returns(lambda: open_files("s3://bucket/perf"))
