"""Landed dumps of a month that is over are merged: the same rows, from few files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import polars as pl
import pyarrow.parquet as pq
import pytest

from bench.copies import copy_dump, pieces
from cpmon.batch.intake import dump_days
from cpmon.batch.state import State
from cpmon.cli.main import run
from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.reduce.engine.database import ReductionDatabase
from cpmon.reduce.engine.planning import DaySelection
from cpmon.reduce.engine.reducing import reduce, reduce_selected
from cpmon.reduce.reductions.reduction import Reduction
from cpmon.reduce.reductions.reductions import reductions
from cpmon.store import Store, connect
from cpmon.store.check import collect_garbage
from cpmon.store.connection import Connection
from cpmon.store.files.local import LocalFiles
from cpmon.store.format import compaction
from cpmon.store.format.compaction import Compacted, compact, months
from cpmon.store.format.landed_dump import ABOUT, line
from cpmon.store.format.manifest import Manifest
from cpmon.store.results.retention import Retention, plan, prune
from cpmon.store.results.usage import usage
from cpmon.store.sql.database import database
from cpmon.store.sql.relations import files_of, is_drifted, parquet
from cpmon.store.sql.scope import Scope
from tests.fleet import fleet, rebuilt
from tests.store.test_other_readers import catalog, changes, ordered, select, written
from tests.store.test_other_readers import run as export

NAMES = ("processors_by_time", "users_by_time", "system_config")
LATER = (30, 31, 62)
"""Days behind the first dump of each system: two of June, one of July; others are of May."""
TODAY = date(2003, 7, 20)
SOME = (
    *("monitor.sytprp", "monitor.useact", "monitor.mtrsys", "monitor.mtrusr", "monitor.quarantine"),
    *("meta.interval", "meta.dump", "meta.finding"),
)
FEW = {
    *("sytprp", "sytrsp", "useact", "mtrsys", "mtrprp", "mtrusr", "mtrecm"),
    *("quarantine", "interval", "finding"),
}
"""Tables of most tests: a merge takes as long as it has tables."""
Rows = dict[str, list[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems of three months, with damage, an interval that two dumps hold, other layouts."""
    folder = tmp_path_factory.mktemp("compaction")
    store = fleet(folder)
    part = folder / "part.mon"
    dump = next((folder / "PRODA").glob("*.mon"))
    assert run(["slice", str(dump), "--since", "2003-05-06T08:02", "-o", str(part)]) == 0
    ingest(part, store, system="PRODA")
    for system in ("PRODA", "PRODB"):
        first = next(dump for dump in store.dumps() if dump.system == system)
        copy_dump(store.root / first.folder, (timedelta(days=day) for day in LATER))
    rebuilt(store)
    older(store, store.dumps()[2].dump)
    return store.root


@pytest.fixture(scope="module")
def made(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a few tables."""
    root = tmp_path_factory.mktemp("few") / "store"
    store = Store(Path(shutil.copytree(whole, root)))
    for dump in store.dumps():
        (about,) = store.abouts([dump])
        for table in dump.tables - FEW:
            (root / dump.folder / f"{table}.parquet").unlink()
        tables = sorted(dump.tables & FEW)
        (root / dump.folder / ABOUT).write_text(line({**about, "tables": tables}))
    rebuilt(store)
    return root


def older(store: Store, dump: str) -> None:
    """Let a dump be of layouts that lacked a column, and had a shorter one."""
    folder = store.find(dump)
    assert folder
    table = pq.ParquetFile(folder / "sytprp.parquet").read()
    at = table.schema.get_field_index("pfxcpuad")
    shorter = table.set_column(at, "pfxcpuad", table["pfxcpuad"].cast("int16"))
    pq.write_table(shorter.drop_columns(["pfxutime"]), folder / "sytprp.parquet")
    about = store.about(dump)
    assert about
    (folder / ABOUT).write_text(line({**about, "layouts": "older"}))
    rebuilt(store)


@pytest.fixture
def store(made: Path, tmp_path: Path) -> Store:
    return Store(Path(shutil.copytree(made, tmp_path / "store")))


def copied(store: Store, name: str) -> Store:
    return Store(Path(shutil.copytree(store.root, store.root.with_name(name))))


def rows(store: Store, schemas: Sequence[str] = ("monitor", "interval", "meta")) -> Rows:
    """All rows of the relations of some schemas."""
    found: Rows = {}
    with connect(store) as connection:
        relations = connection.sql(
            "SELECT table_schema, table_name FROM information_schema.tables ORDER BY ALL"
        ).fetchall()
        for schema, table in relations:
            if schema in schemas and table not in ("catalogue", "dictionary"):
                query = f'SELECT * FROM {schema}."{table}" ORDER BY ALL'
                found[f"{schema}.{table}"] = connection.sql(query).fetchall()
    return found


def some(store: Store) -> Rows:
    """All rows of some relations: of samples, configuration, and what is beside them."""
    with connect(store) as connection:
        return {
            name: connection.sql(f"SELECT * FROM {name} ORDER BY ALL").fetchall() for name in SOME
        }


def merged(store: Store) -> Compacted:
    return compact(store, months(store))


def folders(store: Store, of: str) -> list[str]:
    """The folders that dumps are in."""
    return sorted({d.folder.rpartition("/")[2] for d in store.dumps() if d.folder.startswith(of)})


@pytest.mark.slow
def test_every_relation_has_the_same_rows_from_few_files(whole: Path, tmp_path: Path):
    store = Store(Path(shutil.copytree(whole, tmp_path / "store")))
    before = rows(store)
    dumps = {dump.dump: dump.days for dump in store.dumps()}
    assert merged(store) == Compacted(dumps=11, months=4)
    assert rows(store) == before
    assert sum(map(len, before.values())) > 50_000
    assert {dump.dump: dump.days for dump in Store(store.root).dumps()} == dumps
    assert [name[:12] for name in folders(store, "months")] == [
        *("2003-05.0001", "2003-05.0001", "2003-06.0001", "2003-06.0001")
    ]
    assert len(folders(store, "records")) == 2
    collect_garbage(store, -60)
    assert len(list(store.root.glob("records/*/*"))) == 2, "folders of days are empty"
    assert some(store).items() <= before.items()
    assert merged(store) == Compacted()


@pytest.mark.slow
def test_a_reduction_is_the_same_bytes(store: Store):
    other = copied(store, "other")
    merged(store)
    days = frozenset({date(2003, 5, 6), date(2003, 5, 7)})
    for each in (other, store):
        reduce_selected(each, NAMES[1:], Settings(), DaySelection(("PRODA",), days=days))
    assert pieces(store) == pieces(other) != {}


@pytest.mark.slow
def test_a_result_of_all_days_lacks_no_dump_that_was_merged_meanwhile(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    other, unrestrict = copied(store, "other"), ReductionDatabase.unrestrict
    reduce(other, ["events"], Settings())

    def behind_a_merge(database: ReductionDatabase, results: Any) -> None:
        merged(store)
        unrestrict(database, results)

    monkeypatch.setattr(ReductionDatabase, "unrestrict", behind_a_merge)
    reduce(store, ["events"], Settings())
    assert pieces(store) == pieces(other) != {}


def test_dumps_of_a_month_that_is_merged_again_are_read_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
):
    """A unit of work names the folders of when it was planned."""
    merged(store)
    dumps = store.dumps()
    planned = [dump for dump in dumps if dump.is_merged and dump.month == "2003-05"][:2]
    late = next(dump for dump in dumps if dump.system == "PRODA" and not dump.is_merged)
    copy_dump(store.root / late.folder, [timedelta(days=-59)])
    rebuilt(store)
    merged(store)
    assert planned[0].folder not in {dump.folder for dump in store.dumps()}
    with database(store) as connection:
        rows = parquet(
            store, "mtrsys", files_of(store, "mtrsys", planned), is_drifted(store.dumps())
        )
        found = connection.sql(f"SELECT DISTINCT dump FROM {rows}").fetchall()
    assert {dump for (dump,) in found} == {dump.dump for dump in planned}


def test_questions_about_some_dumps_of_a_month_see_these_only(store: Store):
    def answers() -> list[Any]:
        since, until = datetime(2003, 5, 8), datetime(2003, 5, 9)  # noqa: DTZ001
        sql = "SELECT * FROM interval.sytprp WHERE interval_end BETWEEN '{}' AND '{}' ORDER BY ALL"
        count = "SELECT dump, count(*) FROM {} GROUP BY ALL ORDER BY ALL"
        found = []
        with Connection(store) as connection:
            connection.point(Scope("PRODA", since, until))
            found.append(sorted(connection.tables))
            for name in ("meta.dump", "monitor.sytprp", "monitor.mtrsys", "meta.interval"):
                found.append(connection.sql(count.format(name)).fetchall())
            found.append(connection.sql(sql.format(since, until)).fetchall())
            connection.point(Scope("PRODB", since, until))
            found.append(connection.sql(count.format("monitor.sytprp")).fetchall())
        return found

    before = answers()
    assert all(before) and 1 < len(before[2]) < 5
    merged(store)
    assert answers() == before


def test_a_dump_that_lands_late_is_merged_by_the_next(store: Store):
    merged(store)
    late = next(dump for dump in store.dumps() if dump.system == "PRODA" and not dump.is_merged)
    copy_dump(store.root / late.folder, [timedelta(days=-59)])
    rebuilt(store)
    expected = some(store)
    assert [len(month.dumps) for month in months(store)] == [5]
    assert merged(store).months == 1
    assert some(store) == expected
    assert [name[:12] for name in folders(store, "months")] == [
        *("2003-05.0001", "2003-05.0002", "2003-06.0001", "2003-06.0001")
    ]
    (file,) = store.root.glob("months/*A/2003-05.0002*/sytprp.parquet")
    found = pq.read_table(file, columns=["dump"])["dump"].unique().to_pylist()
    dumps = [dump for dump in store.dumps() if dump.dump in found]
    ends = {dump.dump: dump.first_end for dump in dumps}
    assert len(found) == 5 and [ends[dump] for dump in found] == sorted(ends.values(), key=str)


def test_the_manifest_is_made_again_from_folders_of_months(store: Store):
    merged(store)
    dumps = store.dumps()
    rebuilt(store)
    assert Store(store.root).dumps() == dumps


STEPS: dict[str, tuple[type, str]] = {
    "sent": (LocalFiles, "publish"),
    "committed": (Manifest, "put"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "behind"), [*((step, behind) for step in STEPS for behind in (False, True))]
)
def test_a_merge_killed_at_a_step_shows_every_row_once(
    store: Store, step: str, behind: bool, monkeypatch: pytest.MonkeyPatch
):
    expected, other = some(store), copied(store, "other")
    merged(other)
    owner, name = STEPS[step]
    method: Callable[..., Any] = getattr(owner, name)

    def killed(*words: Any) -> None:
        if behind:
            method(*words)
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            merged(store)
    again = Store(store.root)
    assert some(again) == expected
    merged(again)
    assert some(again) == expected
    collect_garbage(again, -60)
    assert some(again) == expected
    for each in ("months", "records"):
        assert [name[:12] for name in folders(again, each)] == [
            name[:12] for name in folders(other, each)
        ]
    assert {file.parent for file in again.root.rglob(ABOUT)} == {
        again.root / dump.folder for dump in again.dumps()
    }


def test_a_month_that_changed_meanwhile_is_left(store: Store):
    due, other = months(store), Store(store.root)
    merged(other)
    expected = folders(store, "months")
    assert compact(store, due) == Compacted()
    assert folders(store, "months") == expected
    assert len(list(store.root.glob("months/*/*"))) == len(expected), "what it wrote is gone"


def test_a_file_that_cannot_be_read_stops_no_other_month(store: Store):
    expected = len(store.dumps())
    victim = next(dump for dump in store.dumps() if dump.month == "2003-06")
    (store.root / victim.folder / "sytprp.parquet").write_bytes(b"PAR1 no Parquet")
    done = merged(store)
    assert (done.months, list(done.failures)) == (3, ["PRODA 2003-06"])
    assert "sytprp.parquet" in str(done.failures["PRODA 2003-06"])
    assert len(store.dumps()) == expected


@pytest.mark.slow
def test_samples_go_when_all_dumps_of_a_month_may_go(store: Store):
    views = [view for view in reductions() if view.name in below(NAMES)]
    reduce(store, NAMES, Settings())
    merged(store)
    limits = Retention({}, raw=30)
    early = plan(store, views, limits, date(2003, 6, 7))
    assert not early.samples and set(early.stays.values()) == {
        "it was merged with other dumps of its month, some of which are kept"
    }
    late = plan(store, views, limits, TODAY)
    assert sorted(late.names.values()) == [
        *("PRODA 2003-05, 4 dumps", "PRODA 2003-06, 2 dumps"),
        *("PRODB 2003-05, 3 dumps", "PRODB 2003-06, 2 dumps"),
    ]
    expected = some(store)
    prune(store, late)
    assert len([dump for dump in store.dumps() if dump.pruned]) == 11
    left = some(store)
    for kept in ("meta.interval", "monitor.mtrsys"):
        assert left[kept] == expected[kept]
    assert len({dump for _, dump, *_ in left["monitor.sytprp"]}) == 2
    rebuilt(store)
    assert some(store) == left
    assert not plan(store, views, limits, TODAY).samples


def below(names: Sequence[str]) -> set[str]:
    views: dict[str, Reduction] = {view.name: view for view in reductions()}
    found: set[str] = set()
    todo = list(names)
    while todo:
        found.add(name := todo.pop())
        todo += set(views[name].reads) & views.keys() - found
    return found


@pytest.mark.slow
def test_dumps_that_were_pruned_are_merged_with_others(store: Store):
    views = [view for view in reductions() if view.name in below(NAMES)]
    reduce(store, NAMES, Settings())
    prune(store, plan(store, views, Retention({}, raw=30), date(2003, 6, 7)))
    assert 0 < len([dump for dump in store.dumps() if dump.pruned]) < 10
    expected = some(store)
    merged(store)
    assert some(store) == expected
    assert plan(store, views, Retention({}, raw=30), date(2003, 6, 7)).samples == {}


def test_what_is_said_of_one_dump_is_found(store: Store):
    def said() -> list[Any]:
        state = State()
        state.recount(store)
        dumps = [dump.dump for dump in store.dumps()]
        days = [dump_days(store, dump, ZoneInfo("Asia/Tokyo")) for dump in dumps]
        abouts = [store.about(dump) for dump in dumps]
        return [state.systems, state.findings, days, [a and a["rows"] for a in abouts]]

    before = said()
    merged(store)
    assert said() == before


def replaced(store: Store) -> int:
    """Bytes of the files that no newest state names."""
    (row,) = (row for row in usage(store, reductions()) if row["what"] == "replaced")
    return int(row["bytes"])


def test_sizes_are_those_of_the_files(store: Store):
    merged(store)
    found = [row for row in usage(store, reductions()) if row["what"] == "dumps"]
    assert replaced(store) > 0
    collect_garbage(store, -60)
    assert replaced(store) == 0
    files = [
        f for top in ("records", "months") for f in (store.root / top).rglob("*.*") if f.is_file()
    ]
    assert sum(row["bytes"] for row in found) == sum(file.stat().st_size for file in files)
    assert sum(row["files"] for row in found) == len(files)


def test_polars_reads_the_files_of_months(store: Store):
    merged(store)
    collect_garbage(store, -60)
    hive = {"system": pl.String, "date": pl.Date, "dump": pl.String}
    with connect(store) as connection:
        for table in ("useact", "sytrsp", "mtrsys"):
            month = pl.read_parquet(store.root / f"months/*/*/{table}.parquet")
            own = pl.read_parquet(store.root / f"records/*/*/*/*/{table}.parquet", hive_schema=hive)
            assert own.schema.keys() == month.schema.keys()
            assert month.schema["date"] == pl.Date and month["dump"].n_unique() > 10
            read = pl.concat([own, month.select(own.columns)], how="vertical_relaxed")
            columns = ", ".join(f'"{c}"' for c in ("system", "dump", *written(table)))
            expected = connection.sql(f"SELECT {columns} FROM monitor.{table} ORDER BY ALL")
            assert ordered(read.to_arrow(), select(table)) == expected.fetchall(), table


@pytest.mark.slow
def test_an_export_to_iceberg_becomes_right_again(store: Store, tmp_path: Path):
    folder = tmp_path / "iceberg"
    export(store, folder)
    merged(store)
    assert changes(export(store, folder))["landed.sytprp"] == (4, 11)
    assert changes(export(store, folder)) == {}
    late = next(dump for dump in store.dumps() if not dump.is_merged)
    copy_dump(store.root / late.folder, [timedelta(days=1)])
    rebuilt(store)
    assert changes(export(store, folder))["landed.sytprp"] == (1, 0)
    with connect(store) as connection:
        for table in ("useact", "sytprp", "finding"):
            scanned = catalog(folder).load_table(f"landed.{table}")
            columns = ", ".join(f'"{c}"' for c in ("system", "dump", *known(table)))
            shown = "meta.finding" if table == "finding" else f"monitor.{table}"
            expected = connection.sql(f"SELECT {columns} FROM {shown} ORDER BY ALL").fetchall()
            own = columns if table == "finding" else select(table)
            assert ordered(scanned.scan().to_arrow(), own) == expected, table
            one = scanned.scan(row_filter=f"dump == '{expected[0][1]}'").to_arrow()
            assert len(one) == sum(row[1] == expected[0][1] for row in expected)
    assert scanned.scan(row_filter="system == 'NOBODY'").to_arrow().num_rows == 0


def known(table: str) -> list[str]:
    if table == "finding":
        return [
            "code",
            "severity",
            "record_offset",
            "count",
            "detail",
            "effect",
            "meaning",
            "remedy",
        ]
    return written(table)


def test_only_tiny_dumps_share_a_row_group(store: Store, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(compaction, "TINY", 24)
    merged(store)
    groups: dict[str, list[int]] = {}
    for table in ("useact", "mtrsys"):
        (file,) = store.root.glob(f"months/*A/2003-05*/{table}.parquet")
        with pq.ParquetFile(file) as opened:
            numbers = range(opened.num_row_groups)
            parts = [opened.read_row_group(n, columns=["dump"])["dump"] for n in numbers]
            groups[table] = [len(part.unique()) for part in parts]
            statistics = opened.metadata.row_group(0).column(0).statistics
    assert groups["mtrsys"] == [4]
    assert max(groups["useact"]) == 1 and len(groups["useact"]) == 4
    assert statistics.has_min_max


@pytest.mark.slow
def test_a_month_has_few_objects_a_system_and_day(tmp_path: Path):
    """Materialized results of a month are some 170 more, so that it is fewer than 10 in all."""
    store = fleet(tmp_path)
    dumps = [dump for dump in store.dumps() if dump.system == "PRODB"]
    own = {(dump.days[0] - dumps[0].days[0]).days for dump in dumps}
    copy_dump(
        store.root / dumps[0].folder,
        (timedelta(days=day) for day in range(27) if day not in own),
    )
    rebuilt(store)
    compact(store, [month for month in months(store) if month.system == "PRODB"])
    days = {day for dump in store.dumps() if dump.system == "PRODB" for day in dump.days}
    over = [day for day in days if day < date(2003, 6, 1)]
    files = [
        file
        for top in ("months", "manifest")
        for file in (store.root / top / "system=PRODB").rglob("*.*")
        if file.is_file() and "2003-06" not in str(file)
    ]
    assert len(over) == 26
    assert len(files) <= 4 * len(over)
