"""A store that is not there, is another, or cannot be written: what the message says helps."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import pytest
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from cpmon.reduce.engine.database import ReductionDatabase, Result
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store
from cpmon.store.check import check
from cpmon.store.export import iceberg
from cpmon.store.files import disk, plain_paths
from cpmon.store.format.manifest import Manifest
from cpmon.store.format.staging import Staging
from cpmon.store.results.entries import Entries
from cpmon.store.results.retention import Prune, prune
from cpmon.store.sandbox.sandbox import Limits
from tests.batch.fleet import hourly
from tests.remedies.conftest import dump_of
from tests.remedies.trying import Attempt, tries


def landed(store: Path) -> int:
    """How many intervals a store has."""
    place = Store(store)
    documents = filter(None, (place.about(landed.dump) for landed in place.dumps()))
    return sum(int(about["intervals"]) for about in documents)


def put(tried: Attempt, store: Path, *days: int) -> None:
    for day in days:
        one = hourly("ALPHA", 0, 24 * day)
        (store.parent / one.name).write_bytes(one.data)
        tried.works("ingest", store.parent / one.name, "--store", store)


@pytest.mark.slow
@tries("result-merge-failed")
def test_results_of_a_month_with_a_damaged_file_are_repaired(tried: Attempt, tmp_path: Path):
    store, reduction = tmp_path / "perf", "processors_by_time"
    put(tried, store, 0, 1, 40)
    tried.works("reduce", reduction, "--store", store)
    (month,) = store.glob(f"reduced/{reduction}/level=hour/*/2001-12.*.parquet")
    put(tried, store, 2)
    month.write_bytes(month.read_bytes()[:-20])
    assert "/level=hour/system=ALPHA/2001-12." in tried.fails("reduce", reduction, "--store", store)
    (problem,) = check(Store(store))
    assert problem.name == str(month.relative_to(store))
    tried.works("store", "drop", problem.name, "--store", store)
    tried.works("reduce", reduction, "--store", store)
    hours = [e for e in Entries(Store(store)).of(reduction) if e.level == "hour"]
    assert len([e for e in hours if "/2001-12" in e.file]) == 1


@tries("store-file-unreadable")
def test_a_dump_that_cannot_be_merged_is_landed_again(tried: Attempt, tmp_path: Path):
    store = tmp_path / "perf"
    put(tried, store, 0, 1, 40)
    (file, *_) = sorted(store.glob("records/*/*/*/*/sytprp.parquet"))
    file.write_bytes(b"no Parquet")
    tried.fails("store", "compact", "--store", store)
    (problem,) = check(Store(store))
    (name,) = re.findall("cpmon store drop ([0-9a-f]+)", problem.remedy)
    tried.works("store", "drop", name, "--store", store)
    put(tried, store, 0, 1)
    tried.works("store", "compact", "--store", store)
    assert len({dump.folder for dump in Store(store).dumps()}) == 2


@tries("manifest-incomplete")
def test_a_month_is_merged_again_when_the_manifest_names_all(tried: Attempt, tmp_path: Path):
    store = tmp_path / "perf"
    put(tried, store, 0, 1, 40)
    tried.works("store", "compact", "--store", store)
    Store(store).manifest.put(Store(store).dumps()[:1])
    put(tried, store, 2)
    tried.fails("store", "compact", "--store", store)
    tried.works("store", "rebuild", "--store", store)
    tried.works("store", "compact", "--store", store)
    assert len({dump.folder for dump in Store(store).dumps()}) == 2


@tries("prune-conflict")
def test_samples_of_dumps_that_were_merged_are_planned_again(tried: Attempt, tmp_path: Path):
    store = tmp_path / "perf"
    put(tried, store, 0)
    tried.raises(
        lambda: prune(Store(store), Prune(samples={"records/gone": ["records/gone/a.parquet"]}))
    )
    tried.works("store", "prune", "--raw", "90d", "--store", store)


@tries("manifest-missing")
def test_a_manifest_that_is_gone_is_made_again(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    shutil.rmtree(store / "manifest")
    tried.fails("ingest", mon, "--store", store)
    tried.works("store", "rebuild", "--store", store)
    assert landed(store) == 3


@tries("result-damaged")
def test_a_result_that_cannot_be_read_is_taken_out(tried: Attempt, tmp_path: Path):
    store = tmp_path / "perf"
    put(tried, store, 0, 1, 40)
    tried.works("reduce", "processors_by_time", "--store", store)
    for result in Entries(Store(store)).of("processors_by_time"):
        (store / result.file).write_bytes(b"PAR1")
    tried.fails("query", "FROM rollup.processors_by_time", "--store", store)
    tried.works("store", "drop", "reduced/processors_by_time", "--store", store)
    tried.works("reduce", "processors_by_time", "--store", store)


@tries("export-table-failed")
def test_a_result_that_cannot_be_registered_is_looked_for(
    tried: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    store, words = tmp_path / "perf", ("store", "export", "--iceberg", tmp_path / "iceberg")
    put(tried, store, 0)

    def refuse(*_: object) -> None:
        raise ValueError("a list")

    with monkeypatch.context() as strange:
        strange.setattr(iceberg, "_export_table", refuse)
        tried.fails(*words, "--store", store)
    tried.works("store", "check", "--store", store)
    tried.works(*words, "--store", store)


@tries("run-damaged")
def test_a_run_that_cannot_be_read_is_removed(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--run-id", "R", "--store", store)
    (store / "runs" / "R.json").write_text("{", encoding="utf-8")
    tried.fails("store", "prune", "--raw", "1d", "--store", store)
    tried.works("runs", "--delete", "R", "--store", store)
    tried.works("store", "prune", "--raw", "1d", "--store", store)


@tries("classes-damaged")
def test_classes_that_cannot_be_read_are_written_again(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    (store / "classes.txt").write_bytes(b"\xff")
    tried.fails("query", "FROM meta.user_class", "--store", store)
    (tmp_path / "classes.txt").write_text("WEB U*\n", encoding="utf-8")
    tried.works("classes", "set", tmp_path / "classes.txt", "--store", store)
    tried.works("query", "FROM meta.user_class", "--store", store)


@tries("manifest-damaged")
def test_a_damaged_manifest_is_made_again(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    (entry,) = store.glob("manifest/*/*/*.json")
    entry.write_text("{", encoding="utf-8")
    tried.fails("store", "info", "--store", store)
    tried.works("store", "rebuild", "--store", store)
    tried.works("store", "info", "--store", store)
    assert landed(store) == 3


@tries("manifest-busy")
def test_a_manifest_that_changes_while_it_is_read_is_read_again(
    tried: Attempt, tmp_path: Path, mon: Path, monkeypatch: pytest.MonkeyPatch
):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    with monkeypatch.context() as busy:
        busy.setattr(Manifest, "_said", _replaced_meanwhile)
        tried.fails("store", "info", "--store", store)
    tried.works("store", "info", "--store", store)


def _replaced_meanwhile(_: Manifest, name: str) -> None:
    raise FileNotFoundError(name)


@tries("store-missing")
def test_where_no_store_is_a_dump_is_landed_first(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    said = tried.fails("store", "info", "--store", store)
    assert "land a dump first: cpmon ingest DUMP --store STORE" in said
    tried.works("ingest", mon, "--store", store)
    assert landed(store) == 3


@tries("store-folder-impossible")
def test_a_store_is_made_where_there_can_be_folders(tried: Attempt, tmp_path: Path, mon: Path):
    (tmp_path / "file").touch()
    tried.fails("ingest", mon, "--store", tmp_path / "file" / "perf")
    tried.works("ingest", mon, "--store", tmp_path / "perf")


@tries("store-folder-not-empty")
def test_beside_a_folder_of_other_files_a_new_one_does(tried: Attempt, tmp_path: Path, mon: Path):
    said = tried.fails("ingest", mon, "--store", tmp_path)
    assert "name a new folder with --store" in said
    tried.works("ingest", mon, "--store", tmp_path / "new")
    assert landed(tmp_path / "new") == 3


EXPORT = ("store", "export", "--store")


@tries("iceberg-package-missing")
def test_without_its_package_an_export_asks_for_it(
    tried: Attempt, tmp_path: Path, mon: Path, monkeypatch: pytest.MonkeyPatch
):
    store, folder = tmp_path / "perf", tmp_path / "iceberg"
    tried.works("ingest", mon, "--store", store)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyiceberg.catalog.sql", None)
        said = tried.fails(*EXPORT, store, "--iceberg", folder)
    assert "pip install 'cpmon[iceberg]'" in said and not folder.exists()
    tried.works(*EXPORT, store, "--iceberg", folder)


@tries("export-folder-not-empty")
def test_beside_a_folder_of_other_files_an_export_gets_a_new_one(
    tried: Attempt, tmp_path: Path, mon: Path
):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    tried.fails(*EXPORT, store, "--iceberg", store)
    tried.works(*EXPORT, store, "--iceberg", tmp_path / "new")


@tries("export-of-another-store")
def test_another_store_is_exported_to_another_folder(tried: Attempt, tmp_path: Path, mon: Path):
    first, second = tmp_path / "first", tmp_path / "second"
    for store in (first, second):
        tried.works("ingest", mon, "--store", store)
    tried.works(*EXPORT, first, "--iceberg", tmp_path / "iceberg")
    said = tried.fails(*EXPORT, second, "--iceberg", tmp_path / "iceberg")
    assert str(first) in said
    tried.works(*EXPORT, second, "--iceberg", tmp_path / "new")


@tries("export-conflict")
def test_two_exports_at_a_time_are_done_one_after_the_other(
    tried: Attempt, tmp_path: Path, mon: Path, monkeypatch: pytest.MonkeyPatch
):
    store, folder = tmp_path / "perf", tmp_path / "iceberg"
    tried.works("ingest", mon, "--store", store)
    commit, files = iceberg._commit, iceberg._data_file
    with monkeypatch.context() as busy:

        def meanwhile(table: Table, uri: str, place: iceberg.Place) -> DataFile:
            """What the other does between the read of a table and the commit."""
            with monkeypatch.context() as other:
                other.setattr(iceberg, "_data_file", files)
                commit(Table.refresh(copy(table)), [files(table, uri, place)], [])
            return files(table, uri, place)

        busy.setattr(iceberg, "_data_file", meanwhile)
        tried.fails(*EXPORT, store, "--iceberg", folder)
    tried.works(*EXPORT, store, "--iceberg", folder)


@tries("store-version-unsupported")
def test_a_store_of_another_version_is_landed_anew(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "old"
    tried.works("ingest", mon, "--store", store)
    (store / "store.json").write_text('{"version": 99}', encoding="utf-8")
    said = tried.fails("ingest", mon, "--store", store)
    assert "ingest the dumps into a new store" in said
    tried.works("ingest", mon, "--store", tmp_path / "new")
    assert landed(tmp_path / "new") == 3


@tries("store-marker-damaged")
def test_a_damaged_marker_is_restored(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    shutil.copy(store / "store.json", tmp_path / "backup.json")
    (store / "store.json").write_bytes(b"\0" * 12)
    tried.fails("store", "info", "--store", store)
    shutil.copy(tmp_path / "backup.json", store / "store.json")
    tried.works("ingest", mon, "--store", store)
    (store / "store.json").write_bytes(b"")
    said = tried.fails("store", "info", "--store", store)
    (command,) = re.findall("again: (echo .*store.json), in the folder", " ".join(said.split()))
    subprocess.run(command, shell=True, check=True, cwd=store)
    tried.works("ingest", mon, "--store", store)
    assert landed(store) == 3


@pytest.mark.slow
@tries("store-file-is-folder")
@pytest.mark.parametrize("name", ["store.json", "runs/R1.json"])
def test_a_folder_in_the_place_of_a_file_is_moved(
    tried: Attempt, tmp_path: Path, mon: Path, name: str
):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    span = ("--since", "2001-12-18", "--until", "2001-12-19")
    define = ("runs", "--define", "R1", "--system", "VMTEST", *span, "--store", store)
    tried.works(*define)
    (store / name).rename(tmp_path / "kept")
    (store / name).mkdir()
    said = tried.fails(*define)
    assert str(store / name) in said
    (store / name).rmdir()
    (tmp_path / "kept").rename(store / name)
    tried.works(*define)


@contextmanager
def somebody_else(store: Path) -> Iterator[None]:
    """Another user, or where that cannot be, one who has lost the rights."""
    if os.geteuid() == 0:
        os.seteuid(65534)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        (store / "store.json").chmod(0)
        yield
        (store / "store.json").chmod(0o644)


@tries("store-access-denied")
def test_a_store_that_may_not_be_read_is_read_by_its_owner_or_with_the_rights(
    tried: Attempt, tmp_path: Path, mon: Path
):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    with somebody_else(store):
        assert "let its owner do this" in tried.fails("ingest", mon, "--store", store)
    tried.works("ingest", mon, "--store", store)


def test_who_may_read_a_store_is_said_by_the_umask(tried: Attempt, tmp_path: Path, mon: Path):
    """A timer's account lands, others query."""
    mon.with_name("first.run.toml").write_text('run_id = "ours"\n', encoding="utf-8")
    before = os.umask(0o027)
    try:
        tried.works("ingest", mon, "--store", tmp_path / "perf")
    finally:
        os.umask(before)
    entries = {entry for entry in (tmp_path / "perf").rglob("*") if entry.name != "staging"}
    assert {entry.stat().st_mode & 0o777 for entry in entries} == {0o640, 0o750}
    assert (tmp_path / "perf" / "staging").stat().st_mode & 0o777 == 0o700


@tries("store-folder-is-link")
def test_a_linked_folder_is_replaced_by_a_folder(tried: Attempt, tmp_path: Path, mon: Path):
    store, second = tmp_path / "perf", tmp_path / "second.mon"
    second.write_bytes(dump_of(1))
    tried.works("ingest", mon, "--store", store)
    (store / "records").rename(tmp_path / "elsewhere")
    (store / "records").symlink_to(tmp_path / "elsewhere")
    tried.fails("ingest", second, "--store", store)
    (store / "records").unlink()
    (tmp_path / "elsewhere").rename(store / "records")
    tried.works("ingest", second, "--store", store)
    assert landed(store) == 6


@tries("memory-limit-too-small")
def test_a_memory_limit_is_raised(tried: Attempt, tmp_path: Path, mon: Path):
    store = tmp_path / "perf"
    tried.works("ingest", mon, "--store", store)
    result = Result("processors_by_time")

    def written(limit: str) -> int:
        database = ReductionDatabase(Store(store), reductions(), tmp_path, Limits(limit, 1))
        database.unrestrict([result])
        return database.write(result, tmp_path / "rows")

    tried.raises(lambda: written("3MB"))
    tried.returns(lambda: written("1GB"))


@pytest.mark.parametrize(
    "refused",
    [
        pytest.param(number, marks=tries(problem.code), id=errno.errorcode[number])
        for number, problem in disk._PROBLEMS.items()
    ],
)
def test_what_a_disk_refuses_lands_when_it_no_longer_does(
    refused: int, tried: Attempt, tmp_path: Path, mon: Path, monkeypatch: pytest.MonkeyPatch
):
    """Full, limited and read-only disks themselves are in tests/faults; here are all of them."""
    store, second = tmp_path / "perf", tmp_path / "second.mon"
    second.write_bytes(dump_of(1))
    tried.works("ingest", mon, "--store", store)
    close = Staging.close

    def refuse(self: Staging) -> None:
        raise OSError(refused, os.strerror(refused), str(self.folder))

    monkeypatch.setattr(Staging, "close", refuse)
    said = tried.fails("ingest", second, "--store", store)
    assert disk._PROBLEMS[refused].remedy.replace("\n", " ") in said
    assert landed(store) == 3
    monkeypatch.setattr(Staging, "close", close)
    tried.works("ingest", second, "--store", store)
    assert landed(store) == 6
    assert list((store / "staging").iterdir()) == []


@tries("companion-measure-doubled")
def test_a_measure_is_given_by_one_companion(tried: Attempt, mon: Path, tmp_path: Path):
    times = "TIME IS 10:02:11 EST FRIDAY 08/17/01\n"
    times += "CONNECT= 01:12:09 VIRTCPU= 000:05.11 TOTCPU= 000:07.45"
    mon.with_name("q.txt").write_text(f"{times}\n{times}\n", encoding="utf-8")
    run, rows = mon.with_name("first.run.toml"), mon.with_name("s.csv")
    both = 'run_id = "R"\n[companions]\nsamples = "s.csv"\nquery_time = "q.txt"\n'
    once = "measure,sample,value\nread_kb,1,5\n"
    for number, mended in enumerate(((both, once), (both.partition("query")[0], ""))):
        words = ("ingest", mon, "--store", tmp_path / str(number))
        run.write_text(both, encoding="utf-8")
        rows.write_text(f"{once}cp_cpu_cs,1,21\n", encoding="utf-8")
        tried.fails(*words)
        run.write_text(mended[0], encoding="utf-8")
        rows.write_text(mended[1] or rows.read_text(encoding="utf-8"), encoding="utf-8")
        tried.works(*words)


LATE = 'run_id = "ours"\nsteady_since = 2001-12-18T11:00:00\n'
LONG = f'run_id = "{"long" * 99}"\n'
LINES = 'run_id = "ours\\r\\nX-Other: yes"\n'


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        pytest.param(
            LATE,
            LATE.replace("T11:00", "T10:02"),
            marks=tries("steady-state-outside-run"),
            id="times corrected",
        ),
        pytest.param(
            LATE,
            'run_id = "ours"\n',
            marks=tries("steady-state-outside-run"),
            id="times left out",
        ),
        pytest.param(LONG, 'run_id = "ours"\n', marks=tries("run-name-invalid"), id="another name"),
        pytest.param(LINES, 'run_id = "ours"\n', marks=tries("run-name-invalid"), id="one line"),
    ],
)
def test_a_run_file_that_is_mended_makes_a_run_of_a_dump_that_has_landed(
    wrong: str, right: str, tried: Attempt, mon: Path, tmp_path: Path
):
    file, store = mon.with_name("first.run.toml"), tmp_path / "perf"
    file.write_text(wrong, encoding="utf-8")
    tried.fails("ingest", mon, "--store", store)
    file.write_text(right, encoding="utf-8")
    tried.works("ingest", mon, "--store", store)
    assert [run.name for run in (store / "runs").iterdir()] == ["ours.json"]


@tries("cache-folder-missing")
def test_a_cache_with_a_plain_path_has_room_for_links(
    tried: Attempt, mon: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def refused(*_: object) -> Path:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(plain_paths, "_own_folder", refused)
    store = tmp_path / "perf[1]"
    question = ("query", "SELECT count(*) FROM monitor.sytprp", "--store", store)
    with monkeypatch.context() as odd:
        odd.setenv("XDG_CACHE_HOME", str(tmp_path / "cache[1]"))
        tried.works("ingest", mon, "--store", store)
        tried.fails(*question)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    tried.works(*question)
