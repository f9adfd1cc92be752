"""What a store has is read without cpmon: by polars, and as Iceberg tables by pyiceberg."""

from __future__ import annotations

import itertools
import logging
import shutil
import socket
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from msgspec.structs import replace
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyiceberg.types import StringType

from cpmon.config import Settings
from cpmon.ingest import ingest
from cpmon.ingest.container.source import open_source
from cpmon.ingest.rewrite import SliceSelection, slice_dump
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas.arrow import arrow_schema, schemas
from cpmon.schemas.field import Type
from cpmon.schemas.registry import tables
from cpmon.store import Store, connect
from cpmon.store.export import iceberg
from cpmon.store.export.iceberg import Exported, export, whole_files
from cpmon.store.results.reduced import INTERVAL, ByDay
from cpmon.store.results.result_files import Piece
from tests.dumps import dump, fields, interval, tod
from tests.fleet import rebuilt

SAMPLE = Path(__file__).resolve().parents[2] / "sample-data" / "pfault" / "31C81X0.mon.zst"
DOMAINS = frozenset({0, 1, 6})
"""Of its records: samples, configuration and parts of records."""
RESULTS = ("processors_by_time", "system_config", "run_summary")
pytestmark = pytest.mark.slow
ODD = "A B/#%1"
"""The name of a system that is quoted in a path."""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """A part of a dump, which is reduced, and one of a system with an odd name."""
    store = Store(tmp_path_factory.mktemp("readers") / "store", create=True)
    part = store.root.with_name("part.mon")
    with open_source(SAMPLE) as source, part.open("wb") as sink:
        slice_dump(source, sink, SliceSelection(domains=DOMAINS))
    ingest(part, store)
    land_odd(store, 60)
    reduce(store, RESULTS, Settings())
    return store


@pytest.fixture
def small(tmp_path: Path) -> Store:
    """A store of few tables and no results."""
    store = Store(tmp_path / "small", create=True)
    land_odd(store, 60)
    return store


def land_odd(store: Store, second: int) -> Path:
    """Land a dump; returns its folder."""
    path = store.root.parent / f"{second}.mon"
    system = fields("mtrsys", second, systmid=ODD, systodst=tod(-3600))
    row = fields("sytrsp", second, plsmvb2g=second)
    path.write_bytes(dump(interval(second, system, row)))
    folder = store.find(str(ingest(path, store).about["dump"]))
    assert folder
    return folder


@pytest.fixture(scope="module")
def exported(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("iceberg") / "tables"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(socket.socket, "connect", _refused)
        run(store, folder)
    return folder


def _refused(*_: Any) -> NoReturn:
    raise AssertionError("a network is asked")


@pytest.fixture(scope="module")
def con(store: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    with connect(store, reductions()) as con:
        yield con


@pytest.fixture(autouse=True)
def quiet() -> None:
    """pyiceberg warns that text has a dictionary in Arrow's schema."""
    logging.getLogger("pyiceberg").setLevel(logging.ERROR)


def run(store: Store, folder: Path) -> dict[str, Exported]:
    return {table.name: table for table in export(store, reductions(), folder)}


def changes(tables: dict[str, Exported]) -> dict[str, tuple[int, int]]:
    found = {name: (table.added, table.removed) for name, table in tables.items()}
    return {name: change for name, change in found.items() if any(change)}


def catalog(folder: Path) -> SqlCatalog:
    place = folder / iceberg.CATALOG
    return SqlCatalog("cpmon", uri=f"sqlite:///{place}", warehouse=f"file://{folder}")


def opened(folder: Path) -> Iterator[tuple[str, Table]]:
    found = catalog(folder)
    for space in found.list_namespaces():
        for name in found.list_tables(space):
            yield ".".join(name), found.load_table(name)


def select(table: str) -> str:
    """The columns that a landed table and its view have both, with numbers as they were written."""
    layout = tables().get(table)
    wide = [f for f in layout.columns if f.is_number and f.length == 8] if layout else []
    unsigned = {f.name for f in wide if f.limit is None and f.type is not Type.SIGNED}
    columns = ["system", "dump", *written(table)]
    return ", ".join(
        f'CAST("{c}" AS HUGEINT) + CASE WHEN "{c}" < 0 THEN {1 << 64} ELSE 0 END AS "{c}"'
        if c in unsigned
        else f'"{c}"'
        for c in columns
    )


def written(table: str) -> list[str]:
    """The columns of its files: without fields whose place is not known."""
    layout = tables().get(table)
    return (arrow_schema(layout) if layout else schemas()[table]).names


def ordered(rows: pa.Table, columns: str = "*") -> list[tuple[Any, ...]]:
    with duckdb.connect() as con:
        con.register("rows", rows)
        return con.sql(f"SELECT {columns} FROM rows ORDER BY ALL").fetchall()


def monitor(con: duckdb.DuckDBPyConnection, table: str) -> list[tuple[Any, ...]]:
    columns = ", ".join(f'"{c}"' for c in ("system", "dump", *written(table)))
    return con.sql(f"SELECT {columns} FROM monitor.{table} ORDER BY ALL").fetchall()


def landed(store: Store) -> list[str]:
    return sorted(store.tables() & schemas().keys())


def test_polars_reads_what_the_views_show(store: Store, con: duckdb.DuckDBPyConnection):
    assert len(landed(store)) > 30
    for table in landed(store):
        rows = pl.read_parquet(
            store.records / "*/*/*/*" / f"{table}.parquet",
            hive_schema={"system": pl.String, "date": pl.Date, "dump": pl.String},
        )
        assert ordered(rows.to_arrow(), select(table)) == monitor(con, table), table


def test_pyiceberg_reads_what_the_views_show(
    store: Store, exported: Path, con: duckdb.DuckDBPyConnection
):
    read = dict(opened(exported))
    assert {n for n in read if n.startswith("landed.")} >= {f"landed.{t}" for t in landed(store)}
    for table in landed(store):
        rows = read[f"landed.{table}"].scan().to_arrow()
        assert ordered(rows, select(table)) == monitor(con, table), table


def test_pyiceberg_reads_what_is_kept_of_reductions(exported: Path, con: duckdb.DuckDBPyConnection):
    read = {name: t for name, t in opened(exported) if not name.startswith("landed.")}
    assert {name for name in read if name.startswith("reduced.")} == {
        f"reduced.{name}" for name in RESULTS
    }
    for name, table in read.items():
        rows = table.scan().to_arrow()
        columns = ", ".join(f'"{column}"' for column in rows.schema.names)
        relation = name.replace("reduced.", "main.")
        expected = con.sql(f"SELECT {columns} FROM {relation} ORDER BY ALL").fetchall()
        assert ordered(rows) == expected, name


def test_a_question_opens_the_files_of_its_system_and_time(exported: Path):
    table = dict(opened(exported))["landed.sytrsp"]
    filters = ("system == 'PFAULT'", "tod_us < 1000000000000000", "tod_us < 0")  # 2001-09-09
    assert [len([*table.scan(row_filter=f).plan_files()]) for f in filters] == [1, 1, 0]
    rows = table.scan(row_filter=f"system == '{ODD}'", selected_fields=("date", "system"))
    assert rows.to_arrow().to_pylist() == [{"date": date(2001, 12, 18), "system": ODD}]


def test_a_column_says_what_it_means(exported: Path):
    schema = dict(opened(exported))["landed.sytrsp"].schema()
    assert "pages" in (schema.find_field("plsmvb2g").doc or "")


def test_again_adds_what_is_new_and_removes_what_is_gone(
    small: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(iceberg, "BATCH", 2)
    folder = tmp_path / "iceberg"
    land_odd(small, 120)
    land_odd(small, 180)
    assert changes(run(small, folder))["landed.sytrsp"] == (3, 0)
    assert changes(run(small, folder)) == {}
    removed = land_odd(small, 240)
    assert changes(run(small, folder))["landed.sytrsp"] == (1, 0)
    shutil.rmtree(removed)
    rebuilt(small)
    land_odd(small, 300)
    assert changes(run(small, folder))["landed.sytrsp"] == (1, 1)
    left = catalog(folder).load_table("landed.sytrsp").scan().to_arrow()
    assert sorted(left["plsmvb2g"].to_pylist()) == [60, 120, 180, 300]
    shutil.rmtree(small.records)
    rebuilt(small)
    assert changes(run(small, folder))["landed.sytrsp"] == (0, 4)
    assert len(catalog(folder).load_table("landed.sytrsp").scan().to_arrow()) == 0


def test_a_file_of_a_dump_that_lands_again_takes_the_place_of_the_one_before(
    tmp_path: Path,
):
    small, folder = Store(tmp_path / "small", create=True), tmp_path / "iceberg"
    (tmp_path / "a.mon").write_bytes(dump(interval(60, fields("useact", 60, calcpxrd=5))))
    for release, changed in (("5.3.0", (1, 0)), ("6.4.0", (1, 1))):
        ingest(tmp_path / "a.mon", small, release=release)
        assert changes(run(small, folder))["landed.useact"] == changed
        assert changes(run(small, folder)) == {}
        (file,) = small.records.glob("*/*/*/*/useact.parquet")
        (registered,) = iceberg._files(catalog(folder).load_table("landed.useact"))
        assert registered.file_size_in_bytes == file.stat().st_size
        shutil.rmtree(file.parent)
        rebuilt(small)


def test_results_that_are_made_again_replace_those_before(small: Store, tmp_path: Path):
    reduce(small, ("paging_by_time",), Settings())
    name, folder = "reduced.paging_by_time", tmp_path / "iceberg"
    assert changes(run(small, folder))[name] == (1, 0)
    land_odd(small, 120)
    reduce(small, ("paging_by_time",), Settings())
    assert changes(run(small, folder))[name] == (1, 1)


def test_a_month_is_left_out_while_a_day_in_it_is_outdated():
    """Its rows of that day would be there twice."""
    first, second = date(2001, 12, 18), date(2001, 12, 19)
    month = frozenset({first, second})
    days = ByDay("x", {})
    for day, file in ((first, "month"), (second, "day")):
        piece = Piece(INTERVAL, ODD, day, "1", "", file, month if file == "month" else None)
        days.pieces[ODD, day] = {INTERVAL: piece}
    assert whole_files(days, INTERVAL) == ["day"]
    days.pieces[ODD, second] = {INTERVAL: replace(days.pieces[ODD, first][INTERVAL], day=second)}
    assert whole_files(days, INTERVAL) == ["month"]


def test_a_killed_export_is_gone_on_with(
    small: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    folder, commits = tmp_path / "iceberg", itertools.count()
    commit = iceberg._commit
    for table in (120, 180):
        land_odd(small, table)

    def killed(*words: Any) -> None:
        if next(commits) == 4:
            raise KeyboardInterrupt
        commit(*words)

    monkeypatch.setattr(iceberg, "BATCH", 1)
    monkeypatch.setattr(iceberg, "_commit", killed)
    with pytest.raises(KeyboardInterrupt):
        run(small, folder)
    registered = sum(len(t.scan().to_arrow()) for _, t in opened(folder))
    run(small, folder)
    assert registered < sum(len(t.scan().to_arrow()) for _, t in opened(folder))
    assert changes(run(small, folder)) == {}


def test_a_column_that_landed_later_is_added(small: Store, tmp_path: Path):
    folder = tmp_path / "iceberg"
    run(small, folder)
    table = catalog(folder).load_table("landed.sytrsp")
    with table.update_schema() as update:
        update.delete_column("plsmvb2g")
    assert changes(run(small, folder)) == {}
    rows = catalog(folder).load_table("landed.sytrsp").scan().to_arrow()
    assert rows["plsmvb2g"].to_pylist() == [60]


def test_a_column_of_a_type_that_cannot_be_widened_begins_a_table_anew(
    small: Store, tmp_path: Path
):
    folder = tmp_path / "iceberg"
    run(small, folder)
    table = catalog(folder).load_table("landed.sytrsp")
    with table.update_schema() as update:
        update.delete_column("plsmvb2g")
    with table.update_schema() as update:
        update.add_column("plsmvb2g", StringType())
    assert changes(run(small, folder)) == {"landed.sytrsp": (1, 0)}
    rows = catalog(folder).load_table("landed.sytrsp").scan().to_arrow()
    assert rows["plsmvb2g"].to_pylist() == [60]
