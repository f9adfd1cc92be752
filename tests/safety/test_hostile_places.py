"""Stores from elsewhere, other users of the machine, and pages that are no pages."""

from __future__ import annotations

import json
import os
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.cli.main import Status
from cpmon.core.errors import LayoutError, StoreError
from cpmon.ingest import ingest
from cpmon.schemas.pages.page_file import LONGEST
from cpmon.store import Store, connect
from cpmon.store.check import check, collect_garbage
from cpmon.store.format.landed_dump import ABOUT
from cpmon.store.format.store import _FOLDERS
from tests.cli.answer import Cpmon
from tests.dumps import dump, fields, interval
from tests.pages import parse_page


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Old files of somebody, as a cleanup might take them for its own."""
    folder = tmp_path / "home"
    (folder / "letters").mkdir(parents=True)
    for name in ("letters/a.txt", "letters.lock", ".x.part", "useact.parquet"):
        (folder / name).touch()
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - 7 * 86_400,) * 2)
    return folder


@pytest.fixture
def one_dump(tmp_path: Path) -> Path:
    file = tmp_path / "a.mon"
    start = fields("mtrsys", 60, systmid="VMSAFE")
    file.write_bytes(dump(interval(60, start, fields("sytrsp", 60, pfxcpuad=1))))
    return file


@pytest.fixture
def three_dumps(tmp_path: Path) -> list[Path]:
    """Two of a month, and one of a later month: the first is over."""
    files = []
    for day in (0, 1, 40):
        file, second = tmp_path / f"{day}.mon", 60 + day * 86_400
        file.write_bytes(dump(interval(second, fields("sytrsp", second, pfxcpuad=1))))
        files.append(file)
    return files


@pytest.mark.parametrize("name", _FOLDERS)
def test_what_is_behind_a_link_in_a_store_stays(
    name: str, store: Store, elsewhere: Path, one_dump: Path
):
    before = sorted(elsewhere.rglob("*"))
    (store.root / name).symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a symlink"):
        ingest(one_dump, store)
    connect(store).close()  # a reader is served, and cleans nothing up
    assert sorted(elsewhere.rglob("*")) == before


def test_files_of_the_user_in_the_folder_of_a_store_stay(store: Store, one_dump: Path):
    folders = ("tmp", "tmp_archive", "tmp_rows/useact", "records/mine", "reduced/mine")
    files = (".classes.txt.swp", ".gathered.notes", ".catalog.backup.zip", ".film.part")
    for name in folders:
        (store.root / name).mkdir(parents=True)
    own = ("tmp_archive/a.mon", "records/mine/useact.parquet", "reduced/mine/copy.parquet")
    for name in (*files, *own):
        (store.root / name).touch()
    for path in store.root.rglob("*"):
        os.utime(path, (time.time() - 7 * 86_400,) * 2)
    ingest(one_dump, store)
    assert not [*check(store)]
    collect_garbage(store)
    assert [name for name in (*folders, *files, *own) if not (store.root / name).exists()] == []


def test_files_behind_a_linked_folder_of_a_day_stay(store: Store, elsewhere: Path):
    day = store.root / "records" / "system=A" / "date=2001-12-18"
    day.parent.mkdir(parents=True)
    day.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a symlink"):
        store.files.delete(["records/system=A/date=2001-12-18/useact.parquet"])
    with pytest.raises(StoreError, match="is a symlink"):
        store.files.delete_folders(["records/system=A/date=2001-12-18"])
    assert (elsewhere / "useact.parquet").exists()


@pytest.mark.parametrize(
    "name",
    [
        "records/system=VMSAFE",
        "records/system=VMSAFE/date=2001-12-18",
        "manifest/system=VMSAFE",
        "manifest/system=VMSAFE/2001-12",
        "months/system=VMSAFE",
        "reduced/system_summary_by_time",
        "reduced/system_summary_by_time/level=hour",
    ],
)
def test_nothing_is_written_behind_a_link_further_down(
    name: str, cpmon: Cpmon, store: Store, elsewhere: Path, three_dumps: list[Path]
):
    before = sorted(elsewhere.rglob("*"))
    link = store.root / name
    link.parent.mkdir(parents=True)
    link.symlink_to(elsewhere)
    reduce = ["reduce", "system_summary_by_time"]
    calls = [["ingest", "--system", "VMSAFE", *three_dumps], reduce, ["store", "compact"]]
    answers = [cpmon(*words, "--store", store.root) for words in calls]
    assert any("is a symlink" in answer.err for answer in answers)
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("name", ["copy.parquet", "my_copy.parquet"])
def test_results_of_other_names_are_not_read(name: str, cpmon: Cpmon, store: Store, one_dump: Path):
    ingest(one_dump, store)
    reduce = ["reduce", "paging_by_time"]
    cpmon(*reduce, "--store", store.root)
    (kept,) = store.root.glob("reduced/paging_by_time/level=interval/*/*")
    shutil.copy(kept, kept.with_name(name))
    count = ["query", "SELECT count(*) FROM paging_by_time", "--format", "csv"]
    for words in (reduce, ["store", "rebuild"], reduce):
        assert cpmon(*words, "--store", store.root).status is Status.DONE
        assert cpmon(*count, "--store", store.root).text.split()[-1] == "1"
    assert kept.with_name(name).exists()


OUTSIDE = "../../../../home/settings"
"""Below `manifest/system=S/2001-12`, where a file for each dump is written."""


def change(file: Path, **facts: object) -> None:
    """Change what a file says about its dump."""
    about = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**about, **facts}) + "\n", encoding="utf-8")


def test_a_table_with_the_name_of_a_path_is_not_merged(
    cpmon: Cpmon, store: Store, three_dumps: list[Path], elsewhere: Path
):
    for file in three_dumps:
        ingest(file, store, system="VMSAFE")
    victim = elsewhere / "useact"
    for folder in sorted(store.root.glob("records/*/*/*/*"))[:2]:
        hidden = Path(f"{folder}{victim}.parquet")
        hidden.parent.mkdir(parents=True)
        shutil.copy(folder / "sytrsp.parquet", hidden)
        dump = folder.parent.name.removeprefix("dump=")
        (entry,) = store.root.glob(f"manifest/*/*/{dump}.0.json")
        change(entry, tables=["sytrsp", str(victim)])
    answer = cpmon("store", "compact", "--store", store.root)
    assert answer.status not in (Status.DONE, Status.FAILED) and "manifest" in answer.err
    assert Path(f"{victim}.parquet").read_bytes() == b""


def test_a_manifest_that_is_made_again_stays_in_the_store(
    cpmon: Cpmon, store: Store, elsewhere: Path, one_dump: Path
):
    ingest(one_dump, store)
    for about in store.root.glob(f"records/*/*/*/*/{ABOUT}"):
        change(about, dump=OUTSIDE)
    before = sorted(elsewhere.rglob("*"))
    answer = cpmon("store", "rebuild", "--store", store.root)
    assert answer.status is Status.DONE and "0 dumps" not in answer.err
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("folder", ["runs", "records/../runs", "records//a/b", "/tmp", ""])
def test_a_manifest_that_names_another_folder_is_not_read(
    folder: str, cpmon: Cpmon, store: Store, one_dump: Path
):
    ingest(one_dump, store)
    (entry,) = store.root.glob("manifest/*/*/*.json")
    change(entry, folder=folder)
    answer = cpmon("query", "FROM meta.dump", "--store", store.root)
    assert answer.status is not Status.FAILED and str(entry) in answer.err


@pytest.fixture(params=[0o077, 0o027, 0o022, 0o002])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield int(request.param)
    os.umask(before)


def test_nothing_in_a_store_has_more_permissions_than_the_umask(
    umask: int, tmp_path: Path, one_dump: Path
):
    store = Store(tmp_path / "new", create=True)
    ingest(one_dump, store)
    connect(store).close()
    for path in (store.root, *store.root.rglob("*")):
        assert not stat.S_IMODE(path.lstat().st_mode) & umask, path
    of_staging = stat.S_IMODE(store.staging.stat().st_mode)
    assert of_staging & 0o007 == 0 and bool(of_staging & 0o070) == (umask == 0o002)


def test_a_page_that_is_no_page_is_refused(tmp_path: Path):
    with pytest.raises(LayoutError, match="too long"):
        parse_page(b"x" * (LONGEST + 1), "a.html")
    digits = b"DSECT NAME - MRSYTRSP\nDomain " + b"9" * 5000 + b" - Record 1 - "
    with pytest.raises(LayoutError):
        parse_page(digits, "a.html")
