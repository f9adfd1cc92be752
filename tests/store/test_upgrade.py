"""A store of version 1 is upgraded without landing again: it shows what a new landing shows."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from cpmon.reduce import reductions
from cpmon.schemas.errors import StoreError
from cpmon.store import Store, connect
from cpmon.store.dumps.store import HALFWAY
from cpmon.store.dumps.upgrade import upgrade, upgrade_of
from tests.store.test_types import refused
from tests.version_1 import cpmon, in_the_same_state, landed_anew, unpacked

LANDED_AT, PRUNED = "landed_at", "PFAULT"
LATER = {"meta.interval": ["restated", "stretch"], "meta.dump": ["zone_s", "layouts"]}
"""Columns of facts that version 1 did not land; and what it was decoded with."""


@pytest.fixture(scope="module")
def anew(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return landed_anew(tmp_path_factory.mktemp("anew"))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return unpacked(tmp_path / "old")


@pytest.fixture(scope="module")
def upgraded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    store = unpacked(tmp_path_factory.mktemp("upgraded") / "store")
    upgrade(upgrade_of(store))
    return store


def shown(store: Path) -> dict[str, pa.Table]:
    """All that a store shows, but for when it was landed."""
    views = reductions()
    with connect(Store(store), views) as con:
        tables = sorted(Store(store).tables() - {"interval", "finding"})
        names = con.sql(
            "SELECT schema_name || '.' || view_name AS name FROM duckdb_views()"
            " WHERE schema_name IN ('main', 'meta', 'rollup') AND NOT internal"
        ).fetchall()
        samples = con.sql(
            "SELECT view_name FROM duckdb_views() WHERE schema_name = 'interval'"
        ).fetchall()
        relations = [f"monitor.{table}" for table in tables]
        relations += [f"interval.{table}" for (table,) in samples if table in tables]
        relations += [name for (name,) in names if "._" not in name and name != "meta.catalogue"]
        found = {name: con.sql(f"FROM {name} ORDER BY ALL").to_arrow_table() for name in relations}
    found["meta.dump"] = found["meta.dump"].drop_columns([LANDED_AT])
    return found | {name: found[name].drop_columns(later) for name, later in LATER.items()}


def documents(store: Path) -> dict[str, dict[str, object]]:
    files = store.glob("records/*/*/*/dump.json")
    return {file.parent.name: json.loads(file.read_text(encoding="utf-8")) for file in files}


def test_an_upgraded_table_is_as_if_it_landed_today(upgraded: Path, anew: Path):
    files = [*upgraded.glob("records/*/*/*/*.parquet")]
    assert len(files) == 117
    for file in files:
        found = pq.ParquetFile(file).read()
        today = pq.ParquetFile(anew / file.relative_to(upgraded)).read(found.column_names)
        assert found.equals(today), file


@pytest.mark.slow
def test_an_upgraded_store_shows_what_a_new_one_shows(
    upgraded: Path, tmp_path: Path, subtests: pytest.Subtests
):
    anew = landed_anew(tmp_path)
    in_the_same_state(anew, tmp_path / "classes.txt")
    cpmon("reduce", "--store", upgraded)
    expected, found = shown(anew), shown(upgraded)
    assert found.keys() == expected.keys() and len(found) > 130
    assert sum(len(table) for table in found.values()) > 50_000
    for name in expected:
        with subtests.test(relation=name):
            if name != "meta.reduced":  # of pruned samples nothing is kept that came later
                assert len(found[name]) == len(expected[name])
            assert computed_today(name, found[name]).equals(computed_today(name, expected[name]))


def computed_today(relation: str, rows: pa.Table) -> pa.Table:
    """Of results only what does not rest on the code that computed those of the pruned samples."""
    is_result = relation.startswith(("main.", "rollup.")) or relation == "meta.reduced"
    is_result = is_result and "system" in rows.column_names
    return rows.filter(pc.field("system") != PRUNED) if is_result else rows


def test_results_of_pruned_samples_stay_as_they_are(old: Path):
    results = {file: file.read_bytes() for file in old.rglob(f"reduced/**/system={PRUNED}/*")}
    assert len(results) > 50
    upgrade(upgrade_of(old))
    assert {file: file.read_bytes() for file in results} == results


def test_no_file_of_an_upgraded_store_has_a_type_that_spark_refuses(old: Path):
    files = [*old.rglob("*.parquet")]
    assert sum(bool(refused(file)) for file in files) > 50
    upgrade(upgrade_of(old))
    assert {*files} == {*old.rglob("*.parquet")}
    assert {file: bad for file in files if (bad := refused(file))} == {}


def test_dumps_keep_what_is_written_about_them(old: Path, anew: Path):
    before = documents(old)
    pruned = {file.parent.name: json.loads(file.read_text()) for file in old.rglob("pruned.json")}
    upgrade(upgrade_of(old))
    after, expected = documents(old), documents(anew)
    assert len(after) == 3 and len(pruned) == 1
    for dump, about in after.items():
        assert about.items() >= before[dump].items()
        assert about.items() >= pruned.get(dump, {}).items()
        same = (
            expected[dump].keys()
            - {LANDED_AT, "cpmon", *LATER["meta.dump"]}
            - ({"tables"} if dump in pruned else set())
        )
        assert {key: about[key] for key in same} == {key: expected[dump][key] for key in same}
        assert about.keys() == (expected[dump].keys() | pruned.get(dump, {}).keys()) - {"zone_s"}
    assert [*old.rglob("pruned.json")] == []
    assert sum(landed.pruned for landed in Store(old).dumps()) == 1


def test_a_dry_run_says_what_there_is_to_do_and_changes_nothing(
    old: Path, capfd: pytest.CaptureFixture[str]
):
    files = {file: file.read_bytes() for file in old.rglob("*") if file.is_file()}
    cpmon("store", "upgrade", "--store", old, "--dry-run")
    assert "3 dumps, 117 tables" in capfd.readouterr().out
    assert {file: file.read_bytes() for file in old.rglob("*") if file.is_file()} == files


def test_what_is_upgraded_already_is_left_alone(upgraded: Path, capfd: pytest.CaptureFixture[str]):
    cpmon("store", "upgrade", "--store", upgraded)
    assert "nothing to do" in capfd.readouterr().out


@pytest.mark.parametrize("version", [1, HALFWAY])
def test_nobody_reads_a_store_before_it_is_upgraded_as_a_whole(old: Path, version: object):
    (old / "store.json").write_text(json.dumps({"version": version}), encoding="utf-8")
    with pytest.raises(StoreError, match="cpmon store upgrade --store"):
        Store(old)
    with pytest.raises(StoreError, match="cpmon store upgrade --store"):
        Store(old, create=True)
