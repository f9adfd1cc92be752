"""The same SELECT on a second engine must give the same rows: the portable subset holds."""

from __future__ import annotations

import duckdb
import pytest
from datafusion import SessionContext

from cpmon.reduce import Reduction, reductions
from cpmon.store.fusion import context
from tests.reduce.catalogue import lab


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return lab()


@pytest.fixture(scope="module")
def fusion(duck: duckdb.DuckDBPyConnection) -> SessionContext:
    """A DataFusion context with the same tables, and every reduction as a view."""
    landed = {}
    for name in {name for r in reductions() for name in r.reads if "." in name}:
        columns = "* EXCLUDE (attributes)" if name == "meta.run" else "*"
        landed[name] = duck.sql(f"SELECT {columns} FROM {name}").to_arrow_table()
    found = context(landed)
    for reduction in reductions():
        found.sql(f"CREATE VIEW {reduction.name} AS {reduction.select}")
    return found


@pytest.mark.parametrize("reduction", reductions(), ids=lambda r: r.name)
def test_rows_are_equal_on_datafusion(
    reduction: Reduction, duck: duckdb.DuckDBPyConnection, fusion: SessionContext
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
