"""Stores from elsewhere, other users of the machine, and pages that are no pages."""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpmon.ingest import ingest
from cpmon.schemas.errors import LayoutError, StoreError
from cpmon.schemas.pages.page import LONGEST, parse_page
from cpmon.store import Store, connect
from cpmon.store.dumps.cleanup import FOLDERS, INTENT, remove
from tests.dumps import dump, fields, interval


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


@pytest.mark.parametrize("name", FOLDERS)
def test_what_is_behind_a_link_in_a_store_stays(
    name: str, store: Store, elsewhere: Path, one_dump: Path
):
    before = sorted(elsewhere.rglob("*"))
    (store.root / name).symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a link"):
        ingest(one_dump, store)
    connect(store).close()  # a reader is served, and cleans nothing up
    assert sorted(elsewhere.rglob("*")) == before


@pytest.mark.parametrize("name", ["../home/useact.parquet", "{home}/useact.parquet", "in/a.txt"])
def test_an_intent_removes_nothing_outside_of_its_store(
    name: str, store: Store, elsewhere: Path, one_dump: Path
):
    before = sorted(elsewhere.rglob("*"))
    (store.root / "in").symlink_to(elsewhere / "letters")
    store.staging.mkdir()
    said = {"replace": {}, "remove": [name.format(home=elsewhere)]}
    (store.staging / f"a{INTENT}").write_text(json.dumps(said), encoding="utf-8")
    if not name.startswith("{"):
        with pytest.raises(StoreError, match="leads out of it"):
            ingest(one_dump, store)
    else:  # a path is always one below the store
        ingest(one_dump, store)
    assert sorted(elsewhere.rglob("*")) == before


def test_files_behind_a_linked_folder_of_a_day_stay(store: Store, elsewhere: Path):
    day = store.root / "records" / "system=A" / "date=2001-12-18"
    day.parent.mkdir(parents=True)
    day.symlink_to(elsewhere)
    with pytest.raises(StoreError, match="is a link"):
        remove(store.files, ["records/system=A/date=2001-12-18/useact.parquet"])
    assert (elsewhere / "useact.parquet").exists()


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
