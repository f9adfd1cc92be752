"""Queries of reductions stand alone, and have only types that other engines have as well."""

from __future__ import annotations

import duckdb
import pytest

from cpmon.reduce import Reduction, reductions
from tests.reduce.catalogue import lab


@pytest.fixture(scope="module")
def duck() -> duckdb.DuckDBPyConnection:
    return lab()


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
