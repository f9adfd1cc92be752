from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from cpmon.core.errors import CpmonError, StoreError
from cpmon.core.sql import UserSql
from cpmon.ingest import ingest
from cpmon.reduce.reductions.reductions import reductions
from cpmon.schemas.loader import COLUMNS, to_csv
from cpmon.schemas.registry import reload, shipped
from cpmon.store import Store, connect
from cpmon.store.connection import pinned
from cpmon.store.sandbox.guard import guarded
from tests.dumps import END, dump, fields, interval, record
from tests.scenarios import CONFIG, LATER, SAMPLE


@pytest.fixture
def landed(store: Store, tmp_path: Path) -> Store:
    file = tmp_path / "a.mon"
    file.write_bytes(dump(interval(60, CONFIG, SAMPLE)))
    ingest(file, store)
    return store


@pytest.fixture(scope="module")
def connection(tmp_path_factory: pytest.TempPathFactory) -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection to such a store, for reading only."""
    folder = tmp_path_factory.mktemp("read")
    store = Store(folder / "store", create=True)
    (folder / "a.mon").write_bytes(dump(interval(60, CONFIG, SAMPLE)))
    ingest(folder / "a.mon", store)
    with connect(store) as made:
        yield made


@pytest.mark.slow
def test_all_records_are_described_and_can_be_asked_for_before_any_was_landed(store: Store):
    with connect(store, reductions()) as connection:
        views = connection.sql(
            "SELECT schema_name, view_name FROM duckdb_views() "
            "WHERE NOT internal AND (comment IS NULL OR comment = '')"
        ).fetchall()
        tables = connection.sql(
            "SELECT schema_name, table_name FROM duckdb_tables() WHERE comment IS NULL"
        ).fetchall()
        columns = connection.sql(
            "SELECT c.schema_name, c.table_name, c.column_name FROM duckdb_columns() c "
            "WHERE NOT c.internal AND (c.comment IS NULL OR c.comment = '')"
        ).fetchall()

        assert views == tables == columns == []
        views = connection.sql(
            "SELECT schema_name || '.\"' || view_name || '\"' FROM duckdb_views() "
            "WHERE NOT internal AND view_name <> '_processor_types'"  # it is a list of ours
        ).fetchall()
        for (view,) in views:
            assert connection.sql(f"SELECT count(*) FROM {view}").fetchall() == [(0,)], view
    assert len(views) > 60


def test_a_dump_that_landed_later_is_seen_by_the_next_connection(landed: Store, tmp_path: Path):
    file = tmp_path / "b.mon"
    file.write_bytes(dump(interval(120, CONFIG, fields("sytrsp", 120, pfxcpuad=1))))
    with connect(landed) as before:
        assert before.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(1,)]
        ingest(file, landed)
        assert before.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(1,)]
        assert before.sql("SELECT count(*) FROM interval.sytrsp").fetchall() == [(1,)]

    with connect(landed) as connection:
        assert connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(2,)]


def test_a_relation_stays_while_its_rows_do(landed: Store, tmp_path: Path):
    (tmp_path / "b.mon").write_bytes(dump(interval(120, LATER)))
    with connect(landed) as connection:

        def asked() -> tuple[int, int]:
            """Rows of the deltas, and the number that DuckDB has given to their table."""
            ((rows,),) = connection.execute("SELECT count(*) FROM interval.sytrsp").fetchall()
            ((table,),) = (
                connection.cursor()
                .execute(
                    "SELECT table_oid FROM duckdb_tables()"
                    " WHERE schema_name = 'interval' AND table_name = 'sytrsp'"
                )
                .fetchall()
            )
            return rows, table

        before = asked()
        connection.reread()
        assert asked() == before

        ingest(tmp_path / "b.mon", landed)
        connection.reread()
        assert asked()[0] == before[0] + 1


def test_pinned_rows_stand_for_a_reduction_until_they_are_let_go(landed: Store):
    asked = "SELECT count(*) FROM paging_by_time"
    with connect(landed, reductions()) as connection:
        assert connection.execute(asked).fetchall() == [(1,)]
        with pinned(connection, ["paging_by_time"], "seconds > ?", [3600]):
            assert connection.execute(asked).fetchall() == [(0,)]
            connection.reread()
            assert connection.execute(asked).fetchall() == [(0,)]
        assert connection.execute(asked).fetchall() == [(1,)]


def test_a_table_that_appears_is_seen(landed: Store, tmp_path: Path):
    connect(landed).close()
    file = tmp_path / "b.mon"
    file.write_bytes(dump(interval(120, CONFIG, record(9, 42, b"xy", 120))))
    ingest(file, landed)

    with connect(landed) as connection:
        assert connection.sql("SELECT count(*) FROM monitor.record_raw").fetchall() == [(1,)]


@pytest.mark.usefixtures("shipped_again")
def test_a_dump_of_layouts_that_lack_a_column_is_read_beside_others(
    landed: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    connect(landed).close()
    unknown = {"type": "reserved", "name": "*", "role": "", "unit": "", "meaning": ""}
    rows = [
        {**row, **unknown} if row["name"] == "plsalecg" else row
        for row in shipped().fields["sytrsp"]
    ]
    (tmp_path / "own/d00_system").mkdir(parents=True)
    (tmp_path / "own/d00_system/sytrsp.csv").write_text(to_csv(rows, COLUMNS))
    (tmp_path / "b.mon").write_bytes(dump(interval(120, CONFIG, LATER)))
    with monkeypatch.context() as site:
        site.setenv("CPMON_SCHEMAS", str(tmp_path / "own"))
        reload()
        ingest(tmp_path / "b.mon", landed)
    reload()

    with connect(landed) as connection:
        found = connection.sql("SELECT plsalecg IS NULL FROM monitor.sytrsp ORDER BY tod")
        assert found.fetchall() == [(False,), (True,)]


def test_a_store_can_be_moved(landed: Store, tmp_path: Path):
    connect(landed).close()
    moved = landed.root.rename(tmp_path / "elsewhere")

    with connect(Store(moved)) as connection:
        assert connection.sql("SELECT count(*) FROM monitor.sytrsp").fetchall() == [(1,)]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '../outside.parquet'",
    ],
)
def test_a_query_cannot_read_outside_of_the_store(connection: duckdb.DuckDBPyConnection, sql: str):
    with pytest.raises(duckdb.Error):
        connection.sql(sql).fetchall()


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TABLE t AS SELECT 1",
        "COPY (SELECT 1) TO 'x.csv'",
        "ATTACH 'x.duckdb'",
        "INSTALL httpfs",
        "SET threads = 1",
        "PRAGMA database_size",
        "SELECT 1; DROP VIEW monitor.sytrsp",
        "",
    ],
)
def test_only_queries_are_let_through(connection: duckdb.DuckDBPyConnection, sql: str):
    with pytest.raises(CpmonError):
        guarded(connection, UserSql(sql))


@pytest.mark.parametrize("sql", ["FROM meta.dump", "DESCRIBE meta.dump", "EXPLAIN SELECT 1"])
def test_queries_are_let_through(connection: duckdb.DuckDBPyConnection, sql: str):
    connection.sql(guarded(connection, UserSql(sql))).fetchall()


def test_a_clock_is_shown_as_a_time_as_well(store: Store, tmp_path: Path):
    file = tmp_path / "a.mon"
    ipl = 0x7D91048BCA000000 + (1_000_000_000_000_000 << 12)
    file.write_bytes(dump(interval(60, fields("mtrsys", systmid="VM", systodst=ipl))))
    ingest(file, store)

    with connect(store) as connection:
        times = connection.sql("SELECT systodst_at::VARCHAR, systerm_at FROM monitor.mtrsys")
        assert times.fetchall() == [("2001-09-09 01:46:40", None)]


def test_a_folder_with_other_files_is_no_store(tmp_path: Path):
    (tmp_path / "letter.txt").write_text("dear all")

    with pytest.raises(StoreError, match="neither a store nor empty"):
        Store(tmp_path, create=True)
    with pytest.raises(StoreError, match="is no store"):
        Store(tmp_path)


def test_an_empty_dump_lands_with_nothing_in_it(store: Store, tmp_path: Path):
    file = tmp_path / "a.mon"
    file.write_bytes(interval(60, CONFIG) + END)

    assert ingest(file, store).about["intervals"] == 0
