"""Spark and DuckDB show the same rows of a store, cell by cell."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from bench.copies import copy_dump
from cpmon.config import Settings
from cpmon.core.errors import CpmonError
from cpmon.core.sql import name
from cpmon.ingest import ingest
from cpmon.reduce.engine.reducing import reduce
from cpmon.reduce.reductions.reductions import reductions
from cpmon.spark import Fleet, register
from cpmon.spark.dialect import spark_sql
from cpmon.spark.frames import QuerySpan, declared
from cpmon.store import Store, connect
from cpmon.store.connection import Connection
from cpmon.store.format.compaction import compact, months
from tests.fleet import fleet, rebuilt
from tests.reduce.catalogue import lab
from tests.spark.damaged import SAMPLES, damaged_store

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.slow

OF_DAEMONS = {
    view.name for view in reductions() if re.search("linux_(file_sys|proc|tasks)", view.name)
}
WITHOUT_ROWS = {
    *("_carried_setting", "_device_events", "_kept_setting", "_object_events"),
    "_users_across_gaps",
    *OF_DAEMONS,
}
"""Reductions of records that no dump here has; the first and third have rows in `reduce` only."""
CLOSE = 1e-9
"""Of floats: sums of them depend on their order."""
SOME_OR_ALL = pytest.mark.parametrize("step", [16, pytest.param(1, marks=pytest.mark.long)])
"""Spark plans each relation for a second or two: all of them are compared by `make test-long`."""


@pytest.fixture
def interpreted(spark: SparkSession) -> Iterator[None]:
    """Let Spark interpret its plans: to compile one takes longer than to run it on these stores."""
    settings = {
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    }
    for setting, value in settings.items():
        spark.conf.set(setting, value)
    yield
    for setting in settings:
        spark.conf.unset(setting)


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return damaged_store(tmp_path_factory.mktemp("damaged"))


@pytest.fixture(scope="module")
def duck(damaged: Store) -> Iterator[duckdb.DuckDBPyConnection]:
    with Connection(damaged, reductions(), live=True) as connection:
        yield connection


@pytest.fixture(scope="module")
def kept(spark: SparkSession, damaged: Store) -> Iterator[Fleet]:
    """All relations, of which executors keep those that others read."""
    fleet = Fleet(spark, damaged)
    yield fleet
    fleet.close()


def expected(duck: duckdb.DuckDBPyConnection, relation: str, where: str = "true") -> pa.Table:
    quoted = ".".join(map(name, relation.split(".")))
    return duck.sql(f"SELECT * FROM {quoted} WHERE {where}").to_arrow_table()


def differences(found: pa.Table, wanted: pa.Table) -> list[str]:
    """Columns that differ, whatever the order of the rows is."""
    if found.column_names != wanted.column_names or len(found) != len(wanted):
        return [f"{len(found)} rows of {found.column_names}, not {len(wanted)}"]
    found, wanted = (ordered(table, wanted.schema) for table in (found, wanted))
    return [c for c in wanted.column_names if not same(found[c], wanted[c])]


def ordered(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The rows of a table with the types of another one, those of floats last in the order."""
    columns = [plain(table[field.name], field.type) for field in schema]
    made = pa.table(columns, names=schema.names)
    keys = sorted(made.schema, key=lambda field: pa.types.is_floating(field.type))
    return made.sort_by([(field.name, "ascending") for field in keys])


def plain(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """A column of values that can be sorted: what is nested as a text."""
    if pa.types.is_nested(kind):
        values = column.to_pylist()
        if pa.types.is_map(kind):
            values = [v if v is None else sorted(dict(v).items()) for v in values]
        return pa.chunked_array([[json.dumps(value) for value in values]], pa.string())
    if pa.types.is_dictionary(kind):
        kind = pa.string()
    return column.cast(pa.float64() if pa.types.is_decimal(kind) else kind)


def same(found: pa.ChunkedArray, wanted: pa.ChunkedArray) -> bool:
    if not pa.types.is_floating(wanted.type):
        return bool(found.equals(wanted))
    if not pc.is_null(found).equals(pc.is_null(wanted)):
        return False
    both = (column.to_numpy().astype(float) for column in (found, wanted))
    return bool(np.allclose(*both, rtol=CLOSE, atol=0, equal_nan=True))


def test_rows_that_differ_are_seen():
    rows = pa.table({"a": [1, 2, 3], "b": [0.5, None, 7.0]})
    assert differences(rows.take([2, 0, 1]), rows) == []
    for other in ([0.5, None, 7.0 + 1e-7], [0.5, math.nan, 7.0], [0.5, 0.0, 7.0]):
        assert differences(rows.set_column(1, "b", pa.array(other)), rows) == ["b"]
    assert differences(rows.slice(1), rows) != []


@SOME_OR_ALL
@pytest.mark.usefixtures("interpreted")
def test_reductions_are_those_of_duckdb(kept: Fleet, duck: duckdb.DuckDBPyConnection, step: int):
    differ = {}
    empty = []
    views = reductions()[::step]
    for view in views:
        rows = expected(duck, view.name)
        differ[view.name] = differences(kept.table(view.name).toArrow(), rows)
        empty += [] if len(rows) else [view.name]
    assert {view: columns for view, columns in differ.items() if columns} == {}
    assert set(empty) == WITHOUT_ROWS & {view.name for view in views}


def test_reductions_of_rows_by_hand_are_those_of_duckdb(spark: SparkSession):
    views = {view.name: view for view in reductions()}
    created: set[str] = set()
    with lab() as connection:

        def create(schema: str, table: str) -> str:
            relation = f"{schema}.{table}".removeprefix(".")
            made = f"lab_{relation.replace('.', '_')}"
            if made not in created:
                created.add(made)
                rows = connection.sql(f"FROM {relation}").to_arrow_table()
                frame = (
                    spark.sql(spark_sql(views[relation].select, create))
                    if relation in views
                    else spark.createDataFrame(rows, declared(rows.schema))
                )
                frame.createOrReplaceTempView(made)
            return made

        for view in ("_device_events", "_object_events", "_processor_events", "_user_events"):
            rows = expected(connection, view)
            assert len(rows) > 3
            assert differences(spark.table(create("", view)).toArrow(), rows) == [], view
    for made in created:
        spark.catalog.dropTempView(made)


@SOME_OR_ALL
@pytest.mark.usefixtures("interpreted")
def test_landed_tables_and_deltas_are_those_of_duckdb(
    kept: Fleet, damaged: Store, duck: duckdb.DuckDBPyConnection, step: int
):
    landed = damaged.tables()
    filled = [
        relation
        for relation in kept.relations
        if relation.startswith("meta.") or relation.partition(".")[2] in landed
    ]
    differ = {
        relation: differences(kept.table(relation).toArrow(), expected(duck, relation))
        for relation in filled[::step]
    }
    assert len(filled) > 120
    assert {relation: columns for relation, columns in differ.items() if columns} == {}


@pytest.mark.usefixtures("interpreted")
def test_a_span_of_a_system_has_its_rows_and_reads_its_files(
    spark: SparkSession, damaged: Store, duck: duckdb.DuckDBPyConnection
):
    since, until = datetime(2004, 9, 5, 11, 4), datetime(2004, 9, 6, 11, 3)  # noqa: DTZ001
    within = f"system = 'BADDAY' AND {{}} > '{since}' AND {{}} <= '{until}'"
    fleet = Fleet(spark, damaged, QuerySpan(since, until, ("BAD*", "NOBODY")))
    of_samples = ("interval.useact", "monitor.useact", "meta.interval", "users_by_time")
    wanted = {relation: within.format(*2 * ["interval_end"]) for relation in of_samples}
    wanted["monitor.mtrecm"] = within.format("tod", "tod")
    for relation, where in wanted.items():
        rows = expected(duck, relation, where)
        assert len(rows) > 0
        assert differences(fleet.table(relation).toArrow(), rows) == [], relation
    configured = fleet.table("monitor.mtrsys").toArrow()["tod"].to_pylist()
    assert min(configured) < since < max(configured) <= until
    days = {file.split("date=")[1][:10] for file in fleet.files("useact")}
    assert days == {"2004-09-03", "2004-09-04", "2004-09-05", "2004-09-06"}
    assert fleet.table("meta.run").collect() == []
    fleet.close()


@pytest.mark.usefixtures("interpreted")
def test_months_show_the_rows_of_their_dumps(spark: SparkSession, tmp_path: Path):
    store = fleet(tmp_path)
    first = store.dumps()[0]
    copy_dump(store.root / first.folder, (timedelta(days=day) for day in (6, 60)))
    rebuilt(store)
    span = QuerySpan(datetime(2003, 5, 7), datetime(2003, 5, 9), ("PRODA",))  # noqa: DTZ001
    names = ("interval.useact", "monitor.mtrsys", "meta.dump")

    def shown(chosen: QuerySpan | None) -> dict[str, pa.Table]:
        fleet = Fleet(spark, store, chosen)
        return {relation: fleet.table(relation).toArrow() for relation in names}

    before = [shown(None), shown(span)]
    assert compact(store, months(store)).dumps == 4
    for tables, chosen in zip(before, (None, span), strict=True):
        for relation, rows in shown(chosen).items():
            assert len(rows) > 0
            assert differences(rows, tables[relation]) == [], relation


def test_registered_views_answer_sql_of_spark(spark: SparkSession, damaged: Store):
    before = views(spark)
    fleet = register(
        spark, damaged.root, systems=["TIMER"], relations=["interval.useact", "users_by_time"]
    )
    assert {"interval_useact", "users_by_time"} <= views(spark) - before
    question = "SELECT DISTINCT system FROM {} WHERE seconds IS NOT NULL"
    of_spark = spark.sql(question.format("interval_useact")).collect()
    assert [row.system for row in of_spark] == ["TIMER"]
    assert fleet.sql(question.format("interval.useact")).collect() == of_spark
    with pytest.raises(CpmonError, match="there is no relation nothing"):
        fleet.table("nothing")
    fleet.close()
    assert views(spark) == before


def views(spark: SparkSession) -> set[str]:
    return {view.name for view in spark.catalog.listTables()}


def test_roll_ups_are_read_from_their_files(spark: SparkSession, tmp_path: Path):
    store = Store(tmp_path / "store", create=True)
    ingest(SAMPLES / "small-lab" / "LAB.mon.zst", store)
    reduce(store, ["users_by_time"], Settings())
    fleet = Fleet(spark, store)
    with connect(store, reductions()) as connection:
        for relation in ("rollup.users_by_time", "meta.reduced"):
            rows = expected(connection, relation)
            assert len(rows) > 0
            assert differences(fleet.table(relation).toArrow(), rows) == [], relation
    fleet.close()
