"""The same SELECT on a second engine must give the same rows: the portable subset holds."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest

from cpmon.reduce import Reduction, reductions
from tests.reduce.catalogue import lab

datafusion = pytest.importorskip("datafusion")


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return lab()


@pytest.fixture(scope="module")
def fusion(duck: duckdb.DuckDBPyConnection) -> Any:
    """A DataFusion context with the same tables, and every reduction as a view."""
    context = datafusion.SessionContext()
    for schema in ("monitor", "interval", "meta"):
        context.sql(f"CREATE SCHEMA {schema}")
    for name in {name for r in reductions() for name in r.reads if "." in name}:
        columns = "* EXCLUDE (attributes)" if name == "meta.run" else "*"
        rows = duck.sql(f"SELECT {columns} FROM {name}").to_arrow_table()
        held = name.replace(".", "_")
        empty = pa.RecordBatch.from_pylist([], schema=rows.schema)
        context.register_record_batches(held, [rows.to_batches() or [empty]])
        context.sql(f"CREATE VIEW {name} AS SELECT * FROM {held}")
    for reduction in reductions():
        context.sql(f"CREATE VIEW {reduction.name} AS {reduction.select}")
    return context


@pytest.mark.parametrize("reduction", reductions(), ids=lambda r: r.name)
def test_rows_are_equal_on_datafusion(
    reduction: Reduction, duck: duckdb.DuckDBPyConnection, fusion: Any
) -> None:
    names = [column.name for column in reduction.columns]
    kinds = duck.sql(f"FROM {reduction.name}").types
    keys = [n for n, kind in zip(names, kinds, strict=True) if str(kind) not in ("DOUBLE", "FLOAT")]
    query = f"SELECT {', '.join(names)} FROM {reduction.name} ORDER BY {', '.join(keys)}"
    want = duck.sql(query).to_arrow_table()
    got = fusion.sql(query).to_arrow_table()
    assert got.column_names == want.column_names
    assert got.num_rows == want.num_rows > 0
    for name in names:
        for ours, theirs in zip(
            want.column(name).to_pylist(), got.column(name).to_pylist(), strict=True
        ):
            assert theirs == (pytest.approx(ours) if isinstance(ours, float) else ours), name


@pytest.mark.parametrize("reduction", reductions(), ids=lambda r: r.name)
def test_the_select_alone_names_its_columns_as_documented(
    reduction: Reduction, duck: duckdb.DuckDBPyConnection
) -> None:
    found = duck.sql(reduction.select).columns
    assert found == [column.name for column in reduction.columns]


@pytest.mark.parametrize("reduction", reductions(), ids=lambda r: r.name)
def test_no_column_of_ours_has_a_type_that_engines_disagree_on(
    reduction: Reduction, duck: duckdb.DuckDBPyConnection
) -> None:
    kinds = {str(kind) for kind in duck.sql(f"FROM {reduction.name}").types}
    assert not {kind for kind in kinds if kind in {"HUGEINT", "UHUGEINT"} or "DECIMAL" in kind}
